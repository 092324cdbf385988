"""What a probe gives: numbers with their uncertainty, tables and figures made of them. No looks, and no torch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from gnomon.lab.measures import Mean

Cell = str | int | float | bool | None
"""A cell of a table; None: it does not apply."""


@dataclass(frozen=True)
class Line:
    """One series of a figure: a value and, where it is known, its standard error, for each x."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    se: Sequence[float | None] = ()

    @classmethod
    def of(cls, label: str, x: Sequence[float], means: Sequence[Mean | None]) -> "Line":
        """That of means; None is a gap."""
        return cls(label, [*x], [m and m.mean for m in means], [m and m.se for m in means])


@dataclass(frozen=True)
class Figure:
    """A figure of series over one axis; `x` and `y` name the axes, with their units."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns; a mean stands beside its standard error."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def with_errors(*means: Mean | None) -> tuple[float | None, ...]:
    """Each mean, its standard error after it, as cells of a row."""
    return tuple(cell for mean in means for cell in (mean and mean.mean, mean and mean.se))


class Result(ABC):
    """What a probe has found: a frozen dataclass of numbers. A `Mean` in it is over examples, and says how many."""

    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """The numbers as a reader meets them."""

    @abstractmethod
    def figures(self) -> tuple[Figure, ...]:
        """The same as series."""

    def numbers(self) -> dict[str, Any]:
        """The same for a program: plain dicts, lists and numbers, a mean as `{"mean", "se", "count"}`."""
        return _plain(self)


@dataclass(frozen=True)
class NotAsked:
    """A question that makes no sense of a model, and why."""

    why: str


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mean):
        return value._asdict()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value

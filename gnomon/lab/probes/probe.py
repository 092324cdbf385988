"""What a probe gives: numbers with their uncertainty, and the tables and figures made of them. No torch here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from gnomon.lab.measures import Mean
from gnomon.section import Lines, Table, Value


def with_errors(*means: Mean | None) -> tuple[Value, ...]:
    """Each mean, its standard error after it, as cells of a row."""
    return tuple(cell for mean in means for cell in (mean and mean.mean, mean and mean.se))


class Result(ABC):
    """What a probe has found: a frozen dataclass of numbers. A `Mean` in it is over examples, and says how many."""

    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """The numbers as a reader meets them."""

    @abstractmethod
    def figures(self) -> tuple[Lines, ...]:
        """The same as series, with their standard errors."""

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

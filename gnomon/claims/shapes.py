"""What the numbers of a claim have to be before a rule reads them: kinds, ranges, lists and rows, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from gnomon.errors import UserError
from gnomon.typed import typed

SHOWN = 40
"""Characters of a value that is told of."""


class Shape(Protocol):
    """What one name among the numbers has to be."""

    def check(self, value: Any, where: str) -> None:
        """ValueError, which names the value by `where`, for one that is not so."""


@dataclass(frozen=True)
class Real:
    """A finite number within a range; `none`: it may be missing."""

    least: float = -inf
    most: float = inf
    none: bool = False

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value; True is no 1."""
        _number(value, float, self, where)


@dataclass(frozen=True)
class Whole:
    """A whole number of 64 bits within a range; `none`: it may be missing."""

    least: float = 0
    most: float = inf
    none: bool = False

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value; True is no 1, and 1.0 is none either."""
        _number(value, int, self, where)


@dataclass(frozen=True)
class Text:
    """Some text, not empty."""

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value."""
        _typed(value, str, where)
        if not value:
            raise ValueError(f"{where} is empty")


@dataclass(frozen=True)
class Truth:
    """True or false."""

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value."""
        _typed(value, bool, where)


@dataclass(frozen=True)
class Each:
    """A list of one kind of values; at least so many, since of nothing every rule holds."""

    kind: Shape
    least: int = 1

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value, or one of its values."""
        _listed(value, where, self.least)
        for at, item in enumerate(value, 1):
            self.kind.check(item, f"{where}, value {at},")


@dataclass(frozen=True)
class Row:
    """One value for each column; `none`: it may be missing.

    rising: columns, by number, whose values do not fall in that order; missing ones are passed over.
    """

    columns: tuple[Shape, ...]
    rising: tuple[tuple[int, ...], ...] = ()
    none: bool = False

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value, or one of its values."""
        if value is None and self.none:
            return
        _listed(value, where, 0)
        if len(value) != len(self.columns):
            raise ValueError(f"{where} has {len(value)} values, not {len(self.columns)}")
        for at, (kind, item) in enumerate(zip(self.columns, value, strict=True), 1):
            kind.check(item, f"{where}, value {at},")
        for ordered in self.rising:
            chosen = [value[at] for at in ordered if value[at] is not None]
            if chosen != sorted(chosen):
                raise ValueError(f"{where} has {_shown(chosen)} where values do not fall")


@dataclass(frozen=True)
class Rows:
    """A list of rows, not empty; `begins`: what the first values of rows have to be among them."""

    row: Row
    begins: tuple[str, ...] = ()

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value, or one of its rows."""
        _listed(value, where, 1)
        for at, row in enumerate(value, 1):
            self.row.check(row, f"{where}, row {at},")
        missing = [name for name in self.begins if all(row[0] != name for row in value)]
        if missing:
            raise ValueError(f"{where} has no row of {' or '.join(missing)}")


def check(shapes: Mapping[str, Shape], numbers: Mapping[str, Any]) -> None:
    """ValueError where numbers lack one that is stated, have one that is not, or one is of another shape."""
    lacking, more = [*(shapes.keys() - numbers.keys())], [*(numbers.keys() - shapes.keys())]
    if lacking or more:
        said = [f"lack {_names(lacking)}"] * bool(lacking) + [f"have {_names(more)}, which nothing reads"] * bool(more)
        raise ValueError(f"the numbers {' and '.join(said)}")
    for name, shape in shapes.items():
        shape.check(numbers[name], name)


def _number(value: Any, kind: type, within: Real | Whole, where: str) -> None:
    if value is None and within.none:
        return
    _typed(value, kind, where)
    if not within.least <= value <= within.most:
        raise ValueError(f"{where} is {_shown(value)}, not within [{within.least:g}, {within.most:g}]")


def _typed(value: Any, kind: type, where: str) -> None:
    try:
        typed(value, kind, where)
    except UserError as error:
        raise ValueError(f"{where} is {_shown(value)}, not {error.allowed}") from error


def _listed(value: Any, where: str, least: int) -> None:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where} is {_shown(value)}, not a list")
    if len(value) < least:
        raise ValueError(f"{where} has {len(value)} values, and at least {least} are needed")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, sorted(names)))

"""What has been found, as a reader meets it: a question, an answer, tables and figures. Numbers only, no looks.

The terminal, `--json` and the pages are made from the same sections, whether a formula was asked or a trained model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bool | None
"""A cell of a table; None: it does not apply."""

Estimate = tuple[float, float | None, int]
"""A mean, its standard error (None where one number was all there was), and over how many it is."""


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""

    def __post_init__(self):
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.title}: every row has a value for each of {self.columns}")

    def of_words(self, column: int) -> bool:
        """Whether a column holds words; what begins with a digit (`2049 = 2048`, `1 to 3`, `25%`) is no word."""
        cells = [row[column] for row in self.rows]
        return any(isinstance(cell, str) and not re.match(r"[-+~<>]?\d|no value|cannot hold", cell) for cell in cells)


@dataclass(frozen=True)
class Line:
    """One series of a figure; a value that is None is a gap."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    se: Sequence[float | None] = ()
    """Standard error of each value; empty where none is known."""

    def __post_init__(self):
        if len(self.y) != len(self.x) or len(self.se) not in (0, len(self.x)):
            raise ValueError(f"{self.label}: every x has a value, and every value a standard error or none has")

    @classmethod
    def of(cls, label: str, x: Sequence[float], means: Sequence[Estimate | None]) -> "Line":
        """That of means with their standard errors; None is a gap."""
        values, errors = ([None if mean is None else mean[at] for mean in means] for at in (0, 1))
        return cls(label, [*x], values, errors)


@dataclass(frozen=True)
class Lines:
    """A figure of series over one axis."""

    title: str
    x: str
    """Name of the axis, with its unit."""
    y: str
    lines: tuple[Line, ...]
    x_log: bool = False
    y_log: bool = False
    points: bool = False
    """Marks without a line between them."""
    note: str = ""


@dataclass(frozen=True)
class Heat:
    """A figure of a matrix, its first row on top."""

    title: str
    x: str
    y: str
    values: Sequence[Sequence[float | None]]
    x_at: Sequence[float] | None = None
    """Coordinate of each column; None: 0, 1, 2, ..."""
    y_at: Sequence[float] | None = None
    diverging: bool = False
    """Whether zero is the middle of the colours."""
    note: str = ""


Figure = Lines | Heat


@dataclass(frozen=True)
class Section:
    """One question and what was found."""

    key: str
    """A word for `--json` and for links."""
    title: str
    question: str
    answer: str
    """Sentences made from the numbers that were found; empty where the tables say it all."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    proof: tuple[str, ...] = ()
    """Paragraphs of an argument that a reader can follow; formulas in plain text."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """What a program wants to know, by name: values, lists and dicts of them."""
    applies: bool = True
    """Whether the question makes sense of what was asked; the answer says why where it does not."""

    @property
    def argument(self) -> tuple[tuple[str, str], ...]:
        """The paragraphs of the proof, each with the sentence that names it, where it begins with a short one."""
        parted = [(paragraph, *paragraph.partition(". ")) for paragraph in self.proof]
        return tuple((f"{name}.", rest) if dot and len(name) < 50 else ("", whole) for whole, name, dot, rest in parted)

    @property
    def short(self) -> str:
        """The first sentence of the answer."""
        return re.split(r"(?<=\S[.!?])\s+(?=[A-Z'])", self.answer, maxsplit=1)[0]


def does_not_apply(key: str, title: str, question: str, why: str) -> Section:
    """The section of a question that makes no sense of what was asked."""
    return Section(key, title, question, why, applies=False)


def plural(count: int, noun: str) -> str:
    """`1 pair`, `2 pairs`, `1,000 pairs`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def rounded(value: float, digits: int = 4) -> float:
    """A number to so many digits, as a table has it."""
    return float(f"{value:.{digits}g}")

"""The scorecard: every encoding beside the four limits that the second document sees, and beside its cost.

A cell is a number with the evidence behind it: the mean over seeds and their range, how many runs there are and how
many of them learned their task, in which experiment, at which length. An encoding one of whose runs has no number is
shown with those that have one, and is not ranked: a choice among seeds is no measurement.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gnomon.claims import experiments
from gnomon.claims.cells import Cell, Found, Read
from gnomon.claims.columns import COLUMNS, Column
from gnomon.claims.intervals import difference
from gnomon.lab.presets import COMPARED

DOCUMENTED = (*reversed(COMPARED), "chain")
"""The encodings of the documents: each has a row, whether something was measured of it or not."""

REFERENCE = "convolution"
"""A net without positions that stands beside: it is no encoding, and is not ranked among them."""

NOTHING = Cell("")
"""Of an encoding that a column has no run of."""


LEGEND = (
    "A cell is the mean over seeds. *: the best of its column, or as good: by no more worse than counts in that "
    "column, in the whole 95 % interval over seeds. ?: not told apart from the best by these seeds. No column has a "
    "star where the best does not hold, or where nobody is told apart from it. (2/3): so many of the runs have a "
    "number, mostly since the others did not learn the task in range; such encodings are not ranked. -: not measured "
    "here."
)
"""How a cell is read."""


@dataclass(frozen=True)
class Scorecard:
    """The cells of all columns."""

    columns: tuple[Column, ...]
    found: Mapping[str, Found]
    """By the key of the column."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The rows: the encodings of the documents, then others in the order of their names."""
        others = {label for found in self.found.values() for label in found.cells} - {*DOCUMENTED}
        return (*DOCUMENTED, *sorted(others))

    def column(self, key: str) -> Column:
        return next(column for column in self.columns if column.key == key)

    def cell(self, key: str, label: str) -> Cell:
        return self.found[key].cells.get(label, NOTHING)

    def ranked(self, key: str) -> list[str]:
        """Labels whose every run has a number, the best mean first."""
        cells = {label: cell for label, cell in self.found[key].cells.items() if cell.ranked and label != REFERENCE}
        sign = 1 if self.column(key).better == "lower" else -1
        return sorted(cells, key=lambda label: (sign * cells[label].interval.mean, label))

    def best(self, key: str) -> tuple[str, ...]:
        """The best of the column, then those as good: surely by no more worse than counts.

        None where no other is surely worse, and where the best itself does not hold.
        """
        order, column = self.ranked(key), self.column(key)
        if len(order) < 2 or not (column.holds is None or column.is_held(self.cell(key, order[0]).mean)):
            return ()
        level = [label for label in order[1:] if self.worse_by(key, label, order[0])[1] <= column.counts]
        behind = [label for label in order[1:] if label not in level and self.worse_by(key, label, order[0])[0] > 0]
        return (order[0], *level) if behind else ()

    def undecided(self, key: str) -> tuple[str, ...]:
        """Those that are neither surely worse than the best nor surely as good, where there is a best."""
        best = self.best(key)
        others = [label for label in self.ranked(key) if label not in best] if best else []
        return tuple(label for label in others if self.worse_by(key, label, best[0])[0] <= 0)

    def worse_by(self, key: str, label: str, other: str) -> tuple[float, float]:
        """By how much a number is worse than another: the ends of the interval of the difference, paired by seed."""
        low, high = self.apart(key, label, other)
        return (low, high) if self.column(key).better == "lower" else (-high, -low)

    def apart(self, key: str, label: str, other: str) -> tuple[float, float]:
        """The ends of a number less that of another: by seed where both have seeds, else between the ends of both."""
        one, two = self.cell(key, label), self.cell(key, other)
        if one.values.keys() & two.values.keys():
            found = difference(one.values, two.values)
            return found.low, found.high
        return one.interval.low - two.interval.high, one.interval.high - two.interval.low

    def as_dict(self) -> dict[str, Any]:
        return {"columns": [self._told(column) for column in self.columns], "labels": list(self.labels)}

    def _told(self, column: Column) -> dict[str, Any]:
        found = self.found[column.key]
        names = ("key", "title", "limit", "unit", "better", "measured", "counts", "holds")
        return {name: getattr(column, name) for name in names} | {
            "cells": {label: cell.as_dict() for label, cell in found.cells.items()},
            "ranked": self.ranked(column.key),
            "best": list(self.best(column.key)),
            "undecided": list(self.undecided(column.key)),
            "not_measured": found.why or None,
        }


def scorecard(folder: Path | None = None, columns: Sequence[Column] = COLUMNS, read: Read | None = None) -> Scorecard:
    """The scorecard of the results that are here; `folder`: of the records of claims. `read`: see `Source`.

    What has no results has no cells, and says how to make them. StoreError where results are damaged.
    """
    read = read or cache(experiments.records)
    return Scorecard(tuple(columns), {column.key: column.source.found(folder, read) for column in columns})


def shown(card: Scorecard, key: str, label: str) -> str:
    """A cell in a few letters: its mean; `*` where none is better, `?` where that is not decided; `(2/3)`: so many of
    the runs have a number, so it is not ranked; `-`: not measured here."""
    cell = card.cell(key, label)
    if not cell.runs and cell.once is None:
        return "-"
    counted = f"({len(cell.values)}/{cell.runs})"
    if cell.mean is None:
        return counted
    number = short(cell.mean)
    return f"{number}{mark(card, key, label)}" if cell.ranked else f"{number} {counted}"


def mark(card: Scorecard, key: str, label: str) -> str:
    """What is said of a number in its column, in one letter: see LEGEND."""
    return "*" * (label in card.best(key)) or "?" * (label in card.undecided(key))


def short(value: float) -> str:
    """Three digits; what is below a thousandth is told by its power of ten, and nothing is `0`."""
    if value == 0 or 1e-3 <= abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.0e}"


def spread(cell: Cell) -> str:
    """The lowest and the highest of the seeds, or the ends that it was measured between."""
    if cell.mean is None:
        return "-"
    return short(cell.low) if cell.low == cell.high else f"{short(cell.low)} to {short(cell.high)}"


def reasons(cell: Cell) -> Iterator[str]:
    """Why runs have no number."""
    for why, seeds in cell.without.items():
        yield f"seed {', '.join(map(str, seeds))}: {why}"

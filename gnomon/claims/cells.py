"""One number of one encoding, with the evidence behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from gnomon.claims.experiments import Record
from gnomon.claims.intervals import Interval, interval

Read = Callable[[str], Sequence[Record]]
"""The records of an experiment by its name, read once for many columns."""

UNLEARNED = "did not learn the task in range"
"""Why a run that finished has no number where one is asked for that only models which know their task can have."""


@dataclass(frozen=True)
class Cell:
    """What was found of one encoding in one column."""

    label: str
    """Of its runs: the encoding with its options."""
    values: Mapping[int, float] = field(default_factory=dict)
    """By seed, of the runs that count."""
    runs: int = 0
    """All runs, whatever became of them."""
    without: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Why runs have no number: their seeds."""
    once: Interval | None = None
    """A number that is not over seeds, with the ends between which it lies."""
    of: str = ""
    """What it was found in: an experiment, or a file."""
    where: str = ""
    """At which length, in which group of examples."""

    @property
    def mean(self) -> float | None:
        ends = self.interval
        return None if ends is None else ends.mean

    @property
    def low(self) -> float | None:
        return min(self.values.values(), default=None) if self.once is None else self.once.low

    @property
    def high(self) -> float | None:
        return max(self.values.values(), default=None) if self.once is None else self.once.high

    @property
    def ranked(self) -> bool:
        """Whether it may stand above or below others: every run has a number. A choice among seeds is none."""
        return self.once is not None or (bool(self.values) and not self.without)

    @property
    def interval(self) -> Interval | None:
        """The mean and what it may be: over seeds, or the ends that it was measured between."""
        return self.once or (interval([*self.values.values()]) if self.values else None)

    @property
    def state(self) -> Literal["measured", "in part", "not learned", "no number"]:
        if self.ranked:
            return "measured"
        return "in part" if self.values else "not learned" if UNLEARNED in self.without else "no number"

    def as_dict(self) -> dict[str, Any]:
        ends = self.interval
        return {
            "label": self.label,
            "state": self.state,
            "ranked": self.ranked,
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "interval": None if ends is None else [ends.mean, ends.low, ends.high],
            "by_seed": {str(seed): value for seed, value in self.values.items()},
            "seeds": len(self.values),
            "runs": self.runs,
            "without": {why: list(seeds) for why, seeds in self.without.items()},
            "of": self.of,
            "where": self.where,
        }


class Found(NamedTuple):
    """The cells of a column, by the name of their row; why there are none, where there are none."""

    cells: Mapping[str, Cell]
    why: str = ""


class Source(Protocol):
    """Where the numbers of a column come from."""

    def found(self, folder: Path | None, read: Read) -> Found:
        """The cells. `folder`: of the records of claims. `read`: the records of an experiment."""

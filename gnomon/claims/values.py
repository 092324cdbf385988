"""Kinds of numbers that a run has, as data: at a length, in a group of examples, anywhere in its record."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gnomon.claims import experiments
from gnomon.claims.experiments import Record


class Value(Protocol):
    """A number of one run."""

    def of(self, record: Record) -> float | None:
        """None where the run does not have it."""

    def length(self, record: Record) -> int:
        """The length at which it is found."""

    @property
    def probe(self) -> str:
        """The probe that finds it; empty where none does."""

    def where(self, record: Record) -> str:
        """What of a run it is, beside the length."""


class InRange:
    """A value that is found at the training length and by no probe, unless it says so."""

    def length(self, record: Record) -> int:
        return experiments.trained_at(record)

    @property
    def probe(self) -> str:
        return ""

    def where(self, record: Record) -> str:
        return ""


@dataclass(frozen=True)
class At(InRange):
    """A number at a multiple of the training length; with `rise`, less the same at the training length."""

    key: str
    times: float = 1
    rise: bool = False

    def of(self, record: Record) -> float | None:
        there = experiments.at(record, self.length(record), self.key)
        here = experiments.at(record, experiments.trained_at(record), self.key) if self.rise else 0.0
        return None if there is None or here is None else there - here

    def length(self, record: Record) -> int:
        return round(self.times * experiments.trained_at(record))


@dataclass(frozen=True)
class Lost(InRange):
    """How many more answers are right in other groups of examples, their mean, than in this one.

    `{patch}` in a name is that option of the task; where that is not given there is no such group.
    """

    group: str
    than: tuple[str, ...]
    key: str = "exact"

    def of(self, record: Record) -> float | None:
        length, names = self.length(record), self.names(record["experiment"]["task"])
        there, *others = (experiments.group(record, length, name, self.key) for name in names)
        return None if there is None or None in others else sum(others) / len(others) - there

    def names(self, task: Mapping[str, Any]) -> tuple[str, ...]:
        """The groups of a task, as JSON has it: this one, then the others."""
        given = defaultdict(str, task.get("options") or {})
        return tuple(name.format_map(given) for name in (self.group, *self.than))

    def where(self, record: Record) -> str:
        there, *others = self.names(record["experiment"]["task"])
        return f"{there} beside {' and '.join(others)}"


@dataclass(frozen=True)
class Among(InRange):
    """A number of one group of examples, at the training length."""

    group: str
    key: str = "exact"

    def of(self, record: Record) -> float | None:
        return experiments.group(record, self.length(record), self.group, self.key)

    def where(self, record: Record) -> str:
        return self.group


Step = str | int | tuple[str, Any]
"""A name, a place in a list, or (name, value): the first item of a list that has it."""


@dataclass(frozen=True)
class In(InRange):
    """What stands at a path in the record."""

    path: tuple[Step, ...]

    def of(self, record: Record) -> float | None:
        found: Any = record
        for step in self.path:
            try:
                found = next(each for each in found if each[step[0]] == step[1]) if type(step) is tuple else found[step]
            except (KeyError, IndexError, TypeError, StopIteration):
                return None
        return found

    @property
    def probe(self) -> str:
        return str(self.path[1]) if self.path[0] == "probes" else ""


KNOWN = 0.1
"""R^2 from which on a layer knows something of a position."""


@dataclass(frozen=True)
class Faded(InRange):
    """How much better the layer that knows a position best tells it than the last one does, as R^2 of at least 0.

    None where no layer tells KNOWN of it: what was never there does not fade.
    """

    def of(self, record: Record) -> float | None:
        probed = experiments.probe(record, "dilution")
        found = [layer["r2"]["mean"] for layer in probed["layers"]] if probed else [None]
        if None in found:
            return None
        known = [max(0.0, each) for each in found]
        return max(known) - known[-1] if max(known) >= KNOWN else None

    @property
    def probe(self) -> str:
        return "dilution"


@dataclass(frozen=True)
class Placed(InRange):
    """Which share of the last layer's logits the places of the two tokens set, the mean over heads."""

    def of(self, record: Record) -> float | None:
        probed = experiments.probe(record, "distance")
        found = [head["places"]["mean"] for head in probed["layers"][-1]] if probed else [None]
        return None if None in found else sum(found) / len(found)

    @property
    def probe(self) -> str:
        return "distance"

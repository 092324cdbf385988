"""Where the numbers of a column come from: runs of experiments, benchmarks, records of claims, facts, code."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gnomon.claims import costs, experiments, records
from gnomon.claims.cells import UNLEARNED, Cell, Found, Read
from gnomon.claims.experiments import Record
from gnomon.claims.intervals import Interval
from gnomon.claims.values import Value
from gnomon.errors import DataError, StoreError

MACHINE = ("processor", "cores", "threads", "device", "torch")
"""What two runs have in common whose times are compared."""


@dataclass(frozen=True)
class Runs:
    """Runs of the first of these experiments that has the task.

    task: its name and options; None: not given. among: of several configurations of a label the one with the least or
    the most at a path of the experiment, or the mean over all that any label has. learned: only runs that know their
    task count.
    over: as a ratio to the run of this label with the same seed on the same machine.
    """

    experiments: tuple[str, ...]
    value: Value
    task: Mapping[str, Any] = field(default_factory=dict)
    among: tuple[Literal["least", "most", "mean"], str] | None = None
    learned: bool = True
    over: str | None = None

    def found(self, folder: Path | None, read: Read) -> Found:
        there = self._there()
        if not there:
            return Found({}, f"not measured here; {to_run(self.experiments[0])}")
        name, meant = self._meant(read)
        if not meant:
            return Found({}, f"the results of {' and '.join(there)} have no runs of it: {self._task()}")
        return Found(self._cells(name, meant))

    def records(self, read: Read) -> Sequence[Record]:
        """The records of the runs that the cells are of; none where they are not there."""
        return self._meant(read)[1]

    def _there(self) -> list[str]:
        return [name for name in self.experiments if experiments.there(name)]

    def _meant(self, read: Read) -> tuple[str, Sequence[Record]]:
        for name in self._there():
            of_it = [record for record in read(name) if self.is_of(record["experiment"]["task"])]
            if found := self.picked(of_it):
                return name, found
        return "", ()

    def is_of(self, task: Mapping[str, Any]) -> bool:
        """Whether a task, as JSON has it, is the one that is meant."""
        have = {"name": task.get("name", "text"), **(task.get("options") or {})}
        return all(have.get(name) == value for name, value in self.task.items())

    def picked(self, found: Sequence[Record]) -> Sequence[Record]:
        """Those of several configurations that are meant."""
        if self.among is None or self.among[0] == "mean" or not found:
            return found
        which, path = self.among
        amounts = [amount for record in found if (amount := _at(record, path)) is not None]
        chosen = {"least": min, "most": max}[which](amounts, default=None)
        return [record for record in found if _at(record, path) == chosen]

    def _cells(self, name: str, found: Sequence[Record]) -> dict[str, Cell]:
        labels: dict[str, list[Record]] = {}
        for record in found:
            labels.setdefault(record["label"], []).append(record)
        beside = {_of_machine(record): self.value.of(record) for record in labels.get(self.over or "", ())}
        amounts = {_at(record, self.among[1]) for record in found} if self.among else {None}
        return {row: self._cell(name, label, labels[label], beside, len(amounts)) for row, label in rows([*labels])}

    def _cell(self, name: str, label: str, found: Sequence[Record], beside: Mapping, amounts: int) -> Cell:
        seeds: dict[int, list[float | str]] = {}
        for record in sorted(found, key=experiments.seed):
            seeds.setdefault(experiments.seed(record), []).append(self._number(record, beside))
        values, without = {}, {}
        for seed, each in seeds.items():
            why = next((one for one in each if isinstance(one, str)), None)
            if why is None and len(each) != amounts:
                why = "has several configurations, which the column does not tell apart"
                if len(each) < amounts:
                    why = f"was not made with every number of {self.among[1].rpartition('.')[2]}"
            if why is None:
                values[seed] = sum(each) / len(each)
            else:
                without.setdefault(why, []).append(seed)
        told = {why: tuple(each) for why, each in without.items()}
        lengths = f"length {self.value.length(found[0])}, trained on {experiments.trained_at(found[0])}"
        where = "; ".join(filter(None, (self._task(), self.value.where(found[0]), lengths)))
        return Cell(label, values, len(seeds), told, None, f"experiment {name}", where)

    def _task(self) -> str:
        told = [str(value) if key == "name" else f"{key}={value}" for key, value in self.task.items() if value]
        chosen = [f"{self.among[0]} {self.among[1].rpartition('.')[2]}"] if self.among else []
        return ", ".join([" ".join(told), *chosen]).strip(", ")

    def _number(self, record: Record, beside: Mapping) -> float | str:
        """The number of a run, or why it has none."""
        from gnomon.lab import measures

        if record["status"] != "finished":
            return str(record["status"])
        if self.learned and not measures.learned(record):
            return UNLEARNED
        value, length = self.value.of(record), self.value.length(record)
        if value is None:
            states = {row["length"]: row["status"] for row in record["lengths"]}
            state = states.get(length, "measured")
            return f"{state} at length {length}" if state != "measured" else "has no such number"
        if self.over is None:
            return value
        other = beside.get(_of_machine(record))
        return value / other if other else f"has no run of {self.over} beside it on the same machine"


def rows(labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The row of each label: its encoding, with the options that other labels of the encoding do not have."""
    bases: dict[str, list[str]] = {}
    for label in labels:
        base = label if label.startswith("randomised ") else label.partition(" ")[0]
        bases.setdefault(base, []).append(label)
    for base, each in bases.items():
        options = [label.removeprefix(base).split() for label in each]
        for label, own in zip(each, options, strict=True):
            yield " ".join([base, *(one for one in own if any(one not in other for other in options))]), label


def to_run(name: str) -> str:
    """What makes the results of an experiment, in words."""
    return f"to do so: {', then '.join(experiments.commands(name))}"


@dataclass(frozen=True)
class Benchmark:
    """Ratios of `make bench`, at evenly spaced positions; between the quartiles of its rounds, where it had several."""

    section: str

    def found(self, folder: Path | None, read: Read) -> Found:
        try:
            all_of_it = costs.measured()
        except DataError as error:
            return Found({}, f"{error.asked}: {error.do}")
        cells = {}
        for row in (row for script in all_of_it["scripts"].values() for row in script):
            name = row["what"].removesuffix(" even")
            if row["section"] == self.section and row.get("ratio") is not None and " " not in name:
                ends = Interval(row["ratio"], *_quartiles(row), row["runs"])
                where = f"{self.section}; {row['runs']} rounds" if row["runs"] > 1 else self.section
                cells[name] = Cell(name, once=ends, of=costs.FILE.as_posix(), where=where)
        return Found(cells, "" if cells else f"{costs.FILE.as_posix()} has no section {self.section}: make bench")


def _quartiles(row: Mapping[str, Any]) -> tuple[float, float]:
    """Of one measurement the ends are itself: memory is counted once."""
    half = (row["spread"] or 0.0) / 2
    return row["ratio"] * (1 - half), row["ratio"] * (1 + half)


@dataclass(frozen=True)
class Lines:
    """Lines of code of an encoding, with those of the files beside it that it shares."""

    def found(self, folder: Path | None, read: Read) -> Found:
        from gnomon.encodings import ENCODINGS

        where = "statements, without imports, docstrings and references"
        return Found(
            {
                name: Cell(name, once=Interval(whole, whole, whole, 1), of="gnomon/encodings", where=where)
                for name, _, whole in costs.statements([*ENCODINGS])
            }
        )


@dataclass(frozen=True)
class Kernels:
    """Which share of the kernels of distance of C34 an encoding misses alone, by the limit of its rule."""

    def found(self, folder: Path | None, read: Read) -> Found:
        from gnomon.claims import c34
        from gnomon.claims.rules.c34 import FAILS

        do = "gnomon claims C34 --record"
        try:
            record = (folder and records.read("C34", folder)) or None
        except StoreError as error:
            return Found({}, f"{error.asked}: {error.do}")
        if record is None:
            return Found({}, f"no record of C34: {do}")
        try:
            c34.CLAIM.check(record[0].numbers)
        except ValueError as error:
            return Found({}, f"the record of C34 is of another shape: {error}; {do}")
        errors: dict[str, list[float]] = {}
        for name, _, _, error in record[0].numbers["errors"]:
            errors.setdefault(name, []).append(error)
        shares = {name: sum(error >= FAILS for error in each) / len(each) for name, each in errors.items()}
        return Found(
            {
                name: Cell(
                    name,
                    once=Interval(share, share, share, 1),
                    of="C34",
                    where=f"{len(errors[name])} kernels, missed from a relative error of {FAILS:g} on",
                )
                for name, share in shares.items()
            }
        )


@dataclass(frozen=True)
class Published:
    """Which share of the models that a document names for an encoding have it, as far as their makers tell (C10)."""

    document: str

    def found(self, folder: Path | None, read: Read) -> Found:
        from gnomon.claims.models import FACTS

        cells = {}
        for told, name in (("RoPE", "rope"), ("ALiBi", "alibi")):
            said = [fact for fact in FACTS if fact.document.startswith(self.document) and not fact.supposed]
            named = [fact for fact in said if fact.asserted == (told,)]
            share = sum(fact.standing == "confirmed" for fact in named) / max(1, len(named))
            where = ", ".join(f"{fact.model} {fact.standing}" for fact in named)
            cells[name] = Cell(name, once=Interval(share, share, share, 1), of="C10", where=where)
        return Found(cells)


def _at(record: Record, path: str) -> Any:
    found: Any = record["experiment"]
    for name in path.split("."):
        found = (found or {}).get(name)
    return found


def _of_machine(record: Record) -> tuple:
    environment = record.get("environment") or {}
    return (experiments.seed(record), *(environment.get(name) for name in MACHINE))

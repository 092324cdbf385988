"""The numbers that published orderings are judged by, from the records of experiments, as rows of label, seed, number.

Of lengths past training a model says nothing that has not learned its task within it: such a run has no number there.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gnomon.claims import experiments, lengths
from gnomon.claims.experiments import Record
from gnomon.claims.runs import learned, right_past, seed
from gnomon.claims.values import Lost

Number = Callable[[Record], float | None]
Evidence = Callable[[Sequence[Record]], list[list]]
"""Rows `[label, seed, number]` of records; None where a run has no number that counts."""


def numbers(number: Number, *labels: str, past: bool = False, told: str = "{}", **task: Any) -> Evidence:
    """The number of every run of these encodings, of a task whose name and options are these; None: not given.

    past: only runs that have learned their task have one. told: what the rows call an encoding.
    """

    def rows(found: Sequence[Record]) -> list[list]:
        meant = [record for record in found if record["label"] in labels and _is_of(record, task)]
        return [
            [told.format(record["label"]), seed(record), number(record) if _counts(record, past) else None]
            for record in sorted(meant, key=lambda record: (labels.index(record["label"]), seed(record)))
        ]

    return rows


def together(*parts: Evidence) -> Evidence:
    """The rows of all."""
    return lambda found: [row for part in parts for row in part(found)]


def right_at(times: float) -> Number:
    """The share of answers that are right at a multiple of the training length."""
    return lambda record: experiments.at(record, *lengths.at(record, times), "exact")


def right_in(group: str) -> Number:
    """The share that are right in a group of examples."""
    return lambda record: experiments.group(record, experiments.trained_at(record), group)


def lost_in(group: str, *than: str) -> Number:
    """How many fewer are right in a group than in others, their mean."""
    return Lost(group, than).of


def scaled(scheme: str, factor: float) -> Number:
    """The loss at so many times the training length, RoPE scaled to it without training, nats a byte."""

    def read(record: Record) -> float | None:
        for each in record.get("variants") or ():
            if (each["options"].get("scaling"), each["options"].get("factor")) == (scheme, factor):
                return experiments.variant(record, each["options"], *lengths.at(record, factor), "paired_loss")
        return None

    return read


FORMATS = ("plain", "reversed", "reversed, hints")
"""Ways to write an addition."""


def formats(found: Sequence[Record]) -> list[list]:
    """Right past training in each of FORMATS: the mean over lengths, and over the encodings that have learned all
    three with that seed, so that every format has the same ones."""
    runs = {(_format(record), record["label"], seed(record)): record for record in found if _format(record)}
    rows = []
    for name in FORMATS:
        for at in sorted({each for format, _, each in runs if format == name}):
            labels = {label for _, label, each in runs if each == at}
            same = [[runs.get((format, label, at)) for format in FORMATS] for label in sorted(labels)]
            knowing = [each for each in same if all(record is not None and learned(record) for record in each)]
            shares = [right_past(each[FORMATS.index(name)]) for each in knowing]
            rows.append([name, at, sum(shares) / len(shares) if shares else None])
    return rows


def best(found: Sequence[Record]) -> list[list]:
    """The most that any encoding has right at 2.5 times the training length, by format without hints and by seed."""
    most: dict[tuple[str, int], float | None] = {}
    for record in found:
        if (name := _format(record)) in FORMATS[:2]:
            known = [most.get((name, seed(record))), right_at(2.5)(record) if learned(record) else None]
            most[name, seed(record)] = max((each for each in known if each is not None), default=None)
    return [[f"the best, {name}", at, share] for (name, at), share in sorted(most.items())]


def _format(record: Record) -> str | None:
    """Which of FORMATS a run's task has; None for another task."""
    options = record["experiment"]["task"].get("options") or {}
    if not _is_of(record, {"name": "addition", "shift": None}):
        return None
    reversed_, hints = options.get("order") == "reversed", bool(options.get("hints"))
    return {(False, False): "plain", (True, False): "reversed", (True, True): "reversed, hints"}.get((reversed_, hints))


def _is_of(record: Record, asked: Mapping[str, Any]) -> bool:
    task = record["experiment"]["task"]
    have = {"name": task.get("name", "text"), **(task.get("options") or {})}
    return all(have.get(name) == value for name, value in asked.items())


def _counts(record: Record, past: bool) -> bool:
    return learned(record) if past else record["status"] == "finished"

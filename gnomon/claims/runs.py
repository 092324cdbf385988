"""The runs of experiments as evidence lists them: what each has learned, and what becomes of it past its training."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from gnomon.claims import experiments
from gnomon.claims.experiments import Record
from gnomon.claims.intervals import by_seed, difference, interval
from gnomon.claims.shapes import Real, Row, Shape, Text, Truth, Whole

TEXT = "text"
ALGORITHMIC = ("algorithmic", "algorithmic_more")

MAYBE = Real(none=True)
SHARE = Real(0, 1, none=True)
RUN = (Text(), Whole(), Truth())
"""The shapes of what the row of a run begins with, as RUN_COLUMNS names it."""
RUN_COLUMNS = ("encoding", "seed", "learned")
LEARNED = 2
"""The column that says whether a run learned its task within the training length."""
INTERVAL_COLUMNS = ("mean", "low", "high", "seeds")
"""An interval over seeds; of one seed its ends are None, of none its mean too."""


class Lengths(NamedTuple):
    """Measured lengths: that of training, the first past it, the first from twice it on, the longest."""

    trained: int
    near: int
    twice: int
    longest: int


def spread(*before: Shape) -> Row:
    """The shape of a row that ends with an interval over seeds, as INTERVAL_COLUMNS names it."""
    mean = len(before)
    return Row((*before, MAYBE, MAYBE, MAYBE, Whole()), rising=((mean + 1, mean, mean + 2),))


def lengths(found: Sequence[Record]) -> Lengths:
    """Those that all of these runs were measured at. DataError where none of them is twice that of training."""
    from gnomon.errors import DataError

    experiment = found[0]["experiment"]
    trained = experiment["training"]["length"]
    past = sorted(length for length in experiment["measure"]["lengths"] if length > trained)
    twice = [length for length in past if length >= 2 * trained]
    if not twice:
        raise DataError(
            "these results say nothing of lengths far past training",
            given=f"trained at {trained}, measured at {experiment['measure']['lengths']}",
            allowed=f"{2 * trained} or more",
        )
    return Lengths(trained, past[0], twice[0], past[-1])


def by_task(names: Sequence[str]) -> dict[str, list[Record]]:
    """All runs of these experiments, whatever became of them, by what their task is called: `copy unique=True`."""
    from gnomon.lab.naming import task_label

    tasks: dict[str, list[Record]] = {}
    for name in names:
        for record in experiments.records(name):
            tasks.setdefault(task_label(record["experiment"]["task"]), []).append(record)
    return tasks


def rows(found: Sequence[Record], *values: Callable[[Record], Any], of: Sequence[str] = ()) -> list[list]:
    """A row of each run, by label and seed: as RUN_COLUMNS, then what each function makes of its record.

    `of`: the labels that are meant, in that order; none: all. A run that did not finish has not learned, and has no
    numbers: a function that finds none in its record says None. DataError where a label has no run.
    """
    there = {record["label"] for record in found}
    labels = of or sorted(there)
    if lacking := [label for label in labels if label not in there]:
        _refuse(lacking, there)
    meant = [record for record in found if record["label"] in labels]
    ordered = sorted(meant, key=lambda record: (labels.index(record["label"]), seed(record)))
    return [[r["label"], seed(r), learned(r), *(value(r) for value in values)] for r in ordered]


def seed(record: Record) -> int:
    return record["experiment"]["seed"]


def learned(record: Record) -> bool:
    """Whether the run finished, and knows at the training length what it was trained for (`measures.learned`)."""
    from gnomon.lab import measures

    return record["status"] == "finished" and bool(measures.learned(record))


def here(record: Record, key: str) -> float | None:
    """A number at the training length."""
    return experiments.at(record, experiments.trained_at(record), key)


def rise(length: int) -> Callable[[Record], float | None]:
    """By how much the loss on the same targets is higher at a length than at that of training, nats a token."""
    return lambda record: experiments.at(record, length, "paired_excess")


def right(record: Record) -> float | None:
    """The share of answers that are right at the training length."""
    return here(record, "exact")


def right_past(record: Record) -> float | None:
    """The share of right answers past training, the mean over the measured lengths; one that is refused has none."""
    trained = experiments.trained_at(record)
    past = [row.get("exact") or 0.0 for row in record["lengths"] if row["length"] > trained]
    return sum(past) / len(past) if past else None


def over_seeds(values: Mapping[int, float]) -> list:
    """The interval of a number of each seed, as INTERVAL_COLUMNS."""
    return _told(interval([*values.values()])) if values else [None, None, None, 0]


def apart(one: Mapping[int, float], other: Mapping[int, float]) -> list:
    """That of one less another over the seeds that both have."""
    return _told(difference(one, other)) if one.keys() & other.keys() else [None, None, None, 0]


def of(table: Sequence[Sequence], label: str, column: int, only_learned: bool = False) -> dict[int, float]:
    """The numbers of one label by seed, of such rows; `only_learned`: of the runs that have learned their task, since
    one that has not says nothing of lengths."""
    return by_seed([row for row in table if row[LEARNED] or not only_learned], label, column)


def _told(found: Any) -> list:
    ends = [found.low, found.high] if found.seeds > 1 else [None, None]
    return [found.mean, *ends, found.seeds]


def _refuse(lacking: Sequence[str], there: Collection[str]) -> NoReturn:
    from gnomon.errors import DataError

    raise DataError(
        "these results lack encodings that the claim is about",
        given=", ".join(sorted(there)) or "no runs",
        allowed=f"{', '.join(lacking)} too",
        do="run the whole experiment, and export its results anew",
    )

"""Records -> series: one per configuration, its seeds together, with medians, spread and reach."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gnomon.errors import DataError, StoreError
from gnomon.lab.measures import HOLDS, TOLERANCE, Reach, has_answers, judged_by_loss, learned, reach, unigram_loss
from gnomon.lab.naming import task_label
from gnomon.report.settings import Record, distinct, setting
from gnomon.report.yardstick import Yardstick, of

FINISHED = "finished"
COLLAPSE = 1.0
"""Nats above the training length, at any longer one, from which the report says that an encoding collapses."""
STANDARD_ERRORS = {
    "paired_loss": "paired_se",
    "loss": "loss_se",
    "paired_excess": "paired_excess_se",
    "exact": "exact_se",
    "token_accuracy": "token_accuracy_se",
}


@dataclass(frozen=True)
class Stat:
    """A quantity over seeds. `se` is the standard error over windows: of the one run, or the median one of several."""

    median: float
    low: float
    high: float
    se: float | None
    seeds: int

    def scaled(self, factor: float) -> "Stat":
        se = None if self.se is None else self.se * factor
        return Stat(self.median * factor, self.low * factor, self.high * factor, se, self.seeds)


@dataclass(frozen=True)
class Held:
    """A reach over seeds: `length` is the lower median. `censored`: that seed never failed, so it may reach farther.

    `close`: in some seed, the verdict at a length lies within two standard errors of the tolerance.
    """

    length: int
    censored: bool
    seeds: tuple[Reach, ...]
    close: bool

    @property
    def text(self) -> str:
        return reach_text(self.length, self.censored)

    @property
    def spread(self) -> str | None:
        """The seeds' reaches when they differ: '160 to ≥1024'."""
        ends = [reach_text(*min(self.seeds)), reach_text(*max(self.seeds))]
        return " to ".join(ends) if ends[0] != ends[1] else None


@dataclass(frozen=True)
class Gap:
    """Why a length has no number. state: 'refused' by the encoding, or 'diverged', when the loss was not finite."""

    state: str
    reason: str


@dataclass(frozen=True)
class Series:
    """All seeds of one configuration. `runs` finished; `lost` diverged or failed. `order`: its place in the records.

    `unlearned`: those of `runs` that do not know, at the training length, what they were trained for (their loss is not
    below that of byte frequencies; too few of their answers are right), and which so have no reach.
    """

    label: str
    order: int
    training: int
    runs: tuple[Record, ...]
    lost: tuple[Record, ...]
    unlearned: tuple[Record, ...]
    reach: Held | None

    @property
    def did_not_learn(self) -> bool:
        """Whether it has no reach because the median seed has not learned its task."""
        return self.reach is None and bool(self.unlearned)

    @property
    def yardstick(self) -> Yardstick:
        return of(self.records[0])

    @property
    def unigram_loss(self) -> float | None:
        """The loss of byte frequencies on the text that it was measured on; None where no record says."""
        return next((loss for run in self.runs if (loss := unigram_loss(run)) is not None), None)

    @property
    def records(self) -> tuple[Record, ...]:
        return self.runs + self.lost

    def stat(self, quantity: str, length: int) -> Stat | None:
        """`quantity` (a key of a record's lengths) over the finished seeds that measured `length`; None if none did."""
        measured = (entry(run, length) for run in self.runs)
        rows = [row for row in measured if row and number(row.get(quantity)) is not None]
        if not rows:
            return None
        values = sorted(row[quantity] for row in rows)
        errors = [se for row in rows if (se := number(row.get(STANDARD_ERRORS.get(quantity, "")))) is not None]
        return Stat(median(values), values[0], values[-1], median(errors) if errors else None, len(rows))

    @property
    def holds(self) -> bool:
        """Whether it was measured past its training length and never failed there."""
        return self.reach is not None and self.reach.censored and self.reach.length > self.training

    def lengths(self) -> list[int]:
        """Lengths asked for, measured or refused, ascending."""
        return sorted({row["length"] for run in self.runs for row in run["lengths"]})

    def measured(self) -> list[int]:
        return [length for length in self.lengths() if self.stat(self.yardstick.main, length)]

    def gaps(self) -> dict[int, Gap]:
        """The lengths that no finished seed measured, ascending, with what a seed's record says of them."""
        rows = {row["length"]: row for run in self.runs for row in run["lengths"] if row["status"] != "measured"}
        missing = sorted(rows.keys() - set(self.measured()))
        return {n: Gap(rows[n]["status"], rows[n].get("reason") or "no reason recorded") for n in missing}

    def in_range(self) -> Stat | None:
        """What it is judged by, at the training length: that stands beside every reach."""
        return self.stat(self.yardstick.main, self.training)

    def worst_excess(self) -> float:
        """The largest median rise over the training length at any longer measured length, 0 if none was measured."""
        stats = [self.stat("paired_excess", length) for length in self.measured() if length > self.training]
        return max((stat.median for stat in stats if stat), default=0.0)


@dataclass(frozen=True)
class Summary:
    """Series in the order of the records."""

    series: tuple[Series, ...]

    @property
    def done(self) -> tuple[Series, ...]:
        return tuple(series for series in self.series if series.runs)

    @property
    def yardstick(self) -> Yardstick:
        """What all series are judged by; of several kinds of task, that of the first: see `by_task`."""
        return self.series[0].yardstick

    @property
    def task(self) -> str:
        """What the task is called: `text`, or its name and options."""
        return task_label(self.series[0].records[0]["experiment"]["task"])

    @property
    def trained(self) -> list[int]:
        """The training lengths that occur, ascending."""
        return sorted({series.training for series in self.series})

    @property
    def lengths(self) -> list[int]:
        return sorted({length for series in self.done for length in series.lengths()})

    @property
    def seeds(self) -> list[int]:
        """The numbers of finished seeds that occur among the series with any, ascending."""
        return sorted({len(series.runs) for series in self.done})

    @property
    def unit(self) -> str:
        """What a nat is counted per: 'byte' where the bits per byte are the loss in bits, so that a token is a byte.

        Where nothing was measured, what the task would have counted.
        """
        rows = [
            row for series in self.done for run in series.runs for row in run["lengths"] if row["status"] == "measured"
        ]
        pairs = [(number(row.get("loss")), number(row.get("bits_per_byte"))) for row in rows]
        known = [(loss, bits) for loss, bits in pairs if loss is not None]
        same = all(bits is not None and math.isclose(bits * math.log(2), loss, rel_tol=1e-3) for loss, bits in known)
        if not known:
            same = all(run["experiment"]["task"].get("kind") == "text" for s in self.series for run in s.records)
        return "byte" if same else "token"

    def ranked(self) -> list[Series]:
        """Farthest reach first, then what is better at the longest measured length; what has no reach comes last."""

        def key(series: Series) -> tuple[int, int, float, int]:
            if series.reach is None:
                return (1 if series.runs else 2, 0, 0.0, series.order)
            last = series.stat(series.yardstick.main, series.measured()[-1]).median
            return (0, -series.reach.length, -last if series.yardstick.rises else last, series.order)

        return sorted(self.series, key=key)


def summarise(records: Sequence[Record], tolerance: float = TOLERANCE) -> Summary:
    """Group records that differ only in seed. Raises DataError without records, StoreError on another format."""
    if not records:
        raise DataError("a report of no runs", given="an empty store or selection", do="train first: gnomon compare")
    for record in records:
        if record.get("format") != 1:
            raise StoreError(
                f"cannot read the record {record.get('hash', '(no hash)')}",
                given=f"format {record.get('format')!r}",
                allowed="format 1",
                do="read it with the version of gnomon that wrote it",
            )
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(json.dumps(setting(record), sort_keys=True), []).append(record)
    names = distinct(list(groups.values()))
    return Summary(
        tuple(_series(name, order, group, tolerance) for order, (name, group) in enumerate(zip(names, groups.values())))
    )


def by_task(records: Sequence[Record], tolerance: float = TOLERANCE) -> tuple[Summary, ...]:
    """A summary for each task, in the order of the records. A label has one place in the order in all of them."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(json.dumps(setting(record)["task"], sort_keys=True), []).append(record)
    summaries = [summarise(group, tolerance) for group in groups.values()] or [summarise(records)]
    labels = list(dict.fromkeys(series.label for summary in summaries for series in summary.series))
    return tuple(
        Summary(tuple(replace(series, order=labels.index(series.label)) for series in summary.series))
        for summary in summaries
    )


def training_length(record: Record) -> int:
    return record["experiment"]["training"]["length"]


def entry(record: Record, length: int) -> Mapping[str, object] | None:
    """The record's row of a measured length, None if it was refused or not asked for."""
    found = (row for row in record["lengths"] if row["length"] == length and row["status"] == "measured")
    return next(found, None)


def number(value: object) -> float | None:
    """A finite number, or None: a record may hold null, NaN or infinity where a measurement broke down."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def reach_text(length: int, censored: bool) -> str:
    return f"≥{length}" if censored else str(length)


def _series(label: str, order: int, group: list[Record], tolerance: float) -> Series:
    runs = tuple(sorted((r for r in group if r["status"] == FINISHED), key=_seed))
    lost = tuple(sorted((r for r in group if r["status"] != FINISHED), key=_seed))
    training = training_length(group[0])
    main = of(group[0]).main
    judged = [run for run in runs if (row := entry(run, training)) and number(row.get(main)) is not None]
    unlearned = tuple(run for run in judged if learned(run, tolerance) is False)
    knowing = [run for run in judged if run not in unlearned]
    return Series(label, order, training, runs, lost, unlearned, _reach(knowing, len(unlearned), training, tolerance))


def _seed(record: Record) -> int:
    return record["experiment"]["seed"]


def _reach(runs: Sequence[Record], unlearned: int, training: int, tolerance: float) -> Held | None:
    """The lower median of these runs and of `unlearned` more, which count as shorter than any; None if it is theirs."""
    seeds = tuple(reach(run["lengths"], training, tolerance, judged_by_loss(run)) for run in runs)
    middle = (len(seeds) + unlearned - 1) // 2 - unlearned
    if middle < 0:
        return None
    length, censored = sorted(seeds)[middle]
    return Held(
        length, censored, seeds, any(_close(run, training, found, tolerance) for run, found in zip(runs, seeds))
    )


def _close(run: Record, training: int, found: Reach, tolerance: float) -> bool:
    """Whether a verdict at a length up to the first failing one lies within two standard errors of the limit."""
    if judged_by_loss(run):
        return False
    key, limit = ("exact", HOLDS) if has_answers(run) else ("paired_excess", tolerance)
    longer = sorted(row["length"] for row in run["lengths"] if row["length"] > training)
    failing = next((length for length in longer if length > found.length), found.length)
    for row in (entry(run, length) for length in longer if length <= failing):
        if row is None:
            continue
        value, se = number(row.get(key)), number(row.get(STANDARD_ERRORS[key]))
        if value is not None and se is not None and abs(value - limit) < 2 * se:
            return True
    return False

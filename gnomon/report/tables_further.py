"""Rows of the report's tables on what is asked besides: rates that were tried, trained weights under other options."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gnomon.lab.naming import task_label
from gnomon.lab.tuning import Choice, choices
from gnomon.report.settings import Record
from gnomon.report.summary import Series, Summary, number
from gnomon.report.tables import EMPTY, Cell, Row, Table
from gnomon.report.wording import nats


@dataclass(frozen=True)
class Tuned:
    """What was tried: the rates, and of each configuration its losses, the chosen one marked."""

    rates: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    seed: int
    steps: tuple[int, ...]


def tuned(records: Sequence[Record], trials: Sequence[Record]) -> Tuned | None:
    """The grid of learning rates and what each gave on held-in data; None where nothing was tried."""
    found = choices(records, trials)
    if not found:
        return None
    rates = sorted({rate for choice in found for rate in choice.losses})
    several = len({json.dumps(choice.task, sort_keys=True) for choice in found}) > 1
    rows = tuple((_name(choice, several), tuple(_tried(choice, rate) for rate in rates)) for choice in found)
    return Tuned(
        tuple(f"{rate:g}" for rate in rates), rows, found[0].seed, tuple(sorted({choice.steps for choice in found}))
    )


def _name(choice: Choice, several: bool) -> str:
    return f"{choice.label} on {task_label(choice.task)}" if several else choice.label


def _tried(choice: Choice, rate: float) -> Cell:
    if rate not in choice.losses:
        return EMPTY
    loss = choice.losses[rate]
    return Cell(nats(loss, 3) if math.isfinite(loss) else "no loss", "chosen" if rate == choice.chosen else "", loss)


def varied(summary: Summary) -> Table | None:
    """One row a series and set of options that its trained weights were measured under; None where there are none."""
    rows, lengths = [], summary.lengths
    for series in summary.ranked():
        options = dict.fromkeys(_key(each) for run in series.runs for each in run.get("variants") or ())
        for key in options:
            named = ", ".join(f"{name}={value}" for name, value in json.loads(key).items())
            rows.append(Row(series, (Cell(named, words=True), *(_median(series, key, length) for length in lengths))))
    columns = (("read under", "options"), *((f"at {length}", "") for length in lengths))
    return Table(columns, tuple(rows)) if rows else None


def _key(variant: Mapping[str, object]) -> str:
    return json.dumps(variant["options"])


def _median(series: Series, key: str, length: int) -> Cell:
    values = [
        value
        for run in series.runs
        for each in run.get("variants") or ()
        if _key(each) == key
        for row in each["lengths"]
        if row["length"] == length and (value := number(row.get(series.yardstick.main))) is not None
    ]
    if not values:
        return EMPTY
    spread = "" if len(values) == 1 else f"{nats(min(values), 3)} to {nats(max(values), 3)}"
    return Cell(nats(median(values), 3), spread, median(values))

"""Rows of the report's tables: results, every length, runs that did not finish, settings, environment."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gnomon.report.settings import flatten
from gnomon.report.summary import Gap, Record, Series, Stat, Summary, number
from gnomon.report.wording import DASH, nats, rise, span, thousands

FACTORS = (2, 4, 8)


@dataclass(frozen=True)
class Cell:
    """Text, a smaller line under it, and the number to sort by (None sorts last)."""

    text: str
    note: str = ""
    sort: float | None = None
    words: bool = False
    """Whether it is read as a sentence is, from the left and on several lines."""


EMPTY = Cell(DASH)


@dataclass(frozen=True)
class Row:
    series: Series
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


def results(summary: Summary) -> Table:
    """One row a series, farthest reach first. A multiple of the training length has a column where it was asked for."""
    factors = [
        factor for factor in FACTORS if any(factor * series.training in series.lengths() for series in summary.done)
    ]
    columns = [("in range", f"nats per {summary.unit}")]
    if summary.unit == "byte":
        columns.append(("in range", "bits per byte"))
    columns += [(f"at {factor}×", _lengths_at(summary, factor)) for factor in factors]
    columns += [
        ("reach", "length"),
        ("parameters", "the encoding’s own"),
        ("time", "ms per step"),
        ("peak memory", "MB"),
    ]
    rows = [Row(series, tuple(_result_cells(series, factors, summary.unit))) for series in summary.ranked()]
    return Table(tuple(columns), tuple(rows))


def every_length(summary: Summary) -> Table:
    """One row a series and length: every measure that the records hold."""
    columns = (
        ("length", ""),
        ("paired loss", "nats"),
        ("over training length", "nats"),
        ("non-overlapping", "nats"),
        ("", "bits per byte"),
        ("sliding window", "nats"),
        ("", "perplexity"),
        ("windows", "paired / non-overlapping"),
    )
    rows = []
    for series in summary.ranked():
        gaps = series.gaps()
        for length in series.lengths():
            head = Cell(str(length), "trained" if length == series.training else "", length)
            if length in gaps:
                rows.append(Row(series, (head, Cell(gap_state(gaps[length]), gaps[length].reason), *[EMPTY] * 6)))
                continue
            quantities = ("paired_loss", "paired_excess", "loss", "bits_per_byte", "sliding_loss", "sliding_perplexity")
            cells = [
                _stat_cell(series.stat(quantity, length), 3, quantity == "paired_excess") for quantity in quantities
            ]
            rows.append(Row(series, (head, *cells, _windows(series, length))))
    return Table(columns, tuple(rows))


def unfinished(summary: Summary) -> list[Mapping[str, object]]:
    """The runs that diverged or failed."""
    return [
        {
            "series": series,
            "seed": record["experiment"]["seed"],
            "status": record["status"],
            "reason": record.get("reason") or "no reason recorded",
            "hash": record["hash"],
        }
        for series in summary.series
        for record in series.lost
    ]


def settings(summary: Summary) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """(what all runs share, per label what differs); encoding and seeds are listed apart."""
    flats = [flatten(series.records[0]["experiment"]) for series in summary.series]
    keys = [key for key in _keys(flats) if key not in ("format", "encoding", "seed")]
    same = [
        key for key in keys if all(key in flat for flat in flats) and len(_distinct(flat[key] for flat in flats)) == 1
    ]
    own = {
        series.label: {key: _text(flat[key]) for key in keys if key in flat and key not in same}
        for series, flat in zip(summary.series, flats)
    }
    return {key: _text(flats[0][key]) for key in same}, own


def environments(records: Sequence[Record]) -> list[Record]:
    """The runs, but of one that was resumed on other versions or another machine each part, under `environment` its."""
    return [part for record in records for part in record.get("environments") or [record]]


def merged(records: Sequence[Record], part: str) -> dict[str, str]:
    """The part 'environment' or 'data' of all records; several values of one key are all listed."""
    flats = [flatten(record.get(part) or {}) for record in records]
    return {key: "; ".join(_distinct(flat[key] for flat in flats if key in flat)) for key in _keys(flats)}


def unigram(summary: Summary) -> list[str]:
    """The losses of byte frequencies that occur; none where no record says."""
    return list(dict.fromkeys(nats(series.unigram_loss) for series in summary.done if series.unigram_loss is not None))


def samples(summary: Summary) -> list[tuple[str, str]]:
    """Length -> windows and tokens scored, over all finished runs."""
    found = []
    for length in summary.lengths:
        rows = [
            row
            for series in summary.done
            for run in series.runs
            for row in run["lengths"]
            if row["length"] == length and row["status"] == "measured"
        ]
        counts = [
            [int(row[key]) for row in rows if number(row.get(key)) is not None]
            for key in ("windows", "paired_windows", "examples")
        ]
        if counts[2]:
            found.append((str(length), f"{span(counts[2])} examples"))
        elif all(counts[:2]):
            found.append((str(length), f"{span(counts[0])} windows, {span(counts[1])} paired"))
    return found


def seeds(summary: Summary) -> dict[str, str]:
    """Label -> the seeds of its runs; one that did not finish is said so."""
    return {
        series.label: ", ".join(
            [
                *(str(run["experiment"]["seed"]) for run in series.runs),
                *(f"{run['experiment']['seed']} ({run['status']})" for run in series.lost),
            ]
        )
        for series in summary.series
    }


def by_position(rows: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """The rows of the figure by position, as labels and one row a bin."""
    labels = list(dict.fromkeys(row["label"] for row in rows))
    bins: dict[str, dict[str, float]] = {}
    for row in sorted(rows, key=lambda row: row["seen"]):
        bins.setdefault(row["where"], {})[row["label"]] = row["value"]
    return {
        "labels": labels,
        "rows": [
            (where, [nats(found[label], 3) if label in found else DASH for label in labels])
            for where, found in bins.items()
        ],
    }


def _result_cells(series: Series, factors: Iterable[int], unit: str) -> Iterable[Cell]:
    here = series.in_range()
    yield _stat_cell(here, 3)
    if unit == "byte":
        yield _stat_cell(here and here.scaled(1 / math.log(2)), 3)
    for factor in factors:
        yield _at(series, factor * series.training)
    yield reach_cell(series)
    yield from cost_cells(series)


def cost_cells(series: Series) -> Iterable[Cell]:
    """Parameters, time of a step, peak memory."""
    parameters = series.records[0].get("parameters") or {}
    total, own = parameters.get("total"), parameters.get("encoding")
    yield Cell(thousands(total), thousands(own), total)
    yield _cost(series, "ms_per_step", 1.0, 1)
    yield _cost(series, "peak_memory_bytes", 1e-6, 0)


def reach_cell(series: Series) -> Cell:
    idle = f"{len(series.unlearned)} of {len(series.runs)} seeds did not learn"
    some = len(series.unlearned) < len(series.runs)
    if series.did_not_learn:
        return Cell("did not learn", idle if some else "")
    if not series.reach:
        return EMPTY
    notes = [
        series.reach.spread and f"seeds {series.reach.spread}",
        series.reach.close and "close call",
        series.unlearned and idle,
    ]
    return Cell(series.reach.text, " · ".join(filter(None, notes)), series.reach.length + 0.5 * series.reach.censored)


def _at(series: Series, length: int) -> Cell:
    """The loss at a length, and under it the rise over the training length, of one seed or the range over several."""
    if length in series.gaps():
        return Cell(gap_state(series.gaps()[length]))
    loss, excess = series.stat("paired_loss", length), series.stat("paired_excess", length)
    if loss is None:
        return EMPTY
    note = ""
    if excess is not None and excess.seeds > 1:
        note = f"{rise(excess.low, 3)} to {rise(excess.high, 3)}"
    elif excess is not None:
        note = rise(excess.median, 3) + ("" if excess.se is None else f" ± {nats(excess.se, 3)}")
    return Cell(nats(loss.median, 3), note, loss.median)


def _stat_cell(stat: Stat | None, digits: int, signed: bool = False) -> Cell:
    """One seed: ± its standard error. Several: the range over the seeds."""
    if stat is None:
        return EMPTY
    text = (rise if signed else nats)(stat.median, digits)
    if stat.seeds > 1:
        show = rise if signed else nats
        return Cell(text, f"{show(stat.low, digits)} to {show(stat.high, digits)}", stat.median)
    return Cell(text, "" if stat.se is None else f"± {nats(stat.se, digits)}", stat.median)


def _cost(series: Series, key: str, scale: float, digits: int) -> Cell:
    found = (number((run.get("cost") or {}).get(key)) for run in series.records)
    values = [value * scale for value in found if value is not None]
    return Cell(nats(median(values), digits), "", median(values)) if values else EMPTY


def gap_state(gap: Gap) -> str:
    return "not finite" if gap.state == "diverged" else gap.state


def _windows(series: Series, length: int) -> Cell:
    paired, plain = series.stat("paired_windows", length), series.stat("windows", length)
    if paired is None or plain is None:
        return EMPTY
    return Cell(f"{thousands(int(paired.median))} / {thousands(int(plain.median))}", "", plain.median)


def _lengths_at(summary: Summary, factor: int) -> str:
    return str(factor * summary.trained[0]) if len(summary.trained) == 1 else "training length"


def _keys(flats: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(key for flat in flats for key in flat))


def _distinct(values: Iterable[object]) -> list[str]:
    return list(dict.fromkeys(_text(value) for value in values))


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return "not set" if value is None else str(value)

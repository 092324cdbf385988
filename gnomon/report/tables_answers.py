"""Rows of the report's tables for tasks with answers: results, every length, every group."""

from collections.abc import Iterable

from gnomon.report.summary import Series, Stat, Summary
from gnomon.report.tables import EMPTY, Cell, Row, Table, cost_cells, gap_state, reach_cell
from gnomon.report.wording import MINUS, nats, thousands

BEYOND = 4
"""Columns of lengths past training, at most."""


def results(summary: Summary) -> Table:
    """One row a series: what it is judged by at the training length and past it, reach and cost; the best first.

    What has not learned its task comes last: how it does past training says nothing.
    """
    lengths, main = beyond(summary), "answers right" if summary.yardstick.rises else "nats per token"
    columns = [("in range", main), ("in range", "tokens right")]
    columns += [(f"at {length}", main) for length in lengths]
    columns += [
        ("reach", "length"),
        ("parameters", "the encoding’s own"),
        ("time", "ms per step"),
        ("peak memory", "MB"),
    ]
    rows = []
    for series in summary.ranked():
        cells = [share_cell(series.in_range()), share_cell(series.stat("token_accuracy", series.training))]
        cells += [_at(series, length) for length in lengths]
        rows.append(Row(series, (*cells, reach_cell(series), *cost_cells(series))))
    return Table(tuple(columns), tuple(rows))


def beyond(summary: Summary) -> list[int]:
    """Lengths past the training lengths that stand in the table of results, spread evenly, the longest among them."""
    past = [length for length in summary.lengths if length > min(summary.trained)]
    count = min(BEYOND, len(past))
    return [past[(at + 1) * len(past) // count - 1] for at in range(count)]


def every_length(summary: Summary) -> Table:
    """One row a series and length: every measure that the records hold, beside what guessing gives."""
    columns = (
        ("length", ""),
        ("answers right", "share"),
        ("by guessing", "share"),
        ("tokens right", "share"),
        ("by guessing", "share"),
        ("loss", "nats per token"),
        ("examples", ""),
    )
    rows = []
    for series in summary.ranked():
        gaps = series.gaps()
        for length in series.lengths():
            head = Cell(str(length), "trained" if length == series.training else "", length)
            if length in gaps:
                rows.append(Row(series, (head, Cell(gap_state(gaps[length]), gaps[length].reason), *[EMPTY] * 5)))
                continue
            exact, chance_exact, tokens, chance_token, loss, examples = (
                series.stat(key, length)
                for key in ("exact", "chance_exact", "token_accuracy", "chance_token", "loss", "examples")
            )
            cells = [share_cell(exact), _chance(chance_exact), share_cell(tokens), _chance(chance_token)]
            cells += [EMPTY if loss is None else Cell(nats(loss.median, 3), "", loss.median)]
            cells += [EMPTY if examples is None else Cell(thousands(int(examples.median)), "", examples.median)]
            rows.append(Row(series, (head, *cells)))
    return Table(columns, tuple(rows))


def by_group(summary: Summary) -> Table | None:
    """One row a series, length and group of examples, the median over seeds; None where the task has no groups."""
    columns = (("length", ""), ("group", ""), ("answers right", "share"), ("tokens right", "share"), ("examples", ""))
    rows = []
    for series in summary.ranked():
        for length in series.lengths():
            for name, trained, found in _groups(series, length):
                cells = [Cell(str(length), "", length), Cell(name, "" if trained else "not trained on")]
                cells += [share_cell(_stat(found, key)) for key in ("exact", "token_accuracy")]
                rows.append(Row(series, (*cells, Cell(thousands(found[0]["examples"]), "", found[0]["examples"]))))
    return Table(columns, tuple(rows)) if rows else None


def share_cell(stat: Stat | None, digits: int = 3) -> Cell:
    """One seed: ± its standard error. Several: the range over the seeds."""
    if stat is None:
        return EMPTY
    if stat.seeds > 1:
        return Cell(nats(stat.median, digits), f"{nats(stat.low, digits)} to {nats(stat.high, digits)}", stat.median)
    note = "" if stat.se is None else f"± {nats(stat.se, digits)}"
    return Cell(nats(stat.median, digits), note, stat.median)


def small(share: float) -> str:
    """A share that may be very small: three digits, or a power of ten."""
    if share == 0 or share >= 0.0005:
        return nats(share, 3)
    return f"{share:.0e}".replace("e-0", "e-").replace("-", MINUS)


def _chance(stat: Stat | None) -> Cell:
    return EMPTY if stat is None else Cell(small(stat.median), "", stat.median)


def _at(series: Series, length: int) -> Cell:
    gaps = series.gaps()
    return Cell(gap_state(gaps[length])) if length in gaps else share_cell(series.stat(series.yardstick.main, length))


def _groups(series: Series, length: int) -> Iterable[tuple[str, bool, list[dict]]]:
    found: dict[str, list[dict]] = {}
    for run in series.runs:
        for row in run["lengths"]:
            for group in (row.get("groups") or ()) if row["length"] == length else ():
                found.setdefault(group["name"], []).append(group)
    return [(name, rows[0]["trained"], rows) for name, rows in found.items()]


def _stat(rows: list[dict], key: str) -> Stat:
    values = sorted(row[key] for row in rows)
    middle = len(values) // 2
    median = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    return Stat(median, values[0], values[-1], rows[0][f"{key}_se"], len(values))

"""Summary and stored tables -> the tidy rows that the figures draw; small, since every row travels in the page."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import pyarrow as pa

from gnomon.report.summary import STANDARD_ERRORS, Series, Summary, entry, number

CURVE_POINTS = 120

Row = dict[str, object]
Stored = Sequence[Mapping[str, float]] | pa.Table
"""A stored table: a list of rows, or pyarrow."""


def quantities(summary: Summary) -> dict[str, str]:
    """The measures that some run holds, key -> words."""
    return {
        key: words
        for key, words in summary.yardstick.quantities.items()
        if any(series.stat(key, length) for series in summary.done for length in series.measured())
    }


def length_medians(summary: Summary) -> list[Row]:
    """One row a series, quantity and measured length."""
    return [
        _row(
            series,
            quantity=key,
            length=length,
            value=stat.median,
            low=stat.low,
            high=stat.high,
            seeds=stat.seeds,
            error=stat.se,
        )
        for key in quantities(summary)
        for series in summary.done
        for length in series.lengths()
        if (stat := series.stat(key, length))
    ]


def length_seeds(summary: Summary) -> list[Row]:
    """One row a run, quantity and measured length, of the series with several seeds."""
    return [
        _row(
            series,
            quantity=key,
            length=length,
            value=row[key],
            seed=run["experiment"]["seed"],
            error=number(row.get(STANDARD_ERRORS.get(key, ""))),
        )
        for key in quantities(summary)
        for series in summary.done
        if len(series.runs) > 1
        for run in series.runs
        for length in series.lengths()
        if (row := entry(run, length)) and number(row.get(key)) is not None
    ]


def gaps(summary: Summary) -> list[Row]:
    """One row a series and length without a loss; `last` at the longest, where the name is written."""
    return [
        _row(series, length=length, state=gap.state, reason=gap.reason, last=length == max(series.gaps()))
        for series in summary.done
        for length, gap in series.gaps().items()
    ]


def chances(summary: Summary) -> list[Row]:
    """One row a share and measured length: what guessing gives."""
    found: dict[tuple[str, int], Row] = {}
    for series in summary.done:
        for key, chance in (("exact", "chance_exact"), ("token_accuracy", "chance_token")):
            for length in series.lengths():
                if (stat := series.stat(chance, length)) is not None:
                    found[key, length] = {"quantity": key, "length": length, "value": float(f"{stat.median:.5g}")}
    return [found[at] for at in sorted(found)]


def position_rows(summary: Summary, tables: Mapping[str, Stored]) -> list[Row]:
    """Loss by position in the longest window of each series, as the lab binned it; the median over seeds.

    `seen` is position + 1: the tokens of the window that the prediction has seen, the last one included.
    """
    found = []
    for series in summary.done:
        stored = [row for run in series.runs for row in _rows(tables.get(run["hash"], ()))]
        stored = [row for row in stored if number(row["loss"]) is not None]
        longest = max((row["length"] for row in stored), default=None)
        bins: dict[float, list[Mapping[str, float]]] = {}
        for row in stored:
            if row["length"] == longest:
                bins.setdefault(row["position"], []).append(row)
        for position, rows in sorted(bins.items()):
            values = [row["loss"] for row in rows]
            first, last = (1 + int(rows[0].get(key, position)) for key in ("first", "last"))
            found.append(
                _row(
                    series,
                    window=rows[0]["length"],
                    seen=position + 1.0,
                    value=median(values),
                    low=min(values),
                    high=max(values),
                    seeds=len(values),
                    windows=rows[0]["windows"],
                    error=number(rows[0].get("se")) if len(rows) == 1 else None,
                    where=str(first) if first == last else f"{first} to {last}",
                )
            )
    return found


def curve_rows(summary: Summary, tables: Mapping[str, Stored]) -> list[Row]:
    """Training loss by step of every run that left a curve, thinned to means of equal stretches."""
    found = []
    for series in summary.series:
        for run in series.records:
            if run["hash"] not in tables:
                continue
            pairs = [
                (row["step"], row["loss"]) for row in _rows(tables[run["hash"]]) if number(row["loss"]) is not None
            ]
            stride = max(1, len(pairs) // CURVE_POINTS)
            for start in range(0, len(pairs), stride):
                part = pairs[start : start + stride]
                found.append(
                    _row(
                        series,
                        run=run["hash"],
                        seed=run["experiment"]["seed"],
                        step=part[-1][0],
                        value=sum(loss for _, loss in part) / len(part),
                    )
                )
    return found


def ends(rows: Iterable[Row], x: str) -> list[Row]:
    """Where each line stops, with the lowest and highest value of it and of its band: the anchor of its name."""
    lines: dict[tuple, list[Row]] = {}
    for row in rows:
        lines.setdefault((row["label"], row.get("quantity")), []).append(row)
    found = []
    for (label, quantity), line in lines.items():
        last = max(line, key=lambda row: row[x])
        found.append(
            {
                "label": label,
                "quantity": quantity,
                x: last[x],
                "value": last["value"],
                "low": min(row.get("low", row["value"]) for row in line),
                "high": max(row.get("high", row["value"]) for row in line),
            }
        )
    return found


def _row(series: Series, **fields: object) -> Row:
    """Numbers at the five digits that a figure can show."""
    return {"label": series.label} | {
        key: float(f"{value:.5g}") if isinstance(value, float) else value
        for key, value in fields.items()
        if value is not None
    }


def _rows(table: Stored) -> list[Mapping[str, float]]:
    return table.to_pylist() if isinstance(table, pa.Table) else list(table)

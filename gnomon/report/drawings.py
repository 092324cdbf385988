"""The figures of sections: series over one axis with their standard errors, or a matrix as colours."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from types import MappingProxyType

import altair as alt

from gnomon.report.palette import LIGHT, Look, Palette
from gnomon.report.spec import Sheets, Spec, finish
from gnomon.section import Figure, Heat, Line, Lines, Section

POINTS = 600
"""Points of a line at most; of more, the least and the largest of each stretch are kept."""
CELLS = 96
"""Rows and columns of a matrix that are drawn at most: every third one, or fifth, where there are more."""
LINES_HEIGHT, MATRIX_HEIGHT = 280, 300
BARS = 40
"""Points of a line at most at which its standard errors are bars; those of longer lines are a band."""


def drawing(
    figure: Figure,
    palette: Palette,
    width: int | str = "container",
    cells: int = CELLS,
    kept: Mapping[str, int] = MappingProxyType({}),
) -> Spec:
    """The figure as a Vega-Lite specification; of a matrix, at most `cells` rows and columns.

    kept: the looks of series that keep theirs from figure to figure, by label (`looks_kept`).
    """
    return _lines(figure, palette, width, kept) if isinstance(figure, Lines) else _heat(figure, palette, width, cells)


def drawn(sections: Iterable[Section], palette: Palette, prefix: str = "", cells: int = CELLS) -> dict[str, Spec]:
    """The figures of sections by name: `prefix`, the key of the section, and which of its figures it is."""
    sections = [*sections]
    kept = looks_kept(figure for section in sections for figure in section.figures)
    return {
        f"{prefix}{section.key}-{at}": drawing(figure, palette, cells=cells, kept=kept)
        for section in sections
        for at, figure in enumerate(section.figures)
    }


def looks_kept(figures: Iterable[Figure]) -> dict[str, int]:
    """A look for every series that several figures have, by its label, in the order in which they come."""
    counted = Counter(line.label for figure in figures if isinstance(figure, Lines) for line in figure.lines)
    return {label: at for at, label in enumerate(label for label, times in counted.items() if times > 1)}


def _looks(labels: Sequence[str], kept: Mapping[str, int]) -> list[Look]:
    """A look of each series of a figure: its own where it has one, else the next that no other has here."""
    taken: dict[int, str] = {}
    for label in labels:
        if label in kept:
            taken.setdefault(Look(kept[label]).hue, label)
    own = {label: hue for hue, label in taken.items()}
    others = (at for at in count() if at >= len(LIGHT.series) or at not in taken)
    return [Look(own[label] if label in own else next(others)) for label in labels]


def errors_told(figure: Figure) -> str:
    """How the standard errors of a figure are drawn, in a sentence; nothing where it has none."""
    if not (isinstance(figure, Lines) and any(line.se for line in figure.lines)):
        return ""
    return f"{'Bars reach' if _bars(figure) else 'Bands reach'} one standard error to either side."


def _bars(figure: Lines) -> bool:
    return max(len(line.x) for line in figure.lines if line.se) <= BARS


def _lines(figure: Lines, palette: Palette, width: int | str, kept: Mapping[str, int]) -> Spec:
    sheets, rows = Sheets(), _rows(figure)
    labels = [line.label for line in figure.lines]
    looks = _looks(labels, kept)
    colours = alt.Scale(domain=labels, range=[palette.colour(look.hue) for look in looks])
    symbol = "circle" if figure.points else "stroke"
    shown = alt.Legend(title=None, orient="top", columns=6, labelLimit=220, symbolType=symbol, symbolOpacity=1)
    legend = shown if len(labels) > 1 else None
    told = any(line.se for line in figure.lines)
    bars = told and _bars(figure)
    tips = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:Q", title=figure.x, format=".6~g"),
        alt.Tooltip("y:Q", title=figure.y, format=".4~g"),
    ] + [alt.Tooltip("se:Q", title="standard error", format=".2~g")] * told
    ends = [row[end] for row in rows for end in ("y", "low", "high") if row.get(end) is not None]

    def y(field: str) -> alt.Y:
        axis = _axis([], grid=True) if not figure.y_log else _axis_log(ends, grid=True)
        return alt.Y(field, title=figure.y, scale=_scale(figure.y_log), axis=axis)

    across = [row["x"] for row in rows]
    chart = alt.Chart(sheets.add("lines", rows)).encode(
        x=alt.X(
            "x:Q",
            title=figure.x,
            scale=_scale(figure.x_log, padding=8 * bars),
            axis=_axis_log(across, grid=False) if figure.x_log else _axis(across, grid=False),
        ),
        color=alt.Color("series:N", scale=colours, legend=legend),
    )
    layers = []
    if told:
        mark = chart.mark_rule(strokeWidth=1.2) if bars else chart.mark_area(opacity=0.15)
        layers.append(mark.encode(y=y("low:Q"), y2="high:Q"))
    if not figure.points:
        dashes = alt.Scale(domain=labels, range=[look.dash for look in looks])
        dash = alt.StrokeDash("series:N", scale=dashes, legend=legend)
        layers.append(chart.mark_line(strokeWidth=1.5).encode(y=y("y:Q"), strokeDash=dash, tooltip=tips))
    if figure.points or bars:
        size = 22 if bars else 14 if len(rows) > POINTS else 30
        layers.append(chart.mark_point(size=size, filled=True).encode(y=y("y:Q"), tooltip=tips))
    return finish(alt.layer(*layers).properties(title=figure.title), sheets, palette, width, LINES_HEIGHT)


def _rows(figure: Lines) -> list[dict[str, object]]:
    """A row a point; where its standard error is known, the ends of the bar around it."""
    rows = [
        {"series": line.label, "x": x, "y": y} | ({} if y is None or se is None else {"se": se})
        for line in figure.lines
        for x, y, se in thinned(line)
        if (x > 0 or not figure.x_log) and (y is None or y > 0 or not figure.y_log)
    ]
    for row in rows:
        if "se" in row:
            row |= {"low": row["y"] - row["se"], "high": row["y"] + row["se"]}
    if figure.y_log:
        # A bar that reaches zero would have no end: it goes as far down as anything is drawn.
        least = min(
            (end for row in rows for end in (row["y"], row.get("low")) if end is not None and end > 0), default=1
        )
        for row in rows:
            if "low" in row:
                row["low"] = max(row["low"], least)
    return rows


def _heat(figure: Heat, palette: Palette, width: int | str, cells: int) -> Spec:
    sheets = Sheets()
    # An odd step keeps both of what takes turns, as sines and cosines do.
    down, across = (-(-size // cells) // 2 * 2 + 1 for size in (len(figure.values), len(figure.values[0])))
    x_at = (figure.x_at or range(len(figure.values[0])))[::across]
    y_at = (figure.y_at or range(len(figure.values)))[::down]
    rows = [
        {"x": float(x), "y": float(y), "value": float(f"{value:.4g}")}
        for y, row in zip(y_at, figure.values[::down], strict=True)
        for x, value in zip(x_at, row[::across], strict=True)
        if value is not None and math.isfinite(value)
    ]
    largest = max((abs(row["value"]) for row in rows), default=1.0) or 1.0
    scale = (
        alt.Scale(scheme="redblue", domain=[-largest, largest], reverse=True)
        if figure.diverging
        else alt.Scale(scheme="viridis")
    )

    def axis(title: str, at: Sequence[float]) -> dict[str, object]:
        every = [float(value) for value in at]
        shown = every[:: max(1, len(every) // 8)]
        return dict(title=title, axis=alt.Axis(values=shown, labelAngle=0, format="~s", ticks=True))

    chart = alt.Chart(sheets.add("cells", rows)).mark_rect()
    encoded = chart.encode(
        x=alt.X("x:O", sort=None, **axis(figure.x, x_at)),
        y=alt.Y("y:O", sort=None, **axis(figure.y, y_at)),
        color=alt.Color("value:Q", scale=scale, legend=alt.Legend(title=None, format="~g")),
        tooltip=[
            alt.Tooltip("x:Q", title=figure.x),
            alt.Tooltip("y:Q", title=figure.y),
            alt.Tooltip("value:Q", format=".4~g"),
        ],
    )
    return finish(alt.layer(encoded).properties(title=figure.title), sheets, palette, width, MATRIX_HEIGHT)


def thinned(line: Line) -> list[tuple[float, float | None, float | None]]:
    """The points of a line with their standard errors, about POINTS at most.

    Of each stretch the least value and the largest, so no peak goes.
    """
    points = list(zip(line.x, line.y, line.se or [None] * len(line.x), strict=True))
    if len(points) <= POINTS:
        return [_clean(*point) for point in points]
    size, kept = -(-2 * len(points) // POINTS), []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        told = [point for point in stretch if point[1] is not None and math.isfinite(point[1])]
        ends = {min(told, key=lambda p: p[1]), max(told, key=lambda p: p[1])} if told else {stretch[0]}
        kept += sorted(ends, key=lambda point: point[0])
    return [_clean(*point) for point in kept]


def _clean(x: float, *values: float | None) -> tuple[float, *tuple[float | None, ...]]:
    """Six digits; None for what is not finite, since JSON has no word for it."""
    return float(x), *(None if v is None or not math.isfinite(v) else float(f"{v:.6g}") for v in values)


def _scale(log: bool, padding: int = 0) -> alt.Scale:
    room = {"padding": padding} if padding else {}
    return alt.Scale(type="log", nice=False, **room) if log else alt.Scale(nice=False, zero=False, **room)


def _axis(values: Sequence[float], *, grid: bool) -> alt.Axis:
    """An axis; where `values` are all whole, between which nothing can be, so are its ticks."""
    whole = bool(values) and all(value == int(value) for value in values)
    return alt.Axis(grid=grid, tickCount=6, labelOverlap="greedy", **({"tickMinStep": 1} if whole else {}))


def _axis_log(values: Sequence[float], *, grid: bool) -> alt.Axis:
    """A logarithmic axis in powers of ten; in plain numbers where it has less than two of them."""
    near = bool(values) and max(values) < 100 * min(values)
    return alt.Axis(grid=grid, tickCount=6, labelOverlap="greedy", format=".3~g" if near else ".0e")

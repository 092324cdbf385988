"""The figures of an analysis: series over one axis, or a matrix as colours."""

import math
from collections.abc import Sequence

import altair as alt

from gnomon.analysis.section import Figure, Heat, Line, Lines
from gnomon.report.palette import Look, Palette
from gnomon.report.spec import Sheets, Spec, finish

POINTS = 600
"""Points of a line at most; of more, the least and the largest of each stretch are kept."""
CELLS = 96
"""Rows and columns of a matrix that are drawn at most: every second one, or third, where there are more."""
MATRIX_HEIGHT = 300


def drawing(figure: Figure, palette: Palette, width: int | str = "container", height: int = 280) -> Spec:
    """The figure as a Vega-Lite specification."""
    return _lines(figure, palette, width, height) if isinstance(figure, Lines) else _heat(figure, palette, width)


def _lines(figure: Lines, palette: Palette, width: int | str, height: int) -> Spec:
    sheets, rows = Sheets(), []
    for line in figure.lines:
        rows += [
            {"series": line.label, "x": x, "y": y}
            for x, y in thinned(line)
            if (x > 0 or not figure.x_log) and (y is None or y > 0 or not figure.y_log)
        ]
    labels = [line.label for line in figure.lines]
    looks = [Look(at) for at in range(len(labels))]
    colours = alt.Scale(domain=labels, range=[palette.colour(look.hue) for look in looks])
    legend = alt.Legend(title=None, orient="top", columns=6, labelLimit=220) if len(labels) > 1 else None
    chart = alt.Chart(sheets.add("lines", rows))
    mark = chart.mark_point(size=14, filled=True) if figure.points else chart.mark_line(strokeWidth=1.5)
    encoded = mark.encode(
        x=alt.X("x:Q", title=figure.x, scale=_scale(figure.x_log), axis=_axis(figure.x_log, grid=False)),
        y=alt.Y("y:Q", title=figure.y, scale=_scale(figure.y_log), axis=_axis(figure.y_log, grid=True)),
        color=alt.Color("series:N", scale=colours, legend=legend),
        tooltip=[
            alt.Tooltip("series:N", title="series"),
            alt.Tooltip("x:Q", title=figure.x, format=".6~g"),
            alt.Tooltip("y:Q", title=figure.y, format=".4~g"),
        ],
        **(
            {}
            if figure.points
            else {
                "strokeDash": alt.StrokeDash(
                    "series:N", scale=alt.Scale(domain=labels, range=[look.dash for look in looks]), legend=legend
                )
            }
        ),
    )
    return finish(alt.layer(encoded).properties(title=figure.title), sheets, palette, width, height)


def _heat(figure: Heat, palette: Palette, width: int | str) -> Spec:
    sheets = Sheets()
    down, across = (-(-size // CELLS) for size in (len(figure.values), len(figure.values[0])))
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


def thinned(line: Line) -> list[tuple[float, float | None]]:
    """The points of a line, about POINTS at most: of each stretch the least value and the largest, so no peak goes."""
    points = list(zip(line.x, line.y, strict=True))
    if len(points) <= POINTS:
        return [_clean(x, y) for x, y in points]
    size, kept = -(-2 * len(points) // POINTS), []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        told = [point for point in stretch if point[1] is not None and math.isfinite(point[1])]
        ends = {min(told, key=lambda p: p[1]), max(told, key=lambda p: p[1])} if told else {stretch[0]}
        kept += sorted(ends, key=lambda point: point[0])
    return [_clean(x, y) for x, y in kept]


def _clean(x: float, y: float | None) -> tuple[float, float | None]:
    """Six digits; None for what is not finite, since JSON has no word for it."""
    return float(x), None if y is None or not math.isfinite(y) else float(f"{y:.6g}")


def _scale(log: bool) -> alt.Scale:
    return alt.Scale(type="log", nice=False) if log else alt.Scale(nice=False, zero=False)


def _axis(log: bool, *, grid: bool) -> alt.Axis:
    written = {"format": ".0e"} if log else {}
    return alt.Axis(grid=grid, tickCount=6, labelOverlap="greedy", **written)

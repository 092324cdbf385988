"""What a bias, a rotation or an absolute encoding looks like: a value against distance, a line a head."""

from collections.abc import Mapping, Sequence

import altair as alt

from gnomon.report.palette import Look, Palette
from gnomon.report.spec import FONT, Sheets, Spec, finish
from gnomon.report.summary import number

POINTS = 385
STOPS = 65
APART = 0.09
"""Share of the height below which two names at the ends of lines would overlap."""

Portrait = Mapping[str, object]
"""{"distance": [n], "heads": [h][n], "kind": absolute, bias, content or rotation, "title": what the value is}."""


def portrait(
    drawn: Portrait, order: int, training: int, palette: Palette, width: int | str = "container", height: int = 170
) -> Spec:
    """One encoding, at most POINTS distances a head. The head's line is named at its end where there are few.

    order: the encoding's place among all, which gives its colour. training: the length to mark.
    """
    colour, heads = palette.colour(Look(order).hue), drawn["heads"]
    pairs = [_thin(drawn["distance"], head) for head in heads]
    rows = [
        {"head": index + 1, "distance": at, "value": value}
        for index, points in enumerate(pairs)
        for at, value in points
    ]
    sheets = Sheets()
    opacity = [round(1 - 0.72 * index / max(1, len(heads) - 1), 3) for index in range(len(heads))]
    axis = alt.X(
        "distance:Q",
        title="distance, query to key",
        axis=alt.Axis(grid=False, tickCount=5),
        scale=alt.Scale(nice=False),
    )
    lines = (
        alt.Chart(sheets.add("lines", rows))
        .mark_line(color=colour, strokeWidth=1.5)
        .encode(
            x=axis,
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            detail="head:N",
            opacity=alt.Opacity(
                "head:O", legend=None, scale=alt.Scale(domain=list(range(1, len(heads) + 1)), range=opacity)
            ),
        )
    )
    span = max(drawn["distance"]) - min(drawn["distance"])
    layers = [lines, _stops(sheets, drawn, palette), *_heads(sheets, pairs, palette)]
    if min(drawn["distance"]) <= training <= max(drawn["distance"]) and span:
        mark = alt.Chart(sheets.add("trained", [{"distance": training}])).mark_rule(color=palette.accent, strokeWidth=1)
        layers.insert(0, mark.encode(x="distance:Q"))
    title = alt.Title(text=str(drawn["title"]), offset=8)
    return finish(alt.layer(*layers).properties(title=title), sheets, palette, width, height)


def _stops(sheets: Sheets, drawn: Portrait, palette: Palette) -> alt.Chart:
    """Invisible rules that carry the tooltip: a line can only tell its first value."""
    distance, heads = drawn["distance"], drawn["heads"]
    stride = max(1, -(-len(distance) // STOPS))
    rows = [
        {"distance": distance[at]} | {f"h{index + 1}": _digits(head[at]) for index, head in enumerate(heads)}
        for at in range(0, len(distance), stride)
    ]
    tips = [alt.Tooltip("distance:Q")] + [
        alt.Tooltip(f"h{index + 1}:Q", title=f"head {index + 1}") for index in range(len(heads))
    ]
    return (
        alt.Chart(sheets.add("stops", rows))
        .mark_rule(opacity=0, strokeWidth=6, color=palette.ink)
        .encode(x="distance:Q", tooltip=tips)
    )


def _heads(sheets: Sheets, pairs: Sequence[Sequence[tuple[float, float]]], palette: Palette) -> list[alt.Chart]:
    """Names of the first and last head where their lines end; one name for both where they end too close together."""
    if len(pairs) == 1:
        return []
    rows = [
        {"distance": pairs[index][-1][0], "value": pairs[index][-1][1], "name": f"head {index + 1}"}
        for index in (0, len(pairs) - 1)
    ]
    values = [value for points in pairs for _, value in points if value is not None]
    first, last = (row["value"] for row in rows)
    if None not in (first, last) and abs(first - last) < APART * (max(values) - min(values)):
        rows = [rows[0] | {"value": (first + last) / 2, "name": f"1 and {len(pairs)}"}]
    names = alt.Chart(sheets.add("heads", rows)).mark_text(
        align="left", dx=5, fontSize=10.5, font=FONT, color=palette.muted
    )
    return [names.encode(x="distance:Q", y="value:Q", text="name:N")]


def _thin(distance: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    stride = max(1, -(-len(distance) // POINTS))
    return [(at, _digits(value)) for at, value in zip(distance[::stride], values[::stride])]


def _digits(value: float) -> float | None:
    """Four digits, None for what is not finite: JSON has no word for it, and the line breaks there."""
    return None if number(value) is None else float(f"{value:.4g}")

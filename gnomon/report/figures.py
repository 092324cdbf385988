"""The figures that compare series: loss or right answers against length, loss by position, training curves.

Vega-Lite through Altair. Every figure has the parameter `shown`, the labels to draw; the page's legend sets it. Series
keep colour, dash and marker from figure to figure, and each line is named in the right margin, so none of the three has
to be looked up.
"""

from collections.abc import Collection, Mapping, Sequence

import altair as alt

from gnomon.report import frames
from gnomon.report.frames import Row, Stored
from gnomon.report.palette import Look, Palette
from gnomon.report.spec import FONT, Sheets, Spec, finish
from gnomon.report.summary import Summary
from gnomon.report.yardstick import ANSWERS, TEXT

MARGIN = 8  # px between the plot and the names at its right
STRIP = 18  # px of height for each encoding without a loss at the longest length


def by_length(
    summary: Summary,
    palette: Palette,
    width: int | str = "container",
    height: int = 400,
    quantity: str | None = None,
) -> Spec | None:
    """Loss, or the share of right answers, against length, log-2; None when nothing was measured.

    The parameter that the yardstick names chooses among `frames.quantities`, at first `quantity` or the main one. A
    cross at the foot is a length without a number, a dashed grey line what guessing gives.
    """
    yardstick, words = summary.yardstick, frames.quantities(summary)
    if not words:
        return None
    medians, missing = frames.length_medians(summary), frames.gaps(summary)
    sheets = Sheets()
    titles = {key: yardstick.titles[key].format(unit=summary.unit) for key in words}
    ticks = summary.lengths
    x = alt.X(
        "length:Q",
        title=yardstick.across,
        scale=alt.Scale(type="log", base=2, domain=[ticks[0], ticks[-1]], nice=False, padding=10),
        axis=alt.Axis(values=ticks, format="d", labelOverlap="greedy", grid=False),
    )
    over = "windows" if yardstick is TEXT else "examples"
    tips = [
        _words("label", "encoding"),
        alt.Tooltip("length:Q"),
        alt.Tooltip("value:Q", title=yardstick.shown, format=".4f"),
        alt.Tooltip("error:Q", title=f"± over {over}", format=".4f"),
        alt.Tooltip("low:Q", title="lowest seed", format=".4f"),
        alt.Tooltip("high:Q", title="highest seed", format=".4f"),
        alt.Tooltip("seeds:Q"),
    ]
    chosen = f"datum.quantity === {yardstick.signal}"
    without = {row["label"] for row in missing if row["length"] == ticks[-1]}
    lines = _lines(
        sheets, summary, palette, medians, frames.length_seeds(summary), x, "length", tips, "seed:N", chosen, without
    )
    limits = [{"quantity": key, "value": value} for key, value in yardstick.limits.items()]
    limit = alt.Chart(sheets.add("tolerance", limits)).transform_filter(chosen).encode(y="value:Q")
    layers = [limit.mark_rule(color=palette.accent, strokeDash=[2, 3]), *_shares(sheets, summary, palette, x, chosen)]
    chart = alt.layer(*_training_marks(sheets, summary, palette, "length"), *layers, *lines)
    if missing:
        chart = alt.layer(chart, _gaps(sheets, missing, palette, x, summary)).resolve_scale(y="independent")
    title = alt.Title(text=alt.ExprRef(f"titles[{yardstick.signal}]"))
    first = alt.param(name=yardstick.signal, value=yardstick.main if quantity is None else quantity)
    chart = chart.add_params(first, alt.param(name="titles", value=titles))
    return finish(chart.add_params(_shown(summary)).properties(title=title), sheets, palette, width, height)


def loss_by_position(
    summary: Summary, tables: Mapping[str, Stored], palette: Palette, width: int | str = "container", height: int = 340
) -> Spec | None:
    """Loss by position in the longest window, log-2; None without position tables."""
    rows = frames.position_rows(summary, tables)
    if not rows:
        return None
    x = alt.X(
        "seen:Q",
        title="tokens seen in the window",
        axis=alt.Axis(format="d", grid=False, values=_octaves(rows)),
        scale=alt.Scale(type="log", base=2, domain=[1, max(row["window"] for row in rows)], nice=False, padding=10),
    )
    tips = [
        _words("label", "encoding"),
        _words("where", "tokens seen"),
        alt.Tooltip("value:Q", title="nats", format=".3f"),
        alt.Tooltip("error:Q", title="± over windows", format=".3f"),
        alt.Tooltip("low:Q", title="lowest seed", format=".3f"),
        alt.Tooltip("high:Q", title="highest seed", format=".3f"),
        alt.Tooltip("window:Q", title="window"),
        alt.Tooltip("windows:Q", title="windows scored"),
    ]
    sheets = Sheets()
    lines = _lines(sheets, summary, palette, rows, [], x, "seen", tips, None, None, markers=False)
    chart = alt.layer(*_training_marks(sheets, summary, palette, "seen"), *lines)
    chart = chart.add_params(_shown(summary)).properties(title=f"Loss (nats per {summary.unit})")
    return finish(chart, sheets, palette, width, height)


def training_curves(
    summary: Summary, tables: Mapping[str, Stored], palette: Palette, width: int | str = "container", height: int = 260
) -> Spec | None:
    """Training loss by step, a line a run; None without curves."""
    rows = frames.curve_rows(summary, tables)
    if not rows:
        return None
    colour, dash, _ = _scales(summary, palette)
    sheets = Sheets()
    base = alt.Chart(sheets.add("curves", rows)).transform_filter(_SHOWN)
    lines = base.mark_line(strokeWidth=1.3).encode(
        x=alt.X(
            "step:Q",
            title="training step",
            axis=alt.Axis(grid=False, tickCount=7),
            scale=alt.Scale(domain=[0, max(row["step"] for row in rows)], nice=False, padding=10),
        ),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        color=colour,
        strokeDash=dash,
        detail="run:N",
    )
    tips = [
        _words("label", "encoding"),
        alt.Tooltip("seed:N"),
        alt.Tooltip("step:Q"),
        alt.Tooltip("value:Q", title="nats", format=".3f"),
    ]
    points = base.mark_point(size=70, opacity=0).encode(x="step:Q", y="value:Q", color=colour, tooltip=tips)
    chart = alt.layer(lines, points, *_names(sheets, frames.ends(rows, "step"), palette, "step", None, colour))
    chart = chart.add_params(_shown(summary)).properties(title=f"Training loss (nats per {summary.unit})")
    return finish(chart, sheets, palette, width, height)


_SHOWN = "indexof(shown, datum.label) >= 0"
_LIMIT = alt.ExprRef("max(72, min(200, 0.3 * width))")


def _lines(
    sheets: Sheets,
    summary: Summary,
    palette: Palette,
    rows: Sequence[Row],
    seeds: Sequence[Row],
    x: alt.X,
    at: str,
    tips: Sequence[alt.Tooltip],
    detail: str | None,
    chosen: str | None,
    unnamed: Collection[str] = (),
    markers: bool = True,
) -> list[alt.Chart]:
    """The median line with markers and its name; with several seeds, a thin line for each and the spread as a band."""
    colour, dash, shape = _scales(summary, palette)
    hover = alt.selection_point(
        fields=["label"], on="pointerover", clear="pointerout", nearest=True, empty=False, name="hover"
    )
    # Lengths without a loss have a strip at the foot of the plot: among the lines they would read as a loss.
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=STRIP * len(unnamed) + 4))

    def base(data: alt.NamedData) -> alt.Chart:
        chart = alt.Chart(data).transform_filter(_SHOWN)
        return chart.transform_filter(chosen) if chosen else chart

    layers, medians = [], base(sheets.add("medians", rows))
    if any(row.get("seeds", 1) > 1 for row in rows):
        layers.append(
            medians.mark_area(opacity=0.13).encode(x=x, y=alt.Y("low:Q", title=None), y2="high:Q", color=colour)
        )
    if seeds:
        layers.append(
            base(sheets.add("seeds", seeds))
            .mark_line(strokeWidth=0.8, opacity=0.55)
            .encode(x=x, y=y, color=colour, strokeDash=dash, detail=detail)
        )
    layers.append(
        medians.mark_line().encode(
            x=x, y=y, color=colour, strokeDash=dash, strokeWidth=alt.condition(hover, alt.value(3.4), alt.value(1.9))
        )
    )
    layers.append(
        medians.mark_point(filled=True)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            tooltip=[tip for tip in tips if _has(rows, tip)],
            opacity=alt.value(1) if markers else alt.condition(hover, alt.value(1), alt.value(0)),
            size=alt.condition(hover, alt.value(110 if markers else 24), alt.value(52)),
        )
        .add_params(hover)
    )
    return layers + _names(
        sheets, [row for row in frames.ends(rows, at) if row["label"] not in unnamed], palette, at, chosen, colour
    )


def _names(
    sheets: Sheets, anchors: Sequence[Row], palette: Palette, at: str, chosen: str | None, colour: alt.Color
) -> list[alt.Chart]:
    """Names in the right margin, joined to the ends of their lines, pushed upwards until none overlap.

    The push is a running maximum of (value - gap * rank), all in Vega transforms, so it follows what is shown.
    """
    # On an axis from 0 to 1, names keep the distance that this axis needs, however close the lines are.
    whole = [{**row, "low": 0, "high": 1} if row.get("quantity") in ANSWERS.shares else row for row in anchors]
    base = alt.Chart(sheets.add("ends", whole)).transform_filter(_SHOWN)
    if chosen:
        base = base.transform_filter(chosen)
    base = (
        base.transform_joinaggregate(bottom="min(low)", top="max(high)")
        .transform_window(rank="row_number()", sort=[alt.SortField("value"), alt.SortField("label")])
        .transform_calculate(gap="20 * (datum.top - datum.bottom) / height")
        .transform_calculate(base="datum.value - datum.gap * datum.rank")
        .transform_window(floor="max(base)", sort=[alt.SortField("rank")], frame=[None, 0])
        .transform_calculate(place="datum.floor + datum.gap * datum.rank")
    )
    y = alt.Y("place:Q", title=None)
    leaders = base.mark_rule(strokeWidth=0.9, strokeDash=[1, 3]).encode(
        x=f"{at}:Q", y=alt.Y("value:Q", title=None), x2=alt.value("width"), y2="place:Q", color=colour
    )
    text = base.mark_text(align="left", baseline="middle", dx=MARGIN, fontSize=12, font=FONT, limit=_LIMIT).encode(
        x=alt.value("width"), y=y, text="label:N", color=colour
    )
    return [leaders, text]


def _gaps(sheets: Sheets, missing: Sequence[Row], palette: Palette, x: alt.X, summary: Summary) -> alt.LayerChart:
    colour, _, _ = _scales(summary, palette)
    tips = [_words("label", "encoding"), alt.Tooltip("length:Q"), _words("state", "state"), _words("reason", "reason")]
    base = (
        alt.Chart(sheets.add("gaps", missing))
        .transform_filter(_SHOWN)
        .transform_window(rank="dense_rank()", sort=[alt.SortField("label")])
        .transform_calculate(row=f"height - {STRIP} * (datum.rank - 0.5)")
        .encode(y=alt.Y("row:Q", scale=None, axis=None), color=colour)
    )
    cross = base.mark_text(text="×", fontSize=19, font=FONT, baseline="middle").encode(x=x, tooltip=tips)
    name = (
        base.transform_filter("datum.last")
        .transform_calculate(text="'× ' + datum.label")
        .mark_text(align="left", baseline="middle", dx=MARGIN, fontSize=12, font=FONT, limit=_LIMIT)
        .encode(x=alt.value("width"), text="text:N")
    )
    return alt.layer(cross, name)


def _shares(sheets: Sheets, summary: Summary, palette: Palette, x: alt.X, chosen: str) -> list[alt.Chart]:
    """Of shares, what guessing gives, and an axis from 0 to 1."""
    shares = summary.yardstick.shares
    if not shares:
        return []
    ends = sheets.add("shares", [{"quantity": key, "value": end} for key in shares for end in (0, 1)])
    axis = alt.Chart(ends).transform_filter(chosen).mark_rule(opacity=0).encode(y="value:Q")
    guess = alt.Chart(sheets.add("chances", frames.chances(summary))).transform_filter(chosen)
    return [axis, guess.mark_line(color=palette.muted, strokeDash=[6, 4], strokeWidth=1.2).encode(x=x, y="value:Q")]


def _training_marks(sheets: Sheets, summary: Summary, palette: Palette, at: str) -> list[alt.Chart]:
    many = len(summary.trained) > 1
    rows = [{at: length, "text": f"trained at {length}" if not many else str(length)} for length in summary.trained]
    base = alt.Chart(sheets.add("trained", rows)).encode(x=f"{at}:Q")
    rule = base.mark_rule(color=palette.accent, strokeWidth=1.2)
    text = base.mark_text(
        align="left", baseline="bottom", dx=4, dy=-3, color=palette.accent, fontSize=11.5, font=FONT
    ).encode(y=alt.value(0), text="text:N")
    return [rule, text]


def _scales(summary: Summary, palette: Palette) -> tuple[alt.Color, alt.StrokeDash, alt.Shape]:
    labels = [series.label for series in summary.series]
    looks = [Look(series.order) for series in summary.series]
    colour = alt.Color(
        "label:N", legend=None, scale=alt.Scale(domain=labels, range=[palette.colour(look.hue) for look in looks])
    )
    dash = alt.StrokeDash("label:N", legend=None, scale=alt.Scale(domain=labels, range=[look.dash for look in looks]))
    shape = alt.Shape("label:N", legend=None, scale=alt.Scale(domain=labels, range=[look.shape for look in looks]))
    return colour, dash, shape


def _words(field: str, title: str) -> alt.Tooltip:
    # Where the nearest point answers the pointer, Vega-Lite loses a nominal field unless a format type is named.
    return alt.Tooltip(f"{field}:N", title=title, formatType="toString", format="")


def _shown(summary: Summary) -> alt.Parameter:
    return alt.param(name="shown", value=[series.label for series in summary.series])


def _octaves(rows: Sequence[Row]) -> list[int]:
    return [2**power for power in range(int(max(row["window"] for row in rows)).bit_length())]


def _has(rows: Sequence[Row], tip: alt.Tooltip) -> bool:
    """Whether a tooltip has something to show; the seeds' range says nothing of one seed."""
    name = tip.to_dict()["field"]
    if name in ("low", "high", "seeds"):
        return any(row.get("seeds", 1) > 1 for row in rows)
    return any(name in row for row in rows)

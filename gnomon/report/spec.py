"""From an Altair chart to the Vega-Lite specification that the page carries: looks, sizes and data."""

from collections.abc import Mapping, Sequence

import altair as alt

from gnomon.report.palette import Palette

FONT = "Helvetica Neue, Helvetica, Arial, sans-serif"

Spec = dict[str, object]


class Sheets:
    """The rows of a figure by name: inline rows Altair checks one by one at every step, which takes seconds."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Mapping[str, object]]] = {}

    def add(self, name: str, rows: Sequence[Mapping[str, object]]) -> alt.NamedData:
        self.rows[name] = list(rows)
        return alt.NamedData(name=name)


def finish(chart: alt.LayerChart, sheets: Sheets, palette: Palette, width: int | str, height: int) -> Spec:
    """The specification, `width` in pixels or "container"."""
    sized = chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    return _told(sized.configure(**config(palette)).to_dict()) | {"datasets": sheets.rows}


def _told(spec: object) -> object:
    """The same, with titles of tooltips that stay text in the expression which Vega-Lite writes around them.

    It escapes their quotes, and no backslash and no end of a line.
    """
    if isinstance(spec, list):
        return [_told(inner) for inner in spec]
    if not isinstance(spec, dict):
        return spec
    return {name: _titled(inner) if name == "tooltip" else _told(inner) for name, inner in spec.items()}


def _titled(tooltip: object) -> object:
    if isinstance(tooltip, list):
        return [_titled(each) for each in tooltip]
    if isinstance(tooltip, dict) and isinstance(title := tooltip.get("title"), str):
        return tooltip | {"title": " ".join(title.split()).replace("\\", "\\\\")}
    return tooltip


def config(palette: Palette) -> dict[str, object]:
    """Vega-Lite configuration of all figures. aria is off: thousands of marks; each figure has a name and a caption."""
    axis = {
        "labelColor": palette.muted,
        "titleColor": palette.muted,
        "domainColor": palette.rule,
        "tickColor": palette.rule,
        "gridColor": palette.rule,
        "gridOpacity": 0.7,
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    }
    title = {
        "anchor": "start",
        "frame": "group",
        "color": palette.muted,
        "font": FONT,
        "fontSize": 12,
        "fontWeight": "normal",
        "offset": 22,
    }
    return {
        "background": "transparent",
        "customFormatTypes": True,
        "aria": False,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"domain": False, "ticks": False, "tickCount": 6},
        "title": title,
        "font": FONT,
        "padding": {"left": 4, "right": 4, "top": 4, "bottom": 4},
    }

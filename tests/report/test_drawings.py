"""The figures of an analysis: what is drawn, and that no peak is lost."""

import json
import math
import random

import pytest
import vl_convert

from gnomon.report.drawings import BARS, POINTS, drawing, drawn, errors_told, thinned
from gnomon.report.palette import LIGHT, VARIABLES
from gnomon.section import Heat, Line, Lines, Section


def waves(count: int) -> Lines:
    x = list(range(1, 200))
    lines = tuple(Line(f"wave {at}", x, [math.cos(at * value) for value in x]) for at in range(count))
    return Lines("waves", "position", "value", lines)


def test_a_series_is_drawn_and_told_apart():
    spec = drawing(waves(12), VARIABLES)
    rows = spec["datasets"]["lines"]
    assert len({row["series"] for row in rows}) == 12 and len(rows) == 12 * 199
    assert "<svg" in vl_convert.vegalite_to_svg(spec | {"width": 600})


def test_of_many_points_the_peaks_stay():
    draw = random.Random(0)
    values = [draw.random() for _ in range(50_000)]
    values[31_007], values[4_711] = 9.0, -9.0
    kept = thinned(Line("noise", range(50_000), values))
    assert len(kept) <= 1.1 * POINTS
    assert (31_007.0, 9.0, None) in kept and (4_711.0, -9.0, None) in kept
    assert [point[0] for point in kept] == sorted(point[0] for point in kept)


def test_what_a_logarithm_or_json_has_no_word_for_is_left_out():
    line = Line("a", [0, 1, 2, 3], [1.0, 0.0, math.nan, 4.0])
    rows = drawing(Lines("a", "x", "y", (line,), x_log=True, y_log=True), VARIABLES)["datasets"]["lines"]
    assert rows == [{"series": "a", "x": 2.0, "y": None}, {"series": "a", "x": 3.0, "y": 4.0}]
    json.dumps(rows, allow_nan=False)


@pytest.mark.parametrize("diverging", [False, True])
def test_a_matrix_is_drawn(diverging: bool):
    heat = Heat("m", "dimension", "position", [[0.5, -1.0], [None, 2.0]], y_at=[10, 20], diverging=diverging)
    spec = drawing(heat, VARIABLES)
    assert [(row["x"], row["y"], row["value"]) for row in spec["datasets"]["cells"]] == [
        (0.0, 10.0, 0.5), (1.0, 10.0, -1.0), (1.0, 20.0, 2.0),
    ]  # fmt: skip
    assert "<svg" in vl_convert.vegalite_to_svg(spec | {"width": 600})


def test_of_a_large_matrix_some_rows_and_columns_are_drawn():
    heat = Heat("m", "x", "y", [[float(x + 1000 * y) for x in range(300)] for y in range(10)])
    cells = drawing(heat, VARIABLES)["datasets"]["cells"]
    assert len(cells) == 60 * 10 and all(row["value"] == row["x"] + 1000 * row["y"] for row in cells)
    assert len(drawing(heat, VARIABLES, cells=50)["datasets"]["cells"]) == 43 * 10


def marks(spec: dict) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["layer"]]


@pytest.mark.parametrize("count, mark, told", [(BARS, "rule", "Bars reach"), (BARS + 1, "area", "Bands reach")])
def test_standard_errors_are_bars_or_a_band(count: int, mark: str, told: str):
    line = Line("loss", range(count), [2.0] * (count - 1) + [None], [0.25] * (count - 1) + [None])
    figure = Lines("loss", "length", "nats", (line, Line("without", [0, 1], [1.0, 1.0])))
    spec = drawing(figure, VARIABLES)
    assert marks(spec)[0] == mark and errors_told(figure) == f"{told} one standard error to either side."
    rows = spec["datasets"]["lines"]
    assert rows[0] == {"series": "loss", "x": 0.0, "y": 2.0, "se": 0.25, "low": 1.75, "high": 2.25}
    assert rows[count - 1] == {"series": "loss", "x": count - 1, "y": None}
    assert rows[count] == {"series": "without", "x": 0.0, "y": 1.0}
    drawn = vl_convert.vegalite_to_svg(spec | {"width": 600})
    assert drawn.count("mark-rule role-mark") == (mark == "rule")


def test_without_standard_errors_there_is_neither():
    assert marks(drawing(waves(2), VARIABLES)) == ["line"] and errors_told(waves(2)) == ""
    heat = Heat("m", "x", "y", [[1.0]])
    assert errors_told(heat) == ""


def test_on_a_logarithm_a_bar_ends_at_the_least_that_is_drawn():
    figure = Lines("a", "x", "y", (Line("a", [1, 2], [8.0, 1.0], [2.0, 3.0]),), y_log=True)
    rows = drawing(figure, VARIABLES)["datasets"]["lines"]
    assert [(row["low"], row["high"]) for row in rows] == [(6.0, 10.0), (1.0, 4.0)]


def test_axes_are_written_as_their_numbers_are():
    """Heads are whole; a logarithm over less than two powers of ten has plain numbers."""
    axes = [
        drawing(Lines("a", "head", "y", (Line("a", x, y),), y_log=True), VARIABLES)["layer"][0]["encoding"]
        for x, y in (([0, 1, 2], [20.0, 30.0, 25.0]), ([0.5, 1, 2], [1e-9, 1.0, 2.0]))
    ]
    assert [axis["x"]["axis"].get("tickMinStep") for axis in axes] == [1, None]
    assert [axis["y"]["axis"]["format"] for axis in axes] == [".3~g", ".0e"]


def test_a_series_that_several_figures_have_looks_alike_in_all_of_them():
    """float32 was green in one figure of a page and orange in the next."""

    def figure(*labels: str) -> Lines:
        return Lines("", "", "", tuple(Line(label, [1, 2], [1.0, 2.0]) for label in labels))

    many = figure(*(f"other {at}" for at in range(9)), "float32")
    figures = (figure("period", "float64", "float32"), figure("float64", "float32"), figure("new", "float32"), many)
    sections = [Section("a", "", "", "", figures=figures[:2]), Section("b", "", "", "", figures=figures[2:])]
    looks = [_looks_of(spec) for spec in drawn(sections, LIGHT).values()]
    assert len({look["float32"] for look in looks}) == 1 and looks[0]["float64"] == looks[1]["float64"]
    assert all(len({*look.values()}) == len(look) for look in looks)


def _looks_of(spec: dict) -> dict[str, str]:
    """The colour of each series."""
    scale = next(layer["encoding"]["color"]["scale"] for layer in spec["layer"] if "color" in layer["encoding"])
    return dict(zip(scale["domain"], scale["range"]))

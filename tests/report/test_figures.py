"""The rows behind the figures, the figures as SVG and PNG, and colours that can be told apart."""

import itertools
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

from gnomon.errors import DataError, OptionError
from gnomon.report import figure, frames
from gnomon.report.figures import by_length, loss_by_position, training_curves
from gnomon.report.palette import DARK, LIGHT, VARIABLES, Look
from gnomon.report.summary import summarise
from tests.report import fakes
from tests.report.fakes import record
from tests.report.test_summary import FLAT, exact


def linear(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour):
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out_from_the_paper(palette):
    assert all(contrast(colour, palette.paper) >= 3 for colour in palette.series)
    assert all(contrast(colour, palette.paper) >= 4.5 for colour in (palette.ink, palette.muted, palette.accent))
    assert len(palette.series) == len(VARIABLES.series)


# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHTS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def lab(colour, sight):
    """CIE L*a*b* (D65) of what is seen of a colour."""
    light = np.clip(np.array(SIGHTS[sight]) @ linear(colour), 0, 1)
    parts = np.array(XYZ) @ light / np.array(XYZ).sum(axis=1)
    x, y, z = np.where(parts > (6 / 29) ** 3, np.cbrt(parts), parts * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_lab():
    assert lab("#ffffff", "all cones") == pytest.approx([100, 0, 0], abs=0.01)
    assert lab("#ff0000", "all cones") == pytest.approx([53.24, 80.09, 67.20], abs=0.01)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_ten_colours_are_told_apart_by_everyone(palette, sight):
    """2.3 is a just noticeable difference of neighbouring patches; thin lines need several times that."""
    for count, least in ((6, 19), (10, 14)):
        seen = [lab(palette.colour(Look(index).hue), sight) for index in range(count)]
        assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) >= least


def test_ten_lines_differ_in_their_dashes_alone():
    dashes = [Look(index).dash for index in range(10)]
    assert len(set(map(str, dashes))) == 10
    assert all(len(pattern) % 2 == 0 and sum(pattern) <= 26 for pattern in dashes), "a swatch shows a whole period"


@pytest.mark.parametrize("kind", ["length", "position", "training"])
def test_every_line_of_ten_is_named_and_dashed(kind):
    """In greyscale too: the name at its end, joined to it, and a dash pattern of its own."""
    runs = fakes.three_seeds()
    summary = summarise(runs)
    spec = {
        "length": lambda: by_length(summary, LIGHT),
        "position": lambda: loss_by_position(summary, fakes.positions(runs), LIGHT),
        "training": lambda: training_curves(summary, fakes.curves(runs), LIGHT),
    }[kind]()
    lines = [
        layer for layer in every_layer(spec) if isinstance(layer.get("mark"), dict) and layer["mark"]["type"] == "line"
    ]
    assert lines
    for line in lines:
        scale = line["encoding"]["strokeDash"]["scale"]
        assert len(scale["domain"]) == 10 and len(set(map(str, scale["range"]))) == 10
    named = {row["label"] for row in spec["datasets"]["ends"]}
    assert named | {"learned"} == set(fakes.PROFILES)


def every_layer(spec):
    yield spec
    for layer in spec.get("layer", ()):
        yield from every_layer(layer)


def test_no_two_series_look_alike_even_without_colour():
    looks = [Look(index) for index in range(35)]
    without_colour = {(str(look.dash), look.shape) for look in looks}
    assert len(without_colour) == len(looks)


def texts(path):
    found = {}
    for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text"):
        found.setdefault(element.text, element)
    return found


@pytest.fixture(scope="module")
def svg(tmp_path_factory):
    return figure(fakes.three_seeds(), tmp_path_factory.mktemp("figure") / "deep" / "loss.svg")


def test_the_svg_names_every_encoding_and_the_training_length(svg):
    found = texts(svg)
    assert set(fakes.PROFILES) - {"learned"} <= found.keys()
    assert {"× learned", "trained at 128", "1024"} <= found.keys()


def test_the_names_at_the_lines_do_not_overlap(svg):
    found = texts(svg)
    heights = sorted(
        float(re.search(r"translate\([^,]+,\s*([-\d.]+)", found[name].get("transform"))[1])
        for name in fakes.PROFILES
        if name != "learned"
    )
    assert min(after - before for before, after in itertools.pairwise(heights)) >= 12


def test_png(tmp_path):
    path = figure(fakes.one_seed(), tmp_path / "loss.png")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 10_000


def test_labels_are_escaped_in_the_svg(tmp_path):
    path = figure(fakes.troubled(), tmp_path / "loss.svg")
    assert "<script" not in path.read_text()
    assert any(text and text.startswith("</script><script>") for text in texts(path))


def test_figures_that_cannot_be_made(tmp_path):
    with pytest.raises(OptionError, match=r"\.svg, \.png"):
        figure(fakes.one_seed(), tmp_path / "loss.pdf")
    with pytest.raises(OptionError, match="paired_loss"):
        figure(fakes.one_seed(), tmp_path / "loss.svg", quantity="paired_los")
    with pytest.raises(DataError):
        figure([record("t5", status="failed", reason="x")], tmp_path / "loss.svg")
    assert not list(tmp_path.iterdir())


def test_medians_carry_the_spread_and_seeds_stand_alone():
    runs = [exact("rope", seed, loss=loss, rises=FLAT[1]) for seed, loss in enumerate((1.5, 1.6, 1.8))]
    summary = summarise([*runs, exact("alibi", loss=1.7, rises=FLAT[1])])
    medians = [
        row for row in frames.length_medians(summary) if row["quantity"] == "paired_loss" and row["length"] == 128
    ]
    assert [(row["value"], row["low"], row["high"]) for row in medians] == [(1.6, 1.5, 1.8), (1.7, 1.7, 1.7)]
    seeds = frames.length_seeds(summary)
    assert {row["label"] for row in seeds} == {"rope"} and {row["seed"] for row in seeds} == {0, 1, 2}


def test_positions_count_the_tokens_seen_and_take_the_median_over_seeds():
    runs = [record("rope", seed) for seed in range(3)]

    def row(length, position, loss, first, last):
        return {
            "length": length,
            "position": position,
            "loss": loss,
            "se": 0.1,
            "windows": 9,
            "first": first,
            "last": last,
        }

    tables = {
        run["hash"]: [row(64, 0.0, 9.0, 0, 0), row(256, 0.0, 3.0 + at, 0, 0), row(256, 7.5, 2.0 + at, 7, 8)]
        for at, run in enumerate(runs)
    }
    rows = frames.position_rows(summarise(runs), tables)
    assert [(row["seen"], row["value"], row["low"], row["high"], row["where"]) for row in rows] == [
        (1.0, 4.0, 3.0, 5.0, "1"),
        (8.5, 3.0, 2.0, 4.0, "8 to 9"),
    ]
    arrow = {key: pa.Table.from_pylist(value) for key, value in tables.items()}
    assert frames.position_rows(summarise(runs), arrow) == rows


def test_positions_without_bins_stand_for_themselves():
    run = record("rope")
    table = [{"length": 128, "position": at, "loss": 2.0, "se": 0.1, "windows": 9} for at in range(3)]
    assert [row["where"] for row in frames.position_rows(summarise([run]), {run["hash"]: table})] == ["1", "2", "3"]


def test_curves_are_thinned_to_means_and_skip_what_is_not_finite():
    run = record("rope", status="diverged", reason="nan")
    steps = [{"step": step, "loss": float(step)} for step in range(1200)]
    rows = frames.curve_rows(summarise([run]), {run["hash"]: [*steps, {"step": 1200, "loss": float("nan")}]})
    assert len(rows) == frames.CURVE_POINTS
    assert (rows[0]["step"], rows[0]["value"]) == (9, 4.5)


def test_without_tables_there_is_no_figure():
    summary = summarise(fakes.one_seed())
    assert loss_by_position(summary, {}, LIGHT) is None
    assert training_curves(summary, {}, LIGHT) is None
    assert by_length(summarise([record("t5", status="failed")]), LIGHT) is None


def test_specifications_are_json_without_nan():
    runs = fakes.troubled()
    runs[0]["lengths"][-1] |= {"paired_loss": float("nan"), "sliding_loss": float("inf")}
    summary = summarise(runs)
    for spec in (by_length(summary, VARIABLES), training_curves(summary, fakes.curves(runs), VARIABLES)):
        json.dumps(spec, allow_nan=False)


def test_names_keep_apart_where_the_seeds_spread_far(tmp_path):
    close = [
        exact(name, seed, loss=loss + wide, rises=FLAT[1])
        for name, loss in (("a", 1.70), ("b", 1.71), ("c", 1.72))
        for seed, wide in enumerate((-0.5, 0.0, 0.5))
    ]
    found = texts(figure(close, tmp_path / "loss.svg"))
    heights = sorted(
        float(re.search(r"translate\([^,]+,\s*([-\d.]+)", found[name].get("transform"))[1]) for name in "abc"
    )
    assert min(after - before for before, after in itertools.pairwise(heights)) >= 12

"""Wavelengths: steps and runs against counting, in every precision."""

import math

import pytest
import torch

from gnomon.analysis.forms import waves
from gnomon.analysis.stored import PRECISIONS, angles, dtype, unit, waved
from gnomon.analysis.wavelengths import neighbours, periods, section, typical_step, widest_step
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.report.drawings import drawing
from gnomon.report.palette import VARIABLES
from gnomon.section import Heat


def test_periods_run_from_one_turn_to_the_base():
    of = periods(waves(Sinusoidal(512)))
    assert of[0] == pytest.approx(2 * math.pi) and of[-1] == pytest.approx(2 * math.pi * 10000 ** (510 / 512))
    assert periods(waves(Sinusoidal(16, convention="tensor2tensor")))[-1] == pytest.approx(2 * math.pi * 10000)
    assert periods(waves(Rope(8, scaling="linear", factor=4.0)))[0] == pytest.approx(8 * math.pi)


@pytest.mark.parametrize("name", PRECISIONS)
def test_the_widest_step_is_the_flat_top(name):
    # Near the top of a cosine, at steps fine enough to see where it leaves 1.
    half = widest_step(name) / 2
    at = torch.tensor([0.0, 0.999 * half, 1.001 * half], dtype=torch.float64)
    if name == "float64":
        # float64 cannot compute what it cannot tell: 1 - cos x by its double angle.
        less = 2 * (at / 2).sin().square()
        assert (less <= 2**-54).tolist() == [True, True, False]
    else:
        assert (at.cos().to(dtype(name)) == 1).tolist() == [True, True, False]


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_at_the_typical_step_half_of_the_places_are_surely_told(name):
    generator = torch.Generator().manual_seed(0)
    phase = torch.rand(20000, dtype=torch.float64, generator=generator) * 2 * math.pi
    step = typical_step(name)
    sure = step * phase.cos().abs() >= unit(phase.sin(), name)
    assert 0.48 < sure.double().mean() < 0.52
    moved = (phase + step).sin().to(dtype(name)) != phase.sin().to(dtype(name))
    assert moved[sure].double().mean() > 0.99
    # A hundredth of it is hardly ever told.
    small = (phase + step / 100).sin().to(dtype(name)) != phase.sin().to(dtype(name))
    assert small.double().mean() < 0.1


def by_hand(column: list[float]) -> tuple[int, int]:
    equal, longest, run = 0, 1, 1
    for a, b in zip(column, column[1:]):
        run = run + 1 if a == b else 1
        equal, longest = equal + (a == b), max(longest, run)
    return equal, longest


@pytest.mark.parametrize("name", PRECISIONS)
def test_neighbours_against_counting(name):
    found = waves(Sinusoidal(24))
    stored = waved(found, angles(found, torch.arange(1500), "float64")).to(dtype(name))
    got = neighbours(stored)
    for column in range(24):
        assert (int(got.equal[column]), int(got.longest[column])) == by_hand(stored[:, column].tolist())


def test_neighbours_of_few_rows_and_of_one_value():
    assert neighbours(torch.zeros(1, 3)).longest.tolist() == [1, 1, 1]
    flat = neighbours(torch.tensor([[1.0], [1.0], [1.0], [2.0], [2.0]]))
    assert (flat.equal.tolist(), flat.longest.tolist()) == ([3], [3])
    with pytest.raises(OptionError, match="values of a table"):
        neighbours(torch.zeros(3))


def test_the_section_of_sinusoidal():
    of = section(Sinusoidal(512), 2048)
    assert of.applies and len(of.tables[0].rows) == 8 and len(of.tables[0].columns) == 6
    equal = {name: sum(count) for name, count in of.numbers["equal_neighbours"].items()}
    assert equal["float64"] == 0 < equal["float32"] < equal["float16"] < equal["bfloat16"]
    assert of.numbers["longest_run"]["bfloat16"][511] > 500
    ruler = of.figures[0]
    assert ruler.y_log and [line.label for line in ruler.lines] == ["period", *PRECISIONS]
    heat = of.figures[-1]
    assert len(heat.values) <= 200 and len(heat.values[0]) <= 256
    # A smaller base has finer rules only.
    finer = section(Sinusoidal(512, base=100.0), 2048)
    assert max(finer.numbers["periods"]) < max(of.numbers["periods"])
    assert sum(finer.numbers["equal_neighbours"]["bfloat16"]) < equal["bfloat16"]


def test_the_section_of_rope_and_of_pairs_that_stand():
    assert section(Rope(64), 100).applies
    still = section(Rope(16, scaling="proportional", fraction=0.5), 100)
    assert "4 pairs do not turn" in still.answer
    assert still.numbers["periods"].count(None) == 4 and still.numbers["longest_run"]["float64"][7] == 100


@pytest.mark.parametrize("encoding", [Learned(8), Alibi(4), Sinusoidal(8, axes=2)])
def test_what_has_no_waves_says_why(encoding):
    of = section(encoding)
    assert not of.applies and of.answer


def test_one_place_has_no_neighbour():
    with pytest.raises(OptionError, match="2 to 1048576"):
        section(Sinusoidal(8), 1)


@pytest.mark.parametrize("encoding", [Sinusoidal(512), Sinusoidal(130), Sinusoidal(512, convention="tensor2tensor")])
def test_a_picture_of_some_columns_has_sines_and_cosines_all_along(encoding):
    """Of the paper's columns every second one is a sine: some of them, evenly, were sines alone."""
    heat = next(figure for figure in section(encoding, 64).figures if isinstance(figure, Heat))
    drawn = _drawn(heat)
    waves_of = waves(encoding).columns
    assert set(heat.x_at) == {c for c, (_, m) in enumerate(waves_of) if ("sin", m) in {waves_of[x] for x in heat.x_at}}
    if encoding.convention == "paper":
        for at in range(0, len(drawn) - 8, 8):
            assert {waves_of[int(x)][0] for x in drawn[at : at + 8]} == {"sin", "cos"}


@pytest.mark.parametrize("columns", [97, 128, 192, 193, 256, 400])
def test_what_is_left_out_of_a_matrix_is_not_every_second_column(columns):
    drawn = _drawn(Heat("", "", "", [list(range(columns))] * 3))
    assert len(drawn) <= 96 and {x % 2 for x in drawn[: len(drawn) // 2]} == {0, 1}


def _drawn(heat: Heat) -> list[float]:
    spec = drawing(heat, VARIABLES)
    return sorted({row["x"] for row in spec["datasets"]["cells"]})

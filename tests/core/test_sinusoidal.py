"""Sinusoidal tables: golden rows, any width, a product that sees the difference alone, real and negative positions."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon.encodings import sinusoidal
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError, PositionError
from gnomon.positions import Positions, grid, sequence
from tests.core.common import at, gap, normal

BOTH = pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])


def table(encoding: Sinusoidal, pos: Positions) -> torch.Tensor:
    return encoding.embed(torch.zeros(pos.rows, pos.length, encoding.width, dtype=torch.float64), pos)


@pytest.mark.parametrize("p", [1.0, -2.5, 300.0])
def test_golden_rows(p):
    """Width 4: the paper has frequencies 1 and 1e-2 in turn, tensor2tensor 1 and 1e-4 with sines first."""
    golden = {
        "paper": [math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)],
        "tensor2tensor": [math.sin(p), math.sin(p / 1e4), math.cos(p), math.cos(p / 1e4)],
    }
    for convention, row in golden.items():
        expected = torch.tensor(row, dtype=torch.float64)
        assert gap(table(Sinusoidal(4, convention=convention), at([p]))[0, 0], expected) < 1e-14


@pytest.mark.parametrize(
    "width, row", [(1, ["s0"]), (2, ["s0", "c0"]), (3, ["s0", "c0", "s2"]), (5, ["s0", "c0", "s2", "c2", "s4"])]
)
def test_odd_widths_of_the_paper(width, row):
    """One sine more than cosines, and the width as denominator: the columns of the formula, as many as there are."""
    p = 7.25
    hands = [{"s": math.sin, "c": math.cos}[name[0]](p / 10_000 ** (int(name[1]) / width)) for name in row]
    assert gap(table(Sinusoidal(width), at([p]))[0, 0], torch.tensor(hands, dtype=torch.float64)) < 1e-15


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_odd_widths_of_tensor2tensor(width):
    """floor(w / 2) frequencies, and a last column of zeros where the width is odd."""
    p, half = 7.25, width // 2
    frequencies = [1.0, 1e-4][:half]
    hands = [math.sin(p * f) for f in frequencies] + [math.cos(p * f) for f in frequencies] + [0.0] * (width % 2)
    found = table(Sinusoidal(width, convention="tensor2tensor"), at([p]))[0, 0]
    assert gap(found, torch.tensor(hands, dtype=torch.float64)) < 1e-15


@BOTH
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("width", [3, 4, 5, 7, 12, 13])
def test_the_definition_is_the_lowering_at_any_width(width, axes, convention):
    encoding, pos = Sinusoidal(width, convention=convention, axes=axes), Positions(normal(2, 4, axes) * 100)
    assert sum(encoding.blocks()) == width and max(encoding.blocks()) - min(encoding.blocks()) <= 1
    assert gap(table(encoding, pos), encoding.absolute(pos)) < 1e-12


@BOTH
@given(p=st.floats(-1e5, 1e5), apart=st.floats(-100, 100))
def test_a_product_sees_the_difference_alone(convention, p, apart):
    """PE(p) . PE(p + k) depends on k: sine and cosine of a pair have one frequency. Angles of 1e5 keep 1e-11."""
    encoding = Sinusoidal(16, convention=convention)
    rows = table(encoding, at([p, p + apart, 0.0, apart]))[0]
    assert abs((rows[0] @ rows[1] - rows[2] @ rows[3]).item()) < 1e-9


@BOTH
def test_each_pair_has_length_1(convention):
    rows = table(Sinusoidal(10, convention=convention), at([0.0, 3.0, -1e6, 0.125]))[0]
    assert gap(rows.square().sum(-1), torch.full((4,), 5.0, dtype=torch.float64)) < 1e-14


def test_the_longest_wavelength_of_tensor2tensor_is_exact():
    """At p = 10000 the slowest angle is 1, whatever the width; the paper's slowest never gets there."""
    row = table(Sinusoidal(12, convention="tensor2tensor"), at([10_000.0]))[0, 0]
    assert abs(row[5].item() - math.sin(1)) < 1e-13 and abs(row[11].item() - math.cos(1)) < 1e-13
    slowest = table(Sinusoidal(12), at([10_000.0]))[0, 0, 10]
    assert abs(slowest.item() - math.sin(10_000 ** (1 / 6))) < 1e-13


def test_the_base_is_an_option():
    expected = torch.tensor([math.sin(3.0), math.cos(3.0), math.sin(0.3), math.cos(0.3)], dtype=torch.float64)
    assert gap(table(Sinusoidal(4, base=100.0), at([3.0]))[0, 0], expected) < 1e-15


@BOTH
def test_the_scale_multiplies_what_is_added(convention):
    """Sines and cosines in pairs have the root mean square 1 / sqrt(2)."""
    options, pos = dict(convention=convention, axes=2), Positions(normal(2, 4, 2) * 100)
    plain, scaled = Sinusoidal(12, **options), Sinusoidal(12, **options, scale=0.3)
    assert gap(table(scaled, pos), 0.3 * table(plain, pos)) < 1e-15
    assert gap(scaled.absolute(pos), 0.3 * plain.absolute(pos)) < 1e-15
    assert abs(table(scaled, pos).square().mean().sqrt().item() - 0.3 / math.sqrt(2)) < 1e-15


def test_a_cached_row_is_the_row_of_the_whole():
    """Only the new rows are needed, from the first new position."""
    encoding, line = Sinusoidal(8), sequence(9, 2)
    assert torch.equal(table(encoding, line.tokens(6, 9)), table(encoding, line)[:, 6:])


def test_a_resolution_changes_no_old_place():
    encoding = Sinusoidal(12, axes=2)
    small, large = table(encoding, grid(2, 3))[0], table(encoding, grid(5, 7))[0]
    for y in range(2):
        assert torch.equal(small[3 * y : 3 * y + 3], large[7 * y : 7 * y + 3])


def test_embeddings_are_added_to():
    encoding, x, pos = Sinusoidal(6), normal(2, 3, 6), at([[0, 1, 2], [9, 9, 4]])
    assert gap(encoding.embed(x, pos) - x, table(encoding, pos)) < 1e-15


@pytest.mark.parametrize(
    "options",
    [dict(width=4, convention="marian"), dict(width=4, base=1.0), dict(width=4, base=float("nan")),
     dict(width=4, axes=0), dict(width=2, axes=3), dict(width=0), dict(width=4, scale=0.0), dict(width=4, scale=-1.0),
     dict(width=4, scale=math.inf), dict(width=4, scale=math.nan)],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        Sinusoidal(**options)


def test_a_grid_is_no_line_and_a_line_no_grid():
    with pytest.raises(PositionError, match="axes"):
        Sinusoidal(24).embed(normal(1, 6, 24), grid(2, 3))
    with pytest.raises(PositionError, match="axes"):
        Sinusoidal(24, axes=2).embed(normal(1, 6, 24), sequence(6))


@BOTH
@pytest.mark.parametrize("axes", [1, 2])
def test_a_long_text_is_encoded_by_parts_to_the_bit(monkeypatch, convention, axes):
    """Some tokens at a time, and what has no place among them."""
    coords = torch.rand(3, 29, axes, dtype=torch.float64) * 1e6
    placed = torch.rand(3, 29) > 0.3
    pos = Positions(coords, placed=placed if axes == 2 else None)
    x = torch.randn(3, 29, 10, requires_grad=True)
    encoding = Sinusoidal(10, convention=convention, axes=axes, scale=0.3)
    whole = encoding.embed(x, pos)
    monkeypatch.setattr(sinusoidal, "AT_ONCE", 3 * 10 * 7)
    parts = encoding.embed(x, pos)
    assert torch.equal(parts, whole)
    assert torch.autograd.grad(parts.sum(), x)[0].eq(1).all()

"""Grids: ranks and neighbours by hand, distances by brute force over pairs, forms on one axis and on two."""

import math

import pytest
import torch

from gnomon.analysis import grids
from gnomon.analysis.nearness import euclidean, nearness, ranks, spearman
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.positions import Positions, grid

SHAPE = Shape(width=48, heads=6, head_dim=8)


def test_ranks_and_their_correlation_by_hand():
    values = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0]).double()
    assert ranks(values).tolist() == [3, 1.5, 4, 1.5, 5]
    other = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).double()
    # Ranks less their means: (0, -1.5, 1, -1.5, 2) and (-2, -1, 0, 1, 2): 4 over sqrt(9.5 * 10).
    assert spearman(values, other) == pytest.approx(4 / math.sqrt(95))
    assert spearman(other, other.exp()) == pytest.approx(1) and spearman(other, -other) == pytest.approx(-1)
    assert spearman(other, torch.ones(5).double()) == 0


def test_euclidean_distances():
    found = euclidean(2, 3)
    assert found[0, 5].item() == pytest.approx(math.sqrt(5)) and found[1, 2] == 1 and found[0, 3] == 1
    assert torch.equal(found, found.T)


def test_patch_numbers_put_the_lower_neighbour_a_row_away():
    """The document's picture: right is 1, below is W."""
    number = torch.arange(20).double()
    found = nearness((number[:, None] - number).abs(), 4, 5)
    assert (found.right, found.below, found.seam) == (1, 5, 1)
    # By number the 8 nearest of a patch inside are 4 before and 4 after it: of its neighbours left and right, and at
    # W = 5 the two at W - 1; 4 of 8.
    assert found.found == pytest.approx(0.5)
    wide = torch.arange(40).double()
    assert nearness((wide[:, None] - wide).abs(), 4, 10).found == pytest.approx(0.25)


def test_the_picture_itself_agrees_with_itself():
    found = nearness(euclidean(5, 4), 5, 4)
    assert found.correlation == pytest.approx(1) and found.found == 1 and found.below == found.right == 1


def test_equally_near_patches_are_taken_as_chance_would():
    n = 5
    flat = 1 - torch.eye(n * n).double()
    assert nearness(flat, n, n).found == pytest.approx(8 / 24)
    assert nearness(euclidean(2, 9), 2, 9).found is None


@pytest.mark.parametrize("axes", [1, 2])
def test_distances_of_sinusoids_and_rotations_are_those_of_pairs(axes):
    rows, columns, d = 3, 4, 8
    pos = grid(rows, columns) if axes == 2 else Positions(torch.arange(12.0).double()[None, :, None])
    sinusoid = Sinusoidal(d, axes=axes)
    table = sinusoid.absolute(pos)[0]
    found = grids.distances(sinusoid, rows, columns)
    assert all(
        found[a, b].item() == pytest.approx((table[a] - table[b]).norm().item(), abs=1e-12)
        for a in range(12)
        for b in range(12)
    )
    torch.manual_seed(1)
    for encoding in (Rope(d, axes=axes), Rope(d, axes=axes, fraction=0.5), RopeMixed(3, d, axes=axes)):
        # The unit vectors, each turned: the mean square over them is that over all directions.
        heads = encoding.heads or 1
        turned = encoding.query(
            torch.eye(d).double()[:, None, None].expand(d, heads, 12, d),
            encoding.prepare(pos, pos, torch.float64),
        )
        apart = (turned[:, :, :, None] - turned[:, :, None]).square().sum(-1).mean((0, 1)).sqrt()
        assert (grids.distances(encoding, rows, columns) - apart).abs().max() < 1e-6


def test_alibi_is_euclidean_on_two_axes():
    found = grids.distances(Alibi(6), 4, 5)
    assert (found / Alibi(6).slopes[0] - euclidean(4, 5)).abs().max() < 1e-12
    section = grids.section(Alibi(6), 6, 7)
    assert section.numbers["plane_correlation"] == pytest.approx(1) and section.numbers["plane_neighbours"] == 1
    assert section.numbers["line_below_over_right"] == pytest.approx(7)


@pytest.mark.parametrize(
    ("name", "options"), [("sinusoidal", {}), ("rope", {}), ("rope_mixed", {}), ("alibi", {}), ("kerple", {})]
)
def test_two_axes_agree_with_the_picture_better_than_one(name, options):
    torch.manual_seed(0)
    section = grids.section(create(name, Shape(width=256, heads=4, head_dim=64), **options), 8, 9)
    numbers = section.numbers
    assert section.applies and numbers["plane_correlation"] > numbers["line_correlation"] + 0.1
    assert numbers["plane_neighbours"] > 0.9 > 0.5 > numbers["line_neighbours"]
    assert numbers["line_seam_over_right"] == pytest.approx(1, abs=1e-6) and numbers["plane_seam_over_right"] > 1.5
    heats = section.figures[:2]
    assert all(len(heat.values) == 8 and len(heat.values[0]) == 9 and heat.values[4][4] < 1e-6 for heat in heats)


def test_a_small_head_of_rope_is_no_better_on_two_axes():
    """Of 4 pairs an axis the fastest turns a radian a patch: its distances come and go with every turn."""
    numbers = grids.section(Rope(16), 8, 9).numbers
    assert numbers["plane_correlation"] < numbers["line_correlation"] < 0.3
    assert grids.section(Rope(16, theta=100.0), 8, 9).numbers["plane_correlation"] > numbers["plane_correlation"]


def test_a_form_on_either_axis_gives_the_same_section():
    one, two = (grids.section(Sinusoidal(32, axes=axes), 6, 6) for axes in (1, 2))
    assert one.numbers == two.numbers
    other = grids.section(Sinusoidal(32, base=100.0), 6, 6)
    assert other.numbers["line_correlation"] != one.numbers["line_correlation"]
    drawn = RopeMixed(3, 8)
    assert grids.section(drawn, 6, 6).numbers == grids.section(drawn, 6, 6).numbers


def test_drawing_the_other_form_leaves_the_callers_randomness_alone():
    encoding = RopeMixed(3, 8)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    grids.both(encoding)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [("learned", {}), ("relative_bias", {}), ("t5", {}), ("sandwich", {}), ("none", {}), ("shaw", {}), ("cope", {}),
     ("sinusoidal", {"axes": 3}), ("rope", {"scaling": "linear", "factor": 2.0}), ("seqpe", {}), ("fire", {})],
)  # fmt: skip
def test_where_it_makes_no_sense(name, options):
    section = grids.section(create(name, SHAPE, **options), 4, 4)
    assert not section.applies and section.answer


def test_what_cannot_be_compared_is_refused():
    assert "6" in grids.section(Rope(6), 4, 4).answer and not grids.section(Rope(6), 4, 4).applies
    with pytest.raises(OptionError):
        grids.distances(create("learned", SHAPE), 4, 4)
    with pytest.raises(OptionError):
        grids.distances(Sinusoidal(8), 100, 100)
    with pytest.raises(OptionError):
        grids.section(Sinusoidal(8), 2, 5)
    with pytest.raises(OptionError):
        nearness(torch.zeros(4, 4).double(), 2, 3)
    with pytest.raises(OptionError):
        spearman(torch.zeros(3).double(), torch.zeros(4).double())

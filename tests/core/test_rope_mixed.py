"""RoPE-Mixed: frequencies that are learned, in any direction, for each head and layer."""

import math

import pytest
import torch

from gnomon.attention import attend
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.errors import OptionError, PositionError
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import grid, sequence
from tests.core.common import HEADS, WIDTH, gap, heads, make, model, normal, weigh


def test_hand_angles_on_a_grid_of_2_by_3():
    """Row 1, column 2 turns pair m by W_row,m + 2 W_column,m; rows and columns are not to be mistaken."""
    encoding = RopeMixed(1, 4, axes=2)
    with torch.no_grad():
        encoding.weight.copy_(torch.tensor([[[0.5, 0.25], [-0.125, 1.0]]]))
    pos = grid(2, 3)
    cos, sin = encoding.prepare(pos, pos, torch.float64)
    assert torch.atan2(sin, cos)[0, 0, 5].tolist() == pytest.approx([0.5 - 0.25, 0.25 + 2.0])
    assert torch.atan2(sin, cos)[0, 0, 3].tolist() == pytest.approx([0.5, 0.25])
    prefixed = grid(2, 3, prefix=1)
    cos, sin = encoding.prepare(prefixed, prefixed, torch.float64)
    assert (cos[0, 0, 0] == 1).all() and (sin[0, 0, 0] == 0).all()


def test_initial_values_point_along_and_across_one_direction_a_head():
    torch.manual_seed(0)
    encoding = RopeMixed(5, 16, theta=10.0, axes=2)
    row, column = encoding.weight.detach().double().unbind(1)
    size = [10.0 ** (-j / 4) for j in range(4)]
    assert torch.allclose(row.hypot(column), torch.tensor(size + size).double().expand(5, -1), atol=1e-6)
    direction = torch.atan2(row, column)
    assert gap(direction[:, :4], direction[:, :1].expand(-1, 4)) < 1e-6
    assert torch.allclose((direction[:, 4:] - direction[:, :4]).sin(), torch.ones(5, 4).double(), atol=1e-6)
    assert direction[:, 0].std() > 0.3


def test_layers_have_frequencies_of_their_own():
    torch.manual_seed(0)
    net = model(RopeMixed(HEADS, WIDTH // HEADS, axes=2), BIDIRECTIONAL, depth=3)
    weights = [block.attention.encoding.weight for block in net.blocks]
    assert len({id(w) for w in weights}) == 3
    net.reset_parameters()
    assert all(not torch.equal(a, b) for i, a in enumerate(weights) for b in weights[:i])
    assert sum(p.numel() for n, p in net.named_parameters() if "encoding" in n) == 3 * HEADS * (WIDTH // HEADS)


def test_on_a_line_it_begins_as_rope():
    mixed, rope = RopeMixed(HEADS, 8, theta=1e4, axes=1).double(), Rope(8, pairing="interleaved")
    q, k, v = heads(6)
    assert gap(attend(q, k, v, mixed), attend(q, k, v, rope)) < 1e-6


def test_one_axis_alone_is_axial_rope():
    """Frequencies that are zero off the axes are axial RoPE's."""
    mixed, rope = RopeMixed(HEADS, 8, axes=2).double(), Rope(8, pairing="interleaved", axes=2)
    with torch.no_grad():
        mixed.weight.copy_(rope.frequencies().expand(HEADS, -1, -1))
    q, k, v = heads(15)
    pos = grid(3, 5)
    found = attend(q, k, v, mixed, pos, mask=BIDIRECTIONAL)
    assert gap(found, attend(q, k, v, rope, pos, mask=BIDIRECTIONAL)) < 1e-14


def test_heads_that_share_a_key_turn_it_in_their_own_ways():
    mixed = weigh(RopeMixed(HEADS, 8, axes=2)).double()
    q, k, v = heads(6)
    pos = grid(2, 3)
    together = attend(q, k, v, mixed, pos, mask=BIDIRECTIONAL)
    for h in range(HEADS):
        alone = RopeMixed(1, 8, axes=2).double()
        alone.weight.data = mixed.weight.data[h : h + 1]
        one = attend(q[:, h : h + 1], k[:, h // 2 : h // 2 + 1], v[:, h // 2 : h // 2 + 1], alone, pos,
                     mask=BIDIRECTIONAL)  # fmt: skip
        assert gap(together[:, h : h + 1], one) < 1e-13


def test_frequencies_learn():
    mixed = RopeMixed(HEADS, 8, axes=2).double()
    q, k, v = heads(6)
    attend(q, k, v, mixed, grid(2, 3), mask=BIDIRECTIONAL).square().sum().backward()
    assert (mixed.weight.grad != 0).all() and math.isfinite(mixed.weight.grad.sum())


@pytest.mark.parametrize(
    "options",
    [dict(head_dim=6), dict(head_dim=3, axes=1), dict(axes=3), dict(theta=1.0), dict(pairing="neox")],
    ids=str,
)
def test_options_of_rope_mixed_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        RopeMixed(**dict(heads=2, head_dim=8, axes=2) | options)
    assert error.value.given is not None and error.value.allowed is not None


def test_positions_on_another_number_of_axes():
    with pytest.raises(PositionError):
        attend(*heads(4), make("rope_mixed", axes=2), sequence(4))
    assert attend(*heads(4), make("rope_mixed"), sequence(4)).shape == normal(2, HEADS, 4, 8).shape

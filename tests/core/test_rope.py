"""Rope turns pairs of numbers: lengths are kept, turns add up, position 0 turns nothing, pairings are permutations."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon.attention import Attention, attend
from gnomon.encodings.rope import Rope
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import Positions, sequence
from tests.core.common import HEAD_DIM, HEADS, KV_HEADS, WIDTH, at, gap, heads, normal, weigh

ROPES = {
    "half": Rope(HEAD_DIM),
    "interleaved": Rope(HEAD_DIM, pairing="interleaved"),
    "partial": Rope(HEAD_DIM, fraction=0.5, theta=100.0),
    "two axes": Rope(HEAD_DIM, axes=2),
}
EVERY = pytest.mark.parametrize("rope", ROPES.values(), ids=ROPES.keys())
numbers = st.floats(-1000, 1000)


def turned(rope: Rope, x: torch.Tensor, place: list[float]) -> torch.Tensor:
    """x `[b, h, n, d]` with every token at the same place."""
    pos = Positions(torch.tensor(place, dtype=torch.float64).expand(1, x.shape[2], -1))
    return rope.query(x, rope.prepare(pos, pos, x.dtype))


def places(rope: Rope):
    return st.lists(numbers, min_size=rope.axes, max_size=rope.axes)


@EVERY
@given(data=st.data())
def test_lengths_are_kept(rope, data):
    x = normal(2, 3, 4, HEAD_DIM)
    assert gap(turned(rope, x, data.draw(places(rope))).norm(dim=-1), x.norm(dim=-1)) < 1e-14


@EVERY
@given(data=st.data())
def test_turns_add_up(rope, data):
    """R(a) R(b) = R(a + b); the rounding of a sum of 2000 is an angle of 1e-13."""
    a, b, x = data.draw(places(rope)), data.draw(places(rope)), normal(2, 3, 4, HEAD_DIM)
    together = turned(rope, x, [p + q for p, q in zip(a, b)])
    assert gap(turned(rope, turned(rope, x, a), b), together) < 1e-11


@EVERY
def test_position_0_turns_nothing(rope):
    x = normal(2, 3, 4, HEAD_DIM)
    assert torch.equal(turned(rope, x, [0.0] * rope.axes), x)


@EVERY
def test_opposite_positions_undo_each_other(rope):
    x, place = normal(2, 3, 4, HEAD_DIM), [3.5, -20.0][: rope.axes]
    there = turned(rope, x, place)
    assert gap(there, x) > 0.1
    assert gap(turned(rope, there, [-p for p in place]), x) < 1e-14


@EVERY
def test_queries_and_keys_are_turned_alike(rope):
    pos = Positions(normal(2, 5, rope.axes))
    prepared, x = rope.prepare(pos, pos, torch.float64), normal(2, 3, 5, HEAD_DIM)
    assert torch.equal(rope.query(x, prepared), rope.key(x, prepared))


@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 20))
def test_a_product_sees_the_difference_alone(shift, seed):
    q, k, _ = heads(5, rows=1, seed=seed)
    pos = at(normal(5, seed=seed) * 50)
    scores = []
    for p in (pos, pos.shifted(shift)):
        prepared = ROPES["half"].prepare(p, p, torch.float64)
        turned_q, turned_k = ROPES["half"].query(q, prepared), ROPES["half"].key(k, prepared)
        scores.append(turned_q @ turned_k.repeat_interleave(2, dim=1).mT)
    assert gap(*scores) < 1e-10


def test_a_pair_turns_counterclockwise():
    """(1, 0) at position p with frequency 1 becomes (cos p, sin p), under either pairing."""
    x = torch.zeros(1, 1, 1, 4, dtype=torch.float64)
    x[..., 0] = 1
    half = turned(Rope(4), x, [0.5])[0, 0, 0]
    neighbours = turned(Rope(4, pairing="interleaved"), x, [0.5])[0, 0, 0]
    c, s = torch.tensor(0.5, dtype=torch.float64).cos(), torch.tensor(0.5, dtype=torch.float64).sin()
    assert torch.equal(half, torch.stack([c, torch.zeros_like(c), s, torch.zeros_like(c)]))
    assert torch.equal(neighbours, torch.stack([c, s, torch.zeros_like(c), torch.zeros_like(c)]))


def test_frequencies_fall_from_1_by_the_root_of_theta():
    """theta^(-2m / r), with the rotated width r as denominator, not the head's."""
    expected = {
        Rope(8): [[1, 0.1, 0.01, 0.001]],
        Rope(8, fraction=0.5, theta=100.0): [[1, 0.1]],
        Rope(8, axes=2, theta=100.0): [[1, 0.1, 0, 0], [0, 0, 1, 0.1]],
    }
    for rope, rows in expected.items():
        table = torch.tensor(rows, dtype=torch.float64)
        assert torch.allclose(rope.frequencies(), table, rtol=1e-15, atol=0)


@pytest.mark.parametrize("fraction", [1.0, 0.5])
@pytest.mark.parametrize("kv_heads", [HEADS, KV_HEADS, 1])
def test_a_permutation_of_rows_turns_one_pairing_into_the_other(kv_heads, fraction):
    """New order 0, 2, 4, ..., 1, 3, 5, ... of the rotated rows of each head of q and of k; v and out are untouched."""
    modules = {}
    for pairing in ("interleaved", "half"):
        rope = Rope(HEAD_DIM, pairing=pairing, fraction=fraction)
        modules[pairing] = weigh(Attention(WIDTH, HEADS, rope, kv_heads=kv_heads, mask=BIDIRECTIONAL).double())
    rotary = int(HEAD_DIM * fraction)
    order = torch.cat([torch.arange(0, rotary, 2), torch.arange(1, rotary, 2), torch.arange(rotary, HEAD_DIM)])
    x, pos = normal(2, 7, WIDTH), at(normal(2, 7) * 100)
    expected = modules["interleaved"](x, pos)
    assert gap(modules["half"](x, pos), expected) > 0.01
    with torch.no_grad():
        for name in ("q", "k"):
            rows = getattr(modules["interleaved"], name).weight.unflatten(0, (-1, HEAD_DIM))
            getattr(modules["half"], name).weight.copy_(rows[:, order].flatten(0, 1))
    assert gap(modules["half"](x, pos), expected) < 1e-12


def test_dimensions_past_the_fraction_are_left_alone():
    x = normal(1, 2, 3, HEAD_DIM)
    out = turned(Rope(HEAD_DIM, fraction=0.25), x, [7.0])
    assert torch.equal(out[..., 2:], x[..., 2:]) and gap(out[..., :2], x[..., :2]) > 0.1


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_the_narrowest_head(pairing):
    """Head width 2 is one pair, and both pairings are the same."""
    q, k, v = (normal(1, 2, 4, 2, seed=i) for i in range(3))
    found = attend(q, k, v, Rope(2, pairing=pairing), sequence(4, 3))
    assert gap(found, attend(q, k, v, Rope(2), sequence(4, 3))) < 1e-14


@pytest.mark.parametrize(
    "options",
    [
        dict(head_dim=3),
        dict(head_dim=1),
        dict(head_dim=8, fraction=0.0),
        dict(head_dim=8, fraction=1.5),
        dict(head_dim=8, fraction=0.1),
        dict(head_dim=8, fraction=0.375),
        dict(head_dim=8, axes=0),
        dict(head_dim=8, axes=3),
        dict(head_dim=6, axes=2),
        dict(head_dim=8, theta=1.0),
        dict(head_dim=8, theta=-1.0),
        dict(head_dim=8, theta=float("nan")),
        dict(head_dim=8, pairing="neox"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        Rope(**options)
    assert error.value.given is not None and error.value.allowed is not None


def test_a_fraction_is_not_lost_to_rounding():
    """0.29 * 200 is 57.99999999999999 in float64 and means 58; 0.29 * 100 means 29, no whole number of pairs."""
    assert Rope(200, fraction=0.29).rotary == 58
    with pytest.raises(OptionError):
        Rope(100, fraction=0.29)

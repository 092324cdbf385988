"""ALiBi: slopes, the sign of the penalty, decoding with one query, distances on several axes."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon.attention import attend
from gnomon.encodings.alibi import Alibi, slopes
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions, grid, sequence
from tests.core.common import HEADS, at, gap, heads, normal

GOLDEN = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [0.0625, 0.00390625, 0.25],
    4: [0.25, 0.0625, 0.015625, 0.00390625],
    6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
    8: [2.0**-h for h in range(1, 9)],
    12: [2.0**-h for h in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
}


def bias(heads: int, q_pos: Positions, k_pos: Positions) -> torch.Tensor:
    empty = torch.empty(0, dtype=torch.float64)
    rows = max(q_pos.rows, k_pos.rows)
    return dense(Alibi(heads).bias(empty, empty, q_pos, k_pos), rows, heads, q_pos.length, k_pos.length)


@pytest.mark.parametrize("heads", GOLDEN)
def test_slopes(heads):
    assert slopes(heads) == pytest.approx(GOLDEN[heads], rel=1e-15)


def test_slopes_are_distinct_and_below_1():
    """The first is never 1, which an exponent that counts from 0 would give."""
    for count in range(1, 130):
        found = slopes(count)
        assert len(set(found)) == len(found) == count
        assert all(2**-8 <= slope < 1 for slope in found)


@given(places=st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=8, unique=True))
def test_a_closer_key_is_penalised_less(places):
    query, *keys = places
    table = bias(HEADS, at([query]), at(keys))[0, :, 0]
    nearest_first = sorted(range(len(keys)), key=lambda j: abs(keys[j] - query))
    assert (table <= 0).all()
    assert (table[:, nearest_first].diff(dim=-1) <= 0).all()


def test_the_bias_by_hand():
    """-m |p_i - p_j| at places of one's own, other in each row."""
    q_pos, k_pos = at([[3, 10], [-1.5, 0]]), at([[0, 4, 3], [2, -2, 0.25]])
    table = bias(4, q_pos, k_pos)
    for b in range(2):
        for h, slope in enumerate(GOLDEN[4]):
            for i in range(2):
                for j in range(3):
                    apart = q_pos.coords[b, i, 0].item() - k_pos.coords[b, j, 0].item()
                    assert table[b, h, i, j].item() == pytest.approx(-slope * abs(apart), abs=1e-15)


def test_without_a_mask_it_is_symmetric():
    table = bias(HEADS, sequence(7, 3), sequence(7, 3))
    assert torch.equal(table, table.mT) and (table.diagonal(dim1=-2, dim2=-1) == 0).all()


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
def test_weights_fall_by_the_slope_with_each_step(backend):
    """With equal logits, the weight of each key is e^-m of the next nearer one's."""
    n = 5
    q = torch.zeros(1, 2, 1, 8, dtype=torch.float64)
    k = torch.zeros(1, 2, n, 8, dtype=torch.float64)
    v = torch.eye(n, dtype=torch.float64).expand(1, 2, n, n)
    weights = attend(q, k, v, Alibi(2), backend=backend)[0, :, 0]
    ratio = weights[:, :-1] / weights[:, 1:]
    assert gap(ratio, torch.tensor([[math.exp(-(2**-4))], [math.exp(-(2**-8))]]).double().expand(2, 4)) < 1e-6
    assert gap(weights.sum(-1), torch.ones(2, dtype=torch.float64)) < 1e-15


@pytest.mark.parametrize("queries", [1, 3])
def test_decoding_with_few_queries(queries):
    """The bias belongs to all keys: built from the number of queries it would be off by their number."""
    q, k, v = heads(20)
    full = attend(q, k, v, Alibi(HEADS), mask=CAUSAL)
    last = attend(q[:, :, -queries:], k, v, Alibi(HEADS), mask=CAUSAL)
    assert gap(last, full[:, :, -queries:]) < 1e-12
    moved = attend(q[:, :, -queries:], k, v, Alibi(HEADS), sequence(queries, 1020 - queries), sequence(20, 1000))
    assert gap(moved, full[:, :, -queries:]) < 1e-12


@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5)])
def test_on_a_grid_the_distance_is_euclidean(rows, columns):
    table = bias(2, grid(rows, columns), grid(rows, columns))[0]
    places = [(y, x) for y in range(rows) for x in range(columns)]
    for i, a in enumerate(places):
        for j, b in enumerate(places):
            for h, slope in enumerate(GOLDEN[2]):
                assert table[h, i, j].item() == pytest.approx(-slope * math.dist(a, b), abs=1e-15)


def test_a_prefix_without_a_place_has_no_penalty():
    """A class token sees all patches alike, and they it."""
    pos = grid(2, 2, prefix=1)
    q = torch.zeros(1, 1, 5, 4, dtype=torch.float64)
    v = torch.eye(5, dtype=torch.float64)[None, None]
    weights = attend(q, q, v, Alibi(1), pos, mask=BIDIRECTIONAL)[0, 0]
    assert gap(weights[0], torch.full((5,), 0.2, dtype=torch.float64)) < 1e-15
    m = 2**-8
    row = torch.tensor([0, 0, -m, -m, -m * 2**0.5], dtype=torch.float64).softmax(0)
    assert gap(weights[1], row) < 1e-15


def test_far_positions_of_one_axis_keep_their_difference():
    q, k, v = (normal(1, 4, 6, 8, seed=i) for i in range(3))
    near, far = (attend(q, k, v, Alibi(4), sequence(6, start)) for start in (0, 10**9))
    assert torch.equal(near, far)


def test_heads_are_needed():
    with pytest.raises(OptionError):
        Alibi(0)

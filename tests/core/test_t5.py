"""T5's buckets against golden tables, and the bias made of them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon.attention import attend
from gnomon.encodings.buckets import EDGE, t5_bucket
from gnomon.encodings.t5 import T5
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions, sequence
from tests.core.common import HEAD_DIM, HEADS, at, gap, heads, normal, weigh

STARTS = {
    True: [*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113],
    False: [*range(8), 8, 12, 16, 23, 32, 46, 64, 91],
}
"""The first distance of every bucket of the past, for 32 buckets and a largest distance of 128: causal or not."""


def bucket(rho: list[float] | torch.Tensor, causal: bool = True, buckets: int = 32, max_distance: int = 128):
    return t5_bucket(
        torch.as_tensor(rho, dtype=torch.float64), causal=causal, buckets=buckets, max_distance=max_distance
    )


@pytest.mark.parametrize("causal", [True, False])
def test_where_each_bucket_of_the_past_begins(causal):
    starts = torch.tensor(STARTS[causal])
    assert bucket(-starts, causal).tolist() == list(range(len(starts)))
    assert bucket(1 - starts[1:], causal).tolist() == list(range(len(starts) - 1))
    assert bucket([-128, -129, -1000, -(10.0**9)], causal).unique().tolist() == [len(starts) - 1]


def test_the_future():
    assert bucket([1, 2, 40, 10**6], causal=True).tolist() == [0, 0, 0, 0]
    golden = {1: 17, 7: 23, 8: 24, 12: 25, 16: 26, 23: 27, 32: 28, 46: 29, 64: 30, 91: 31, 10**6: 31}
    assert bucket(list(golden), causal=False).tolist() == list(golden.values())


def test_the_first_and_last_row_of_ten():
    """Matches the released encoder; bucket 16, a distance of 0 in the future, is never used."""
    i, j = torch.arange(10)[:, None], torch.arange(10)
    table = bucket(j - i, causal=False)
    assert table[0].tolist() == [0, 17, 18, 19, 20, 21, 22, 23, 24, 24]
    assert table[9].tolist() == [8, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    everything = bucket(torch.arange(-2000, 2001), causal=False).unique().tolist()
    assert everything == [b for b in range(32) if b != 16]


@given(
    causal=st.booleans(),
    side=st.integers(2, 40),
    more=st.integers(1, 500),
    distances=st.lists(st.floats(0, 1e6), min_size=2, max_size=20),
)
def test_buckets_grow_with_distance_and_end(causal, side, more, distances):
    buckets, max_distance = side if causal else 2 * side, side // 2 + more
    x = torch.tensor(sorted(distances), dtype=torch.float64)
    past = bucket(-x, causal, buckets, max_distance)
    assert (past.diff() >= 0).all() and past.min() >= 0 and past.max() < side
    far = bucket([-float(max_distance), -1e7], causal, buckets, max_distance)
    assert far.tolist() == [side - 1, side - 1]
    if not causal:
        apart = x > EDGE
        assert torch.equal(bucket(x[apart], causal, buckets, max_distance), past[apart] + side)


@pytest.mark.parametrize("power", range(1, 8))
def test_edges_that_are_powers(power):
    """16 exact of 32 buckets, D = 16 * 2^16: bucket 16 + k begins at 16 * 2^k, and no rounding may move it."""
    edge = 16 * 2**power
    assert bucket([-edge, 1 - edge], buckets=32, max_distance=16 * 2**16).tolist() == [16 + power, 15 + power]


def test_between_whole_distances():
    """16 * 8^(1/16) = 18.22 begins bucket 17; among whole distances that is 19."""
    assert bucket([-0.5, -1.5, -15.5, -18.2, -18.3]).tolist() == [0, 1, 15, 16, 17]
    assert bucket([0.5, -0.5, 7.9, 8.0], causal=False).tolist() == [16, 0, 23, 24]


def test_tenths_are_not_lost_to_rounding():
    """Positions 0.1 i: 4.3 - 2.3 is 1.9999999999999996; whatever that is, both forms must find the same bucket."""
    encoding = weigh(T5(HEADS, causal=False).double())
    q, k, v = heads(60)
    pos = at(0.1 * torch.arange(60, dtype=torch.float64))
    expected = attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL, backend="reference")
    assert gap(attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL), expected) < 1e-12


@pytest.mark.parametrize("causal", [True, False])
def test_the_bias_is_one_number_for_each_bucket_and_head(causal):
    encoding = weigh(T5(HEADS, causal, buckets=8, max_distance=20).double())
    q_pos, k_pos = at([[5, 30], [0, 2]]), at([[4, 5, 70], [2, 2, -9]])
    empty = torch.empty(0, dtype=torch.float64)
    found = dense(encoding.bias(empty, empty, q_pos, k_pos), 2, HEADS, 2, 3)
    for b in range(2):
        for i in range(2):
            for j in range(3):
                rho = k_pos.coords[b, j] - q_pos.coords[b, i]
                row = encoding.weight[bucket(rho, causal, 8, 20).item()]
                assert torch.equal(found[b, :, i, j], row)


def test_there_is_no_scale():
    """Two keys: the weights are a softmax of plain products."""
    q, k = normal(1, 1, 1, HEAD_DIM), normal(1, 1, 2, HEAD_DIM, seed=1)
    v = torch.eye(2, dtype=torch.float64)[None, None]
    encoding = T5(1, causal=False).double()
    with torch.no_grad():
        encoding.weight.zero_()
    expected = torch.softmax(q @ k.mT, dim=-1)
    for backend in ("sdpa", "reference"):
        out = attend(q, k, v, encoding, sequence(1), sequence(2), mask=BIDIRECTIONAL, backend=backend)
        assert gap(out, expected) < 1e-15


def test_every_layer_has_the_same_table():
    encoding = T5(HEADS)
    assert all(layer is encoding for layer in encoding.layers(3))


def test_one_query_of_a_long_cache():
    """The bias of a decoded token is the last row, never the first."""
    encoding = weigh(T5(HEADS).double())
    q, k, v = heads(60)
    full = attend(q, k, v, encoding, mask=CAUSAL)
    assert gap(attend(q[:, :, -1:], k, v, encoding, mask=CAUSAL), full[:, :, -1:]) < 1e-12


def test_unused_buckets_have_no_gradient():
    encoding = T5(HEADS, causal=False).double()
    attend(*heads(5), encoding, mask=BIDIRECTIONAL).square().sum().backward()
    used = encoding.weight.grad.abs().sum(-1) > 0
    assert used.nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 17, 18, 19, 20]


@pytest.mark.parametrize(
    "options",
    [dict(buckets=0), dict(buckets=1), dict(buckets=32, max_distance=16), dict(buckets=32, max_distance=0),
     dict(causal=False, buckets=2), dict(causal=False, buckets=3), dict(causal=False, buckets=9),
     dict(causal=False, buckets=32, max_distance=8)],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        T5(**(dict(heads=HEADS) | options))


@pytest.mark.parametrize("options", [dict(buckets=2, max_distance=2), dict(causal=False, buckets=4, max_distance=2)])
def test_the_smallest_tables(options):
    encoding = weigh(T5(HEADS, **options).double())
    mask = CAUSAL if encoding.causal else BIDIRECTIONAL
    q, k, v = heads(6)
    pos = Positions(normal(2, 6, 1) * 5)
    expected = attend(q, k, v, encoding, pos, mask=mask, backend="reference")
    assert gap(attend(q, k, v, encoding, pos, mask=mask), expected) < 1e-12


def test_more_buckets_than_16_bits_count():
    """Exact buckets up to 50,000: each distance has its own."""
    far = torch.tensor([-32_768.0, -40_000.0, -49_999.0], dtype=torch.float64)
    assert t5_bucket(far, causal=True, buckets=100_000, max_distance=50_001).tolist() == [32_768, 40_000, 49_999]

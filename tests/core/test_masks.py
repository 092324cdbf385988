"""Masks against a matrix written out pair by pair; and a function of four indices is one function, dense or scalar."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon import positions
from gnomon.attention import attend
from gnomon.content import placed
from gnomon.encoding import Property
from gnomon.encodings.none import NoPE
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
from gnomon.pairs import dense
from gnomon.positions import Positions
from tests.core.common import HEAD_DIM, HEADS, anywhere, every_variant, gap, heads, label, make, normal, weigh


@st.composite
def tokens(draw, max_length: int = 6) -> Positions:
    """Positions of every kind: in order or not, packed or padded or neither, in one row or two."""
    n, rows = draw(st.integers(1, max_length)), draw(st.sampled_from([1, 2]))
    pos = positions.sequence(n, draw(st.integers(-2, 4)))
    pos = replace(pos, coords=pos.coords.expand(rows, n, 1))
    whole = st.integers(-3, 8)

    def table(values):
        return torch.tensor(draw(st.lists(st.lists(values, min_size=n, max_size=n), min_size=rows, max_size=rows)))

    if draw(st.booleans()):
        pos = replace(pos, turn=0, index=table(whole))
    if draw(st.booleans()):
        pos = replace(pos, segment=table(st.integers(-1, 1)))
    return pos


def brute_force(mask: Mask, q_pos: Positions, k_pos: Positions, rows: int) -> torch.Tensor:
    allowed = torch.zeros(rows, q_pos.length, k_pos.length, dtype=torch.bool)
    facts = [[t.expand(rows, -1).tolist() for t in (p.turns(), p.segments())] for p in (q_pos, k_pos)]
    (q_turn, q_segment), (k_turn, k_segment) = facts
    for b in range(rows):
        for i in range(q_pos.length):
            for j in range(k_pos.length):
                apart = q_turn[b][i] - k_turn[b][j]
                seen = q_segment[b][i] == k_segment[b][j] and k_segment[b][j] >= 0
                seen = seen and (apart >= 0 or not mask.causal)
                seen = seen and (mask.window is None or abs(apart) < mask.window)
                allowed[b, i, j] = seen
    return allowed


masks = st.builds(Mask, causal=st.booleans(), window=st.sampled_from([None, 1, 2, 3]))


@given(mask=masks, q_pos=tokens(), k_pos=tokens())
def test_a_mask_is_what_it_says_of_each_pair(mask, q_pos, k_pos):
    pair = mask.pair(q_pos, k_pos)
    expected = brute_force(mask, q_pos, k_pos, 2)
    if pair is None:
        assert expected.all()
        return
    found = dense(pair, 2, 1, q_pos.length, k_pos.length).expand(2, 1, q_pos.length, k_pos.length)
    assert torch.equal(found[:, 0], expected)


@given(mask=masks, q_pos=tokens(), k_pos=tokens(), same=st.booleans())
def test_a_square_mask_is_the_lower_triangle(mask, q_pos, k_pos, same):
    k_pos = q_pos if same else k_pos
    if not mask.square(q_pos, k_pos):
        return
    n = q_pos.length
    assert k_pos.length == n
    assert torch.equal(brute_force(mask, q_pos, k_pos, 1)[0], torch.ones(n, n, dtype=torch.bool).tril())


def test_when_a_mask_is_square():
    """What `is_causal` of a kernel may stand for is known without looking at data."""
    line = positions.sequence(5)
    assert CAUSAL.square(line, line) and CAUSAL.square(positions.sequence(5, 7), positions.sequence(5, 7))
    assert not BIDIRECTIONAL.square(line, line) and not Mask(window=9).square(line, line)
    assert not CAUSAL.square(positions.sequence(2, 3), line)
    assert not CAUSAL.square(positions.sequence(5, 5), line) and not CAUSAL.square(line, positions.sequence(5, 2))
    assert not CAUSAL.square(positions.packed([2, 3]), line)
    assert not CAUSAL.square(line, replace(line, index=torch.arange(5).flip(0)[None]))


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@pytest.mark.parametrize("start", [2, 4, 9, -1, -4])
def test_as_many_queries_as_keys_at_other_turns(start, backend):
    """Five queries that come `start` turns after five keys: a triangle moved aside, not the plain one."""
    q, k, v = heads(5)
    found = attend(q, k, v, NoPE(), positions.sequence(5, start), positions.sequence(5), backend=backend)
    seen = torch.ones(5, 5, dtype=torch.bool).tril(start)
    logits = (q @ k.repeat_interleave(2, 1).mT * HEAD_DIM**-0.5).masked_fill(~seen, -torch.inf)
    expected = torch.softmax(logits, -1).nan_to_num(nan=0.0) @ v.repeat_interleave(2, 1)
    assert gap(found, expected) < 1e-13


def test_one_decoded_token_needs_no_mask():
    assert CAUSAL.pair(positions.sequence(1, 9), positions.sequence(10)) is None
    assert CAUSAL.pair(positions.sequence(2, 8), positions.sequence(10)) is not None


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@given(mask=masks, q_pos=tokens(), k_pos=tokens())
def test_backends_obey(backend, mask, q_pos, k_pos):
    """With equal logits a query receives the mean of the values it sees, and zeros where it sees none."""
    n, m = q_pos.length, k_pos.length
    q, k, v = (t.clone() for t in heads(n, m))
    q.zero_()
    seen = brute_force(mask, q_pos, k_pos, 2).double()
    mean = torch.einsum("bij,bhjd->bhid", seen / seen.sum(-1, keepdim=True).clamp(min=1), v)
    out = attend(q, k, v, NoPE(), q_pos, k_pos, mask=mask, backend=backend)
    torch.testing.assert_close(out, mean.repeat_interleave(2, dim=1), rtol=0, atol=1e-13)


@pytest.mark.parametrize("variant", every_variant(), ids=label)
def test_a_bias_is_the_same_number_dense_and_scalar(variant):
    name, options = variant
    encoding = weigh(make(name, **options).double())
    pos, k_pos = anywhere(encoding, 2, 3, seed=1), anywhere(encoding, 2, 4, seed=2)
    pos = replace(pos, placed=torch.tensor([[True, False, True]]))
    q, k, _ = heads(3, 4)
    pair = placed(encoding.bias(q, k, pos, k_pos), pos, k_pos)
    if pair is None:
        assert name not in ("t5", "alibi")
        return
    table = dense(pair, 2, HEADS, 3, 4).expand(2, HEADS, 3, 4)
    for index in torch.cartesian_prod(*(torch.arange(size) for size in table.shape)):
        # Powers and sums of one number and of many may differ in their last bits.
        assert abs(pair(*index.unbind()) - table[tuple(index)]) <= 2**-48 * abs(table[tuple(index)])


def test_an_encoding_without_a_bias_has_none():
    assert placed(None, positions.sequence(2), positions.sequence(2)) is None


def test_a_window_holds_the_token_itself():
    with pytest.raises(OptionError):
        Mask(window=0)
    line = positions.sequence(4)
    assert torch.equal(dense(Mask(window=1).pair(line, line), 1, 1, 4, 4)[0, 0], torch.eye(4, dtype=torch.bool))


@pytest.mark.parametrize("mask", [Mask(), Mask(window=3), Mask(False, 3), Mask(False), Mask(window=1)], ids=str)
@pytest.mark.parametrize(
    "queries, keys, first_query, first_key",
    [(3, 7, 4, 0), (3, 7, 0, 0), (2, 5, 9, 0), (2, 5, 0, 9), (4, 4, 0, 0), (1, 8, 7, 0), (3, 8, 2, 1)],
)
def test_the_span_holds_every_key_that_is_seen(mask, queries, keys, first_query, first_key):
    q_pos, k_pos = positions.sequence(queries, first_query), positions.sequence(keys, first_key)
    first, last = mask.span(q_pos, k_pos)
    assert 0 <= first < last <= keys
    pair = mask.pair(q_pos, k_pos)
    if pair is None:
        assert (first, last) == (0, keys)
        return
    seen = dense(pair, 1, 1, queries, keys).expand(1, 1, queries, keys)[0, 0].any(0).nonzero().flatten().tolist()
    assert all(first <= key < last for key in seen)
    if first_query == first_key and queries == keys and mask.window is None:
        assert last == keys


@pytest.mark.parametrize("mask", [Mask(), Mask(window=3), Mask(False, 3), Mask(False)], ids=str)
@pytest.mark.parametrize("queries", [5, 300])
def test_of_no_keys_there_is_nothing_to_see(mask, queries):
    """Few queries, or so many that they are attended to by parts."""
    q_pos, k_pos = positions.sequence(queries), positions.sequence(0)
    assert mask.span(q_pos, k_pos) == (0, 0)
    q, k, v = heads(queries, 0)
    with torch.no_grad():
        assert not attend(q, k, v, NoPE(), q_pos, k_pos, mask=mask).any()


def test_a_mask_is_never_written_to_what_an_encoding_keeps():
    """A bias may be a tensor that its encoding made once."""
    kept = normal(1, HEADS, 5, 5)

    class Kept(NoPE):
        properties = Property.CONTENT_FREE

        def bias(self, q, k, q_pos, k_pos):
            return lambda b, h, i, j: kept

    before, (q, k, v) = kept.clone(), heads(5)
    with torch.no_grad():
        found = attend(q, k, v, Kept(), mask=Mask(window=2))
    assert torch.equal(kept, before) and torch.isfinite(found).all()

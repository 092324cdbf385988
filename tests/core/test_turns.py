"""Turns say what comes after what; pieces that are joined follow one another, and what cannot be known is refused."""

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention, attend
from gnomon.errors import OptionError, PositionError
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL
from tests.core.common import HEADS, WIDTH, gap, heads, make, normal, weigh


def test_pieces_in_seconds_follow_one_another():
    joined = positions.timed([0, 1.5, 2]).append(positions.timed([3, 4.25]))
    assert joined.turns().tolist() == [[0, 1, 2, 3, 4]]
    q, k, v = heads(5, rows=1)
    whole = positions.timed([0, 1.5, 2, 3, 4.25])
    assert gap(attend(q, k, v, make("rope"), joined), attend(q, k, v, make("rope"), whole)) < 1e-12


def test_turns_with_gaps_go_on_behind_the_latest():
    first = positions.Positions(torch.zeros(2, 3, 1).double(), index=torch.tensor([[0, 10, 20], [5, 3, 1]]))
    later = positions.Positions(torch.zeros(2, 2, 1).double(), index=torch.tensor([[7, 9], [2, 2]]))
    assert first.append(later).turns().tolist() == [[0, 10, 20, 21, 23], [5, 3, 1, 6, 6]]


UNCOUNTED = {"starts row by row": positions.sequence(1, torch.tensor([5.0])), "seconds": positions.timed([5.0])}


@pytest.mark.parametrize("what", UNCOUNTED)
def test_queries_whose_turns_nobody_counted_are_refused_under_a_causal_mask(what):
    q, k, v = heads(6, rows=1)
    with pytest.raises(PositionError, match="turns"):
        attend(q[:, :, :1], k, v, make("rope"), UNCOUNTED[what], positions.sequence(6))
    attend(q[:, :, :1], k, v, make("rope"), UNCOUNTED[what], positions.sequence(6), mask=BIDIRECTIONAL)


def test_the_first_keys_may_be_the_queries():
    q, k, v = heads(6, rows=1)
    pos = positions.sequence(6)
    first = attend(q[:, :, :2], k, v, make("rope"), pos.tokens(0, 2), pos)
    assert gap(first, attend(q, k, v, make("rope"), pos)[:, :, :2]) < 1e-12


def test_a_module_alone_keeps_one_layer():
    module, x = weigh(Attention(WIDTH, HEADS, make("rope"))).double(), normal(1, 4, WIDTH)
    with pytest.raises(OptionError, match="one layer"):
        module(x, cache=Cache(9), layer=1)
    with pytest.raises(OptionError, match="one layer"):
        module(x, keys=x, cache=Cache(9))


def test_building_attention_leaves_the_weights_of_the_encoding():
    encoding = make("t5")
    with torch.no_grad():
        encoding.weight.fill_(7.0)
    Attention(WIDTH, HEADS, encoding)
    assert (encoding.weight == 7).all()


def test_a_causal_t5_refuses_a_mask_that_shows_the_future():
    with pytest.raises(OptionError, match="causal"):
        attend(*heads(5), make("t5"), mask=BIDIRECTIONAL)
    with pytest.raises(OptionError, match="causal"):
        Attention(WIDTH, HEADS, make("t5"), mask=BIDIRECTIONAL)


@pytest.mark.parametrize("call", ["attend", "attention", "transformer"])
def test_a_name_is_no_encoding(call):
    from gnomon.transformer import Transformer

    calls = {
        "attend": lambda: attend(*heads(5), "alibi"),
        "attention": lambda: Attention(WIDTH, HEADS, "rope"),
        "transformer": lambda: Transformer(9, WIDTH, 4, HEADS, "rope"),
    }
    with pytest.raises(OptionError, match=r"encodings\.create"):
        calls[call]()


def test_a_causal_module_asks_where_other_tokens_are():
    """Which of them a query may see does not follow from how many there are."""
    module = Attention(WIDTH, HEADS, make("none")).double()
    x, memory = normal(2, 3, WIDTH), normal(2, 7, WIDTH, seed=1)
    keys = positions.sequence(7)
    for told in ({}, {"key_pos": keys}, {"pos": keys.tokens(4, 7)}):
        with pytest.raises(PositionError, match="came first"):
            module(x, keys=memory, **told)
    with pytest.raises(PositionError, match="turns of the first keys"):
        module(x, positions.timed([4.0, 5.0, 6.0]), keys=memory, key_pos=keys)
    last = module(memory)[:, 4:]
    assert torch.equal(module(memory[:, 4:], keys.tokens(4, 7), keys=memory, key_pos=keys), last)

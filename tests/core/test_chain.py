"""The chain: states by hand, its order, where it begins, what it passes over, caches that forget, far ends."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import positions
from gnomon.attention import attend
from gnomon.encodings.chain import Chain
from gnomon.errors import OptionError, PositionError
from gnomon.kv_cache import Cache, SinkCache, WindowCache
from gnomon.masks import BIDIRECTIONAL, Mask
from gnomon.positions import Positions
from tests.core.common import HEADS, at, gap, heads, make, model, tokens, weigh


def chain(**options) -> Chain:
    return weigh(Chain(HEADS, **options).double())


def states(encoding: Chain, pos: Positions, context: Positions | None = None) -> torch.Tensor:
    return encoding.prepare(pos, pos if context is None else context, torch.float64)[1][:, 0]


def walked(encoding: Chain, pos: Positions, context: Positions | None = None) -> torch.Tensor:
    return encoding._walked(pos, pos if context is None else context)


def test_two_steps_by_hand():
    """One channel, no hidden bias: the state is turned about its rest and comes nearer to it."""
    encoding = Chain(1, channels=1, hidden=1).double()
    numbers = {"see.weight": [[0.5, -0.2]], "see.bias": [0.1], "move.weight": [[2.0], [3.0]], "move.bias": [-4.0, 0.3],
               "start": [1.5, 0.5], "rest": [0.2, -0.1], "read": [[[1.0, 0.0], [0.0, 1.0]]]}  # fmt: skip
    encoding.load_state_dict({name: torch.tensor(value, dtype=torch.float64) for name, value in numbers.items()})
    z, rest = complex(1.5, 0.5), complex(0.2, -0.1)
    expected = [z]
    for step in (2.0, -0.5):
        hidden = math.tanh(0.5 * step / (1 + abs(step)) - 0.2 * math.asinh(step) + 0.1)
        keep = 1 / (1 + math.exp(-(6 + 2 * hidden - 4)))
        angle = step + 3 * hidden + 0.3
        z = rest + keep * complex(math.cos(angle), math.sin(angle)) * (z - rest)
        expected.append(z)
    expected = torch.tensor([[z.real, z.imag] for z in expected], dtype=torch.float64)
    for found in (states(encoding, at([3, 5, 4.5])), walked(encoding, at([3, 5, 4.5]))):
        assert gap(found[0], expected) < 1e-15


def test_an_untrained_chain_of_even_steps_is_a_clock():
    """It turns at 10000^{-c/m} a token from the beginning, and keeps nearly all of its size."""
    torch.manual_seed(0)
    encoding = Chain(HEADS, channels=4).double()
    with torch.no_grad():
        encoding.move.weight.zero_()
    e = states(encoding, positions.sequence(50, 1000))[0]
    z = torch.complex(e[:, :4], e[:, 4:])
    count = torch.arange(50, dtype=torch.float64)[:, None]
    angle = count * 10000 ** -(torch.arange(4, dtype=torch.float64) / 4)
    keep = torch.sigmoid(torch.tensor(6.0).double()) ** count
    assert gap(torch.view_as_real(z), torch.view_as_real(torch.polar(keep.expand(-1, 4), angle))) < 1e-12


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 9), m=st.integers(1, 9), rows=st.integers(1, 3))
def test_sums_are_steps_in_any_order(seed, n, m, rows):
    """Turns in any order and more than once, documents that alternate, padding, no places, queries that are no keys."""
    g = torch.Generator().manual_seed(seed)

    def tangled(length: int) -> Positions:
        whole = {name: torch.randint(low, high, (rows, length), generator=g) for name, low, high in
                 (("index", -3, 4), ("segment", -1, 3), ("placed", 0, 4))}  # fmt: skip
        coords = 10 * torch.randn(rows, length, 1, generator=g, dtype=torch.float64)
        return Positions(coords, index=whole["index"], segment=whole["segment"], placed=whole["placed"] > 0)

    encoding, pos, context = chain(channels=2, hidden=3), tangled(n), tangled(m)
    for queries in (pos, context):
        assert gap(states(encoding, queries, context), walked(encoding, queries, context)) < 1e-12


def test_the_order_is_that_of_turns():
    """Tokens that stand in another order in the row, with their turns, have the states that they had."""
    encoding, order = chain(), torch.tensor([3, 0, 4, 1, 2])
    pos = replace(at([5, 7, 1, 2, 9]), index=torch.arange(5)[None])
    other = Positions(pos.coords[:, order], index=pos.index[:, order])
    assert gap(states(encoding, other), states(encoding, pos)[:, order]) < 1e-14


def test_each_document_begins_anew():
    encoding, apart = chain(), positions.sequence(4)
    e = states(encoding, positions.packed([3, 4, 1], restart=False))
    assert gap(e[:, 3:7], states(encoding, apart)) < 1e-13
    assert gap(e[0, [0, 3, 7]], encoding.start.expand(3, -1)) < 1e-15


def test_tokens_without_a_place_are_passed_over():
    """A prefix, and a token in the middle, change no other state, and have none."""
    encoding = chain()
    pos = replace(at([99, 1, 2, -50, 4]), placed=torch.tensor([[False, True, True, False, True]]))
    e = states(encoding, pos)
    assert gap(e[:, [1, 2, 4]], states(encoding, at([1, 2, 4]))) < 1e-14
    assert not e[:, [0, 3]].any()


def test_padding_on_the_left_is_no_link():
    encoding = chain()
    e = states(encoding, positions.padded(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])))
    assert gap(e[0, 2:], e[1, :3]) < 1e-14 and not e[0, :2].any()


def test_queries_that_are_no_keys():
    """A query between two keys follows the earlier one; before all keys, it begins a chain."""
    encoding = chain()
    keys = replace(at([0, 10, 30]), index=torch.tensor([[0, 10, 30]]))
    queries = replace(at([12, 4]), index=torch.tensor([[11, -1]]))
    found = states(encoding, queries, keys)
    alone = replace(at([0, 10, 12]), index=torch.tensor([[0, 10, 11]]))
    assert gap(found[0, 0], states(encoding, alone)[0, 2]) < 1e-14
    assert gap(found[0, 1], encoding.start) < 1e-15


def test_only_steps_are_seen():
    encoding, pos = chain(), at([0.5, 3, 3.25, 10])
    assert gap(states(encoding, pos.shifted(1e6)), states(encoding, pos)) < 1e-9
    assert gap(states(encoding, at([0.5, 3, 3.5, 10])), states(encoding, pos)) > 1e-3


@pytest.mark.parametrize("split", [[1] * 9, [4, 5], [8, 1], [2, 0, 7]], ids=str)
def test_decoding_goes_on_where_it_was(split):
    """Steps of real time, packed with an earlier document."""
    net, token = model(make("chain")), tokens(1, 9)
    pos = replace(at([0, 1.5, 1.75, 0, 3, 4, 4.5, 9, 30]), segment=torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1]]))
    cache, parts, start = Cache(9), [], 0
    for size in split:
        parts.append(net(token[:, start : start + size], pos.tokens(start, start + size), cache=cache))
        start += size
    assert gap(torch.cat(parts, dim=1), net(token, pos)) < 1e-12


def test_a_cache_that_forgets_is_refused_once_it_has():
    """Its keys were made from tokens that the next query would not know of."""
    net, token, cache = model(make("chain"), Mask(window=4)), tokens(1, 9), WindowCache(3)
    found = net(token[:, :3], cache=cache)
    found = torch.cat([found, net(token[:, 3:5], cache=cache)], dim=1)
    assert gap(found, net(token)[:, :5]) < 1e-12
    with pytest.raises(OptionError, match="all those before it"):
        net(token[:, 5:6], cache=cache)


def test_sinks_count_anew():
    """A cache that renumbers what it holds makes a chain of that."""
    net, token, cache = model(make("chain")), tokens(1, 12), SinkCache(1, 3)
    for i in range(12):
        assert torch.isfinite(net(token[:, i : i + 1], cache=cache)).all()


def test_far_along_states_are_finite_and_as_exact():
    """A hundred thousand steps, kept nearly whole or lost at once: no overflow."""
    encoding = Chain(HEADS, channels=2, hidden=3).double()
    for shift in (-40.0, 0.0, 40.0):
        with torch.no_grad():
            encoding.move.bias[:2] = shift
        e = states(encoding, positions.sequence(100_000))
        assert torch.isfinite(e).all() and e.abs().max() <= 1.0 + 1e-9
        moves = encoding._moves(torch.ones(1, 1, dtype=torch.float64))
        log, angle = (99_999 * move[0, 0] for move in moves)
        expected = torch.cat([log.exp() * angle.cos(), log.exp() * angle.sin()])
        # Each of the sums is rounded a hundred thousand times, at a size of as much.
        assert gap(e[0, -1], expected) < 1e-6


@pytest.mark.parametrize("step", [0.0, 1e-300, 1e7, -1e7, 1e12])
def test_steps_of_any_size(step):
    encoding = chain()
    pos = at([0, step, 2 * step])
    e = states(encoding, pos)
    assert torch.isfinite(e).all()
    grads = torch.autograd.grad(e.square().sum(), [encoding.see.weight, encoding.move.weight, encoding.rest])
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_it_tells_left_from_right():
    pos, zero = at([0, 1, 2]), torch.zeros(1, HEADS, 3, 8, dtype=torch.float64)
    logits = chain().score(zero, zero, pos, pos)
    assert gap(logits, logits.mT) > 0.01


def test_keys_of_a_group_share_one_state():
    """Grouped keys stay grouped: the heads' matrices are on the side of the queries."""
    encoding, pos = chain(channels=3), positions.sequence(5)
    _, k, _ = heads(5)
    assert encoding.key(k, encoding.prepare(pos, pos, torch.float64)).shape == (2, 3, 5, 8 + 6)


def test_one_axis_alone():
    with pytest.raises(PositionError, match="axes"):
        attend(*heads(4), chain(), positions.grid(2, 2), mask=BIDIRECTIONAL)


@pytest.mark.parametrize("options", [dict(channels=0), dict(hidden=0)], ids=str)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        Chain(HEADS, **options)


def test_every_parameter_learns_from_one_step():
    encoding = Chain(HEADS).double()
    attend(*heads(7), encoding).square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in encoding.parameters())

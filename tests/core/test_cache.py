"""The cache: capacity, chunks of any size, rows that count each from their own start, no gradients kept."""

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention
from gnomon.errors import OptionError, PositionError, UserError
from gnomon.kv_cache import Cache, SinkCache, WindowCache
from gnomon.masks import Mask
from gnomon.memory import Memory
from tests.core.common import HEADS, WIDTH, at, every_variant, gap, label, make, model, normal, tokens, weigh

TOKENS = 9
ONE_AXIS = [v for v in every_variant() if v[1].get("axes", 1) == 1]
EVERY = pytest.mark.parametrize("variant", ONE_AXIS, ids=label)


def decode(net, token, pos, split, capacity=TOKENS) -> torch.Tensor:
    cache, parts, start = Cache(capacity), [], 0
    for size in split:
        stop = start + size
        parts.append(net(token[:, start:stop], None if pos is None else pos.tokens(start, stop), cache=cache))
        start = stop
    assert cache.length == start
    return torch.cat(parts, dim=1)


@EVERY
@pytest.mark.parametrize("split", [[1] * TOKENS, [TOKENS - 1, 1], [3, 3, 3], [4, 5], [TOKENS], [2, 0, 7]], ids=str)
def test_any_chunks_give_the_full_forward_pass(variant, split):
    """At default positions, and at an offset with gaps."""
    name, options = variant
    net, token = model(make(name, **options)), tokens(2, TOKENS)
    assert gap(decode(net, token, None, split), net(token)) < 1e-12
    pos = at([3, 4, 5, 9, 10, 11, 20, 21, 30])
    assert gap(decode(net, token, pos, split), net(token, pos)) < 1e-12


@EVERY
@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_rows_go_on_from_a_start_of_their_own(variant, backend):
    """A left-padded batch, then one token at a time at each row's next position, as a caller writes it."""
    name, options = variant
    net, token = model(make(name, **options), backend=backend), tokens(3, TOKENS)
    real = torch.arange(TOKENS) >= torch.tensor([[0], [2], [4]])
    expected = net(token, positions.padded(real))
    cache, prompt = Cache(TOKENS), 5
    net(token[:, :prompt], positions.padded(real[:, :prompt]), cache=cache)
    for i in range(prompt, TOKENS):
        pos = positions.sequence(1, real[:, :i].sum(-1))
        assert gap(net(token[:, i : i + 1], pos, cache=cache), expected[:, i : i + 1]) < 1e-12


@EVERY
def test_rows_that_are_said_to_count_alike_go_on_by_themselves(variant):
    """A batch of equal sequences is known to count, as one sequence for all rows is."""
    name, options = variant
    net, token, cache = model(make(name, **options)), tokens(2, TOKENS), Cache(TOKENS)
    net(token[:, :5], positions.batch(positions.sequence(5), positions.sequence(5)), cache=cache)
    parts = [net(token[:, i : i + 1], cache=cache) for i in range(5, TOKENS)]
    assert gap(torch.cat(parts, dim=1), net(token)[:, 5:]) < 1e-12


@EVERY
def test_a_left_padded_batch_in_chunks(variant):
    name, options = variant
    net, token = model(make(name, **options)), tokens(4, TOKENS)
    real = torch.arange(TOKENS) >= torch.tensor([[0], [1], [2], [3]])
    pos = positions.padded(real)
    assert gap(decode(net, token, pos, [5, 1, 3])[real], net(token, pos)[real]) < 1e-12


@pytest.mark.parametrize("start", [5, 5.0, torch.tensor(5), [5, 5]], ids=["int", "float", "tensor", "rows"])
@pytest.mark.parametrize("name", ["none", "rope", "alibi"])
def test_a_whole_start_counts_as_tokens_that_came_before(name, start):
    """sequence(n, start) after `start` cached tokens, whatever kind of number the start is."""
    net, token = model(make(name)), tokens(2, TOKENS)
    cache = Cache(TOKENS)
    net(token[:, :5], cache=cache)
    found = net(token[:, 5:], positions.sequence(TOKENS - 5, start), cache=cache)
    assert gap(found, net(token)[:, 5:]) < 1e-12


@pytest.mark.parametrize("name", ["none", "rope", "alibi"])
def test_positions_between_whole_numbers_go_on_too(name):
    """A prompt at 0.5, 1.5, ... and its continuation: a query sees what came before it in the cache."""
    net, token = model(make(name)), tokens(2, TOKENS)
    cache = Cache(TOKENS)
    net(token[:, :5], positions.sequence(5, 0.5), cache=cache)
    found = net(token[:, 5:], positions.sequence(TOKENS - 5, 5.5), cache=cache)
    assert gap(found, net(token, positions.sequence(TOKENS, 0.5))[:, 5:]) < 1e-12


@pytest.mark.parametrize("window", [1, 3, 6])
def test_a_window_over_a_cache(window):
    net, token = model(make("rope"), Mask(window=window)), tokens(2, TOKENS)
    assert gap(decode(net, token, None, [4, 1, 2, 2]), net(token)) < 1e-12


def test_packed_documents_in_chunks():
    net, token = model(make("alibi")), tokens(1, TOKENS)
    pos = positions.packed([4, 2, 3])
    assert gap(decode(net, token, pos, [3, 2, 4]), net(token, pos)) < 1e-12


def test_more_than_fits_is_refused_and_changes_nothing():
    net, token, cache = model(make("rope")), tokens(2, TOKENS), Cache(6)
    net(token[:, :4], cache=cache)
    with pytest.raises(OptionError) as error:
        net(token[:, 4:7], cache=cache)
    assert "4 tokens held, 3 new" in error.value.given and "6" in error.value.allowed and error.value.do
    assert cache.length == 4
    assert gap(net(token[:, 4:6], cache=cache), net(token[:, :6])[:, 4:]) < 1e-12


def test_a_cache_longer_than_needed_gives_the_same():
    net, token = model(make("t5")), tokens(2, TOKENS)
    assert gap(decode(net, token, None, [4, 5], capacity=50), decode(net, token, None, [4, 5])) < 1e-13


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_cache_needs_room(capacity):
    with pytest.raises(OptionError):
        Cache(capacity)


def test_a_position_outside_the_table_leaves_the_cache_as_it_was():
    net, token, cache = model(make("learned", max_positions=6)), tokens(2, TOKENS), Cache(TOKENS)
    net(token[:, :5], cache=cache)
    with pytest.raises(PositionError):
        net(token[:, 5:], cache=cache)
    assert cache.length == 5
    assert gap(net(token[:, 5:6], cache=cache), net(token[:, :6])[:, 5:]) < 1e-12


def test_a_batch_of_another_size_is_refused():
    net, token, cache = model(make("rope")), tokens(4, TOKENS), Cache(TOKENS)
    net(token[:2, :4], cache=cache)
    with pytest.raises(UserError):
        net(token[:, 4:6], cache=cache)


def test_no_gradient_flows_into_the_past():
    """What is stored is cut off; the new tokens' own queries still learn."""
    attention = weigh(Attention(WIDTH, HEADS, make("rope")).double())
    past, new = normal(1, 3, WIDTH).requires_grad_(), normal(1, 2, WIDTH, seed=1).requires_grad_()
    cache = Cache(5)
    attention(past, cache=cache)
    attention(new, cache=cache).square().sum().backward()
    assert past.grad is None
    assert new.grad.abs().max() > 0 and attention.q.weight.grad.abs().max() > 0
    assert attention.k.weight.grad is None and attention.v.weight.grad is None


def test_two_caches_do_not_meet():
    net, token = model(make("rope")), tokens(2, TOKENS)
    first, second = Cache(TOKENS), Cache(TOKENS)
    expected = net(token)
    net(token[:1, :4], cache=first)
    net(token[1:, :6], cache=second)
    assert gap(net(token[:1, 4:], cache=first), expected[:1, 4:]) < 1e-12
    assert gap(net(token[1:, 6:], cache=second), expected[1:, 6:]) < 1e-12


PASTS = {
    "cache": lambda: Cache(20),
    "window": lambda: WindowCache(8),
    "sinks": lambda: SinkCache(2, 6),
    "memory": lambda: Memory(8),
}


@pytest.mark.parametrize("kind", PASTS)
def test_a_refused_call_leaves_no_trace(kind):
    """Another number of rows, positions for other tokens: the next call is as if there had been none."""
    net, token = model(make("alibi")), tokens(2, 9)
    tried, quiet = PASTS[kind](), PASTS[kind]()
    for past in (tried, quiet):
        net(token[:, :5], cache=past)
    for wrong in (
        lambda: net(tokens(3, 2), cache=tried),
        lambda: net(token[:, 5:7], positions.grid(1, 2), cache=tried),
    ):
        with pytest.raises(UserError):
            wrong()
    assert tried.length == quiet.length
    assert torch.equal(net(token[:, 5:], cache=tried), net(token[:, 5:], cache=quiet))


def test_a_module_alone_leaves_no_trace_of_a_refused_call():
    module, cache, x = weigh(Attention(WIDTH, HEADS, make("rope"))).double(), Cache(9), normal(2, 6, WIDTH)
    module(x[:, :4], cache=cache)
    with pytest.raises(UserError):
        module(normal(3, 1, WIDTH), cache=cache)
    assert gap(module(x[:, 4:], cache=cache), module(x)[:, 4:]) < 1e-12


@pytest.mark.parametrize("kind", ["cache", "window", "memory"])
def test_positions_that_do_not_follow_from_a_count_are_asked_for(kind):
    net, token = model(make("rope")), tokens(2, 6)
    given = {
        "padded": positions.padded(torch.arange(4) > torch.tensor([[0], [2]])),
        "packed": positions.packed([1, 3]),
        "elsewhere": positions.sequence(4, 100),
        "row by row": positions.sequence(4, [0, 7]),
    }
    for pos in given.values():
        past = PASTS[kind]()
        net(token[:, :4], pos, cache=past)
        with pytest.raises(PositionError, match="follow"):
            net(token[:, 4:5], cache=past)
    past = PASTS[kind]()
    net(token[:, :4], positions.sequence(4), cache=past)
    assert net(token[:, 4:5], cache=past).shape == (2, 1, 29)

"""Caches that forget: the last tokens at their own positions, or the first and last at their places in the cache."""

import pytest
import torch

from gnomon.attention import Attention
from gnomon.encoding import Property
from gnomon.errors import OptionError, PositionError
from gnomon.kv_cache import SinkCache, WindowCache
from gnomon.masks import Mask
from gnomon.positions import Positions, grid, padded, sequence
from gnomon.ring import SPARE, tokens_of
from tests.core.common import HEADS, WIDTH, every_variant, gap, key_heads, label, make, model, normal, tokens, weigh

TOKENS = 13
ONE_AXIS = [v for v in every_variant() if v[1].get("axes", 1) == 1 and make(v[0], **v[1]).domain.axes in (None, 1)]
IN_ATTENTION = [v for v in ONE_AXIS if "embeddings" not in make(v[0], **v[1]).sites]
AT_THE_INPUT = [v for v in ONE_AXIS if v not in IN_ATTENTION]


@pytest.fixture(autouse=True)
def no_gradient():
    """As in decoding, where tokens are held in rings; `test_ring` holds those to what is held with gradients."""
    with torch.no_grad():
        yield


def module(variant, mask: Mask = Mask(), causal: bool = True) -> Attention:
    name, options = variant
    encoding = make(name, **options)
    return weigh(Attention(WIDTH, HEADS, encoding, kv_heads=key_heads(encoding), mask=mask).double())


def held(cache) -> int:
    return tokens_of(cache._layers[0][0]).shape[2]


# Sinks.


@pytest.mark.parametrize("variant", IN_ATTENTION, ids=label)
@pytest.mark.parametrize("sinks, size", [(2, 4), (0, 3), (1, 1)])
def test_a_step_is_a_forward_pass_over_the_tokens_kept(variant, sinks, size):
    """Token by token: what a token receives is what it would at the end of a sequence of the kept tokens alone."""
    attention, x, cache = module(variant), normal(2, TOKENS, WIDTH), SinkCache(sinks, size)
    for i in range(TOKENS):
        found = attention(x[:, i : i + 1], cache=cache)
        kept = [*range(min(sinks, i)), *range(max(sinks, i - size), i), i]
        expected = attention(x[:, kept])[:, -1:]
        assert gap(found, expected) < 1e-12
        assert cache.length == held(cache) == min(i + 1, sinks + size)


@pytest.mark.parametrize("variant", IN_ATTENTION, ids=label)
@pytest.mark.parametrize("split", [[9, 1, 3], [TOKENS], [2, 8, 3], [1, 11, 1], [5, 0, 8]], ids=str)
def test_calls_of_several_tokens(variant, split):
    """A call sees what is held, then itself, all counted from 0; a call longer than the cache too."""
    attention, x, cache, kept, start = module(variant), normal(2, TOKENS, WIDTH), SinkCache(2, 4), [], 0
    for size in split:
        found = attention(x[:, start : start + size], cache=cache)
        every = [*kept, *range(start, start + size)]
        assert gap(found, attention(x[:, every])[:, len(kept) :]) < 1e-12
        kept = every if len(every) <= 6 else [*every[:2], *every[-4:]]
        start += size
        assert cache.length == held(cache) == len(kept)


def test_fingerprints():
    """Keys stay as projected, in order, each once: the first, then the last; and little else is held on to."""
    attention, cache = module(("rope", {})), SinkCache(2, 3)
    x = normal(1, TOKENS, WIDTH)
    raw = attention.k(x).unflatten(-1, (3, 8)).transpose(1, 2)
    for start in range(0, TOKENS, 3):
        attention(x[:, start : start + 3], cache=cache)
    keys = tokens_of(cache._layers[0][0])
    assert gap(keys, raw[:, :, [0, 1, 10, 11, 12]]) < 1e-14
    assert keys.untyped_storage().nbytes() <= 2 * (2 + 3 + SPARE) * keys[:, :, :1].numel() * 8
    with torch.enable_grad():
        attention(x[:, :3], cache=cache)
    keys = tokens_of(cache._layers[0][0])
    assert keys.untyped_storage().nbytes() == keys.numel() * 8


def test_positions_are_places_in_the_cache():
    """Whatever coordinates the caller gives, and however many tokens came before."""
    cache = SinkCache(2, 3)
    for start in range(0, 400, 4):
        extent = cache.extend(sequence(4, 1000 + 7 * start))
        n = extent.keys.length
        assert extent.keys.coords[0, :, 0].tolist() == list(range(n)) and n <= 9
        assert extent.queries.coords[0, :, 0].tolist() == list(range(n - 4, n))
        assert extent.queries.turns().tolist() == [list(range(n - 4, n))]
        assert extent.renumbered and extent.keys.step == 1


@pytest.mark.parametrize("variant", [("rope", {}), ("alibi", {}), ("t5", {}), ("none", {})], ids=label)
def test_rows_of_unequal_length_keep_their_own_first_tokens(variant):
    """A left-padded prompt, then token by token: each row is as if it were alone."""
    attention, x = module(variant), normal(3, TOKENS, WIDTH)
    starts = [0, 2, 5]
    real = torch.arange(TOKENS) >= torch.tensor(starts)[:, None]
    together, alone = SinkCache(2, 4), [SinkCache(2, 4) for _ in starts]
    calls = [(0, 6), (6, 7), (7, 8), (8, 12), (12, 13)]
    for a, b in calls:
        pos = padded(real[:, a:b]) if a == 0 else sequence(b - a)
        found = attention(x[:, a:b], pos, cache=together)
        for row, start in enumerate(starts):
            part = x[row : row + 1, max(a, start) : b]
            expected = attention(part, cache=alone[row])
            assert gap(found[row : row + 1, max(a, start) - a :], expected) < 1e-12
    assert together.length == 6 and together._order is None, "once no row is filled up, none is copied"


def test_right_padding_is_not_kept():
    attention, x = module(("rope", {})), normal(2, 9, WIDTH)
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    together, alone = SinkCache(1, 3), SinkCache(1, 3)
    attention(x[:, :5], padded(real), cache=together)
    attention(x[1:, :2], cache=alone)
    for i in range(5, 9):
        found = attention(x[:, i : i + 1], cache=together)
        assert gap(found[1:], attention(x[1:, i : i + 1], cache=alone)) < 1e-12


def test_tokens_without_a_place_are_kept_and_not_counted():
    cache = SinkCache(2, 3)
    pos = Positions(torch.zeros(1, 4, 1, dtype=torch.float64), placed=torch.tensor([[False, True, True, True]]))
    cache.extend(pos)
    extent = cache.extend(sequence(3))
    assert extent.keys.coords[0, :, 0].tolist() == [0, 0, 1, 2, 3, 4, 5]
    assert extent.keys.placed.tolist() == [[False] + [True] * 6]
    extent = cache.extend(sequence(1))
    assert extent.keys.coords[0, :, 0].tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("variant", AT_THE_INPUT, ids=label)
def test_what_was_added_at_the_input_cannot_move(variant):
    net = model(make(variant[0], **variant[1]))
    with pytest.raises(OptionError, match="WindowCache"):
        net(tokens(2, 4), cache=SinkCache(1, 3))


@pytest.mark.parametrize("name", ["none", "rope", "alibi", "t5"])
@pytest.mark.parametrize("backend", ["reference", "sdpa"])
def test_a_model_streams_without_growing(name, backend):
    """Several layers, 40 tokens through a cache of 6: finite, bounded, and the same under every backend."""
    net, token, cache = model(make(name), backend=backend), tokens(2, 40), SinkCache(2, 4)
    plain = SinkCache(2, 4)
    for i in range(40):
        out = net(token[:, i : i + 1], cache=cache)
        assert gap(out, model(make(name), backend="reference")(token[:, i : i + 1], cache=plain)) < 1e-12
        assert cache.length <= 6 and all(tokens_of(k).shape[2] <= 6 for k, _ in cache._layers.values())


def test_the_first_layer_of_a_model_sees_fresh_positions():
    """Tokens far past the domain of a bounded encoding go on: places in the cache never leave it."""
    attention, cache = module(("rope", {})), SinkCache(1, 2)
    for _ in range(50):
        attention(normal(1, 1, WIDTH), sequence(1), cache=cache)
    assert cache.extend(sequence(1)).queries.coords.item() == 3


# Windows.


FREE_OF_THE_PAST = [v for v in ONE_AXIS if Property.RECURRENT not in make(v[0], **v[1]).properties]


@pytest.mark.parametrize("variant", FREE_OF_THE_PAST, ids=label)
@pytest.mark.parametrize("split", [[1] * TOKENS, [9, 1, 3], [TOKENS], [2, 8, 3], [5, 0, 8]], ids=str)
def test_a_window_needs_no_more_than_its_last_tokens(variant, split):
    """Under a mask of window w, the last w - 1 tokens give what all of them give, whatever the layers."""
    name, options = variant
    net, token, cache = model(make(name, **options), Mask(window=4)), tokens(2, TOKENS), WindowCache(3)
    pos, start, parts = sequence(TOKENS, 2), 0, []
    for size in split:
        parts.append(net(token[:, start : start + size], pos.tokens(start, start + size), cache=cache))
        start += size
        assert held(cache) <= 3 and cache.length == start
    assert gap(torch.cat(parts, dim=1), net(token, pos)) < 1e-12


def test_default_positions_go_on_past_what_is_forgotten():
    net, token, cache = model(make("learned"), Mask(window=3)), tokens(2, TOKENS), WindowCache(2)
    parts = [net(token[:, i : i + 1], cache=cache) for i in range(TOKENS)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


def test_a_left_padded_batch_under_a_window():
    net, token, cache = model(make("rope"), Mask(window=3)), tokens(3, TOKENS), WindowCache(2)
    real = torch.arange(TOKENS) >= torch.tensor([[0], [2], [7]])
    pos, parts = padded(real), []
    for a, b in ((0, 5), (5, 6), (6, 7), (7, 11), (11, 13)):
        parts.append(net(token[:, a:b], pos.tokens(a, b), cache=cache))
    assert gap(torch.cat(parts, dim=1)[real], net(token, pos)[real]) < 1e-12


# Both.


@pytest.mark.parametrize("cache", [lambda: SinkCache(1, 2), lambda: WindowCache(2)], ids=["sinks", "window"])
def test_no_gradient_flows_into_the_past(cache):
    attention, cache = module(("alibi", {})), cache()
    past, new = normal(1, 3, WIDTH).requires_grad_(), normal(1, 2, WIDTH, seed=1).requires_grad_()
    with torch.enable_grad():
        attention(past, cache=cache)
        attention(new, cache=cache).square().sum().backward()
    assert past.grad is None and new.grad.abs().max() > 0


@pytest.mark.parametrize("cache", [lambda: SinkCache(1, 2), lambda: WindowCache(2)], ids=["sinks", "window"])
def test_a_batch_of_another_size_is_refused(cache):
    attention, cache = module(("alibi", {})), cache()
    attention(normal(2, 3, WIDTH), cache=cache)
    with pytest.raises(OptionError, match="one batch"):
        attention(normal(3, 1, WIDTH), cache=cache)


@pytest.mark.parametrize("build", [lambda: SinkCache(-1, 4), lambda: SinkCache(4, 0), lambda: WindowCache(0)])
def test_caches_need_room(build):
    with pytest.raises(OptionError) as error:
        build()
    assert error.value.given and error.value.allowed


def test_places_in_a_cache_are_on_one_axis():
    with pytest.raises(PositionError, match="axis"):
        SinkCache(1, 2).extend(grid(2, 3))

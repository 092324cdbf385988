"""Rings of tokens: they hold what a list would, move nothing, and lose nothing where a call fails."""

import copy
import pickle
import random

import pytest
import torch

from gnomon import positions
from gnomon.kv_cache import Cache, SinkCache, WindowCache
from gnomon.memory import Memory
from gnomon.ring import SPARE, Ring, joined_and_kept, tokens_of
from tests.core.common import gap, make, model, normal, tokens

PASTS = {
    "cache": lambda: Cache(40),
    "window": lambda: WindowCache(8),
    "sinks": lambda: SinkCache(2, 6),
    "memory": lambda: Memory(8),
}
EVERY = pytest.mark.parametrize("kind", PASTS)
FORGETTING = pytest.mark.parametrize("kind", ["window", "sinks", "memory"])


@pytest.mark.parametrize("first, last", [(0, 1), (0, 7), (3, 5), (5, 40), (90, 100)])
def test_they_hold_what_a_list_would(first, last):
    """Calls of any size, some with gradients, some that fail after they have written: the first and last of all."""
    draw, held, kept, came = random.Random(first), None, [], 0
    for at in range(300):
        n = 0 if at < 3 else draw.choice((0, 1, 1, 1, 1, 2, 5, SPARE, SPARE + 1))
        new = normal(2, 3, n, 4, seed=came)
        with torch.set_grad_enabled(draw.random() < 0.1):
            if draw.random() < 0.2:
                joined_and_kept(held, torch.full_like(new, torch.nan), first, last)
            found, held = joined_and_kept(held, new, first, last)
        every = [*kept, *new.unbind(2)]
        assert torch.equal(found, torch.stack(every, dim=2) if every else new)
        kept = every if len(every) <= first + last else [*every[:first], *every[-last:]]
        assert tokens_of(held).shape[2] == len(kept) and all(map(torch.equal, tokens_of(held).unbind(2), kept))
        came += n


@torch.no_grad()
def test_nothing_is_moved_for_a_token_that_comes():
    """Through ten windows of single tokens the memory is the same, and no larger than is said."""
    _, held = joined_and_kept(None, normal(1, 2, 50, 4), 3, 47)
    rooms = set()
    for i in range(500):
        found, held = joined_and_kept(held, normal(1, 2, 1, 4, seed=i), 3, 47)
        rooms.add(held.room.data_ptr())
        assert found.untyped_storage().data_ptr() == held.room.untyped_storage().data_ptr()
    assert len(rooms) == 1 and held.period <= 3 + 47 + SPARE and isinstance(held, Ring)


def test_with_gradients_later_calls_write_to_nothing_that_was_given():
    """New tokens keep their gradient, those of before have none, and a backward pass may come late."""
    _, held = joined_and_kept(None, normal(1, 2, 4, 4), 0, 4)
    with torch.no_grad():
        _, held = joined_and_kept(held, normal(1, 2, 1, 4, seed=1), 0, 4)
    new = normal(1, 2, 1, 4, seed=2).requires_grad_()
    found, held = joined_and_kept(held, new, 0, 4)
    loss = found.square().sum()
    for i in range(3):
        with torch.no_grad():
            _, held = joined_and_kept(held, normal(1, 2, 1, 4, seed=3 + i), 0, 4)
    loss.backward()
    assert torch.equal(new.grad, 2 * new.detach()) and not tokens_of(held).requires_grad


@FORGETTING
@pytest.mark.parametrize("name", ["none", "rope", "alibi"])
def test_decoding_with_gradients_and_without(name, kind):
    net, token, quiet, plain = model(make(name)), tokens(2, 40), PASTS[kind](), PASTS[kind]()
    for i, (a, b) in enumerate([(0, 5), *((i, i + 1) for i in range(5, 37)), (37, 40)]):
        with torch.set_grad_enabled(i % 9 == 4):
            found = net(token[:, a:b], cache=quiet)
        assert gap(found, net(token[:, a:b], cache=plain)) < 1e-12


class Broken(Exception):
    pass


@EVERY
@pytest.mark.parametrize("grad", [False, True], ids=["no gradient", "gradient"])
def test_a_call_that_fails_after_a_layer_has_stored_leaves_no_trace(kind, grad, monkeypatch):
    """The second layer fails, again and again, with one token or with many; what is held is what was held."""
    net, token, tried, quiet = model(make("rope")), tokens(2, 15), PASTS[kind](), PASTS[kind]()

    def fail(*args):
        raise Broken

    with torch.set_grad_enabled(grad):
        for a, b in [(0, 3), *((i, i + 1) for i in range(3, 15))]:
            with monkeypatch.context() as patch:
                patch.setattr(net.blocks[1], "forward", fail)
                for n in (1, 4):
                    with pytest.raises(Broken):
                        net(tokens(2, n, seed=a), cache=tried)
            assert tried.length == quiet.length
            assert torch.equal(net(token[:, a:b], cache=tried), net(token[:, a:b], cache=quiet))


@EVERY
def test_what_was_begun_in_inference_mode_goes_on_outside(kind):
    net, token, past, plain = model(make("alibi")), tokens(2, 12), PASTS[kind](), PASTS[kind]()
    for i, mode in enumerate((torch.inference_mode, torch.inference_mode, torch.no_grad, torch.enable_grad) * 3):
        with mode():
            found = net(token[:, i : i + 1], cache=past)
        assert gap(found.clone(), net(token[:, i : i + 1], cache=plain)) < 1e-12


@EVERY
@torch.no_grad()
def test_copies_go_on_by_themselves(kind):
    """A deep copy, and one that was saved, as beams need them: each goes on from where they part."""
    net, token, past = model(make("rope")), tokens(2, 24), PASTS[kind]()
    for i in range(12):
        net(token[:, i : i + 1], cache=past)
    others = [copy.deepcopy(past), pickle.loads(pickle.dumps(past))]
    for i in range(12, 20):
        found = [net(token[:, i : i + 1], cache=one) for one in (past, *others)]
        assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    other, alone = net(token[:, 21:22], cache=others[0]), net(token[:, 22:23], cache=past)
    assert torch.equal(net(token[:, 21:22], cache=others[1]), other) and not torch.equal(alone, other)


@pytest.mark.parametrize("start", [100, -7])
def test_a_cache_knows_that_its_positions_count_up_wherever_they_begin(start):
    """So that a line stays one: what is made of evenly spaced positions is made of these."""
    cache, line = Cache(20), positions.sequence(12, start)
    for a, b in ((0, 5), (5, 6), (6, 6), (6, 12)):
        extent = cache.extend(line.tokens(a, b))
        assert extent.keys.ends() == (start, start + b - 1)
    assert torch.equal(extent.keys.coords, line.coords)
    assert cache.extend(positions.sequence(1, start + 13)).keys.ends() is None
    assert cache.extend(positions.sequence(1, start + 13)).keys.ends() is None


@torch.no_grad()
def test_a_compiled_step_has_no_ring(monkeypatch):
    """Where in it a token lies would be another graph for many of them; what a ring holds goes on without one."""
    _, held = joined_and_kept(None, normal(1, 2, 3, 4), 1, 3)
    _, ring = joined_and_kept(held, normal(1, 2, 3, 4, seed=1), 1, 3)
    new = normal(1, 2, 1, 4, seed=2)
    eager, _ = joined_and_kept(ring, new, 1, 3)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    found, held = joined_and_kept(ring, new, 1, 3)
    assert torch.equal(found, eager) and isinstance(ring, Ring) and isinstance(held, torch.Tensor)


@torch.no_grad()
def test_derivatives_that_are_taken_forwards_reach_the_tokens_of_a_call():
    _, held = joined_and_kept(None, normal(1, 2, 3, 4), 0, 3)
    _, ring = joined_and_kept(held, normal(1, 2, 1, 4, seed=1), 0, 3)
    new = normal(1, 2, 1, 4, seed=2)
    _, moved = torch.func.jvp(lambda x: joined_and_kept(ring, x, 0, 3)[0], (new,), (torch.ones_like(new),))
    assert torch.equal(moved[:, :, -1:], torch.ones_like(new)) and (moved[:, :, :-1] == 0).all()

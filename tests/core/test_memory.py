"""A memory of earlier segments: what it gives is what one long sequence gives, and no gradient flows into it."""

import pytest
import torch

from gnomon import positions
from gnomon.errors import OptionError
from gnomon.masks import Mask
from gnomon.memory import Memory
from tests.core.common import anywhere, every_variant, gap, label, make, model, tokens

N, SIZE = 12, 5


@pytest.mark.parametrize("variant", every_variant(), ids=label)
def test_segments_with_a_memory_that_holds_all_are_one_long_sequence(variant):
    net, token = model(make(variant[0], **variant[1])), tokens(2, N)
    pos = anywhere(net.blocks[0].attention.encoding, 2, N)
    memory = Memory(N)
    parts = [net(token[:, a:b], pos.tokens(a, b), cache=memory) for a, b in ((0, 4), (4, 5), (5, N))]
    assert gap(torch.cat(parts, dim=1), net(token, pos)) < 1e-12


@pytest.mark.parametrize("name", ["none", "rope", "t5", "transformer_xl"])
def test_segments_without_gradients(name):
    """Tokens that come a few at a time are remembered in place; the same is remembered."""
    net, token, kept, plain = model(make(name)), tokens(2, 3 * N), Memory(SIZE), Memory(SIZE)
    for a, b in ((0, 1), (1, 2), (2, 5), (5, 5), *((i, i + 1) for i in range(5, 30)), (30, 3 * N)):
        with torch.no_grad():
            found = net(token[:, a:b], cache=kept)
        assert gap(found, net(token[:, a:b], cache=plain)) < 1e-12
        assert all(gap(kept.inputs[layer], plain.inputs[layer]) < 1e-12 for layer in plain.inputs)


def test_a_short_memory_is_a_window_in_a_model_of_one_layer():
    """A segment of 4 after a memory of 5: its last token reaches 3 + 5 tokens back, its first one 5."""
    net, token = model(make("rope"), depth=1), tokens(2, N)
    memory = Memory(SIZE)
    parts = [net(token[:, a : a + 4], cache=memory) for a in (0, 4, 8)]
    for i in range(8, N):
        seen = token[:, 8 - SIZE : i + 1]
        alone = net(seen, positions.sequence(seen.shape[1], 8 - SIZE))[:, -1]
        assert gap(parts[2][:, i - 8], alone) < 1e-12


def test_no_gradient_flows_into_the_memory_but_the_projections_that_read_it_learn():
    net, memory = model(make("alibi"), depth=1), Memory(SIZE)
    first = net.embedding(tokens(1, 4))
    net(tokens(1, 4), cache=memory)
    assert not any(held.requires_grad for held in memory.inputs.values())
    before = memory.inputs[0].clone()
    out = net(tokens(1, 4, seed=1), cache=memory)
    out.sum().backward()
    assert first.grad_fn is not None and net.blocks[0].attention.k.weight.grad.abs().max() > 0
    assert torch.equal(before[:, -1], memory.inputs[0][:, 0])


def test_memory_does_not_grow():
    """Nor does it hold on to a long segment of which it remembers the end."""
    net, memory = model(make("t5")), Memory(SIZE)
    for _ in range(4):
        net(tokens(1, 3), cache=memory)
        assert all(held.shape[1] <= SIZE for held in memory.inputs.values())
    assert memory.length == 12
    net(tokens(1, 50), cache=memory)
    assert all(held.untyped_storage().nbytes() == held.numel() * 8 for held in memory.inputs.values())


def test_other_rows_are_refused():
    net, memory = model(make("rope")), Memory(SIZE)
    net(tokens(2, 3), cache=memory)
    with pytest.raises(OptionError, match="one batch"):
        net(tokens(3, 3), cache=memory)
    with pytest.raises(OptionError, match="room"):
        Memory(0)


def test_every_key_of_a_window_that_reaches_into_the_memory_is_seen():
    """The first slot of the memory is reachable (transformers #14832)."""
    net, token = model(make("none"), Mask(window=N), depth=1), tokens(1, N)
    memory = Memory(N - 1)
    net(token[:, : N - 1], cache=memory)
    last = net(token[:, N - 1 :], cache=memory)
    assert gap(last, net(token)[:, -1:]) < 1e-12
    changed = token.clone()
    changed[0, 0] = (token[0, 0] + 1) % 20
    assert gap(net(changed)[:, -1:], last) > 1e-3

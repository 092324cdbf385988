"""torch.compile of a whole model: one graph, no recompilation for every new length, and the real compiler once."""

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL, Mask
from tests.core.common import HEADS, WIDTH, anywhere, every_variant, gap, label, make, model, normal, tokens, weigh


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Counting:
    """A compiler that runs the captured graph as it is, and counts the graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


DEFAULTS = [(name, options) for name, options in every_variant() if options in ({}, {"axes": 2})]
OTHERS = [
    ("learned", {"max_positions": 40, "beyond": "interpolate", "longest": 90}),
    ("sinusoidal", {"convention": "tensor2tensor"}),
    ("rope", {"pairing": "interleaved", "fraction": 0.5}),
]


@pytest.mark.parametrize("variant", DEFAULTS + OTHERS, ids=label)
def test_one_graph_serves_every_length(variant):
    """The first length is compiled as it is, the second for all; three lengths cost two compilations."""
    name, options = variant
    # What layers share is made once for all of them: two of rope; of others one, since a second is traced like it.
    net, counting = model(make(name, **options), depth=2 if name == "rope" else 1), Counting()
    compiled = torch.compile(net, fullgraph=True, backend=counting)
    for n in (11, 17, 23):
        token, encoding = tokens(2, n), net.blocks[0].attention.encoding
        pos = None if encoding.domain.axes in (None, 1) else anywhere(encoding, 1, n)
        assert gap(compiled(token, pos), net(token, pos)) < 1e-12
    assert counting.graphs <= 2


@pytest.mark.parametrize("name, mask", [("t5", BIDIRECTIONAL), ("alibi", Mask(window=3))], ids=["t5", "alibi"])
def test_other_masks(name, mask):
    net, counting = model(make(name, causal=mask.causal), mask, depth=1), Counting()
    compiled = torch.compile(net, fullgraph=True, backend=counting)
    for n in (11, 17, 23):
        assert gap(compiled(tokens(2, n)), net(tokens(2, n))) < 1e-12
    assert counting.graphs <= 2


def test_positions_as_an_argument():
    """Other positions of the same kind, other in each row, padded: no compilation for new numbers."""
    net, counting = model(make("rope")), Counting()
    compiled = torch.compile(net, fullgraph=True, backend=counting)
    for seed in range(3):
        pos = anywhere(make("rope"), 2, 9, seed)
        assert gap(compiled(tokens(2, 9), pos), net(tokens(2, 9), pos)) < 1e-12
    assert counting.graphs == 1
    for lengths in ([9, 4], [7, 9], [2, 3]):
        pos = positions.padded(torch.arange(9) < torch.tensor(lengths)[:, None])
        assert gap(compiled(tokens(2, 9), pos), net(tokens(2, 9), pos)) < 1e-12
    assert counting.graphs == 2
    # The last batch of an epoch may be smaller.
    for rows in (3, 4, 2):
        pos = positions.padded(torch.ones(rows, 9))
        assert gap(compiled(tokens(rows, 9), pos), net(tokens(rows, 9), pos)) < 1e-12
    assert counting.graphs <= 4


def test_decoding_is_not_compiled_again_for_every_token():
    """Twelve tokens one by one after a prompt: a graph for the prompt and a few for steps, not one a step."""
    net, counting, token = model(make("rope")), Counting(), tokens(2, 16)
    compiled = torch.compile(net, fullgraph=True, backend=counting)
    cache, parts = Cache(16), []
    with torch.no_grad():
        for start, stop in [(0, 4), *((i, i + 1) for i in range(4, 16))]:
            parts.append(compiled(token[:, start:stop], cache=cache))
        assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12
    assert counting.graphs <= 5


def test_far_positions_stay_exact():
    """A compiler may rewrite angles; at 10^7 in float32 the logits are those of the eager model."""
    net = model(make("rope"), dtype=torch.float32)
    compiled = torch.compile(net, fullgraph=True, backend=Counting())
    pos = positions.sequence(9, 10_000_123)
    assert gap(compiled(tokens(2, 9), pos), net(tokens(2, 9), pos)) < 1e-5


def test_positions_that_a_graph_counts_for_itself():
    """The real compiler may forget the precision that was asked of a running sum of ones; bfloat16 counts to 256."""
    real = torch.arange(3000) >= torch.tensor([[0], [5]])
    compiled = torch.compile(lambda mask: positions.padded(mask).coords, fullgraph=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(compiled(real), positions.padded(real).coords)


def test_inductor():
    """The real compiler, attention under rope at two lengths, near and far, in float32: rounding apart from eager."""
    module = weigh(Attention(WIDTH, HEADS, make("rope"), kv_heads=3))
    compiled = torch.compile(module, fullgraph=True)
    with torch.no_grad():
        for n, start in ((11, 0), (17, 10_000_123)):
            x, pos = normal(2, n, WIDTH, dtype=torch.float32), positions.sequence(n, start)
            assert gap(compiled(x, pos), module(x, pos)) < 1e-5

"""One encoding a layer: what layers share, what each draws anew, and that nothing else ties them."""

import pytest
import torch

from gnomon.encoding import Encoding
from gnomon.errors import OptionError
from gnomon.transformer import Transformer
from tests.core.common import DEPTH, HEADS, VOCABULARY, WIDTH, gap, make, model, tokens, weigh

OWN = {
    "shaw": {},
    "fire": {},
    "cope": {},
    "rope_mixed": {},
    "t5": {"per_layer": True},
    "kerple": {"per_layer": True},
    "relative_bias": {"per_layer": True},
    "transformer_xl": {"untied": True},
}
"""Nothing is shared."""
PART = {
    "transformer_xl": ({}, "biases"),
    "deberta": ({"span": 8, "norm": True}, "table"),
    "seqpe": ({"projection": "layer"}, "reader"),
}
"""One module is shared."""
ONE = {
    "shaw": {"per_layer": False},
    "fire": {"per_layer": False},
    "t5": {},
    "kerple": {},
    "relative_bias": {},
    "seqpe": {},
    "rope": {},
}
"""One object serves all."""


def drawn(encoding) -> list:
    return [p.detach().clone() for p in encoding.parameters()]


def numbers(encoding) -> set[int]:
    return {id(p) for p in encoding.parameters()}


@pytest.mark.parametrize("name", OWN)
def test_parameters_of_its_own_in_each_layer(name):
    encoding = make(name, **OWN[name])
    first, second, third = encoding.layers(3)
    assert first is encoding and all(layer.owner is layer for layer in (first, second, third))
    assert not numbers(first) & numbers(second) and not numbers(second) & numbers(third)
    if name not in ("cope", "rope_mixed"):  # which begin alike everywhere
        assert any(not torch.equal(a, b) for a, b in zip(drawn(first), drawn(second), strict=True))


@pytest.mark.parametrize("name", OWN)
def test_other_layers_begin_with_initial_values(name):
    """What the first was given before is its own."""
    encoding = weigh(make(name, **OWN[name]), std=100.0)
    before = drawn(encoding)
    first, second = encoding.layers(2)
    assert all(torch.equal(a, b) for a, b in zip(drawn(first), before, strict=True))
    assert all(p.abs().max() < 50 for p in drawn(second))


@pytest.mark.parametrize("name", PART)
def test_some_parameters_are_shared(name):
    options, kept = PART[name]
    encoding = weigh(make(name, **options))
    before = drawn(encoding)
    first, second, third = encoding.layers(3)
    shared = numbers(getattr(encoding, kept))
    assert all(torch.equal(a, b) for a, b in zip(drawn(first), before, strict=True))
    for layer in (second, third):
        assert layer.owner is encoding and getattr(layer, kept) is getattr(encoding, kept)
        assert numbers(layer) & numbers(first) == shared
    assert numbers(second) & numbers(third) == shared
    assert [layer.owner for layer in second.layers(2)] == [encoding, encoding]


@pytest.mark.parametrize("name", ONE)
def test_one_object_for_all_layers(name):
    encoding = make(name, **ONE[name])
    assert all(layer is encoding for layer in encoding.layers(3))


@pytest.mark.parametrize("name", [*OWN, *PART])
def test_a_hook_on_one_layer_is_not_on_the_others(name):
    options = OWN[name] if name in OWN else PART[name][0]
    first, second = make(name, **options).layers(2)
    first.register_forward_hook(lambda *_: None)
    second.register_buffer("mine", torch.zeros(1))
    assert not second._forward_hooks and not list(first.buffers())


@pytest.mark.parametrize("name", [*OWN, *PART])
def test_the_owner_is_no_part_of_a_layer(name):
    options = OWN[name] if name in OWN else PART[name][0]
    first, second = make(name, **options).layers(2)
    assert set(second.state_dict()) == set(first.state_dict())
    assert make(name, **options).layers(0) == []


@pytest.mark.parametrize("name", OWN)
def test_each_layer_reads_its_own(name):
    """Larger numbers in the last layer change the model; each learns for itself."""
    net, token = model(make(name, **OWN[name])), tokens(2, 7)
    before = net(token).detach()
    last = net.blocks[-1].attention.encoding
    net(token).square().sum().backward()
    assert all(p.grad is not None for block in net.blocks for p in block.attention.encoding.parameters())
    with torch.no_grad():
        for parameter in last.parameters():
            parameter *= 3
    assert gap(net(token), before) > 1e-5


@pytest.mark.parametrize("name", OWN)
def test_as_many_tables_as_layers(name):
    made = make(name, **OWN[name])
    each = sum(p.numel() for p in made.parameters())
    net, plain = (Transformer(VOCABULARY, WIDTH, DEPTH, HEADS, encoding) for encoding in (made, make("none")))
    count = [sum(p.numel() for p in one.parameters()) for one in (net, plain)]
    assert count[0] - count[1] == DEPTH * each


class _OwnInput(Encoding):
    """A user's, that adds a number of its own in each layer at the input."""

    per_layer = True

    def absolute(self, pos):
        return 1.0

    def embed(self, x, pos):
        return x + 1.0


def _of(*encodings) -> Transformer:
    return Transformer(VOCABULARY, WIDTH, len(encodings), HEADS, [*encodings])


def test_one_encoding_at_most_acts_at_the_input():
    """It is added there once, for all layers, and not once for each of them."""
    learned, sinusoidal, rope = make("learned"), make("sinusoidal"), make("rope")
    assert _of(learned, rope, learned).encodings == [learned, rope]
    for several in ([learned, sinusoidal], [learned, make("learned")]):
        with pytest.raises(OptionError, match="added once") as error:
            _of(*several)
        assert "Learned" in error.value.given and "'none'" in error.value.do
    with pytest.raises(OptionError, match="added once") as error:
        Transformer(VOCABULARY, WIDTH, 2, HEADS, _OwnInput())
    assert "_OwnInput" in error.value.do and "per_layer" in error.value.do
    assert Transformer(VOCABULARY, WIDTH, 1, HEADS, _OwnInput()).encodings

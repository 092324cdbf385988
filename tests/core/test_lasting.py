"""What weights alone decide lasts as long as a cache, and no longer than the weights are what they were."""

import copy
import pickle

import pytest
import torch

from gnomon import Cache, Memory, SinkCache, Transformer, WindowCache, encodings
from gnomon.encoding import Shape
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.lasting import lasting, of_weights
from gnomon.masks import Mask
from tests.core.common import gap, tokens, weigh
from tests.core.test_once import counter

SHAPE = Shape(width=64, heads=2, head_dim=32, depth=2)
FORMS = (
    ("transformer_xl", {}),
    ("transformer_xl", {"clamp_len": 6.5}),
    ("deberta", {"span": 9}),
    ("deberta", {"span": 9, "shared": True}),
    ("deberta", {"span": 20, "buckets": 8, "norm": True, "terms": "p2c"}),
    ("deberta", {"span": 9, "terms": "c2p"}),
)
PROJECTED = {"transformer_xl": (TransformerXL, "_table"), "deberta": (Deberta, "_projected")}
forms = pytest.mark.parametrize("form", FORMS, ids=str)


def net(form, window: int | None = None) -> Transformer:
    name, options = form
    mask = Mask(causal=True, window=window)
    return weigh(Transformer(29, 64, 2, 2, encodings.create(name, SHAPE, **options), mask=mask).double()).eval()


def read(model, text, cache, sizes):
    """The logits of a text that is read in pieces of these sizes."""
    with torch.no_grad():
        return torch.cat([model(piece, cache=cache) for piece in text.split(sizes, dim=1)], dim=1)


def projections(monkeypatch, form) -> list:
    """What is projected from now on."""
    made, (of, name) = [], PROJECTED[form[0]]
    before = getattr(of, name)
    monkeypatch.setattr(of, name, lambda *args: made.append(args) or before(*args))
    return made


@forms
def test_in_pieces_as_a_whole(form):
    model, text = net(form), tokens(2, 40)
    with torch.no_grad():
        right = model(text)
    for sizes in ([30, *[1] * 10], [1] * 40, [20, 3, 1, 16], [7, 33]):
        assert gap(read(model, text, Cache(40), sizes), right) < 1e-12
    windowed = net(form, window=6)
    with torch.no_grad():
        right = windowed(text)
    assert gap(read(windowed, text, WindowCache(5), [11, *[1] * 29]), right) < 1e-12


@forms
def test_nothing_is_projected_at_each_token(form, monkeypatch):
    """Distances double twice between token 21 and 80."""
    model, text, cache = net(form), tokens(1, 80), Cache(80)
    read(model, text[:, :20], cache, 20)
    read(model, text[:, 20:21], cache, 1)
    made = projections(monkeypatch, form)
    read(model, text[:, 21:], cache, 1)
    assert len(made) <= 2 * 2


@forms
def test_a_cache_of_sinks(form):
    """Tokens that count anew at each call: as where nothing is remembered but tokens."""
    model, text = net(form), tokens(1, 12)
    found = read(model, text, SinkCache(2, 3), 1)
    expected = read(model, text, forgetful(SinkCache(2, 3)), 1)
    assert gap(found, expected) < 1e-12


def forgetful(cache):
    """The same cache, where nothing else lasts."""
    cache.lasting = lambda layer: None
    return cache


@forms
def test_weights_that_change_are_others(form):
    model, text = net(form), tokens(1, 24)
    last = []
    for held in (forgetful(Cache(24)), Cache(24)):
        model = net(form)
        read(model, text[:, :22], held, [20, 1, 1])
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * torch.randn(weight.shape, dtype=weight.dtype, generator=torch.manual_seed(1))
        last.append(read(model, text[:, 22:], held, 1))
    assert gap(*last) < 1e-12


@forms
def test_a_cache_is_copied_without_it(form):
    """Its copy, or what is read from a file, serves another model of the same weights."""
    model, text, cache = net(form), tokens(1, 24), Cache(24)
    read(model, text[:, :22], cache, [20, 1, 1])
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert "_lasting" not in vars(other)
        assert gap(read(net(form), text[:, 22:], other, 1), read(model, text[:, 22:], copy.deepcopy(cache), 1)) < 1e-12


@forms
@pytest.mark.parametrize("frozen", [False, True])
def test_begun_in_inference_mode_it_goes_on_under_gradients(form, frozen):
    """What lasts has none: weights that have one are projected anew, and of others queries have theirs."""
    model, text, grads = net(form), tokens(1, 23), []
    model.requires_grad_(not frozen)
    model.embedding.requires_grad_(True)
    for held in (Cache(23), forgetful(Cache(23))):
        with torch.inference_mode():
            for piece in text[:, :22].split([20, 1, 1], dim=1):
                model(piece, cache=held)
        model.zero_grad()
        model(text[:, 22:], cache=held).square().sum().backward()
        grads.append(torch.cat([w.grad.flatten() for w in model.parameters() if w.grad is not None]))
    assert gap(*grads) < 1e-12 and (len(grads[0]) > 29 * 64) is not frozen


def test_a_projection_that_reads_more_is_never_kept(monkeypatch):
    """A hook on it, or a module in its place, may read anything."""
    form = ("deberta", {"span": 9})
    model, text, cache = net(form), tokens(1, 24), Cache(24)
    for block in model.blocks:
        block.attention.encoding.position_key.register_forward_hook(lambda module, args, out: 2 * out)
    made = projections(monkeypatch, form)
    read(model, text, cache, [20, 1, 1, 1, 1])
    assert len(made) >= 2 * 5


def test_a_memory_holds_inputs_and_no_weights():
    """It is for training, where weights change from segment to segment."""
    assert Memory(3).lasting(0) is None


def test_of_weights():
    weight, make = torch.zeros(3), counter()
    assert of_weights("x", [weight], make) is None
    place = {}
    with lasting(place):
        assert [of_weights("x", [weight], make), of_weights("x", [weight], make)] == [1, 1]
        assert [of_weights("y", [weight], make), of_weights("x", [weight], make)] == [2, 1]
        weight += 1
        assert [of_weights("x", [weight], make), of_weights("x", [weight], make)] == [3, 3]
        assert of_weights("x", [weight.clone()], make) == 4
        assert [of_weights("x", [weight], make, besides=n) for n in (1, 1, 2, 1)] == [5, 5, 6, 7]
        with torch.autocast("cpu", torch.bfloat16):
            assert of_weights("x", [weight], make) == 8
        learned = torch.zeros(3, requires_grad=True)
        assert of_weights("x", [learned], make) is None
        with torch.no_grad():
            assert of_weights("x", [learned], make) == 9
    assert of_weights("x", [weight], make) is None and len(place) == 2

"""The smallest sizes: no token, one token, one head, the narrowest heads and models."""

import pytest
import torch

from gnomon.attention import attend
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.kv_cache import Cache
from gnomon.pairs import BIDIRECTIONAL, CAUSAL, Mask
from gnomon.positions import sequence
from gnomon.transformer import Transformer
from tests.core.common import (
    anywhere,
    every_variant,
    gap,
    heads,
    label,
    make,
    model,
    normal,
    only_causal,
    tokens,
    weigh,
)

EVERY = pytest.mark.parametrize("variant", every_variant(), ids=label)
MASKS = pytest.mark.parametrize(
    "mask", [CAUSAL, BIDIRECTIONAL, Mask(window=2)], ids=["causal", "bidirectional", "window"]
)


@EVERY
@MASKS
@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_no_token_at_all(variant, mask, backend):
    if only_causal(variant[0]) and not mask.causal:
        pytest.skip("reads the past only")
    encoding = make(variant[0], causal=mask.causal, **variant[1]).double()
    even = sequence(0, 3) if (encoding.domain.axes or 1) == 1 else anywhere(encoding, 1, 0)
    for pos in (even, anywhere(encoding, 2, 0)):
        assert attend(*heads(0), encoding, pos, mask=mask, backend=backend).shape == (2, 6, 0, 8)
        assert encoding.embed(normal(2, 0, 48), pos).shape == (2, 0, 48)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_model_of_no_token(name):
    assert model(make(name))(tokens(2, 0)).shape == (2, 0, 29)


@EVERY
@MASKS
def test_one_token_receives_its_own_value(variant, mask):
    encoding = weigh(make(variant[0], causal=mask.causal, **variant[1]).double())
    (q, k, v), pos = heads(1), anywhere(encoding, 2, 1)
    received = encoding.value(v.repeat_interleave(2, dim=1), pos, pos)[:, :, 0]
    for backend in ("reference", "auto"):
        assert gap(attend(q, k, v, encoding, pos, mask=mask, backend=backend), received) < 1e-14


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_batch_of_no_row(name):
    assert model(make(name))(tokens(0, 4)).shape == (0, 4, 29)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("width, count", [(2, 1), (4, 2), (6, 3)])
def test_heads_of_width_2(name, width, count):
    """One pair a head; with one head and three, which is no power of two."""
    encoding = create(name, Shape(width, count, 2))
    net = weigh(Transformer(5, width, 2, count, encoding).double()).eval()
    token, cache = tokens(2, 6) % 5, Cache(6)
    full = net(token)
    assert torch.isfinite(full).all()
    parts = [net(token[:, i : i + 1], cache=cache) for i in range(6)]
    assert gap(torch.cat(parts, dim=1), full) < 1e-12


@pytest.mark.parametrize("name", ["none", "learned", "sinusoidal", "t5", "alibi"])
@pytest.mark.parametrize("width", [1, 3, 5])
def test_models_of_odd_width(name, width):
    encoding = create(name, Shape(width, 1, width))
    net = weigh(Transformer(5, width, 1, 1, encoding).double()).eval()
    token = tokens(2, 6) % 5
    expected = weigh(
        Transformer(5, width, 1, 1, create(name, Shape(width, 1, width)), backend="reference").double()
    ).eval()
    assert gap(net(token), expected(token)) < 1e-12

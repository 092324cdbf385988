"""The smallest sizes: no token, one token, the narrowest heads, odd widths; and the farthest distances."""

import pytest
import torch

from gnomon.attention import attend
from gnomon.backends import Flex
from gnomon.encoding import Property, Shape, Site
from gnomon.encodings import ENCODINGS, create
from gnomon.errors import OptionError, PositionError
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
from gnomon.positions import Positions, sequence
from gnomon.transformer import Transformer
from tests.core.common import (
    anywhere,
    every_variant,
    gap,
    heads,
    key_heads,
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


IN_PAIRS = ("rope", "rope_mixed", "transformer_xl", "xpos")
"""What turns pairs of dimensions, or has a sine and a cosine for each, and says so of an odd width."""


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("width", [1, 3, 5])
def test_models_of_odd_width(name, width):
    """One head of an odd width, which is the model's: the numbers of the definition, or an error that says why not."""
    if name in IN_PAIRS:
        with pytest.raises(OptionError):
            create(name, Shape(width, 1, width))
        return
    nets = [Transformer(5, width, 1, 1, create(name, Shape(width, 1, width)), backend=b) for b in ("auto", "reference")]
    token = tokens(2, 6) % 5
    found, expected = (weigh(net.double()).eval()(token) for net in nets)
    assert gap(found, expected) < 1e-12


@EVERY
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "bidirectional"])
def test_a_model_as_built_is_finite_in_16_bits(variant, dtype, causal):
    """Its own initial values, three hundred tokens, and the gradient of every parameter."""
    name, options = variant
    if only_causal(name) and not causal:
        pytest.skip("reads the past only")
    encoding = make(name, causal=causal, **options)
    pos = Positions(torch.arange(300.0).double()[None, :, None].expand(-1, -1, encoding.domain.axes or 1))
    pos = Positions(pos.coords.clamp(max=encoding.domain.highest))
    mask = CAUSAL if causal else BIDIRECTIONAL
    net = Transformer(29, 48, 2, 6, encoding, kv_heads=key_heads(encoding), mask=mask).to(dtype)
    logits = net(tokens(1, 300), pos)
    logits.float().square().mean().backward()
    assert torch.isfinite(logits).all()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in net.parameters())


@EVERY
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("backend", ["reference", "auto", Flex(compiled=False)], ids=["reference", "auto", "flex"])
def test_a_query_far_from_every_key(variant, dtype, backend):
    """Weights sum to 1 whatever the distance: penalties that overflow 16 bits would hide every key."""
    name, options = variant
    encoding = weigh(make(name, **options))
    q, k, _ = heads(1, 5, dtype=dtype)
    if encoding.mix(sequence(1), sequence(1)) is not None:
        pytest.skip("values depend on the pair")
    place = torch.full((1, 1, encoding.domain.axes or 1), min(encoding.domain.highest, 1e7), dtype=torch.float64)
    if isinstance(backend, Flex) and (dtype != torch.float16 or Site.LOGITS not in encoding.sites):
        pytest.skip("only what is added to logits can overflow, and flex is slow when it is not compiled")
    if isinstance(backend, Flex) and Property.CONTEXTUAL in encoding.properties:
        pytest.skip("a fused kernel sees one pair at a time")
    near = torch.arange(5.0).double()[None, :, None].expand(-1, -1, encoding.domain.axes or 1)
    with torch.no_grad():
        out = attend(q, k, torch.ones(2, 3, 5, 8, dtype=dtype), encoding.to(dtype), Positions(place, turn=5),
                     Positions(near.contiguous()), backend=backend)  # fmt: skip
    assert gap(out.double(), torch.ones(2, 6, 1, 8, dtype=torch.float64)) < 1e-2


@pytest.mark.parametrize("variant", [v for v in every_variant() if v[1].get("axes", 1) > 1], ids=label)
def test_an_encoding_of_several_axes_has_no_default_positions(variant):
    """Counting up on one axis, unasked, would be silent and wrong."""
    with pytest.raises(PositionError, match="axes"):
        model(make(variant[0], **variant[1]))(tokens(2, 6))

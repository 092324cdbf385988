"""The attention module and `attend`: cross-attention, defaults, dropout, grouped heads, widths of values."""

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention, attend
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.none import NoPE
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
from tests.core.common import (
    HEADS,
    WIDTH,
    anywhere,
    at,
    every_variant,
    gap,
    heads,
    key_heads,
    label,
    make,
    normal,
    only_causal,
    weigh,
)

EVERY = pytest.mark.parametrize("variant", every_variant(), ids=label)
ON_A_LINE = pytest.mark.parametrize("variant", [v for v in every_variant() if v[1].get("axes", 1) == 1], ids=label)
BACKENDS = pytest.mark.parametrize("backend", ["reference", "auto"])


def plain(encoding, q, k, v, q_pos, k_pos, allowed=None) -> torch.Tensor:
    """Softmax attention from the encoding's formulas."""
    group = q.shape[1] // k.shape[1]
    logits = encoding.score(q, k.repeat_interleave(group, 1), q_pos, k_pos)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, -torch.inf)
    received = encoding.value(v.repeat_interleave(group, 1), q_pos, k_pos)
    return (torch.softmax(logits, -1)[..., None] * received).sum(-2)


@EVERY
@BACKENDS
def test_queries_at_other_positions_than_keys(variant, backend):
    """Cross-attention: other lengths, other positions in each row, no order."""
    if only_causal(variant[0]):
        pytest.skip("reads the past only")
    encoding = weigh(make(variant[0], causal=False, **variant[1]).double())
    q, k, v = heads(4, 7)
    q_pos, k_pos = anywhere(encoding, 2, 4, seed=1), anywhere(encoding, 2, 7, seed=2)
    found = attend(q, k, v, encoding, q_pos, k_pos, mask=BIDIRECTIONAL, backend=backend)
    assert gap(found, plain(encoding, q, k, v, q_pos, k_pos)) < 1e-12


@EVERY
def test_the_module_takes_keys_from_elsewhere(variant):
    """x attends to `keys`; what it says of itself, when they are the same, is self-attention."""
    if only_causal(variant[0]):
        pytest.skip("reads the past only")
    encoding = make(variant[0], causal=False, **variant[1])
    module = weigh(Attention(WIDTH, HEADS, encoding, kv_heads=key_heads(encoding), mask=BIDIRECTIONAL).double())
    x, memory = normal(2, 4, WIDTH), normal(2, 7, WIDTH, seed=1)
    x_pos, memory_pos = anywhere(encoding, 2, 4, seed=1), anywhere(encoding, 2, 7, seed=2)
    q = module.q(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
    k, v = (p(memory).unflatten(-1, (module.kv_heads, -1)).transpose(1, 2) for p in (module.k, module.v))
    expected = module.out(plain(encoding, q, k, v, x_pos, memory_pos).transpose(1, 2).flatten(2))
    assert gap(module(x, x_pos, keys=memory, key_pos=memory_pos), expected) < 1e-12
    assert gap(module(x, x_pos, keys=x, key_pos=x_pos), module(x, x_pos)) < 1e-12


@pytest.mark.parametrize("name", ["none", "t5", "rope", "alibi"])
def test_default_positions_of_cross_attention_count_both_from_0(name):
    module = weigh(Attention(WIDTH, HEADS, make(name, causal=False), mask=BIDIRECTIONAL).double())
    x, memory = normal(2, 4, WIDTH), normal(2, 7, WIDTH, seed=1)
    told = module(x, positions.sequence(4), keys=memory, key_pos=positions.sequence(7))
    assert torch.equal(module(x, keys=memory), told)


@ON_A_LINE
@BACKENDS
def test_fewer_queries_than_keys_are_the_last(variant, backend):
    """Aligned at the bottom right: a triangle from the top left would show the last queries the first keys alone."""
    encoding = weigh(make(variant[0], **variant[1]).double())
    q, k, v = heads(9)
    full = attend(q, k, v, encoding, backend=backend)
    assert gap(attend(q[:, :, 6:], k, v, encoding, backend=backend), full[:, :, 6:]) < 1e-12


@EVERY
@BACKENDS
def test_values_may_have_a_width_of_their_own(variant, backend):
    """Unless an encoding has vectors that are mixed with them."""
    encoding = weigh(make(variant[0], **variant[1]).double())
    q, k, _ = heads(5)
    v, pos = normal(2, 3, 5, 11), anywhere(encoding, 2, 5)
    if encoding.mix(pos, pos) is not None:
        with pytest.raises(OptionError, match="width"):
            attend(q, k, v, encoding, pos, backend=backend)
        return
    allowed = torch.ones(5, 5, dtype=torch.bool).tril()
    found = attend(q, k, v, encoding, pos, backend=backend)
    assert found.shape == (2, HEADS, 5, 11)
    assert gap(found, plain(encoding, q, k, v, pos, pos, allowed)) < 1e-12


@EVERY
@BACKENDS
@pytest.mark.parametrize("autocast", [False, True], ids=["cast", "autocast"])
def test_16_bits(variant, backend, autocast):
    """bfloat16 queries, keys, values and tables; or float32 tables under autocast, as in training."""
    encoding = weigh(make(variant[0], **variant[1]))
    q, k, v = heads(5, dtype=torch.bfloat16)
    pos = anywhere(encoding, 2, 5)
    expected = attend(q.double(), k.double(), v.double(), weigh(make(variant[0], **variant[1]).double()), pos)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = attend(q, k, v, encoding if autocast else encoding.bfloat16(), pos, backend=backend)
    # Logits here are below 16, so a rounded one is off by 2^-5, and a weight by that part of itself.
    assert gap(found.double(), expected) < 2**-4


@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
@BACKENDS
def test_heads_of_a_group_share_their_keys(kv_heads, backend):
    """Query head h reads key head h // (heads / kv_heads): groups are neighbours, not strides."""
    q = normal(1, HEADS, 4, 8)
    k = torch.zeros(1, kv_heads, 4, 8, dtype=torch.float64)
    v = torch.arange(kv_heads, dtype=torch.float64)[None, :, None, None].expand(1, kv_heads, 4, 2)
    out = attend(q, k, v, NoPE(), backend=backend)
    owner = torch.arange(HEADS) // (HEADS // kv_heads)
    assert gap(out[0, :, 0, 0], owner.double()) < 1e-14


@EVERY
@BACKENDS
def test_dropout_keeps_the_mean_and_is_off_in_evaluation(variant, backend):
    """Of 4000 equal rows: the mean of a dropped weight is its value; its spread is what inverted dropout makes."""
    encoding = weigh(make(variant[0], **variant[1]).double())
    if encoding.mix(*[anywhere(encoding, 1, 1)] * 2) is not None:
        pytest.skip("outputs are more than weights of values: its own tests compare them draw by draw")
    rows, n, p = 4000, 6, 0.4
    q, k, _ = (t.expand(rows, *t.shape[1:]) for t in heads(n, rows=1))
    v = torch.eye(n, dtype=torch.float64).expand(rows, 3, n, n)
    pos = positions.sequence(n) if encoding.domain.axes in (None, 1) else anywhere(encoding, 1, n)
    weights = attend(q[:1], k[:1], v[:1], encoding, pos, backend=backend)
    assert torch.equal(attend(q[:1], k[:1], v[:1], encoding, pos, backend=backend, dropout=0.0), weights)
    torch.manual_seed(0)
    dropped = attend(q, k, v, encoding, pos, backend=backend, dropout=p)
    # A weight is 0 or w / (1 - p); the mean of 4000 is off by more than five standard errors once in a million.
    standard_error = weights * (p / (1 - p) / rows) ** 0.5
    assert ((dropped.mean(0, keepdim=True) - weights).abs() <= 6 * standard_error + 1e-12).all()
    survivors = dropped[dropped > 0]
    assert 0.5 < survivors.numel() / (rows * HEADS * n * (n + 1) / 2) < 0.7
    assert gap(dropped.amax(0, keepdim=True), weights / (1 - p)) < 1e-12


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_the_module_drops_in_training_only(backend):
    module = weigh(Attention(WIDTH, HEADS, make("rope"), dropout=0.5, backend=backend).double())
    x = normal(2, 5, WIDTH)
    still = weigh(Attention(WIDTH, HEADS, make("rope"), backend=backend).double())(x)
    assert torch.equal(module.eval()(x), still)
    torch.manual_seed(0)
    assert gap(module.train()(x), still) > 0.01


@pytest.mark.parametrize("name", ENCODINGS)
def test_logits_start_alike_whatever_the_scale(name):
    """The query projection is scaled at the start: T5's scale of 1 gives the logits that 1 / sqrt(d) gives."""
    torch.manual_seed(0)
    module = Attention(256, 4, create(name, Shape(256, 4, 64)))
    x = normal(1, 300, 256, dtype=torch.float32)
    q, k = (p(x).unflatten(-1, (4, 64)).transpose(1, 2) for p in (module.q, module.k))
    assert (module.encoding.scale(64) * q @ k.mT).std().item() == pytest.approx(1, abs=0.1)


@BACKENDS
def test_padding_receives_zeros(backend):
    q, k, v = heads(4)
    pos = positions.padded(torch.tensor([[True, True, True, True], [False, False, True, True]]))
    for mask in (CAUSAL, BIDIRECTIONAL, Mask(window=1)):
        out = attend(q, k, v, make("rope"), pos, mask=mask, backend=backend)
        assert (out[1, :, :2] == 0).all() and torch.isfinite(out).all()
        assert (out[1, :, 2:] != 0).all()


@ON_A_LINE
def test_even_positions_of_any_step(variant):
    """A step of a tenth, told or not, gives the same numbers: what is known without data is used without loss."""
    encoding = weigh(make(variant[0], **variant[1]).double())
    # T5's buckets have edges: its step is one that a float64 holds exactly.
    step = 1.0 if encoding.domain.whole else 0.375 if variant[0] == "t5" else 0.1
    q, k, v = heads(40)
    pos = at(step * torch.arange(40, dtype=torch.float64))
    expected = attend(q, k, v, encoding, pos, backend="reference")
    assert gap(attend(q, k, v, encoding, pos), expected) < 1e-12
    assert gap(attend(q, k, v, encoding, positions.sequence(40, step=step)), expected) < 1e-12


@BACKENDS
def test_rows_of_positions_in_descending_order(backend):
    """Turns, not coordinates, say what came before."""
    encoding = weigh(make("alibi").double())
    q, k, v = heads(5)
    pos = at([[9, 7, 5, 3, 1], [0, 0, 0, 0, 0]])
    allowed = torch.ones(5, 5, dtype=torch.bool).tril()
    found = attend(q, k, v, encoding, pos, backend=backend)
    assert gap(found, plain(encoding, q, k, v, pos, pos, allowed)) < 1e-12

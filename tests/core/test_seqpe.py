"""SeqPE: the forms, caches and padding, positions that end, options, dropout."""

import itertools
import math

import pytest
import torch

from gnomon import positions
from gnomon.attention import attend
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.seqpe import SeqPE
from gnomon.errors import OptionError, PositionError
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL
from gnomon.transformer import Transformer
from tests.core.common import HEAD_DIM, HEADS, WIDTH, at, gap, heads, make, model, normal, tokens, weigh
from tests.core.seqpe import FORMS, VARIANTS, generator, read, seqpe

# The forms.


def test_the_doubled_head_is_an_added_scalar():
    """softmax(q k / sqrt d + g u w / sqrt d), the second term as a matrix, as released code adds it."""
    encoding, pos = seqpe(gain=1.7), at([3, 1, 40, 7, 9876])
    q, k, v = heads(5)
    e = encoding.reader(pos.coords, torch.float64)[0]
    u, w = (part.view(5, HEADS, HEAD_DIM).transpose(0, 1) for part in encoding.project(e).chunk(2, -1))
    keys, values = (t.repeat_interleave(2, dim=1) for t in (k, v))
    added = 1.7 * (u @ w.mT)[None] / math.sqrt(HEAD_DIM)
    expected = torch.nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=added)
    assert gap(attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL), expected) < 1e-13


@pytest.mark.parametrize("form", ["additive", "multiplicative"])
def test_what_queries_and_keys_take(form):
    encoding, pos = seqpe(form=form), at([3, 1, 40, 7, 9876])
    q, k, _ = heads(5)
    e = encoding.reader(pos.coords, torch.float64)[0]
    u, w = (part.view(5, HEADS, HEAD_DIM).transpose(0, 1) for part in encoding.project(e).chunk(2, -1))
    prepared, keys = encoding.prepare(pos, pos, torch.float64), k.repeat_interleave(2, dim=1)
    expected = (q + u, keys + w) if form == "additive" else (q * u, keys * w)
    found = encoding.query(q, prepared), encoding.key(k, prepared)
    assert max(gap(a, b) for a, b in zip(found, expected, strict=True)) < 1e-13


def test_without_projections_left_and_right_are_one():
    """u = w = e: the scalar is symmetric; a projection tells left from right."""
    pos = at([5, 9, 30])
    for projection, symmetric in (("none", True), ("single", False)):
        encoding = seqpe(projection=projection)
        zero = torch.zeros(1, HEADS, 3, HEAD_DIM, dtype=torch.float64)
        logits = encoding.score(zero, zero, pos, pos)
        assert (gap(logits, logits.mT) < 1e-12) == symmetric


@pytest.mark.parametrize(
    "form, projection",
    [*itertools.product(FORMS[:3], ["single", "layer", "none"]), ("input", "none")],
)
def test_a_cached_step_has_every_position(form, projection):
    """Released code gives positions to the newest key alone: its logits are those of no positions at all."""
    net, plain, token = model(make("seqpe", form=form, projection=projection)), model(make("none")), tokens(2, 9)
    cache, parts = Cache(9), []
    for a, b in ((0, 4), (4, 5), (5, 8), (8, 9)):
        parts.append(net(token[:, a:b], cache=cache))
    full = net(token)
    assert gap(torch.cat(parts, dim=1), full) < 1e-12
    plain.load_state_dict(net.state_dict(), strict=False)
    assert gap(plain(token)[:, -1], full[:, -1]) > 1e-3


def test_a_left_padded_batch():
    """Each row's tokens count from 0 where they begin, and are read there."""
    net, token = model(make("seqpe")), tokens(2, 7)
    real = torch.arange(7) >= torch.tensor([[0], [3]])
    logits = net(token, positions.padded(real))
    assert gap(logits[1:, 3:], net(token[1:, 3:])) < 1e-12


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_16_bits_read_in_32(options):
    """The reader of a bfloat16 model works in float32: neighbours far out stay apart."""
    encoding = weigh(SeqPE(WIDTH, HEADS, HEAD_DIM, **options)).to(torch.bfloat16)
    coords = torch.tensor([[[99998.0], [99999.0]]], dtype=torch.float64)
    e = encoding.reader(coords, torch.float32)
    assert e.dtype == torch.float32 and gap(e[:, 0], e[:, 1]) > 1e-3
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(encoding.reader(coords, torch.float32), e)
    wide = encoding.double().reader(coords, torch.float64)
    assert gap(e.double(), wide) < 1e-5


def test_where_it_acts():
    assert [SeqPE(WIDTH, HEADS, HEAD_DIM, form=form).sites for form in FORMS] == [["queries and keys"]] * 3 + [
        ["embeddings"]
    ]


# Where positions end.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", [1000, -1, 2.5, 10**7])
def test_positions_that_cannot_be_read(form, place):
    encoding, pos = seqpe(form=form, digits=3), at([0, place])
    with pytest.raises(PositionError) as error:
        if form == "input":
            encoding.embed(normal(1, 2, WIDTH), pos)
        else:
            attend(*heads(2, rows=1), encoding, pos)
    assert "0 to 999, whole numbers" in error.value.allowed and "digits" in error.value.do
    attend(*heads(2, rows=1), encoding, at([0, 999]))


def test_two_axes_are_not_one():
    with pytest.raises(PositionError, match="axes"):
        attend(*heads(4), seqpe(axes=2), positions.sequence(4))


BAD = [
    dict(form="scaler"), dict(projection="all"), dict(form="input", projection="single"), dict(digits=0),
    dict(digits=16), dict(axes=0), dict(encoder_width=9, encoder_heads=2), dict(encoder_heads=0),
    dict(encoder_depth=0), dict(encoder_width=0), dict(longest=1), dict(digits=2, longest=101), dict(shift_rate=1.5),
    dict(dropout=1.0), dict(windows=0), dict(pivots=0), dict(candidates=1), dict(sampled=0), dict(contrastive=-1.0),
]  # fmt: skip


@pytest.mark.parametrize("options", BAD, ids=str)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        create("seqpe", Shape(WIDTH, HEADS, HEAD_DIM), **options)


def test_a_width_that_heads_do_not_share():
    with pytest.raises(OptionError, match="each head its part"):
        SeqPE(40, HEADS, HEAD_DIM)


# Training: dropout.


@pytest.mark.parametrize("form", ["scalar", "additive", "multiplicative"])
def test_the_reference_backend_does_not_train_without_the_dropout_asked_for(form):
    """Its definition has none: that would be another model, silently."""
    token = tokens(2, 7)
    net = Transformer(29, WIDTH, 2, HEADS, make("seqpe", form=form, dropout=0.3), backend="reference").train()
    with pytest.raises(OptionError, match="no dropout"):
        net(token)
    assert torch.isfinite(net.eval()(token)).all()
    without = Transformer(29, WIDTH, 2, HEADS, make("seqpe", form=form), backend="reference").train()
    assert torch.isfinite(without(token)).all()
    assert torch.isfinite(Transformer(29, WIDTH, 2, HEADS, make("seqpe", form=form, dropout=0.3))(token)).all()


def test_dropout_is_of_training_alone():
    encoding, places = seqpe(dropout=0.3), [3, 4, 5]
    encoding.eval()
    assert torch.equal(read(encoding, places), read(encoding, places))
    expected = read(encoding, places)
    encoding.train()
    torch.manual_seed(0)
    assert gap(read(encoding, places), expected) > 0.01
    coords = torch.tensor(places).double().view(1, 3, 1)
    first, again = (encoding.reader(coords, torch.float64, generator(3)) for _ in range(2))
    assert torch.equal(first, again) and gap(first, expected[None]) > 0.01

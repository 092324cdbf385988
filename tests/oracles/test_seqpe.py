"""SeqPE's reader of digits against GPT2Model of transformers 5.24.0, whose blocks the released reader is made of.

Released SeqPE (ghrua/seqpe) is in no package; that its encoder is these blocks over digits with a class token behind
them, and its forms of injection, were read there and checked by running it.
"""

import math

import pytest
import torch

from gnomon.attention import attend
from gnomon.encodings.digit_reader import DigitReader
from gnomon.encodings.seqpe import SeqPE
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import grid
from tests.core.common import at, gap, heads, normal, weigh
from tests.oracles.others import theirs

their = theirs("gpt2")

CLASS = 10
"""The class token, as one more word of the vocabulary."""


def gpt2(reader: DigitReader) -> torch.nn.Module:
    """The same weights; slot, and axis, are its position embeddings, of which the class token has none."""
    width, length = reader.last.shape[0], reader.axes * reader.digits + 1
    config = their.GPT2Config(
        vocab_size=11, n_positions=length, n_embd=width, n_layer=len(reader.blocks), n_head=reader.heads,
        embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    other = their.GPT2Model(config).double().eval()
    places = reader.slot if reader.axis is None else reader.slot + reader.axis.repeat_interleave(reader.digits, 0)
    state = {
        "wte.weight": torch.cat([reader.token, reader.last[None]]),
        "wpe.weight": torch.cat([places, torch.zeros(1, width, dtype=torch.float64)]),
        "ln_f.weight": reader.norm.weight,
        "ln_f.bias": reader.norm.bias,
    }
    for i, block in enumerate(reader.blocks):
        for name, ours in (
            ("ln_1", block.norm_attention), ("ln_2", block.norm_feed_forward), ("attn.c_attn", block.qkv),
            ("attn.c_proj", block.join), ("mlp.c_fc", block.up), ("mlp.c_proj", block.down),
        ):  # fmt: skip
            # Their matrices are [in, out].
            state[f"h.{i}.{name}.weight"] = ours.weight.T if ours.weight.dim() == 2 else ours.weight
            state[f"h.{i}.{name}.bias"] = ours.bias
    missing, unexpected = other.load_state_dict(state, strict=False)
    assert not unexpected and all("attn.bias" in key or "masked_bias" in key for key in missing)
    return other


def said(reader: DigitReader, places: list[list[int]]) -> torch.Tensor:
    """What their model says at the class token of every place, through our last matrix."""
    digits = [[int(d) for p in place for d in f"{p:0{reader.digits}d}"] + [CLASS] for place in places]
    with torch.no_grad():
        return reader.out(gpt2(reader)(torch.tensor(digits)).last_hidden_state[:, -1])


@pytest.mark.parametrize("count, depth", [(1, 2), (3, 2), (2, 1), (4, 3)])
def test_digits_on_a_line(count, depth):
    reader = weigh(DigitReader(20, 5, 1, 24, count, depth, bidirectional=False, dropout=0.0).double())
    places = [0, 7, 70, 123, 19999, 99999, 40312]
    coords = torch.tensor(places).double().view(1, -1, 1)
    expected = said(reader, [[p] for p in places])
    for found in (reader(coords, torch.float64), reader.plainly(coords, torch.float64)):
        assert gap(found[0], expected) < 1e-13


@pytest.mark.parametrize("axes", [2, 3])
def test_digits_on_several_axes(axes):
    reader = weigh(DigitReader(20, 2, axes, 24, 2, 2, bidirectional=False, dropout=0.0).double())
    coords = (normal(1, 9, axes).abs() * 40).floor().clamp(max=99)
    expected = said(reader, coords[0].to(torch.int64).tolist())
    for found in (reader(coords, torch.float64), reader.plainly(coords, torch.float64)):
        assert gap(found[0], expected) < 1e-13


@pytest.mark.parametrize("projection", ["single", "none"])
def test_their_scalar_in_our_attention(projection):
    """The released injection, a matrix added to the logits, with what their blocks read; grouped keys, an offset."""
    encoding, places = weigh(SeqPE(48, 6, 8, projection=projection).double()), [400, 3, 99999, 20, 21]
    e = said(encoding.reader, [[p] for p in places])
    u, w = (e, e) if projection == "none" else encoding.project(e).chunk(2, dim=-1)
    u, w = (t.view(5, 6, 8).transpose(0, 1) for t in (u, w))
    q, k, v = heads(5)
    k_all, v_all = (t.repeat_interleave(2, dim=1) for t in (k, v))
    logits = (q @ k_all.mT + u @ w.mT) / math.sqrt(8)
    expected = torch.softmax(logits, dim=-1) @ v_all
    assert gap(attend(q, k, v, encoding, at(places), mask=BIDIRECTIONAL), expected) < 1e-12


def test_their_product_on_a_grid():
    """The vision form: queries and keys times what is read of row and column; a class token has no place."""
    encoding = weigh(SeqPE(48, 6, 8, form="multiplicative", axes=2, digits=2).double())
    pos = grid(2, 3, prefix=1)
    e = said(encoding.reader, [[r, c] for r in range(2) for c in range(3)])
    u, w = (t.view(6, 6, 8).transpose(0, 1) for t in encoding.project(e).chunk(2, dim=-1))
    one = torch.ones(6, 1, 8, dtype=torch.float64)
    q, k, v = heads(7)
    k_all, v_all = (t.repeat_interleave(2, dim=1) for t in (k, v))
    logits = (q * torch.cat([one, u], 1)) @ (k_all * torch.cat([one, w], 1)).mT / math.sqrt(8)
    expected = torch.softmax(logits, dim=-1) @ v_all
    assert gap(attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL), expected) < 1e-12

"""Transformer-XL against XLNetRelativeAttention and Wav2Vec2ConformerSelfAttention of transformers 5.24.0."""

import pytest
import torch
from torch import Tensor

from gnomon.attention import Attention, attend
from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import Positions, padded, sequence
from tests.oracles.others import close, copy, float32_angle, normal, theirs, weigh

xlnet = theirs("xlnet")
conformer = theirs("wav2vec2_conformer")

WIDTH, HEADS, HEAD_DIM, ROWS, TOKENS, EARLIER = 24, 3, 8, 2, 7, 4


def sinusoid(apart: Tensor) -> Tensor:
    """`[sin, cos]` of distances `[rows]` at the frequencies 10000^(-2n/w), `[rows, w]`."""
    frequency = torch.tensor([10000.0 ** (-2 * n / WIDTH) for n in range(WIDTH // 2)], dtype=torch.float64)
    angle = apart.double()[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def attention_pair(mask=BIDIRECTIONAL, **options):
    """Our Attention and their XLNetRelativeAttention with the same weights; no segments, so theirs has no third term.

    Theirs adds its input and normalises: so do we.
    """
    config = xlnet.XLNetConfig(d_model=WIDTH, n_head=HEADS, d_inner=8, n_layer=1, vocab_size=11, dropout=0.0)
    their = weigh(xlnet.XLNetRelativeAttention(config))
    encoding = TransformerXL(WIDTH, HEADS, HEAD_DIM, untied=True, **options)
    our = Attention(WIDTH, HEADS, encoding, mask=mask).double()
    columns = {our.q.weight: their.q, our.k.weight: their.k, our.v.weight: their.v, encoding.weight: their.r}
    copy({ours: w.reshape(WIDTH, HEADS * HEAD_DIM).T for ours, w in columns.items()})
    copy({our.out.weight: their.o.reshape(WIDTH, HEADS * HEAD_DIM)})
    copy({encoding.biases.u: their.r_w_bias, encoding.biases.v: their.r_r_bias})
    return our, lambda x, out: their.layer_norm(x + out), their


def their_output(their, x: Tensor, apart: Tensor, mems: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
    """x `[b, n, w]`; `apart` the distances of its table, from the largest; hidden `[b, i, j]`: true where masked."""
    r = sinusoid(apart)[:, None].expand(-1, x.shape[0], -1)
    mask = None if hidden is None else hidden.double().movedim(0, 2)[..., None]
    mems = None if mems is None else mems.transpose(0, 1)
    return their(x.transpose(0, 1), None, mask, None, r, None, mems=mems)[0].transpose(0, 1)


def falling(keys: int, queries: int) -> Tensor:
    """XLNet's order of distances: keys, keys - 1, ..., 1 - queries."""
    return torch.arange(keys, -queries, -1, dtype=torch.float64)


@pytest.mark.parametrize("step", [1.0, 0.37])
@pytest.mark.parametrize("known", [True, False])
def test_every_pair_of_an_encoder(step, known):
    """The whole matrix, future and past, from a table of distances and from the addition theorem."""
    our, finish, their = attention_pair()
    x = normal(ROWS, TOKENS, WIDTH)
    pos = sequence(TOKENS, 1000, step=step)
    pos = pos if known else Positions(pos.coords)
    close(finish(x, our(x, pos)), their_output(their, x, step * falling(TOKENS, TOKENS)))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mask", [BIDIRECTIONAL, CAUSAL], ids=["bidirectional", "causal"])
def test_queries_after_a_memory(mask, known):
    """Their memory is keys of earlier layer inputs; leaving its length out of the distances is a common mistake."""
    our, finish, their = attention_pair(mask)
    x, mems = normal(ROWS, TOKENS, WIDTH), normal(ROWS, EARLIER, WIDTH, seed=1)
    n = EARLIER + TOKENS
    q_pos, k_pos = sequence(TOKENS, EARLIER), sequence(n)
    if not known:
        q_pos, k_pos = Positions(q_pos.coords, turn=EARLIER), Positions(k_pos.coords)
    hidden = torch.ones(ROWS, TOKENS, n).triu(1 + EARLIER) if mask.causal else None
    expected = their_output(their, x, falling(n, TOKENS), mems, hidden)
    close(finish(x, our(x, q_pos, keys=torch.cat([mems, x], dim=1), key_pos=k_pos)), expected)


@pytest.mark.parametrize("known", [True, False])
def test_clamped_distances(known):
    our, finish, their = attention_pair(clamp_len=2.5)
    x, pos = normal(ROWS, TOKENS, WIDTH), sequence(TOKENS)
    pos = pos if known else Positions(pos.coords)
    close(finish(x, our(x, pos)), their_output(their, x, falling(TOKENS, TOKENS).clamp(-2.5, 2.5)))


def test_a_padded_batch():
    our, finish, their = attention_pair()
    real = torch.arange(TOKENS) < torch.tensor([[TOKENS], [4]])
    x = normal(ROWS, TOKENS, WIDTH)
    expected = their_output(their, x, falling(TOKENS, TOKENS), hidden=~real[:, None].expand(-1, TOKENS, -1))
    close(finish(x, our(x, padded(real)))[real], expected[real])


@pytest.mark.parametrize("clamp", [-1, 3])
def test_their_own_table(clamp):
    """The order of distances and of sines and cosines is that of XLNetModel, which forms angles in float32."""
    config = xlnet.XLNetConfig(
        d_model=WIDTH, n_head=HEADS, d_inner=8, n_layer=1, vocab_size=11, clamp_len=clamp, attn_type="bi"
    )
    found = xlnet.XLNetModel(config).relative_positional_encoding(TOKENS, 40, bsz=ROWS)
    apart = falling(40, TOKENS)
    apart = apart if clamp < 0 else apart.clamp(-clamp, clamp)
    close(sinusoid(apart)[:, None].expand(-1, ROWS, -1), found.double(), float32_angle(40))


@pytest.mark.parametrize("known", [True, False])
def test_conformer(known):
    """Sines and cosines alternate there, so the columns of W do too; its table begins at the largest distance."""
    config = conformer.Wav2Vec2ConformerConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, position_embeddings_type="relative", attention_dropout=0.0,
        max_source_positions=30,
    )  # fmt: skip
    config._attn_implementation = "eager"
    their = weigh(conformer.Wav2Vec2ConformerSelfAttention(config))
    encoding = TransformerXL(WIDTH, HEADS, HEAD_DIM).double()
    alternate = torch.cat([their.linear_pos.weight[:, 0::2], their.linear_pos.weight[:, 1::2]], dim=1)
    copy({encoding.weight: alternate, encoding.biases.u: their.pos_bias_u, encoding.biases.v: their.pos_bias_v})
    x = normal(ROWS, TOKENS, WIDTH)
    blocks = sinusoid(torch.arange(TOKENS - 1, -TOKENS, -1))
    r = torch.stack(blocks.chunk(2, dim=-1), dim=-1).flatten(-2)[None]
    close(r, conformer.Wav2Vec2ConformerRelPositionalEmbedding(config)(x).double(), float32_angle(TOKENS))
    q, k, v = (f(x).unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2) for f in (their.linear_q, their.linear_k,
                                                                               their.linear_v))  # fmt: skip
    pos = sequence(TOKENS, -50)
    pos = pos if known else Positions(pos.coords)
    out = attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL)
    close(their.linear_out(out.transpose(1, 2).flatten(2)), their(x, relative_position_embeddings=r)[0])

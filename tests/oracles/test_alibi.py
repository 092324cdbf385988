"""Alibi against BLOOM and MPT of transformers 5.24.0 and AlibiPositionalBias of x-transformers 2.31.10."""

import pytest
import torch

from gnomon.attention import Attention
from gnomon.encodings.alibi import Alibi, slopes
from gnomon.kv_cache import Cache
from gnomon.pairs import dense
from gnomon.positions import Positions, padded, sequence
from tests.oracles.others import close, copy, normal, require, theirs, weigh

bloom, mpt = theirs("bloom"), theirs("mpt")
require("x-transformers")

from transformers import DynamicCache  # noqa: E402
from x_transformers.x_transformers import AlibiPositionalBias  # noqa: E402

WIDTH, HEADS, ROWS, TOKENS = 48, 6, 3, 7
CAUSAL_MASK = torch.full((TOKENS, TOKENS), -torch.inf, dtype=torch.float64).triu(1)[None, None]


def bias(heads: int, q_pos: Positions, k_pos: Positions) -> torch.Tensor:
    empty = torch.empty(0, dtype=torch.float64)
    rows = max(q_pos.rows, k_pos.rows)
    return dense(Alibi(heads).bias(empty, empty, q_pos, k_pos), rows, heads, q_pos.length, k_pos.length)


def test_slopes_for_1_to_129_heads():
    for heads in range(1, 130):
        found = torch.tensor(slopes(heads), dtype=torch.float64)
        assert found.shape == (heads,)
        # Float32 on their side; BLOOM's is the power of a rounded base: up to 128 half-units of the last place.
        one = torch.ones_like(found)
        close(bloom._get_alibi_slopes(heads, torch.device("cpu")) / found, one, 128 * 2**-24)
        close(-mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, 0] / found, one, 4 * 2**-24)
        close(AlibiPositionalBias(heads).slopes.flatten() / found, one, 4 * 2**-24)


@pytest.mark.parametrize("heads", [8, 6, 1])
def test_bias_of_the_last_query(heads):
    """build_mpt_alibi_tensor is the row of the last token; every other row of it differs from ours by a constant."""
    their = mpt.build_mpt_alibi_tensor(heads, 12).double()
    ours = bias(heads, sequence(12), sequence(12))[0]
    close(ours[:, -1:], their, 1e-6)
    seen = torch.ones(12, 12, dtype=torch.bool).tril()
    apart = (ours - their).masked_fill(~seen, torch.nan)
    spread = apart.nan_to_num(nan=-torch.inf).amax(-1) - apart.nan_to_num(nan=torch.inf).amin(-1)
    assert spread.max() < 1e-6


def test_bias_at_positions_of_ones_own():
    """AlibiPositionalBias.forward_custom_pos: distances between any two sets of positions, other in each row."""
    q, k = torch.tensor([[0.0, 7.5, -3.0], [4.0, 4.0, 90.0]]), torch.tensor([[1.0, 2.0], [100.0, -0.25]])
    their = AlibiPositionalBias(heads=HEADS).forward_custom_pos(q, k)
    found = bias(HEADS, Positions(q.double()[..., None]), Positions(k.double()[..., None]))
    close(found, their.double(), 1e-6)


def test_bias_of_a_decoded_chunk():
    """AlibiPositionalBias.forward(i, j): the queries are the last i of j tokens."""
    their = AlibiPositionalBias(heads=HEADS)(3, 11)
    close(bias(HEADS, sequence(3, 8), sequence(11)), their.double()[None], 1e-6)


def bloom_pair() -> tuple[Attention, torch.nn.Module]:
    config = bloom.BloomConfig(hidden_size=WIDTH, n_head=HEADS, attention_dropout=0.0, hidden_dropout=0.0)
    their = weigh(bloom.BloomAttention(config, layer_idx=0))
    our = Attention(WIDTH, HEADS, Alibi(HEADS)).double()
    # q, k and v lie together head by head; our projections have no biases.
    q, k, v = their.query_key_value.weight.unflatten(0, (HEADS, 3, -1)).unbind(1)
    copy({our.q.weight: q.flatten(0, 1), our.k.weight: k.flatten(0, 1), our.v.weight: v.flatten(0, 1)})
    copy({our.out.weight: their.dense.weight})
    copy({b: torch.zeros_like(b) for b in (their.query_key_value.bias, their.dense.bias)})
    return our, their


# BLOOM takes its softmax in float32: a logit of size 30 is off by 30 half-units in its last place, and so is a weight.
SOFTMAX32 = 1e-5


def test_bloom_attention():
    our, their = bloom_pair()
    x = normal(ROWS, TOKENS, WIDTH)
    alibi = bloom.build_alibi_tensor(torch.ones(ROWS, TOKENS), HEADS, torch.float64)
    expected, _ = their(x, torch.zeros_like(x), alibi, CAUSAL_MASK)
    close(our(x), expected, SOFTMAX32)
    close(our(x, sequence(TOKENS, 12345)), expected, SOFTMAX32)


def test_bloom_attention_with_left_padding():
    our, their = bloom_pair()
    real = torch.arange(TOKENS) >= torch.tensor([[0], [3], [6]])
    x, alibi = normal(ROWS, TOKENS, WIDTH), bloom.build_alibi_tensor(real.double(), HEADS, torch.float64)
    mask = CAUSAL_MASK.masked_fill(~real[:, None, None], -1e30)
    expected, _ = their(x, torch.zeros_like(x), alibi, mask)
    close(our(x, padded(real))[real], expected[real], SOFTMAX32)


@pytest.mark.parametrize("cached", [1, 4])
def test_bloom_attention_of_a_last_chunk(cached):
    """A chunk after `cached` tokens: the bias is that of all keys, never of the queries alone."""
    our, their = bloom_pair()
    x, past, cache, start = normal(ROWS, TOKENS, WIDTH), DynamicCache(), Cache(TOKENS), 0
    for size in (cached, TOKENS - cached):
        chunk = x[:, start : start + size]
        mask = CAUSAL_MASK[:, :, start : start + size, : start + size]
        alibi = bloom.build_alibi_tensor(torch.ones(ROWS, start + size), HEADS, torch.float64)
        expected, _ = their(chunk, torch.zeros_like(chunk), alibi, mask, layer_past=past, use_cache=True)
        close(our(chunk, cache=cache), expected, SOFTMAX32)
        start += size

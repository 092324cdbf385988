"""Whole attention modules against transformers 5.24.0, weights copied: LlamaAttention, CohereAttention, GPTJAttention.

Sines and cosines come from angles in float64, written out here, so that the modules agree to the last digits.
"""

import pytest
import torch

from gnomon.attention import Attention
from gnomon.encodings.rope import Rope
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import Positions, padded
from tests.oracles.others import close, copy, normal, theirs, weigh

llama, cohere, gptj = theirs("llama"), theirs("cohere"), theirs("gptj")

WIDTH, HEADS, HEAD_DIM, ROWS, TOKENS = 48, 6, 8, 3, 7
PLACES = torch.tensor(
    [[0.0, 1, 2, 3, 4, 5, 6], [1000, 1001, 1003, 1003, 1010, 2000, 1e6], [-3, -2, -1.5, 0, 0.25, 40, 41]],
    dtype=torch.float64,
)
CAUSAL_MASK = torch.full((TOKENS, TOKENS), -torch.inf, dtype=torch.float64).triu(1)[None, None]


def exact(places: torch.Tensor, width: int) -> torch.Tensor:
    """The angle of every position and frequency, `[rows, n, width / 2]`."""
    return places[..., None] * 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def copied(attention: Attention, module: torch.nn.Module, out: str) -> Attention:
    names = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "out": out}
    copy({getattr(attention, ours).weight: getattr(module, name).weight for ours, name in names.items()})
    return attention.double()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kv_heads", [6, 3, 1])
@pytest.mark.parametrize("model", ["llama", "cohere"])
def test_attention_with_grouped_keys(model, kv_heads, causal):
    module, name = (llama, "Llama") if model == "llama" else (cohere, "Cohere")
    config = getattr(module, f"{name}Config")(
        hidden_size=WIDTH, num_attention_heads=HEADS, num_key_value_heads=kv_heads, attn_implementation="sdpa"
    )
    their = weigh(getattr(module, f"{name}Attention")(config, layer_idx=0))
    their.is_causal = causal
    rope = Rope(HEAD_DIM, pairing="half" if model == "llama" else "interleaved")
    mask = CAUSAL if causal else BIDIRECTIONAL
    our = copied(Attention(WIDTH, HEADS, rope, kv_heads=kv_heads, mask=mask).double(), their, "o_proj")
    angle, x = exact(PLACES, HEAD_DIM), normal(ROWS, TOKENS, WIDTH)
    both = torch.cat([angle, angle], -1) if model == "llama" else angle.repeat_interleave(2, -1)
    expected, _ = their(x, (both.cos(), both.sin()), CAUSAL_MASK if causal else None)
    # Cohere rotates in float32: a logit of at most 100 is off by 100 half-units of its last place.
    close(our(x, Positions(PLACES[..., None])), expected, 1e-8 if model == "llama" else 1e-5)


def test_left_padding():
    """LlamaAttention under a padding mask, with positions that count the real tokens of each row."""
    config = llama.LlamaConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, num_key_value_heads=2, attn_implementation="sdpa"
    )
    their = weigh(llama.LlamaAttention(config, layer_idx=0))
    our = copied(Attention(WIDTH, HEADS, Rope(HEAD_DIM), kv_heads=2).double(), their, "o_proj")
    real = torch.arange(TOKENS) >= torch.tensor([[0], [3], [6]])
    places = (real.long().cumsum(-1) - 1).clamp(min=0)
    angle = exact(places.double(), HEAD_DIM)
    both, x = torch.cat([angle, angle], -1), normal(ROWS, TOKENS, WIDTH)
    blocked = CAUSAL_MASK.masked_fill(~real[:, None, None], -torch.inf)
    expected, _ = their(x, (both.cos(), both.sin()), blocked)
    close(our(x, padded(real))[real], expected[real])


@pytest.mark.parametrize("rotary_dim", [4, 8])
def test_gptj_attention(rotary_dim):
    config = gptj.GPTJConfig(
        n_embd=WIDTH, n_head=HEADS, rotary_dim=rotary_dim, attn_pdrop=0.0, resid_pdrop=0.0, attn_implementation="sdpa"
    )
    their = weigh(gptj.GPTJAttention(config, layer_idx=0))
    rope = Rope(HEAD_DIM, pairing="interleaved", fraction=rotary_dim / HEAD_DIM)
    our = copied(Attention(WIDTH, HEADS, rope).double(), their, "out_proj")
    angle, x = exact(PLACES, rotary_dim), normal(ROWS, TOKENS, WIDTH)
    expected, _ = their(x, (angle.sin(), angle.cos()), CAUSAL_MASK)
    close(our(x, Positions(PLACES[..., None])), expected, 1e-8)

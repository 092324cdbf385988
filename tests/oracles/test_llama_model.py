"""LlamaModel of transformers 5.24.0, as a whole: each of its attention layers beside ours, on what it was really given.

Llama's blocks have RMSNorm and a gated feed-forward, so the stream between the layers is theirs.
"""

import pytest
import torch

from gnomon.attention import Attention
from gnomon.encodings.rope import Rope
from gnomon.kv_cache import Cache
from gnomon.positions import Positions, padded
from tests.oracles.others import close, copy, float32_angle, theirs, weigh

llama = theirs("llama")

from transformers import DynamicCache  # noqa: E402

WIDTH, HEADS, KV_HEADS, DEPTH, ROWS, TOKENS, VOCABULARY = 48, 6, 3, 2, 3, 8, 29
TOKEN = torch.randint(VOCABULARY, (ROWS, TOKENS), generator=torch.Generator().manual_seed(1))
TOLERANCE = 200 * float32_angle(20)
"""Queries and keys of length up to 14 make logits of 14 * 14 / sqrt(8) < 100 of their angles; both angles are off."""


@pytest.fixture(scope="module")
def their():
    config = llama.LlamaConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, num_hidden_layers=DEPTH,
        vocab_size=VOCABULARY, intermediate_size=64, attn_implementation="sdpa",
        pad_token_id=None, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return weigh(llama.LlamaModel(config))


@pytest.fixture(scope="module")
def ours(their) -> list[Attention]:
    rope = Rope(WIDTH // HEADS)
    layers = [Attention(WIDTH, HEADS, rope, kv_heads=KV_HEADS).double() for _ in range(DEPTH)]
    for our, layer in zip(layers, their.layers, strict=True):
        a = layer.self_attn
        copy({our.q.weight: a.q_proj.weight, our.k.weight: a.k_proj.weight})
        copy({our.v.weight: a.v_proj.weight, our.out.weight: a.o_proj.weight})
    return layers


def seen(their, token: torch.Tensor, **options) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """What each attention layer was given and what it gave, in one forward pass."""
    met = []

    def remember(module, args, kwargs, output):
        met.append((kwargs["hidden_states"], output[0]))

    hooks = [layer.self_attn.register_forward_hook(remember, with_kwargs=True) for layer in their.layers]
    their(token, **options)
    for hook in hooks:
        hook.remove()
    assert len(met) == DEPTH
    return met


def test_default_positions(their, ours):
    for our, (x, expected) in zip(ours, seen(their, TOKEN), strict=True):
        close(our(x), expected, TOLERANCE)


def test_positions_other_in_each_row(their, ours):
    places = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7], [9, 11, 12, 12, 15, 16, 18, 20], [7, 6, 5, 4, 3, 2, 1, 0]])
    met = seen(their, TOKEN, position_ids=places, attention_mask=torch.ones_like(TOKEN))
    pos = Positions(places[..., None].double())
    for our, (x, expected) in zip(ours, met, strict=True):
        close(our(x, pos), expected, TOLERANCE)


def test_left_padding(their, ours):
    real = torch.arange(TOKENS) >= torch.tensor([[0], [3], [7]])
    places = (real.long().cumsum(-1) - 1).clamp(min=0)
    met = seen(their, TOKEN, position_ids=places, attention_mask=real.long())
    for our, (x, expected) in zip(ours, met, strict=True):
        close(our(x, padded(real))[real], expected[real], TOLERANCE)


@pytest.mark.parametrize("split", [[5, 3], [1] * TOKENS, [7, 1]])
def test_decoding_with_a_cache(their, ours, split):
    """Their DynamicCache and ours, fed the same chunks; every row of a left-padded batch counts from its own start."""
    real = torch.arange(TOKENS) >= torch.tensor([[0], [3], [4]])
    places, pos = (real.long().cumsum(-1) - 1).clamp(min=0), padded(real)
    their_cache, our_caches, start = DynamicCache(config=their.config), [Cache(TOKENS) for _ in ours], 0
    for size in split:
        chunk = slice(start, start + size)
        met = seen(
            their, TOKEN[:, chunk], position_ids=places[:, chunk], attention_mask=real[:, : start + size].long(),
            cache=their_cache, use_cache=True,
        )  # fmt: skip
        here = real[:, chunk]
        for our, cache, (x, expected) in zip(ours, our_caches, met, strict=True):
            found = our(x, pos.tokens(start, start + size), cache=cache)
            close(found[here], expected[here], TOLERANCE)
        start += size

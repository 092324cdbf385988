"""Rope against transformers 5.24.0: Llama, Cohere, GPT-NeoX and GPT-J, their tables and their rotations."""

import pytest
import torch

from gnomon.encodings.rope import Rope
from gnomon.positions import Positions
from tests.oracles.others import close, float32_angle, normal, theirs

llama, cohere = theirs("llama"), theirs("cohere")
neox, gptj = theirs("gpt_neox"), theirs("gptj")

HEAD_DIM = 16
PLACES = [[-40.0, 0.0, 0.5, 1.0, 7.0, 63.0], [3.0, 3.0, 2.25, 64.0, -1.0, 11.0]]
"""Repeated, gapped, negative, fractional, out of order, and other in each row."""
FURTHEST = 64.0


def ours(rope: Rope, places: list[list[float]]) -> tuple[torch.Tensor, torch.Tensor]:
    pos = Positions(torch.tensor(places, dtype=torch.float64)[..., None])
    q, k = normal(2, 4, 6, HEAD_DIM, seed=1), normal(2, 2, 6, HEAD_DIM, seed=2)
    prepared = rope.prepare(pos, pos, torch.float64)
    return rope.query(q, prepared), rope.key(k, prepared)


def same(found: torch.Tensor, expected: torch.Tensor, furthest: float = FURTHEST) -> None:
    # A pair of standard normal numbers is shorter than 6 here; both its coordinates carry the angle's error.
    close(found, expected, 6 * float32_angle(furthest))


@pytest.mark.parametrize("theta", [10_000.0, 500_000.0, 100.0])
@pytest.mark.parametrize("model", ["llama", "cohere"])
def test_rotation_of_whole_heads(model, theta):
    """LlamaRotaryEmbedding pairs halves, CohereRotaryEmbedding neighbours."""
    module, name = (llama, "Llama") if model == "llama" else (cohere, "Cohere")
    config = getattr(module, f"{name}Config")(
        hidden_size=4 * HEAD_DIM,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
    )
    rotary = getattr(module, f"{name}RotaryEmbedding")(config)
    q, k = normal(2, 4, 6, HEAD_DIM, seed=1), normal(2, 2, 6, HEAD_DIM, seed=2)
    cos, sin = rotary(q, torch.tensor(PLACES))
    expected = module.apply_rotary_pos_emb(q, k, cos, sin)
    pairing = "half" if model == "llama" else "interleaved"
    for found, value in zip(ours(Rope(HEAD_DIM, theta, pairing), PLACES), expected, strict=True):
        same(found, value)


@pytest.mark.parametrize("fraction", [0.25, 0.5, 1.0])
def test_gpt_neox_rotates_the_first_part_of_each_head(fraction):
    """GPTNeoXRotaryEmbedding: frequencies of a partial rotation have the rotated width as denominator."""
    config = neox.GPTNeoXConfig(
        hidden_size=4 * HEAD_DIM,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": fraction},
    )
    q, k = normal(2, 4, 6, HEAD_DIM, seed=1), normal(2, 2, 6, HEAD_DIM, seed=2)
    cos, sin = neox.GPTNeoXRotaryEmbedding(config)(q, torch.tensor(PLACES))
    assert cos.shape[-1] == fraction * HEAD_DIM
    expected = neox.apply_rotary_pos_emb(q, k, cos, sin)
    for found, value in zip(ours(Rope(HEAD_DIM, fraction=fraction), PLACES), expected, strict=True):
        same(found, value)


@pytest.mark.parametrize("rotary_dim", [4, 12, 16])
def test_gptj_rotates_neighbours_in_the_first_dimensions(rotary_dim):
    """GPTJRotaryEmbedding has a table: positions are whole and not negative. Heads come after tokens."""
    places = [[0.0, 1.0, 5.0, 5.0, 40.0, 2.0], [63.0, 9.0, 10.0, 30.0, 31.0, 0.0]]
    config = gptj.GPTJConfig(n_embd=4 * HEAD_DIM, n_head=4, rotary_dim=rotary_dim, n_positions=64)
    q, k = normal(2, 4, 6, HEAD_DIM, seed=1), normal(2, 2, 6, HEAD_DIM, seed=2)
    sin, cos = gptj.GPTJRotaryEmbedding(config)(q, torch.tensor(places).long())
    found = ours(Rope(HEAD_DIM, pairing="interleaved", fraction=rotary_dim / HEAD_DIM), places)
    for mine, raw in zip(found, (q, k), strict=True):
        turned = gptj.apply_rotary_pos_emb(raw[..., :rotary_dim].transpose(1, 2), sin, cos).transpose(1, 2)
        same(mine[..., :rotary_dim], turned)
        assert torch.equal(mine[..., rotary_dim:], raw[..., rotary_dim:])


def test_apply_rotary_pos_emb_in_float64():
    """With sines and cosines of exact angles, Llama's and Cohere's rotations are ours to the last digits."""
    places = torch.tensor(PLACES, dtype=torch.float64)
    q, k = normal(2, 4, 6, HEAD_DIM, seed=1), normal(2, 2, 6, HEAD_DIM, seed=2)
    angle = places[..., None] * torch.tensor([10_000.0 ** (-2 * m / HEAD_DIM) for m in range(8)], dtype=torch.float64)
    doubled = torch.cat([angle, angle], dim=-1)
    expected = llama.apply_rotary_pos_emb(q, k, doubled.cos(), doubled.sin())
    for found, value in zip(ours(Rope(HEAD_DIM), PLACES), expected, strict=True):
        close(found, value, 1e-13)

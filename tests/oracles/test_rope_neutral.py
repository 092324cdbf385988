"""Rope against torch.onnx.ops.rotary_embedding, x-transformers 2.31.10 and rotary-embedding-torch 0.9.1."""

import pytest
import torch

from gnomon.encodings.rope import Rope
from gnomon.positions import Positions, grid, sequence
from tests.oracles.others import close, float32_angle, normal, require

require("x-transformers")
require("rotary-embedding-torch")

import rotary_embedding_torch  # noqa: E402
from x_transformers import x_transformers  # noqa: E402

HEAD_DIM = 12


@pytest.mark.parametrize("width", [12, 8, 2])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_onnx_operator(pairing, width):
    """The operator of opset 23 takes sines and cosines as they are given, so it is compared in float64."""
    places = torch.tensor([[0.0, 5.0, -3.0, 1e6 + 0.5, 2.0**24 + 1], [7.0, 7.0, 8.0, 100.0, -1e5]], dtype=torch.float64)
    frequency = torch.tensor([10_000.0 ** (-2 * m / width) for m in range(width // 2)], dtype=torch.float64)
    angle, x = places[..., None] * frequency, normal(2, 3, 5, HEAD_DIM)
    expected = torch.onnx.ops.rotary_embedding(
        x, angle.cos(), angle.sin(), interleaved=pairing == "interleaved", rotary_embedding_dim=width
    )
    rope, pos = Rope(HEAD_DIM, pairing=pairing, fraction=width / HEAD_DIM), Positions(places[..., None])
    # Two ways to form the frequencies differ by one unit in the last place; at 2^24 that is an angle of 4e-9.
    close(rope.query(x, rope.prepare(pos, pos, torch.float64)), expected, 1e-7)


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_x_transformers_rotary_embedding(fraction):
    """x_transformers.RotaryEmbedding(dim) pairs neighbours and leaves the dimensions past `dim` alone."""
    places = torch.tensor([[0.0, 4.0, 5.0, 2.5, -7.0], [60.0, 61.0, 63.0, 0.25, 1.0]])
    rotary = x_transformers.RotaryEmbedding(int(HEAD_DIM * fraction))
    x = normal(2, 3, 5, HEAD_DIM)
    freqs, scale = rotary(places)
    expected = x_transformers.apply_rotary_pos_emb(x, freqs, scale)
    rope, pos = Rope(HEAD_DIM, pairing="interleaved", fraction=fraction), Positions(places.double()[..., None])
    close(rope.query(x, rope.prepare(pos, pos, torch.float64)), expected, 6 * float32_angle(63))


@pytest.mark.parametrize("offset", [0, 31])
def test_rotary_embedding_torch(offset):
    """rotary_embedding_torch.RotaryEmbedding(dim) counts positions itself, from an offset."""
    rotary = rotary_embedding_torch.RotaryEmbedding(dim=HEAD_DIM, cache_if_possible=False)
    x = normal(2, 3, 5, HEAD_DIM)
    expected = rotary.rotate_queries_or_keys(x, offset=offset)
    rope, pos = Rope(HEAD_DIM, pairing="interleaved"), sequence(5, offset)
    close(rope.query(x, rope.prepare(pos, pos, torch.float64)), expected, 6 * float32_angle(36))


def test_rotary_embedding_torch_with_cached_keys():
    """rotate_queries_with_cached_keys: the queries are the last tokens, as `attend` takes them too."""
    rotary = rotary_embedding_torch.RotaryEmbedding(dim=HEAD_DIM, cache_if_possible=False)
    q, k = normal(2, 3, 2, HEAD_DIM, seed=1), normal(2, 3, 9, HEAD_DIM, seed=2)
    rope, k_pos = Rope(HEAD_DIM, pairing="interleaved"), sequence(9)
    q_pos = k_pos.tokens(7, 9)
    expected_q, expected_k = rotary.rotate_queries_with_cached_keys(q, k)
    close(rope.query(q, rope.prepare(q_pos, k_pos, torch.float64)), expected_q, 6 * float32_angle(9))
    close(rope.key(k, rope.prepare(k_pos, k_pos, torch.float64)), expected_k, 6 * float32_angle(9))


@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5)])
def test_rotary_embedding_torch_on_a_grid(rows, columns):
    """get_axial_freqs: the first half of the head turns with the row, the second with the column."""
    rotary = rotary_embedding_torch.RotaryEmbedding(dim=HEAD_DIM // 2, cache_if_possible=False)
    x = normal(1, 2, rows, columns, HEAD_DIM)
    expected = rotary_embedding_torch.apply_rotary_emb(rotary.get_axial_freqs(rows, columns), x)
    rope, pos = Rope(HEAD_DIM, pairing="interleaved", axes=2), grid(rows, columns)
    found = rope.query(x.flatten(2, 3), rope.prepare(pos, pos, torch.float64))
    close(found, expected.flatten(2, 3), 6 * float32_angle(columns))

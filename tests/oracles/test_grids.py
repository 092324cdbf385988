"""Grids that are not square, against angles written out by hand: a swap of axes changes no shape, only numbers.

Rope on two axes turns the first block of pairs with the row, the second with the column, as rotary-embedding-torch
does and Qwen2-VL's vision tower in transformers 5.24.0; sinusoids have the row's block first, as DETR and tatp22 do.
"""

import cmath
import math

import pytest
import torch

from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.positions import grid
from tests.oracles.others import close, float32_angle, normal, theirs

qwen = theirs("qwen2_vl")


@pytest.mark.parametrize("prefix", [0, 2])
@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5)])
def test_sinusoids_by_hand(rows, columns, prefix):
    """Width 8: four dimensions an axis, with frequencies 1 and 1/100."""
    encoding, pos = Sinusoidal(8, axes=2), grid(rows, columns, prefix=prefix)
    found = encoding.embed(torch.zeros(1, pos.length, 8, dtype=torch.float64), pos)[0]
    assert torch.equal(found[:prefix], torch.zeros(prefix, 8, dtype=torch.float64))
    for y in range(rows):
        for x in range(columns):
            hands = [f(c * w) for c in (y, x) for w in (1, 0.01) for f in (math.sin, math.cos)]
            expected = torch.tensor(hands, dtype=torch.float64)
            close(found[prefix + y * columns + x], expected, 1e-15)


@pytest.mark.parametrize("prefix", [0, 2])
@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5)])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_rotations_by_hand(pairing, rows, columns, prefix):
    """Head width 8: two pairs an axis, with frequencies 1 and 1/100; tokens without a place are not turned."""
    rope, pos = Rope(8, pairing=pairing, axes=2), grid(rows, columns, prefix=prefix)
    q = normal(1, 2, pos.length, 8)
    found = rope.query(q, rope.prepare(pos, pos, torch.float64))
    assert torch.equal(found[:, :, :prefix], q[:, :, :prefix])
    pairs = [(m, m + 4) if pairing == "half" else (2 * m, 2 * m + 1) for m in range(4)]
    for y in range(rows):
        for x in range(columns):
            token = prefix + y * columns + x
            for angle, (u, v) in zip((y, y / 100, x, x / 100), pairs, strict=True):
                for head in range(2):
                    before = complex(q[0, head, token, u], q[0, head, token, v])
                    after = complex(found[0, head, token, u], found[0, head, token, v])
                    assert abs(after - before * cmath.exp(1j * angle)) < 1e-14


def test_the_place_at_row_1_and_column_2():
    """The angles of (1, 2), the traditional trap: row 1, so a first angle of 1 radian, not of 2."""
    rope, pos = Rope(8, axes=2), grid(2, 3)
    assert pos.coords[0, 5].tolist() == [1, 2]
    cos, _ = rope.prepare(pos, pos, torch.float64)
    close(cos[0, 0, 5], torch.tensor([math.cos(a) for a in (1, 0.01, 2, 0.02)], dtype=torch.float64), 1e-15)


@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5)])
def test_qwen2_vl_vision(rows, columns):
    """Qwen2VLVisionRotaryEmbedding: [row; column] doubled into halves, and heads come after tokens."""
    config = qwen.Qwen2VLVisionConfig(embed_dim=32, num_heads=2)
    pos, x = grid(rows, columns), normal(rows * columns, 2, 16)
    cos, sin = qwen.Qwen2VLVisionRotaryEmbedding(config)(x, pos.coords[0])
    expected, _ = qwen.apply_rotary_pos_emb_vision(x, x, cos, sin)
    rope = Rope(16, axes=2)
    found = rope.query(x.transpose(0, 1)[None], rope.prepare(pos, pos, torch.float64))
    close(found[0].transpose(0, 1), expected, 6 * float32_angle(columns))

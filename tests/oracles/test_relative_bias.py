"""The relative bias on grids against Swin and BEiT of transformers 5.24.0.

BEiT's own resizing of its table reads the height for the width (`reshape(1, old_width, old_height, -1)`), which is the
identity where both are equal only; windows that are not square are compared by its index instead.
"""

import pytest
import torch

from gnomon.attention import attend
from gnomon.content import placed
from gnomon.encodings.relative_bias import RelativeBias
from gnomon.masks import BIDIRECTIONAL
from gnomon.pairs import dense
from gnomon.positions import Positions, grid
from tests.oracles.others import close, copy, normal, theirs, weigh

swin, beit = theirs("swin"), theirs("beit")

HEADS = 3
WINDOWS = [(2, 3), (3, 5), (4, 2), (4, 4), (7, 7)]


def ours(rows: int, columns: int, table: torch.Tensor) -> RelativeBias:
    """The encoding for a window, with their table `[entries, h]`."""
    encoding = RelativeBias(HEADS, window=(rows, columns)).double()
    copy({encoding.weight: table.T})
    return encoding


def bias(encoding: RelativeBias, pos: Positions) -> torch.Tensor:
    empty = torch.empty(0, dtype=torch.float64)
    return dense(encoding.bias(empty, empty, pos, pos), 1, HEADS, pos.length, pos.length)


def elsewhere(pos: Positions) -> Positions:
    """The same window in another part of the picture: only differences count."""
    return pos.shifted([1000, -70])


@pytest.mark.parametrize("rows, columns", WINDOWS)
def test_swin(rows, columns):
    """SwinRelativePositionBias."""
    their = weigh(swin.SwinRelativePositionBias(HEADS, (rows, columns)))
    encoding = ours(rows, columns, their.relative_position_bias_table)
    for pos in (grid(rows, columns), elsewhere(grid(rows, columns))):
        assert torch.equal(bias(encoding, pos), their())


def test_attention_of_swin():
    """SwinAttention over windows of 4 x 4, projections with biases; its softmax is in float32."""
    config = swin.SwinConfig(attention_probs_dropout_prob=0.0)
    config._attn_implementation = "eager"
    their = weigh(swin.SwinAttention(config, 24, HEADS, 4))
    encoding = ours(4, 4, their.relative_position_bias.relative_position_bias_table)
    x = normal(2, 16, 24)
    q, k, v = (p(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in (their.q_proj, their.k_proj, their.v_proj))
    for backend in ("reference", "sdpa"):
        found = attend(q, k, v, encoding, elsewhere(grid(4, 4)), mask=BIDIRECTIONAL, backend=backend)
        close(their.o_proj(found.transpose(1, 2).flatten(2)), their(x)[0], 1e-6)


@pytest.mark.parametrize("rows, columns", WINDOWS)
def test_beit(rows, columns):
    """BeitRelativePositionBias among patches; its three numbers for the class token are zero here."""
    config = beit.BeitConfig(image_size=(16 * rows, 16 * columns), patch_size=16, num_attention_heads=HEADS)
    their = weigh(beit.BeitRelativePositionBias(config))
    with torch.no_grad():
        their.relative_position_bias_table[-3:] = 0
    encoding = ours(rows, columns, their.relative_position_bias_table[:-3])
    pos = grid(rows, columns, prefix=1)
    empty = torch.empty(0, dtype=torch.float64)
    pair = placed(encoding.bias(empty, empty, pos, pos), pos, pos)
    found = dense(pair, 1, HEADS, pos.length, pos.length)[0]
    index = their.generate_relative_position_index((rows, columns))
    assert torch.equal(found, their.relative_position_bias_table[index].permute(2, 0, 1))
    if rows == columns:
        close(found, their((rows, columns))[0])

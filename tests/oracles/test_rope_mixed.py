"""RoPE-Mixed against numbers of timm 1.0.31 (RotaryEmbeddingMixed, apply_rot_embed_cat) on a grid of 3 x 2."""

import torch

from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.positions import grid

TOKENS = [1, 3, 4]
GOLDEN = [
    [[0.306595, -0.063144, 0.598812, 0.314922], [0.782842, 0.338745, 0.036401, 0.508039],
     [0.588538, -0.333730, 0.850588, 0.513183]],
    [[-0.611194, 0.794244, -0.643891, 0.240632], [-0.442430, -1.335315, 0.889679, -1.055490],
     [0.532781, 0.434331, -0.093069, 0.310950]],
]  # fmt: skip


def test_two_heads_of_four_dimensions():
    """W of axis a (column, row), head h and pair m is 0.9 - 0.7 a - 1.1 h + 0.5 m; x = sin(1 + h + 2 n + 3 c)."""
    encoding, pos = RopeMixed(2, 4, axes=2), grid(3, 2)
    a, h, m = torch.meshgrid(torch.tensor([1, 0]), torch.arange(2), torch.arange(2), indexing="ij")
    with torch.no_grad():
        # Ours has the row first.
        encoding.weight.copy_((0.9 - 0.7 * a - 1.1 * h + 0.5 * m).transpose(0, 1))
    h, n, c = torch.meshgrid(torch.arange(2), torch.arange(6), torch.arange(4), indexing="ij")
    x = torch.sin((1 + h + 2 * n + 3 * c).to(torch.float64))[None]
    found = encoding.query(x, encoding.prepare(pos, pos, torch.float64))[0, :, TOKENS]
    assert (found - torch.tensor(GOLDEN, dtype=torch.float64)).abs().max() < 2e-6

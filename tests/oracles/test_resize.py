"""Resized tables against ViT and DINOv2 of transformers 5.24.0, and torch's interpolate along a line."""

import pytest
import torch

from gnomon.encodings.resize import resize_grid, resize_line
from tests.oracles.others import close, copy, normal, theirs

vit, dinov2 = theirs("vit"), theirs("dinov2")

from transformers import Dinov2Config, ViTConfig  # noqa: E402

WIDTH, PATCH = 6, 4
GRIDS = [(7, 7), (3, 9), (2, 5), (14, 3), (5, 5), (25, 1)]
"""Larger and smaller than 5 x 5, square and not, one of as many places, one the same."""


def table(places: int, prefix: int = 1) -> torch.Tensor:
    return normal(prefix + places, WIDTH)


@pytest.mark.parametrize("new", GRIDS, ids=str)
def test_vit(new):
    """ViTEmbeddings.interpolate_pos_encoding: bicubic without antialiasing, the class token kept."""
    config = ViTConfig(hidden_size=WIDTH, num_attention_heads=2, image_size=5 * PATCH, patch_size=PATCH)
    their = vit.ViTEmbeddings(config).double()
    copy({their.position_embeddings: table(25)[None]})
    height, width = PATCH * new[0], PATCH * new[1]
    expected = their.interpolate_pos_encoding(torch.zeros(1, 1 + new[0] * new[1], WIDTH), height, width)[0]
    close(resize_grid(table(25), (5, 5), new, antialias=False, prefix=1), expected, 1e-13)


@pytest.mark.parametrize("new", GRIDS, ids=str)
def test_dinov2(new):
    """Dinov2Embeddings resizes in float32; so do we a table of float32 and of bfloat16."""
    config = Dinov2Config(hidden_size=WIDTH, num_attention_heads=2, image_size=5 * PATCH, patch_size=PATCH)
    their = dinov2.Dinov2Embeddings(config)
    copy({their.position_embeddings: table(25)[None].float()})
    height, width = PATCH * new[0], PATCH * new[1]
    for dtype in (torch.float32, torch.bfloat16):
        their = their.to(dtype)
        expected = their.interpolate_pos_encoding(torch.zeros(1, 1 + new[0] * new[1], WIDTH), height, width)[0]
        found = resize_grid(table(25).float().to(dtype), (5, 5), new, antialias=False, prefix=1)
        assert found.dtype == dtype
        assert torch.equal(found, expected)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("length", [1, 2, 5, 9, 10, 23, 400])
def test_a_line(align_corners, length):
    """torch.nn.functional.interpolate, mode linear, along positions."""
    rows = table(9, 0)
    expected = torch.nn.functional.interpolate(rows.T[None], size=length, mode="linear", align_corners=align_corners)
    close(resize_line(rows, length, align_corners=align_corners), expected[0].T, 1e-13)


@pytest.mark.parametrize("old, new", [(14, 24), (14, 28), (14, 7)])
def test_antialiasing_is_another_table_even_when_enlarging(old, new):
    """A checkpoint tuned with one and served with the other does not match: 0.3 of unit variance, 0.9 in reducing."""
    rows = normal(old * old, 32)
    tables = [resize_grid(rows, (old, old), (new, new), antialias=antialias) for antialias in (True, False)]
    assert (tables[0] - tables[1]).abs().max() > 0.2

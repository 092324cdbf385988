"""Tables of learned positions resized to another length or another grid."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import interpolate

from gnomon.errors import OptionError


def resize_line(
    table: Float[Tensor, "rows w"], length: int, *, align_corners: bool, prefix: int = 0
) -> Float[Tensor, "length w"]:
    """A table for a line of text, linear between its rows, `prefix` rows (offsets, special tokens) kept as they are.

    With M rows after the prefix and N wanted, new row r is the old one at

    align_corners:      r (M - 1) / (N - 1): the first row and the last stay what they are, as in `Learned`'s own
                        `interpolate`;
    not align_corners:  (r + 1/2) M / N - 1/2, inside 0 .. M - 1: rows are cells of a width, as in images.
    """
    rows = table.shape[0] - prefix
    _sizes(rows, (length - prefix,), prefix, table.shape[0])
    new = length - prefix
    r = torch.arange(new, dtype=torch.float64, device=table.device)
    at = r * (rows - 1) / max(new - 1, 1) if align_corners else ((r + 0.5) * rows / new - 0.5).clamp(0, rows - 1)
    below = at.floor().to(torch.int64).clamp(max=max(rows - 2, 0))
    wide = table[prefix:].to(torch.promote_types(table.dtype, torch.float32))
    part = (at - below)[:, None].to(wide.dtype)
    between = torch.lerp(wide[below], wide[(below + 1).clamp(max=rows - 1)], part)
    return torch.cat([table[:prefix], between.to(table.dtype)])


def resize_grid(
    table: Float[Tensor, "rows w"], old: tuple[int, int], new: tuple[int, int], *, antialias: bool, prefix: int = 0
) -> Float[Tensor, "new_rows w"]:
    """A table for a grid of image patches, read row by row, resized by bicubic interpolation.

    old, new:  rows and columns of the grid, in this order; neither has to be square.
    antialias: must be said, since checkpoints differ: timm resizes with it; ViT, DINOv2, DeiT and MAE in their released
               code and in transformers without. The two differ in enlarging too, where torch takes another cubic.
    prefix:    rows before the grid (class token, registers), kept as they are.

    Resized by the size wanted and never by a factor, whose rounding makes some grids a row too small; whenever the
    grid is another, though it may have as many places (2 x 8 as 4 x 4); in float32 at least. Pixels are cells
    (`align_corners=False`). Fine-tune afterwards.
    """
    _sizes(old[0] * old[1], new, prefix, table.shape[0])
    if old == new:
        return table.clone()
    wide = table[prefix:].to(torch.promote_types(table.dtype, torch.float32))
    image = wide.unflatten(0, old).permute(2, 0, 1)[None]
    image = interpolate(image, size=new, mode="bicubic", align_corners=False, antialias=antialias)[0]
    return torch.cat([table[:prefix], image.permute(1, 2, 0).flatten(0, 1).to(table.dtype)])


def _sizes(places: int, new: tuple[int, ...], prefix: int, rows: int) -> None:
    if prefix < 0 or places < 1 or min(new) < 1:
        raise OptionError(
            "a table has at least one place after its prefix, before and after it is resized",
            given=f"{rows} rows, {prefix} of prefix, to {' x '.join(map(str, new))}",
            allowed="1 or more",
        )
    if prefix + places != rows:
        raise OptionError(
            "a table has one row for each place of its grid, read row by row, after the prefix",
            given=f"{rows} rows for {places} places and {prefix} of prefix",
            do="give the grid that the table was trained on, and how many rows of the table stand before it",
        )

"""Positions on several axes: the rows and columns of a picture, and text with pictures in it."""

from collections.abc import Sequence

import torch

from gnomon.checked import checked
from gnomon.errors import PositionError
from gnomon.positions.tokens import FURTHEST, Positions


@checked
def grid(rows: int, columns: int, *, prefix: int = 0, device: str | torch.device | None = None) -> Positions:
    """A grid read row by row: coordinates `(row, column)`, after `prefix` tokens without a place."""
    if rows < 1 or columns < 1 or prefix < 0:
        raise PositionError("a grid needs rows and columns", given=f"{rows} x {columns}, prefix {prefix}")
    place = torch.cartesian_prod(torch.arange(rows, device=device), torch.arange(columns, device=device))
    place = place.reshape(-1, 2).to(torch.float64)
    if not prefix:
        return Positions(place[None])
    coords = torch.cat([place.new_zeros(prefix, 2), place])
    return Positions(coords[None], placed=(torch.arange(coords.shape[0], device=device) >= prefix)[None])


@checked
def multimodal(pieces: Sequence[int | tuple[int, ...]], *, start: int = 0, interval: float = 1.0) -> Positions:
    """Text and images in one sequence on three axes, (time, row, column), as M-RoPE counts them.

    A whole number n is a text of n tokens, whose three coordinates are equal and count up; (frames, rows, columns) is
    a picture or a video read frame by frame and row by row, its coordinates counted from where it begins, its frames
    `interval` apart in time, rounded down. What follows begins at 1 + the largest coordinate before it on any axis.
    Later tokens of text, in a cache, go on likewise: `multimodal([1], start=1 + int(pos.coords.max()))`.
    """
    if interval < 0 or abs(start) > FURTHEST:
        raise PositionError("time does not run backwards, nor past 2^53", given=f"interval {interval}, start {start}")
    parts, begin = [torch.empty(0, 3, dtype=torch.float64)], start
    for piece in pieces:
        sizes = (piece,) if isinstance(piece, int) else tuple(piece)
        if len(sizes) not in (1, 3) or min(sizes) < 1:
            raise PositionError(
                "a piece is a text of some tokens, or frames of rows and columns",
                given=piece,
                allowed="a number, or (frames, rows, columns); 1 or more each",
            )
        counts = [torch.arange(size, dtype=torch.float64) for size in sizes]
        if len(sizes) == 1:
            part = counts[0][:, None].expand(-1, 3)
        else:
            part = torch.cartesian_prod((counts[0] * interval).floor(), *counts[1:])
        parts.append(begin + part)
        begin = 1 + int(parts[-1].max())
    return Positions(torch.cat(parts)[None])

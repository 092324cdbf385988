"""Inverse frequencies, and the angles that they make of positions: formed in float64, only sin and cos are cast."""

import torch
from torch import Tensor

from gnomon.positions import Positions


def geometric(count: int, base: float, exponent_step: float, device=None) -> Tensor:
    """`base ** -(i * exponent_step)` for i = 0 .. count - 1, `[count]` float64."""
    return base ** -(torch.arange(count, dtype=torch.float64, device=device) * exponent_step)


def block_diagonal(rows: list[Tensor]) -> Tensor:
    """Frequencies of each axis beside those of the next: `W [axes, sum of counts]`, zero off the blocks."""
    return torch.block_diag(*[row[None] for row in rows])


def angles(coords: Tensor, frequencies: Tensor) -> Tensor:
    """`coords [rows, n, axes] @ W [axes, m]`: the angle of every token at every frequency, in float64.

    W may be another for each token, `[rows, n, axes, m]`. Summed axis by axis: a matrix product may run in lower
    precision under autocast.
    """
    coords = coords.to(torch.float64)
    return sum(coords[..., a, None] * frequencies[..., a, :] for a in range(frequencies.shape[-2]))


def among(pos: Positions) -> Tensor:
    """Where tokens are on one axis, `[rows, n]` float64: padding, and what has no place, beside the first that has one.

    A wave of a difference is a product of waves of places that are counted from one of them: had it none of its own, it
    would be the origin, and far from there angles are rounded.
    """
    at = pos.anchored()[..., 0]
    if (pos.placed is None and pos.segment is None) or not pos.length:
        return at
    there = pos.has_place() & (pos.segments() >= 0)
    at, there = torch.broadcast_tensors(at, there)
    first = there.to(torch.int8).argmax(1, keepdim=True)
    return torch.where(there, at, at.gather(1, first))

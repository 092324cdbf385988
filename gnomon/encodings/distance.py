"""How far apart two tokens are, as a function of pairs."""

import torch
from torch import Tensor

from gnomon.pairs import PairFunction, at
from gnomon.positions import Positions


def distance(q_pos: Positions, k_pos: Positions, dtype: torch.dtype) -> PairFunction:
    """`|p_i - p_j|`, on several axes the Euclidean distance: taken in float64, given in `dtype`.

    A token without a place, and padding, is taken to be at the origin.
    """
    if q_pos.axes == 1:
        q_at, k_at = q_pos.anchored()[..., 0], k_pos.anchored()[..., 0]
        return lambda b, h, i, j: (at(q_at, b, i) - at(k_at, b, j)).abs().to(dtype)
    # Copies: flex on CPU (torch 2.13) takes no two views of one tensor.
    q_axes, k_axes = ([axis.contiguous() for axis in pos.anchored().unbind(-1)] for pos in (q_pos, k_pos))

    def euclidean(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        square = sum((at(q_at, b, i) - at(k_at, b, j)) ** 2 for q_at, k_at in zip(q_axes, k_axes, strict=True))
        return square.sqrt().to(dtype)

    return euclidean

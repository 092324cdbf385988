"""Evenly spaced positions: the pairs of a diagonal are equally far apart, so a table of diagonals serves them all."""

import math

import torch
from torch import Tensor

from gnomon.content import Diagonal
from gnomon.positions import Positions


def diagonals(q_pos: Positions, k_pos: Positions) -> Tensor | None:
    """`p_i - p_j` on each diagonal, `[i + j - 1]` float64 by rising j; None unless it is known without looking at data

    that queries and keys are spaced alike. `diagonal` says on which one a pair lies.
    """
    if q_pos.step is None or q_pos.step != k_pos.step or not q_pos.length or not k_pos.length:
        return None
    n = q_pos.length
    apart = -q_pos.step * torch.arange(1 - n, k_pos.length, dtype=torch.float64, device=q_pos.coords.device)
    if q_pos is k_pos:
        return apart
    if q_pos.coords.shape[0] > 1 or k_pos.coords.shape[0] > 1:
        return None
    return apart + (q_pos.coords[0, 0, 0] - k_pos.coords[0, 0, 0])


def diagonal(
    q_pos: Positions, k_pos: Positions, rows: Tensor | None = None, near: tuple[float, float] | None = None
) -> Diagonal:
    """The diagonal of a pair, or the row of a table that `rows` names for each.

    near: the least and the largest difference p_i - p_j; all beyond have the row of that end.
    """
    ahead = q_pos.ahead_of(k_pos)
    if near is None or ahead is None or q_pos.step == 0:
        return Diagonal(q_pos.length, k_pos.length, rows)
    # p_i - p_j = ahead - step (j - i)
    first, last = sorted((ahead - end) / q_pos.step for end in near)
    return Diagonal(q_pos.length, k_pos.length, rows, (math.floor(first), math.ceil(last)))

"""Evenly spaced positions: the pairs of a diagonal are equally far apart, so a table of diagonals serves them all."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gnomon.positions import Positions
from gnomon.rows import Apart, Diagonal, Rows
from gnomon.traced import traced


def diagonals(q_pos: Positions, k_pos: Positions) -> Tensor | None:
    """`p_i - p_j` on each diagonal, `[i + j - 1]` float64 by rising j; None unless it is known without looking at data

    that queries and keys are spaced alike.
    """
    if q_pos.step is None or q_pos.step != k_pos.step or not q_pos.length or not k_pos.length:
        return None
    n = q_pos.length
    apart = -q_pos.step * torch.arange(1 - n, k_pos.length, dtype=torch.float64, device=q_pos.coords.device)
    if q_pos is k_pos:
        return apart
    if q_pos.coords.shape[0] == k_pos.coords.shape[0] == 1:
        return apart + (q_pos.coords[0, 0, 0] - k_pos.coords[0, 0, 0])
    ahead = q_pos.ahead_of(k_pos)
    return None if ahead is None else apart + ahead


def differences(q_pos: Positions, k_pos: Positions) -> tuple[float, float] | None:
    """The least and the largest difference p_i - p_j; None in a graph, and where a host would wait for an answer."""
    if traced() or not q_pos.length or not k_pos.length or q_pos.coords.device.type != "cpu":
        return None
    (q_first, q_last), (k_first, k_last) = (pos.ends() or _ends(pos) for pos in (q_pos, k_pos))
    return q_first - k_last, q_last - k_first


def _ends(pos: Positions) -> tuple[float, float]:
    least, largest = pos.anchored()[..., 0].aminmax()
    return least.item(), largest.item()


def rows_by_distance(
    q_pos: Positions,
    k_pos: Positions,
    row: Callable[[Tensor], Tensor],
    near: tuple[float, float] | None = None,
) -> Rows:
    """The row of a table that each pair has by its difference p_i - p_j; where spacing allows, diagonal by diagonal.

    near: the least and the largest difference; all there and beyond have the row of that end.
    """
    apart = diagonals(q_pos, k_pos)
    if apart is None:
        # Taken from both anew: flex on CPU (torch 2.13) takes no two views of one tensor.
        return Apart(q_pos.anchored()[..., 0], k_pos.anchored()[..., 0], row, near)
    ahead, ends = q_pos.ahead_of(k_pos), None
    if near is not None and ahead is not None and q_pos.step != 0:
        # p_i - p_j = ahead - step (j - i)
        least, largest = ((ahead - end) / q_pos.step for end in near)
        first, last = (largest, least) if q_pos.step > 0 else (least, largest)
        ends = math.floor(first), math.ceil(last)
    return Diagonal(q_pos.length, k_pos.length, row(apart), ends)

"""How much of a matrix of pairs is a function of the distance i - j, among the pairs that a mask shows."""

import torch
from torch import Tensor


def nearest_toeplitz(a: Tensor, seen: Tensor | None = None) -> Tensor:
    """The function of i - j nearest in squares to `a` `[..., n, n]` over the pairs `seen` `[n, n]`, or over all.

    `[..., pairs]` float64, the pairs that are seen row by row: each has the mean of its diagonal.
    """
    n = a.shape[-1]
    seen = torch.ones(n, n, dtype=torch.bool) if seen is None else seen
    turn = torch.arange(n)
    diagonal = (turn[:, None] - turn + n - 1)[seen]
    values = a.double()[..., seen]
    sums = values.new_zeros(*values.shape[:-1], 2 * n - 1).index_add(-1, diagonal, values)
    counts = torch.bincount(diagonal, minlength=2 * n - 1).clamp(min=1)
    return (sums / counts)[..., diagonal]


def toeplitz_share(a: Tensor, seen: Tensor | None = None) -> Tensor:
    """The share of the variance of `a` `[..., n, n]` over the pairs `seen` `[n, n]` that the best f(i - j) explains.

    `[...]` float64, 0 to 1: 1 - |a - T|^2 / |a - mean|^2, where T is `nearest_toeplitz` and |.|^2 sums squares. T is an
    orthogonal projection that keeps the mean, so this is |T - mean|^2 / |a - mean|^2 as well. 1 for a constant.
    """
    seen = torch.ones(a.shape[-2:], dtype=torch.bool) if seen is None else seen
    values = a.double()[..., seen]
    rest = (values - nearest_toeplitz(a, seen)).square().sum(-1)
    whole = (values - values.mean(-1, keepdim=True)).square().sum(-1)
    return torch.where(whole > 0, 1 - rest / whole, 1.0)

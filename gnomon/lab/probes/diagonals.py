"""How much of a matrix of pairs is a function of the distance i - j, among the pairs that a mask shows."""

import torch
from torch import Tensor


def toeplitz_share(a: Tensor, seen: Tensor) -> Tensor:
    """The share of the variance of `a` `[..., n, n]` over the pairs `seen` `[n, n]` that the best f(i - j) explains.

    `[...]` float64: 1 - |a - T|^2 / |a - mean|^2, where T has the mean of each diagonal; 1 for a constant.
    """
    n = a.shape[-1]
    turn = torch.arange(n)
    diagonal = (turn[:, None] - turn + n - 1)[seen]
    values = a.double()[..., seen]
    sums = values.new_zeros(*values.shape[:-1], 2 * n - 1).index_add(-1, diagonal, values)
    counts = torch.bincount(diagonal, minlength=2 * n - 1).clamp(min=1)
    rest = (values - (sums / counts)[..., diagonal]).square().sum(-1)
    whole = (values - values.mean(-1, keepdim=True)).square().sum(-1)
    return torch.where(whole > 0, 1 - rest / whole, 1.0)

"""Toeplitz matrices: how much of a matrix of pairs is a function of the distance i - j, found and expected."""

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon import toeplitz
from gnomon.analysis.arguments import real
from gnomon.checked import checked
from gnomon.errors import OptionError


@checked
def nearest_toeplitz(a: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The function of i - j that is nearest to `a` `[n, n]` in squares, float64: each diagonal has its mean."""
    check_square(a)
    return toeplitz.nearest_toeplitz(a).reshape(a.shape)


@checked
def toeplitz_share(a: Float[Tensor, "n n"]) -> float:
    """The share of the variance of `a` `[n, n]`, over all its pairs, that the best function of i - j explains: 0 to 1.

    See `gnomon.toeplitz.toeplitz_share`; 1 for a constant.
    """
    check_square(a)
    return float(toeplitz.toeplitz_share(a))


@checked
def expected_share(p: Float[Tensor, "n w"]) -> float:
    """What `toeplitz_share(p M p^T)` of a random M is about: E |T - mean|^2 / E |A - mean|^2, p `[n, w]`.

    For any M whose entries have mean 0, one variance, and no correlation: normal numbers, the product of two normal
    matrices, a random orthogonal matrix, the product of two. With G = p p^T and L_k the length of diagonal k, the
    first is `sum_k sum_{i i'} G_ii' G_{i-k, i'-k} / L_k`, the second `(sum_i G_ii)^2`, each less
    `(sum_ij G_ij)^2 / n^2` for the mean. For sinusoidal positions it falls to 1 / w as n grows.
    """
    if not 1 <= real(p, "positions", 2).shape[0] <= 16384:
        raise OptionError("a matrix of all pairs of places", given=list(p.shape), allowed="[n, w], n 1 to 16384")
    p = p.to(torch.float64)
    gram, n = p @ p.mT, p.shape[0]
    mean = gram.sum() ** 2 / n**2
    along = [(gram[k:, k:] * gram[: n - k, : n - k]).sum() / (n - k) for k in range(n)]
    whole = gram.trace() ** 2 - mean
    return float((2 * sum(along) - along[0] - mean) / whole) if whole else 1.0


@checked
def check_square(a: Tensor, size: int | None = None) -> None:
    """OptionError for what is not a square matrix `[n, n]` of finite numbers, n > 0, or not of `size`."""
    real(a, "entries of a matrix", 2)
    if a.dim() != 2 or a.shape[0] != a.shape[1] or not a.numel() or size not in (None, a.shape[0]):
        raise OptionError(
            "a square matrix is asked for", given=list(a.shape), allowed=f"[{size or 'n'}, {size or 'n'}]"
        )

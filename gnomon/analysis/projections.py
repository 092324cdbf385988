"""Projections of queries and keys as no training has made them: identities, orthogonal matrices, normal numbers."""

import functools
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_seed, check_size
from gnomon.checked import checked

WIDEST = 16384
"""Width of a matrix of projections."""

Kind = Literal["identity", "same orthogonal", "independent orthogonal", "gaussian"]
"""Projections W_Q, W_K: both the identity; both one random orthogonal matrix; two of them; two of independent normal
numbers, as a layer has at its start."""


@checked
def projections(kind: Kind, width: int, seed: int, head_dim: int | None = None) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a kind, each `[d, w]` float64: d = w, or `head_dim` under `gaussian`, whose variance is 1 / w."""
    check_size(width, "width of a model", 1, WIDEST)
    check_size(1 if head_dim is None else head_dim, "width of a head", 1, WIDEST)
    check_seed(seed)
    if kind == "identity":
        return (torch.eye(width, dtype=torch.float64),) * 2
    if kind == "gaussian":
        g = torch.Generator().manual_seed(seed)
        shape = (head_dim or width, width)
        w_q, w_k = (torch.randn(shape, generator=g, dtype=torch.float64) * width**-0.5 for _ in range(2))
        return w_q, w_k
    if kind == "same orthogonal":
        return (orthogonal(width, seed),) * 2
    return _orthogonal(width, 2 * seed).clone(), _orthogonal(width, 2 * seed + 1).clone()


@checked
def orthogonal(width: int, seed: int) -> Float[Tensor, "w w"]:
    """A random orthogonal matrix `[w, w]` float64, every rotation and reflection as likely as any other.

    Source: Mezzadri 2007, "How to generate random matrices from the classical compact groups".
    """
    check_size(width, "width of a model", 1, WIDEST)
    check_seed(seed)
    return _orthogonal(width, seed).clone()


@functools.lru_cache(maxsize=16)
def _orthogonal(width: int, seed: int) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    q, r = torch.linalg.qr(torch.randn(width, width, generator=g, dtype=torch.float64))
    return q * r.diagonal().sign()

"""Matrices of pairs laid out by diagonals, and back: each is the other's gradient.

Of n rows and m columns, pair (i, j) lies on the diagonal `j - i + n - 1`, one of `n + m - 1`.
"""

from typing import Any

import torch
from torch import Tensor

from gnomon.traced import differs, traced


def skewed(product: Tensor, columns: int) -> Tensor:
    """`product[..., i, j - i + n - 1]` of every pair: `[..., n, n + columns - 1] -> [..., n, columns]`, a view."""
    return _Skewed.apply(product, columns) if _differs(product) else _skewed(product, columns)


def by_diagonal(values: Tensor) -> Tensor:
    """`values[..., i, j]` at `[..., i, j - i + n - 1]`, zeros elsewhere: `[..., n, m] -> [..., n, n + m - 1]`."""
    return _ByDiagonal.apply(values) if _differs(values) else _by_diagonal(values)


def laid(values: Tensor, zeros: Tensor) -> Tensor:
    """The same written to `zeros` `[..., n, n + m - 1]`, which may have been written to so before."""
    n, wide = zeros.shape[-2:]
    zeros.as_strided(values.shape, (*zeros.stride()[:-2], wide - 1, 1), n - 1).copy_(values)
    return zeros


def of_diagonals(table: Tensor, rows: int) -> Tensor:
    """`table[..., j - i + n - 1]` of every pair: `[..., n + m - 1] -> [..., n, m]` for n `rows`."""
    return _OfDiagonals.apply(table, rows) if _differs(table) else _of_diagonals(table, rows)


def stretched(values: Tensor, before: int, after: int, out: Tensor | None = None) -> Tensor:
    """The first and the last of `[..., n]` repeated: `[..., before + n + after]`."""
    first, last = values[..., :1], values[..., -1:]
    repeated = [first.expand(*values.shape[:-1], before), values, last.expand(*values.shape[:-1], after)]
    return torch.cat(repeated, -1) if out is None else torch.cat(repeated, -1, out=out)


def gathered(values: Tensor, some: slice) -> Tensor:
    """Some of `[..., n]`; what lies before is added to the first of them, and what comes after to the last."""
    before, after, values = values[..., : some.start], values[..., some.stop :], values[..., some]
    if before.shape[-1]:
        values = torch.cat([values[..., :1] + before.sum(-1, keepdim=True), values[..., 1:]], -1)
    if after.shape[-1]:
        values = torch.cat([values[..., :-1], values[..., -1:] + after.sum(-1, keepdim=True)], -1)
    return values


def _differs(values: Tensor) -> bool:
    return differs(values) and not traced()


def _skewed(product: Tensor, columns: int) -> Tensor:
    n, wide = product.shape[-2:]
    first = product.contiguous().flatten(-2)[..., n - 1 :]
    return first.as_strided((*product.shape[:-1], columns), (*first.stride()[:-1], wide - 1, 1))


def _by_diagonal(values: Tensor) -> Tensor:
    n, columns = values.shape[-2:]
    return laid(values, values.new_zeros(*values.shape[:-2], n, n + columns - 1))


def _of_diagonals(table: Tensor, rows: int) -> Tensor:
    return table.unfold(-1, table.shape[-1] - rows + 1, 1).flip(-2)


class _Skewed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, columns: int) -> Tensor:
        return _skewed(product, columns)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return by_diagonal(grad), None


class _ByDiagonal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.columns = values.shape[-1]
        return _by_diagonal(values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return skewed(grad, ctx.columns)


class _OfDiagonals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: int) -> Tensor:
        return _of_diagonals(table, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return by_diagonal(grad).sum(-2), None

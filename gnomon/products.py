"""Products of every row with the diagonals of a table: by blocks of rows, which meet only those that cross them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gnomon.room import Room, empty
from gnomon.skew import gathered, laid, skewed, stretched
from gnomon.traced import apart, traced

BLOCK = 64
"""Rows whose products are made at once; more where there are more than sixteen times as many columns."""


def products(x: Tensor, table: Tensor, some: slice, columns: int, room: Room | None = None) -> Tensor:
    """`<x_i, table[j - i + n - 1]>` of every pair: `[b, h, n, columns]`, in memory that is the caller's to change.

    x: `[b, h, n, d]`. table: `[h or 1, diagonals, d]`, the rows of `some` of the diagonals; all those before have its
    first, and all those after its last.
    """
    if traced():
        return _plainly(x, table, some, columns)
    return _Products.apply(x, table, some, columns, room)


def _plainly(x: Tensor, table: Tensor, some: slice, columns: int) -> Tensor:
    """The same by operations that anybody can follow."""
    found = []
    for rows, at, own, count in _blocks(x.shape[-2], some, columns):
        product = x[..., rows, :] @ table[..., at, :].mT
        found.append(skewed(stretched(product, own.start, count - own.stop), columns))
    return torch.cat(found, -2)


def _blocks(n: int, some: slice, columns: int) -> Iterator[tuple[slice, slice, slice, int]]:
    """Rows by blocks; the rows of the table that each meets; on which of its diagonals they lie; how many it has."""
    size = max(BLOCK, columns // 16)
    for start in range(0, n, size):
        stop = min(start + size, n)
        # The diagonals of the block among those of all.
        first, last = n - stop, n - start + columns - 2
        least, most = (min(max(end, first), last) for end in (some.start, some.stop - 1))
        begin, end = (min(max(at, some.start), some.stop - 1) - some.start for at in (least, most))
        own = slice(least - first, most - first + 1)
        yield slice(start, stop), slice(begin, end + 1), own, last - first + 1


def _together(x: Tensor, table: Tensor) -> Tensor:
    """What has one table stands together: `[b, h, n, d] -> [1, b h, n, d]`, or `[h, b, n, d]` for one of each head."""
    return x.flatten(0, 1)[None] if table.shape[0] == 1 else x.transpose(0, 1)


def _apart(x: Tensor, like: Tensor) -> Tensor:
    """`[b, h, ...]` again."""
    return x[0].unflatten(0, like.shape[:2]) if x.shape[:2] != like.shape[1::-1] else x.transpose(0, 1)


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, some: slice, columns: int, room: Room | None) -> Tensor:
        ctx.save_for_backward(x, table)
        ctx.some = some
        rows_of = _together(x, table)
        blocks = list(_blocks(x.shape[-2], some, columns))
        most = max((rows.stop - rows.start) * count for rows, *_, count in blocks)
        memory = empty(room, (rows_of.shape[:2].numel() * most,), x.dtype, x.device)
        value = None if len(blocks) == 1 else empty(room, (*rows_of.shape[:-1], columns), x.dtype, x.device)
        for rows, at, own, count in blocks:
            block = rows_of[:, :, rows].flatten(1, 2)
            laid_out = memory[: block.shape[:2].numel() * count].view(*block.shape[:2], count)
            if own.stop - own.start == count:
                torch.bmm(block, table[:, at].mT, out=laid_out)
            else:
                stretched(block @ table[:, at].mT, own.start, count - own.stop, laid_out)
            found = skewed(laid_out.unflatten(1, (-1, rows.stop - rows.start)), columns)
            if value is None:
                value = found
            else:
                value[:, :, rows] = found
        return _apart(value, x).detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, table = ctx.saved_tensors
        if torch.is_grad_enabled():
            x, table = apart((x, table))
            out = _plainly(x, table, ctx.some, grad.shape[-1])
            asked = [one for one, need in zip((x, table), ctx.needs_input_grad, strict=False) if need]
            found = iter(torch.autograd.grad(out, asked, grad, create_graph=True))
            return *(next(found) if need else None for need in ctx.needs_input_grad[:2]), None, None, None
        rows_of, grads = _together(x, table), _together(grad, table)
        of_x, of_table = torch.empty_like(rows_of), torch.zeros_like(table)
        zeros: Tensor | None = None
        for rows, at, own, count in _blocks(x.shape[-2], ctx.some, grad.shape[-1]):
            some = grads[:, :, rows]
            # What lies beside the band of pairs stays zero.
            if zeros is None or zeros.shape[-2:] != (some.shape[-2], count):
                zeros = grad.new_zeros(*some.shape[:-1], count)
            block = gathered(laid(some, zeros), own).flatten(1, 2)
            of_x[:, :, rows] = (block @ table[:, at]).unflatten(1, some.shape[1:3])
            of_table[:, at].baddbmm_(block.mT, rows_of[:, :, rows].flatten(1, 2))
        return _apart(of_x, x), of_table, None, None, None

"""Pairs of dimensions, and how they are turned: the lowering of every rotary encoding."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.traced import traced

Pairing = Literal["half", "interleaved"]
"""A pair is (x_m, x_{m + r/2}), or (x_2m, x_{2m+1})."""

BLOCK = 2**15
"""Numbers of half a block for each thread: what a block reads and writes stays in the nearest cache."""


def check_pairing(pairing: str, encoding: str) -> None:
    """OptionError unless it names a way to pair dimensions."""
    if pairing not in get_args(Pairing):
        raise OptionError(
            f"{encoding} pairs dimensions in one of two ways", given=pairing, allowed=", ".join(get_args(Pairing))
        )


def turn(x: Tensor, cos: Tensor, sin: Tensor, pairing: Pairing) -> Tensor:
    """x `[..., d]` with each pair of its first r dimensions turned, from cos and sin `[..., r/2]`; the rest stays.

    Multiplied in the precision of cos and sin, or of x where that is wider; leading dimensions broadcast.
    """
    plain = traced() or cos.requires_grad or cos.dtype != _wide(x.dtype)
    if plain or not x.shape[-1]:
        return formula(x, cos, sin, pairing)
    if x.requires_grad and torch.is_grad_enabled():
        return _Turn.apply(x, cos, sin, pairing)
    return _turned(x, cos, sin, pairing)


def formula(x: Tensor, cos: Tensor, sin: Tensor, pairing: Pairing) -> Tensor:
    """The same as one would write it down: for compilers, and for gradients of learned angles."""
    size = 2 * cos.shape[-1]
    turning, rest = x[..., :size], x[..., size:]
    if pairing == "half":
        u, v = turning.chunk(2, dim=-1)
        turned = torch.cat([u * cos - v * sin, v * cos + u * sin], dim=-1)
    else:
        u, v = turning.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack([u * cos - v * sin, v * cos + u * sin], dim=-1).flatten(-2)
    turned = turned.to(x.dtype)
    return torch.cat([turned, rest.expand(*turned.shape[:-1], -1)], dim=-1) if rest.shape[-1] else turned


class _Turn(torch.autograd.Function):
    """The gradient of a turn is the turn back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, pairing: Pairing) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.pairing, ctx.shape = pairing, x.shape
        return _turned(x, cos, sin, pairing)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        # Where heads or rows were shared, theirs is the sum of all.
        return turn(grad, cos, -sin, ctx.pairing).sum_to_size(ctx.shape), None, None, None


def _turned(x: Tensor, cos: Tensor, sin: Tensor, pairing: Pairing) -> Tensor:
    """The same in one pass over memory: some tokens at a time, so that what is read twice is still at hand."""
    size, n = 2 * cos.shape[-1], x.shape[-2]
    out = x.new_empty(*_leading(x, cos), x.shape[-1])
    if size < x.shape[-1]:
        out[..., size:] = x[..., size:]
    turning, turned = x[..., :size], out[..., :size]
    if pairing == "interleaved":
        turns = torch.complex(cos, sin)
    a_token = max(turned[..., :1, : size // 2].numel(), 1)
    step = max(BLOCK * torch.get_num_threads() // a_token, 1)
    for start in range(0, n, step):
        some = (..., slice(start, start + step), slice(None))
        part, to = turning[some], turned[some]
        if pairing == "interleaved":
            pairs, to = torch.view_as_complex(_in_pairs(part.to(cos.dtype)).contiguous()), _in_pairs(to)
            if to.dtype == cos.dtype and x.shape[-1] % 2 == 0:
                torch.mul(pairs, turns[some], out=torch.view_as_complex(to))
            else:
                to.copy_(torch.view_as_real(pairs * turns[some]))
            continue
        (u, v), (c, s) = part.to(cos.dtype).chunk(2, dim=-1), (cos[some], sin[some])
        first, second = to.chunk(2, dim=-1)
        if to.dtype == cos.dtype:
            torch.mul(u, c, out=first).addcmul_(v, s, value=-1)
            torch.mul(v, c, out=second).addcmul_(u, s)
        else:
            first.copy_((u * c).addcmul_(v, s, value=-1))
            second.copy_((v * c).addcmul_(u, s))
    return out


def _leading(x: Tensor, cos: Tensor) -> tuple[int, ...]:
    """All sizes but the last, broadcast: counted here where it is simple, since PyTorch takes as long as the turn."""
    if x.dim() == cos.dim() and all(its in (1, mine) for mine, its in zip(x.shape[:-1], cos.shape[:-1], strict=True)):
        return tuple(x.shape[:-1])
    return torch.broadcast_shapes(x.shape[:-1], cos.shape[:-1])


def _in_pairs(x: Tensor) -> Tensor:
    return x.unflatten(-1, (-1, 2))


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)

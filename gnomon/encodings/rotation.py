"""Pairs of dimensions, and how they are turned: the lowering of every rotary encoding."""

from typing import Literal, get_args

import torch
from torch import Tensor

from gnomon.errors import OptionError

Pairing = Literal["half", "interleaved"]
"""A pair is (x_m, x_{m + r/2}), or (x_2m, x_{2m+1})."""


def check_pairing(pairing: str, encoding: str) -> None:
    """OptionError unless it names a way to pair dimensions."""
    if pairing not in get_args(Pairing):
        raise OptionError(
            f"{encoding} pairs dimensions in one of two ways", given=pairing, allowed=", ".join(get_args(Pairing))
        )


def turn(x: Tensor, cos: Tensor, sin: Tensor, pairing: Pairing) -> Tensor:
    """x `[..., r]` with each pair turned, from cos and sin `[..., r/2]`; multiplied in their precision or x's."""
    if pairing == "half":
        u, v = x.chunk(2, dim=-1)
        turned = torch.cat([u * cos - v * sin, v * cos + u * sin], dim=-1)
    else:
        u, v = x.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack([u * cos - v * sin, v * cos + u * sin], dim=-1).flatten(-2)
    return turned.to(x.dtype)

"""Mutants of xPos: powers taken from the wrong place."""

import torch
from torch import Tensor

from gnomon.encodings.xpos import XPos
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _OwnMiddle(XPos):
    """The exponent is counted from the middle of the tokens at hand, as published code does."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, ...]:
        tables = super().prepare(pos, context, torch.float64)
        share = torch.arange(self.head_dim // 2, dtype=torch.float64) * 2 / self.head_dim
        middle = pos.anchored().mean(dim=1, keepdim=True) if pos.length else 0.0
        zeta = (share + self.gamma) / (1 + self.gamma)
        back = zeta ** (((self.longest - 1) / 2 - middle) / self.scale_base)
        back = pos.only_placed(back.expand(-1, pos.length, -1))[:, None]
        back = torch.where(back == 0, 1.0, back)
        return tuple((t * f).to(dtype) for t, f in zip(tables, (back, back, 1 / back, 1 / back), strict=True))


class _BothGrow(XPos):
    """Keys are multiplied by the power that belongs to queries."""

    def key(self, k: Tensor, prepared: tuple[Tensor, ...]) -> Tensor:
        return self.query(k, prepared)


class _Rows(XPos):
    """A prefix is multiplied by the power of its coordinates, though it is not turned."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, ...]:
        whole = super().prepare(Positions(pos.coords, segment=pos.segment), context, dtype)
        turned = super().prepare(pos, context, dtype)
        if pos.placed is None:
            return turned
        size = (whole[0] ** 2 + whole[1] ** 2).sqrt()
        grown = torch.where(pos.placed[:, None, :, None], 1.0, size).to(dtype)
        return turned[0] * grown, turned[1] * grown, *turned[2:]


MUTANTS = [
    Mutant.of(
        "xpos: counted from each call's middle",
        _OwnMiddle,
        *("lowering", "flex", "cached", "evicted", "window", "cacheable"),
    ),
    Mutant.of("xpos: keys grow as queries do", _BothGrow, "lowering", "flex", "translation", "precision", "half"),
    Mutant.of("xpos: prefix grows", _Rows, "lowering", "flex", "placeless"),
]

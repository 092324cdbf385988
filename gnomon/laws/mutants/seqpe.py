"""Mutants of SeqPE: which digit stands where, the scale of the doubled head, what a cache forgets, and randomness."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gnomon.encodings.seqpe import SeqPE
from gnomon.kv_cache import Cache
from gnomon.laws.case import SHAPE
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _Loud(SeqPE):
    """Positions weigh enough for a fault in them to be heard in 8 bits."""

    def __init__(self, width: int, heads: int, head_dim: int):
        super().__init__(width, heads, head_dim, gain=12.0)


class _Reversed(_Loud):
    """The lowering reads the least significant digit first."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> Any:
        digits = [pos.anchored() // 10**place % 10 for place in range(self.digits)]
        turned = sum(digit * 10 ** (self.digits - 1 - place) for place, digit in enumerate(digits))
        return super().prepare(replace(pos, coords=turned), context, dtype)


class _PaddedBehind(_Loud):
    """The lowering writes zeros behind short numbers instead of in front: the same digit means other things."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> Any:
        written = pos.anchored()
        for _ in range(self.digits - 1):
            written = torch.where(written < 10 ** (self.digits - 1), written * 10, written)
        return super().prepare(replace(pos, coords=written), context, dtype)


class _WideScale(_Loud):
    """The scale is that of the doubled head."""

    def scale(self, head_dim: int) -> float:
        return (2 * head_dim) ** -0.5


class _Bare(Cache):
    """Only the keys of the tokens at hand have positions: those in the cache have lost theirs, as in released code."""

    def store(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = super().store(layer, k, v)
        keys = keys.clone()
        keys[:, :, : self._begin, SHAPE.head_dim :] = 0
        return keys, values


class _Careless(SeqPE):
    """Shifts come from torch's own generator: a run that is resumed goes on differently."""

    def draw(self, pos: Positions, generator: torch.Generator, rows: int = 1) -> Positions:
        return super().draw(pos, torch.default_generator, rows)


class _Astray(SeqPE):
    """Shifts go past the last position that can be read."""

    def draw(self, pos: Positions, generator: torch.Generator, rows: int = 1) -> Positions:
        return pos.shifted(10**self.digits)


LOWERED = "lowering", "flex", "precision", "half"

MUTANTS = [
    Mutant.of("seqpe: digits reversed", _Reversed, *LOWERED),
    Mutant.of("seqpe: zeros behind", _PaddedBehind, *LOWERED),
    Mutant.of("seqpe: scale of the doubled head", _WideScale, *LOWERED),
    Mutant.of("seqpe: cached keys without positions", SeqPE, "cached", cache=_Bare),
    Mutant.of("seqpe: shifts from elsewhere", _Careless, "training"),
    Mutant.of("seqpe: shifts out of the domain", _Astray, "training"),
]

"""Mutants of sinusoidal positions: where the positions come from."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _LowPositions(Sinusoidal):
    """Positions are cast to the dtype of the activations, where bfloat16 counts to 256 and float32 to 2^24."""

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return x + pos.only_placed(self.table(pos.anchored().to(x.dtype))).to(x.dtype)


class _Arange(Sinusoidal):
    """Positions are counted inside, whatever is asked for."""

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return super().embed(x, _counted(pos))


class _Unscaled(Sinusoidal):
    """The scale is left out where positions are added."""

    def __init__(self, width: int):
        super().__init__(width, scale=0.3)

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return x + pos.only_placed(self.table(pos.anchored())).to(x.dtype)


MUTANTS = [
    Mutant.of(
        "sinusoidal: arange inside", _Arange, "lowering", "cached", "packed", "padded", "matters", "precision", "half"
    ),
    Mutant.of("sinusoidal: positions in the dtype of x", _LowPositions, "precision", "half"),
    Mutant.of("sinusoidal: scale left out", _Unscaled, "lowering", "precision", "half"),
]


def _counted(pos: Positions) -> Positions:
    count = torch.arange(pos.length, dtype=torch.float64)[None, :, None]
    return replace(pos, coords=count.expand_as(pos.coords))

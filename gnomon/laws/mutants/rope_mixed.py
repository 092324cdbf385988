"""Mutants of RoPE-Mixed: heads and axes mistaken for each other."""

import torch
from torch import Tensor

from gnomon.encoding import Encoding
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _Grid(RopeMixed):
    def __init__(self, heads: int, head_dim: int):
        super().__init__(heads, head_dim, axes=2)

    def layers(self, count: int) -> list[Encoding]:
        return [self] * count


class _Tiled(_Grid):
    """Heads that share a key are taken for those that are a number of groups apart."""

    def key(self, k: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        return super().key(k.repeat(1, self.heads // k.shape[1], 1, 1), prepared)


class _Transposed(_Grid):
    """Rows are turned by the frequencies of columns."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return super().prepare(Positions(pos.anchored().flip(-1)), context, dtype)


class _Detached(_Grid):
    """Frequencies are read without their gradient."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        cos, sin = super().prepare(pos, context, dtype)
        return cos.detach(), sin.detach()


MUTANTS = [
    Mutant.of("rope_mixed: groups tiled", _Tiled, "lowering", "flex", "grouped", "placeless", "precision", "half"),
    Mutant.of("rope_mixed: rows for columns", _Transposed, "lowering", "flex"),
    Mutant.of("rope_mixed: frequencies detached", _Detached, "gradients"),
]

"""Mutants of Sandwich: its frequencies and its heads."""

from torch import Tensor

from gnomon.encodings.sandwich import Sandwich
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _FromZero(Sandwich):
    """The frequencies are the sinusoidal encoding's, which begin at 1."""

    def __init__(self, heads: int):
        super().__init__(heads, size=12)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return Sandwich(self.heads, self.size, first=0).bias(q, k, q_pos, k_pos)


class _HeadsFromZero(Sandwich):
    """Heads count from 0, the first divided by next to nothing."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair = super().bias(q, k, q_pos, k_pos)
        return lambda b, h, i, j: pair(b, (h - 0.99), i, j)


MUTANTS = [
    Mutant.of("sandwich: frequencies from 0", _FromZero, "lowering", "flex", "precision", "half"),
    Mutant.of("sandwich: heads from 0", _HeadsFromZero, "lowering", "flex", "precision", "half"),
]

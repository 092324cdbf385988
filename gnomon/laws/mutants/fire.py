"""Mutants of FIRE: what the distance is measured by."""

from torch import Tensor

from gnomon.encodings.fire import Fire
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _FromTheChunk(Fire):
    """The normaliser counts positions from the first query of the call, not of the sequence."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        start = q_pos.coords[:, :1]
        return super().bias(q, k, Positions(q_pos.coords - start), Positions(k_pos.coords - start))


class _NeverStretched(Fire):
    """The distance is measured by the same length everywhere, whatever the query's position."""

    def __init__(self, heads: int, causal: bool = True):
        super().__init__(heads, causal, start=30.0)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, q_pos.shifted(-1e6), k_pos.shifted(-1e6))


MUTANTS = [
    Mutant.of(
        "fire: counts from the chunk",
        _FromTheChunk,
        *("lowering", "flex", "cached", "padded", "window", "placeless", "precision"),
    ),
    Mutant.of("fire: never stretched", _NeverStretched, "lowering", "flex", "precision"),
]

"""Mutants of KERPLE: what the parameters are, and in what precision distances are."""

import torch
from torch import Tensor

from gnomon.encoding import Encoding
from gnomon.encodings.kerple import LEAST, Kerple
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _Zero(Kerple):
    """The factor is a zero that nothing trains: there are no positions at all."""

    def numbers(self) -> tuple[Tensor, Tensor]:
        a, p = super().numbers()
        return a, 0 * p

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return Encoding.score(self, q, k, q_pos, k_pos)


class _Unbounded(Kerple):
    """The lowering forgets that neither number is less than 0.01."""

    def numbers(self) -> tuple[Tensor, Tensor]:
        a, p = super().numbers()
        return a - LEAST, p - LEAST


class _Swapped(Kerple):
    """a and p have changed places in the lowering."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        swapped = Kerple(self.heads)
        swapped.raw_a, swapped.raw_p = self.raw_p, self.raw_a
        return swapped.bias(q, k, q_pos, k_pos)


class _LowPositions(Kerple):
    """Positions are kept in bfloat16, which counts to 256."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        low = (Positions(pos.coords.to(torch.bfloat16).to(torch.float64)) for pos in (q_pos, k_pos))
        return super().bias(q, k, *low)


MUTANTS = [
    Mutant.of("kerple: factor zero", _Zero, "matters"),
    Mutant.of("kerple: least value forgotten", _Unbounded, "lowering", "flex", "precision"),
    Mutant.of("kerple: a and p swapped", _Swapped, "lowering", "flex", "precision"),
    Mutant.of("kerple: positions of 16 bits", _LowPositions, "lowering", "flex", "translation", "precision", "half"),
]

"""Mutants of CoPE: what is counted."""

from torch import Tensor

from gnomon.encodings.cope import Cope
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _CountsAll(Cope):
    """Every key that is seen counts as one, whatever it holds."""

    def count(self, gates: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return super().count((gates > 0).to(gates.dtype), q_pos, k_pos)


class _GatesBeforeTheMask(Cope):
    """Keys that the query does not see are counted too."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions, visible: Tensor | None = None) -> Tensor:
        return super().score(q, k, q_pos, k_pos)

    def count(self, gates: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        # From this key to the last, so that the future is among what is counted.
        return gates.flip(-1).cumsum(-1).flip(-1).clamp(max=self.max_positions - 1)


class _PlacesCount(Cope):
    """Tokens without a place receive a position term like any other."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions, visible: Tensor | None = None) -> Tensor:
        everywhere = (Positions(pos.coords, pos.turn, pos.index, pos.segment) for pos in (q_pos, k_pos))
        return super().score(q, k, *everywhere, visible)


MUTANTS = [
    Mutant.of("cope: counts every token", _CountsAll, "contextual"),
    Mutant.of("cope: gates before the mask", _GatesBeforeTheMask, "cached", "packed", "padded", "causality", "window"),
    Mutant.of("cope: counts tokens without a place", _PlacesCount, "placeless"),
]

"""Mutants of learned positions: the ends of the table."""

from dataclasses import replace

from torch import Tensor

from gnomon.encodings.learned import Learned
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _Silent(Learned):
    """A position beyond the table is clamped without a word."""

    def check_positions(self, pos: Positions) -> None:
        pass

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return super().embed(x, replace(pos, coords=pos.coords.clamp(0, self.max_positions - 1)))


class _Crossed(Learned):
    """Columns are looked up in the rows' table, and rows in the columns'."""

    def __init__(self, width: int):
        super().__init__(width, axes=2)

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return super().embed(x, replace(pos, coords=pos.coords.flip(-1)))


class _Unscaled(Learned):
    """The scale is left out where rows are added."""

    def __init__(self, width: int):
        super().__init__(width, scale=3.0)

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        self.check_positions(pos)
        return x + pos.only_placed(self._read(pos.anchored()[..., 0], 0)).to(x.dtype)


MUTANTS = [
    Mutant.of("learned: clamped silently", _Silent, "domain"),
    Mutant.of("learned: rows for columns", _Crossed, "lowering"),
    Mutant.of("learned: scale left out", _Unscaled, "lowering", "precision", "half"),
]

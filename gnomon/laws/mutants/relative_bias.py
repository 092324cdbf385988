"""Mutants of the learned relative bias: precision, and axes and signs that a square or symmetric table would hide."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encodings import build
from gnomon.encodings.relative_bias import RelativeBias
from gnomon.laws.case import Case
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction, at
from gnomon.positions import Positions


def _differences(encoding: RelativeBias, q_pos: Positions, k_pos: Positions) -> list[PairFunction]:
    """The entry of every pair on each axis, from 0."""

    def entry(axis: int, limit: int) -> PairFunction:
        q_at, k_at = q_pos.anchored()[..., axis], k_pos.anchored()[..., axis]
        return lambda b, h, i, j: (at(q_at, b, i) - at(k_at, b, j)).clamp(-limit, limit).to(torch.int64) + limit

    return [entry(axis, limit) for axis, limit in enumerate(encoding.limits)]


class _ColumnsFirst(RelativeBias):
    """The table is read column by column."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        row, column = _differences(self, q_pos, k_pos)
        many = 2 * self.limits[0] + 1
        return lambda b, h, i, j: self.weight[h, column(b, h, i, j) * many + row(b, h, i, j)]


class _Square(RelativeBias):
    """A row of the table is taken to be as long as a column."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        row, column = _differences(self, q_pos, k_pos)
        many = 2 * self.limits[0] + 1
        return lambda b, h, i, j: self.weight[h, row(b, h, i, j) * many + column(b, h, i, j)]


class _Reversed(RelativeBias):
    """Differences are those of the key from the query."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair = super().bias(q, k, k_pos, q_pos)
        return lambda b, h, i, j: pair(b, h, j, i)


class _Float32Positions(RelativeBias):
    """Positions are kept in float32, which has no odd numbers past 2^24."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        low = (replace(pos, coords=pos.coords.to(torch.float32).to(torch.float64)) for pos in (q_pos, k_pos))
        return super().bias(q, k, *low)


def _on_a_grid(name: str, kind: type[RelativeBias], *kills: str) -> Mutant:
    case = Case(name, lambda shape: build(kind, shape, window=(3, 6)))
    return Mutant(name, case, frozenset(kills))


MUTANTS = [
    _on_a_grid("relative_bias: columns before rows", _ColumnsFirst, "lowering", "flex", "precision", "half"),
    _on_a_grid("relative_bias: rows as long as columns", _Square, "lowering", "flex", "precision", "half"),
    _on_a_grid("relative_bias: differences reversed", _Reversed, "lowering", "flex", "precision", "half"),
    Mutant.of("relative_bias: positions of 32 bits", _Float32Positions, "precision"),
]

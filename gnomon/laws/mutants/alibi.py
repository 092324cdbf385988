"""Mutants of ALiBi: slopes and distances of the wrong head, row or sign."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encodings.alibi import Alibi
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction, at
from gnomon.positions import Positions


class _NextHead(Alibi):
    """Each head has the slope of the next."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair, heads = super().bias(q, k, q_pos, k_pos), len(self.slopes)
        return lambda b, h, i, j: pair(b, (h + 1) % heads, i, j)


class _Signed(Alibi):
    """The penalty is signed by the order of the two positions: right where positions ascend, under a causal mask."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        q_at, k_at = q_pos.coords[..., 0], k_pos.coords[..., 0]
        slope = torch.tensor(self.slopes, dtype=torch.float64)
        return lambda b, h, i, j: -slope[h] * (at(q_at, b, i) - at(k_at, b, j))


class _FirstRow(Alibi):
    """The positions of the first row serve the whole batch."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, replace(q_pos, coords=q_pos.coords[:1]), replace(k_pos, coords=k_pos.coords[:1]))


class _ByTurns(Alibi):
    """The order of the turns counts besides the positions, in the formula too: no difference of positions tells it."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return super().score(q, k, _behind(q_pos), _behind(k_pos))

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, _behind(q_pos), _behind(k_pos))


class _ByDocument(Alibi):
    """Each document has its own penalty, by its number, in the formula too."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return super().score(q, k, _wider(q_pos), _wider(k_pos))

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, _wider(q_pos), _wider(k_pos))


def _behind(pos: Positions) -> Positions:
    return replace(pos, coords=pos.coords + pos.turns()[..., None] / 3)


def _wider(pos: Positions) -> Positions:
    return replace(pos, coords=pos.coords * (2 + pos.segments())[..., None] / 2)


MUTANTS = [
    Mutant.of("alibi: slope of the next head", _NextHead, "lowering", "flex", "precision", "half"),
    Mutant.of("alibi: signed penalty", _Signed, "lowering", "flex"),
    Mutant.of("alibi: by turns as well", _ByTurns, "lowering", "cached", "precision", "half"),
    Mutant.of("alibi: by the number of the document", _ByDocument, "packed"),
    Mutant.of("alibi: positions of the first row", _FirstRow, "lowering", "flex", "batch", "padded"),
]

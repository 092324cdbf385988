"""Mutants of Transformer-XL: the order of distances, what reads what, the scale, the memory."""

import torch
from torch import Tensor

from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _Reversed(TransformerXL):
    """The table runs from the smallest distance to the largest: past and future change places."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        turned = [Positions(-pos.coords, segment=pos.segment, placed=pos.placed) for pos in (q_pos, k_pos)]
        return super().bias(q, k, *turned)


class _LastRowDropped(TransformerXL):
    """The shift drops the last row instead of the first: every distance is off by one."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, q_pos, k_pos.shifted(1.0))


class _ForgetsThePast(TransformerXL):
    """Distances count from the first query, as if no memory came before it."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, k_pos.tokens(0, q_pos.length), k_pos)


class _ScaledByWidth(TransformerXL):
    """The term of position is divided by the root of the model's width instead of a head's."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair, factor = super().bias(q, k, q_pos, k_pos), (self.head_dim / self.width) ** 0.5
        return lambda b, h, i, j: factor * pair(b, h, i, j)


class _OneBias(TransformerXL):
    """Content and position have one vector: v is u."""

    def query(self, q: Tensor, prepared: Tensor | None) -> Tensor:
        v = self.biases.v.to(q.dtype)[:, None]
        return q + (v if prepared is None else torch.where(prepared[:, None, :, None], v, 0.0))


class _Everywhere(TransformerXL):
    """u is added to queries that have no place, too."""

    def query(self, q: Tensor, prepared: Tensor | None) -> Tensor:
        return q + self.biases.u.to(q.dtype)[:, None]


MUTANTS = [
    Mutant.of("transformer_xl: distances reversed", _Reversed, "lowering", "flex", "precision", "half"),
    Mutant.of("transformer_xl: last row dropped", _LastRowDropped, "lowering", "flex", "precision", "half"),
    Mutant.of("transformer_xl: forgets the past", _ForgetsThePast, "lowering", "flex", "cached", "evicted", "window"),
    Mutant.of("transformer_xl: scaled by the width", _ScaledByWidth, "lowering", "flex", "precision", "half"),
    Mutant.of("transformer_xl: u is v", _OneBias, "lowering", "flex", "precision", "half"),
    Mutant.of("transformer_xl: u without a place", _Everywhere, "lowering", "flex", "placeless"),
]

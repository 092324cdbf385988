"""Mutants of T5: buckets, scale and table."""

from torch import Tensor

from gnomon.encodings.t5 import T5
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _OffByOne(T5):
    """Every distance falls into the bucket of the distance one farther."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, q_pos, k_pos.shifted(-1.0))


class _Detached(T5):
    """The bias table is read without its gradient."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair = super().bias(q, k, q_pos, k_pos)
        return lambda b, h, i, j: pair(b, h, i, j).detach()


class _ContentGated(T5):
    """The bias depends on the query, yet is declared content-free."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair, gate = super().bias(q, k, q_pos, k_pos), 1 + q[:1].sum()
        if not q.numel():
            return pair
        return lambda b, h, i, j: pair(b, h, i, j) * gate


class _Scaled(T5):
    """Logits are scaled by 1 / sqrt(d), though the initial values already hold that factor."""

    def scale(self, head_dim: int) -> float:
        return head_dim**-0.5


class _Zeroed(T5):
    """The table is never trained away from zero: the model has no positions at all."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return lambda b, h, i, j: self.weight[0, h] * 0 + 0 * (i + j)

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return q @ k.transpose(-1, -2) + 0 * self.weight.sum()


MUTANTS = [
    Mutant.of("t5: bucket off by one", _OffByOne, "lowering", "flex", "precision", "half"),
    Mutant.of("t5: scaled", _Scaled, "lowering", "flex", "precision", "half"),
    Mutant.of("t5: table detached", _Detached, "gradients"),
    Mutant.of("t5: bias gated by content", _ContentGated, "content_free"),
    Mutant.of("t5: table zeroed", _Zeroed, "matters"),
]

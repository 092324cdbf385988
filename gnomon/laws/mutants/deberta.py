"""Mutants of DeBERTa: the index of the last term, the scale, the table."""

from torch import Tensor

from gnomon.content import total
from gnomon.encodings.deberta import Deberta
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _Transposed(Deberta):
    """Position to content reads the row of `p_j - p_i`, as the paper's equation says and no release does."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        key, query = self.position_key, self.position_query
        self.position_query = None
        to_position = super().bias(q, k, q_pos, k_pos)
        self.position_key, self.position_query = None, query
        turned = [Positions(-pos.coords, segment=pos.segment, placed=pos.placed) for pos in (q_pos, k_pos)]
        to_content = super().bias(q, k, *turned)
        self.position_key = key
        return total(to_position, to_content)


class _OneTerm(Deberta):
    """The scale is that of one term where there are three."""

    def scale(self, head_dim: int) -> float:
        return head_dim**-0.5

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return super().score(q, k, q_pos, k_pos) * 3**-0.5


class _OffByOne(Deberta):
    """The table's middle row is that of distance 1."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, q_pos, k_pos.shifted(1.0))


class _Detached(Deberta):
    """Rows are gathered without their gradient."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair = super().bias(q, k, q_pos, k_pos)
        return lambda b, h, i, j: pair(b, h, i, j).detach()


class _FirstOfTheGroup(Deberta):
    """Of the key heads, the first serves every query head in the term from position to content."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k[:, :1].expand_as(k), q_pos, k_pos)


MUTANTS = [
    Mutant.of("deberta: p2c transposed", _Transposed, "lowering", "flex", "precision", "half"),
    Mutant.of("deberta: scale of one term", _OneTerm, "lowering", "flex", "precision", "half"),
    Mutant.of("deberta: off by one", _OffByOne, "lowering", "flex", "precision", "half"),
    Mutant.of("deberta: rows detached", _Detached, "gradients"),
    Mutant.of("deberta: first key head for all", _FirstOfTheGroup, "lowering", "flex", "precision", "half"),
]

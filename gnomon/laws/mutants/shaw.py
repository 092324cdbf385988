"""Mutants of Shaw's relative representations: rows of the tables, scale, and what of the values."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.content import key_lookup, query_lookup, total
from gnomon.encoding import Mix
from gnomon.encodings import build
from gnomon.encodings.shaw import Shaw
from gnomon.laws.case import Case
from gnomon.laws.mutant import Mutant
from gnomon.pairs import PairFunction, at
from gnomon.positions import Positions


class _Reversed(Shaw):
    """The table is read by query minus key, as BERT's is."""

    def _row(self, q_pos: Positions, k_pos: Positions) -> PairFunction:
        row = super()._row(q_pos, k_pos)
        return lambda b, h, i, j: self.left + self.right - row(b, h, i, j)


class _LateClip(Shaw):
    """The offset is added before the clip, so that all of the future is one row."""

    def _row(self, q_pos: Positions, k_pos: Positions) -> PairFunction:
        q_at, k_at = q_pos.anchored()[..., 0], k_pos.anchored()[..., 0]
        return lambda b, h, i, j: (at(k_at, b, j) - at(q_at, b, i) + self.left).clamp(0, self.right).to(torch.int64)


class _Unscaled(Shaw):
    """The product with the table is added without its 1 / sqrt(d)."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q / self.scale(q.shape[-1]), k, q_pos, k_pos)


class _Blank(Shaw):
    """Beyond the table there is nothing, where the paper repeats the last row."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair, q_at, k_at = super().bias(q, k, q_pos, k_pos), q_pos.anchored()[..., 0], k_pos.anchored()[..., 0]

        def within(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            apart = at(k_at, b, j) - at(q_at, b, i)
            return torch.where((apart >= -self.left) & (apart <= self.right), pair(b, h, i, j), 0.0)

        return within


class _LastQuery(Shaw):
    """Every query has the position of the last one: right for a step of one token, wrong for a prompt."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        last = q_pos.coords[:, -1:].expand_as(q_pos.coords)
        return super().bias(q, k, replace(q_pos, coords=last), k_pos)


class _StepOfOne(Shaw):
    """The diagonals of evenly spaced positions are taken to be one position apart."""

    def _row(self, q_pos: Positions, k_pos: Positions) -> PairFunction:
        ones = [pos if pos.step is None else pos.counting(pos.start) for pos in (q_pos, k_pos)]
        return super()._row(*(ones if q_pos is not k_pos else ones[:1] * 2))


class _KeysOnly(Shaw):
    """The table of the values is never read."""

    def mix(self, q_pos: Positions, k_pos: Positions) -> Mix | None:
        return None


class _FirstHead(Shaw):
    """All heads read the values' table of the first."""

    def mix(self, q_pos: Positions, k_pos: Positions) -> Mix | None:
        made = super().mix(q_pos, k_pos)
        return made and Mix(made.table[:1], made.row)


class _Opposite(Shaw):
    """The product with keys reads the row of the opposite distance, as a transpose too many gives."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        scale, row = self.scale(q.shape[-1]), self._row(q_pos, k_pos)
        table = self.key_table.expand(q.shape[1], -1, -1)
        return total(query_lookup(scale * q, table, row), key_lookup(scale * k, table.flip(1), row))


def _under(name: str, kind: type[Shaw], *kills: str, **options: object) -> Mutant:
    return Mutant(name, Case(name, lambda shape: build(kind, shape, **options)), frozenset(kills))


MUTANTS = [
    Mutant.of("shaw: table reversed", _Reversed, "lowering", "precision", "half"),
    Mutant.of("shaw: clipped after the offset", _LateClip, "lowering"),
    Mutant.of("shaw: not scaled", _Unscaled, "lowering", "precision", "half"),
    Mutant.of("shaw: nothing beyond the table", _Blank, "lowering"),
    Mutant.of(
        "shaw: every query at the last",
        _LastQuery,
        "lowering",
        "cached",
        "packed",
        "padded",
        "window",
        "precision",
        "half",
    ),
    Mutant.of("shaw: diagonals one apart", _StepOfOne, "lowering"),
    Mutant.of("shaw: values forgotten", _KeysOnly, "lowering", "flex", "precision", "half"),
    _under("shaw: values of the first head", _FirstHead, "lowering", "precision", "half", per_head=True),
    _under(
        "shaw: keys at the opposite distance",
        _Opposite,
        "lowering",
        "flex",
        "precision",
        "half",
        form="relative_key_query",
        max_positions=40,
    ),
]

"""Mutants of the mask: what a query sees."""

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from gnomon.encodings.rope import Rope
from gnomon.laws.mutant import Mutant
from gnomon.masks import Mask, both, window
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


class _Drawn(Mask):
    """A mask that is always drawn, so that a wrong one is wrong everywhere."""

    def square(self, q_pos: Positions, k_pos: Positions) -> bool:
        return False


class _OneDocument(_Drawn):
    """Documents of one row see each other; padding is still hidden."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(_segments(q_pos, lambda s: s.clamp(max=0)), _segments(k_pos, lambda s: s.clamp(max=0)))


class _SeesPadding(_Drawn):
    """Padding is a document like any other: it sees itself."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(_segments(q_pos, lambda s: s + 1), _segments(k_pos, lambda s: s + 1))


class _IgnoresPadding(_Drawn):
    """Padding is seen like any token."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(_segments(q_pos, lambda s: s.clamp(min=0)), _segments(k_pos, lambda s: s.clamp(min=0)))


class _TopLeft(_Drawn):
    """The causal triangle starts at the first query whatever has been cached."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(replace(q_pos, turn=0, index=None), replace(k_pos, turn=0, index=None))


class _Ahead(_Drawn):
    """A token sees the one after it."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        ahead = replace(q_pos, turn=0, index=q_pos.turns() + 1)
        return super().pair(ahead if self.causal else q_pos, k_pos)


class _WideWindow(Mask):
    """The window is one token wider than asked for."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        plain = super().pair(q_pos, k_pos)
        if self.window is None:
            return plain
        within = window(q_pos, k_pos, self.window + 1)
        return both(within, replace(self, window=None).pair(q_pos, k_pos))


MUTANTS = [
    Mutant.of("mask: one document", Rope, "packed", masking=_OneDocument),
    Mutant.of("mask: padding seen by padding", Rope, "blank", masking=_SeesPadding),
    Mutant.of("mask: padding seen", Rope, "padded", "blank", masking=_IgnoresPadding),
    Mutant.of("mask: top-left triangle", Rope, "cached", "evicted", "matters", masking=_TopLeft),
    Mutant.of("mask: one ahead", Rope, "causality", "cached", "window", masking=_Ahead),
    Mutant.of("mask: window too wide", Rope, "window", masking=_WideWindow),
]


def _segments(pos: Positions, change: Callable[[Tensor], Tensor]) -> Positions:
    return pos if pos.segment is None else replace(pos, segment=change(pos.segment))

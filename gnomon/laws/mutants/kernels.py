"""Mutants of the SDPA backend: heads, masks and evenly spaced positions as the kernel takes them."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.backends import Sdpa
from gnomon.backends.backend import Raw
from gnomon.backends.kept import Kept
from gnomon.backends.way import Planned
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.t5 import T5
from gnomon.laws.mutant import Mutant
from gnomon.masks import Mask
from gnomon.positions import Positions


class _Tiled(Sdpa):
    """Grouped key heads are tiled (0 1 2 0 1 2) where they should be repeated (0 0 1 1 2 2)."""

    def attend(
        self, plan: Planned, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        group = q.shape[1] // k.shape[1]
        return super().attend(plan, q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), raw, scale, dropout)


class _MasksByNumber(Sdpa):
    """What is not allowed gets a large negative number, so a query that sees nothing averages everything."""

    def attend(
        self, plan: Planned, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        if isinstance(plan, Kept):
            plan = replace(plan, dense=plan.dense.clamp(min=-1e9))
        return super().attend(plan, q, k, v, raw, scale, dropout)


class _BeginsTogether(Sdpa):
    """Queries and keys that are spaced alike are taken to begin at the same position."""

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> Planned:
        together = q_pos if None in (q_pos.start, k_pos.start) else q_pos.counting(k_pos.start)
        return super().plan(encoding, together, k_pos, mask, heads, dtype)


class _StepOfOne(Sdpa):
    """Wherever positions are evenly spaced, neighbours are taken to be 1 apart."""

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> Planned:
        ones = [pos if pos.step is None else pos.counting(pos.start) for pos in (q_pos, k_pos)]
        return super().plan(encoding, *(ones if q_pos is not k_pos else ones[:1] * 2), mask, heads, dtype)


class _OneDocument(Sdpa):
    """Evenly spaced positions are taken to be of one document."""

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> Planned:
        if q_pos is k_pos and k_pos.step is not None and k_pos.segment is not None:
            q_pos = k_pos = replace(k_pos, segment=None).counting(k_pos.start)
        return super().plan(encoding, q_pos, k_pos, mask, heads, dtype)


MUTANTS = [
    Mutant.of("sdpa: heads tiled", Rope, "grouped", "lowering", backend=_Tiled),
    Mutant.of("sdpa: masked by a number", T5, "blank", backend=_MasksByNumber),
    Mutant.of("sdpa: even queries begin with the keys", T5, "lowering", "cached", "evicted", backend=_BeginsTogether),
    Mutant.of("sdpa: even positions one apart", T5, "lowering", backend=_StepOfOne),
    Mutant.of("sdpa: even positions of one document", T5, "lowering", backend=_OneDocument),
]

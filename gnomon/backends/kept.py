"""Bias and mask of every pair, made once and kept for all layers that share an encoding."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.backends.fused import fused
from gnomon.backends.way import Seen, Way
from gnomon.pairs import cut
from gnomon.room import Room


@dataclass(frozen=True)
class Kept(Way):
    """dense: numbers to add, minus infinity where a pair is masked, or bools; broadcasts to `[b, h, i, j]`."""

    seen: Seen
    dense: Tensor

    @property
    def words(self) -> str:
        return "all pairs at once, kept for all layers"

    def part(self, queries: slice, keys: slice) -> "Kept":
        return Kept(self.seen.part(queries, keys), cut(self.dense, queries, keys))

    def of_heads(self, heads: slice) -> "Kept":
        return self if self.dense.shape[1] == 1 else replace(self, dense=self.dense[:, heads])

    def added(self, rows: int, room: Room | None = None) -> Tensor:
        return self.dense

    def value(self, rows: int, room: Room | None = None) -> Tensor | None:
        return None if self.dense.dtype == torch.bool else self.dense

    def onto(self, scores: Tensor, value: Tensor | None) -> Tensor:
        return scores.masked_fill_(~self.dense, -torch.inf) if value is None else scores.add_(value)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        return fused(q, k, v, scale, dropout, self.dense)

"""Nothing is added to the logits, and nothing is masked but by the plain triangle: the fused kernel alone."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.backends.fused import fused
from gnomon.backends.pairwise import Pairwise
from gnomon.backends.way import Seen, Way
from gnomon.room import Room


@dataclass(frozen=True)
class Plain(Way):
    """All queries see all keys, or, where it is `square`, those up to their own."""

    seen: Seen
    heads: int
    dtype: torch.dtype
    square: bool

    @property
    def words(self) -> str:
        return "nothing is added: the fused kernel alone"

    def part(self, queries: slice, keys: slice) -> Pairwise:
        """A part of a triangle is none."""
        return Pairwise(self.seen.part(queries, keys), self.heads, self.dtype)

    def of_heads(self, heads: slice) -> "Plain":
        return replace(self, heads=heads.stop - heads.start)

    def added(self, rows: int, room: Room | None = None) -> Tensor | None:
        return self.seen.allowed()

    def value(self, rows: int, room: Room | None = None) -> None:
        return None

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        if self.square:
            # Of a symbolic length it is known by a condition, and a kernel takes no symbol.
            return fused(q, k, v, scale, dropout, is_causal=True)
        return fused(q, k, v, scale, dropout)

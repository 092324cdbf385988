"""Biases that each head makes of one number for a pair: what the heads share is worked out once for all of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gnomon.pairs import Clipped, Dense, PairFunction, at, cut, dense, near, part, pointwise
from gnomon.room import Room, empty
from gnomon.rows import leading
from gnomon.traced import traced


@dataclass(frozen=True)
class PerHead(Dense):
    """`of(x_ij, h)`, x_ij the same number for all heads: a distance, a ratio.

    number: x; looks at no head. of: `(x, h)` -> the value, in memory of its own.
    """

    number: PairFunction
    of: Callable[[Tensor, Tensor], Tensor]
    heads: int
    device: torch.device
    first: int = 0
    """Which head is counted as the first."""
    known: Float[Tensor, "b 1 i j"] | None = None
    """x of every pair, once it is made."""

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self._value(self.number(b, h, i, j), h)

    def pointwise(self) -> PairFunction:
        number = pointwise(self.number)
        return lambda b, h, i, j: self._value(number(b, h, i, j), h)

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "PerHead":
        known = dense(self.number, rows, 1, queries, keys, self.device, room)
        # A number that has a gradient is made by each head, which has one of its own.
        return self if known.requires_grad else replace(self, known=known)

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        known = self.known
        if known is None:
            known = dense(self.number, rows, 1, queries, keys, self.device, room)
        return self._value(known, torch.arange(self.heads, device=self.device)[:, None, None])

    def part(self, queries: slice, keys: slice) -> "PerHead":
        return replace(self, number=part(self.number, queries, keys), known=_cut(self.known, queries, keys))

    def of_heads(self, heads: slice) -> "PerHead":
        return replace(self, first=self.first + heads.start, heads=heads.stop - heads.start)

    def _value(self, number: Tensor, h: Tensor) -> Tensor:
        return self.of(number, h + self.first if self.first else h)


@dataclass(frozen=True)
class Entry(Clipped):
    """`table[h, e_ij]`, e_ij the same entry for all heads."""

    entry: PairFunction
    table: Float[Tensor, "h entries"]
    known: Int[Tensor, "b 1 i j"] | None = None
    """e of every pair, once it is made."""

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.table[h, self.entry(b, h, i, j)]

    def pointwise(self) -> PairFunction:
        return self.__call__

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "Entry":
        return replace(self, known=dense(self.entry, rows, 1, queries, keys, self.table.device, room))

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        known = self.made(rows, queries, keys, room).known if self.known is None else self.known
        if torch.is_grad_enabled() or traced():
            return self.table[:, known[:, 0]].transpose(0, 1)
        # Head by head into one tensor: to choose from a table of one dimension is the fastest that there is.
        known = known.expand(-1, -1, queries, keys)
        value = empty(room, (known.shape[0], self.table.shape[0], queries, keys), self.table.dtype, self.table.device)
        for of_row, entries in zip(value, known.flatten(1), strict=True):
            for of_head, numbers in zip(of_row, self.table.contiguous(), strict=True):
                torch.index_select(numbers, 0, entries, out=of_head.view(-1))
        return value

    def part(self, queries: slice, keys: slice) -> "Entry":
        return replace(self, entry=part(self.entry, queries, keys), known=_cut(self.known, queries, keys))

    def of_heads(self, heads: slice) -> "Entry":
        return replace(self, table=self.table[heads])

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        return near(self.entry, queries, keys)

    def far(self, keys: slice, pair: tuple[int, int]) -> tuple[Tensor | None, Tensor | None]:
        return self.entry.one(self.table[..., None], *pair)[None], None


@dataclass(frozen=True)
class Slope(Clipped):
    """`rise_h |p_i - p_j|`. Of keys on one side of all queries it is `rise_h` times one number of each.

    q_at, k_at: `[rows, n]` float64. rise: `[h]`, whose precision the values have.
    """

    q_at: Float[Tensor, "rows i"]
    k_at: Float[Tensor, "rows j"]
    rise: Float[Tensor, " h"]
    known: Float[Tensor, "b 1 i j"] | None = None
    """The distance of every pair, once it is made."""

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.rise[h] * self._apart(b, h, i, j)

    def _apart(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (at(self.q_at, b, i) - at(self.k_at, b, j)).abs().to(self.rise.dtype)

    def pointwise(self) -> PairFunction:
        return self.__call__

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "Slope":
        return replace(self, known=dense(self._apart, rows, 1, queries, keys, self.rise.device, room))

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        known = self.made(rows, queries, keys, room).known if self.known is None else self.known
        return self.rise[:, None, None] * known

    def part(self, queries: slice, keys: slice) -> "Slope":
        known = _cut(self.known, queries, keys)
        return replace(self, q_at=self.q_at[:, queries], k_at=self.k_at[:, keys], known=known)

    def of_heads(self, heads: slice) -> "Slope":
        return replace(self, rise=self.rise[heads])

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        if not queries or not keys or self.q_at.device.type != "cpu":
            return 0, keys
        past = self.q_at.amin(1, keepdim=True) >= self.k_at
        future = self.q_at.amax(1, keepdim=True) <= self.k_at
        begin = max(leading(past), leading(future))
        return begin, max(begin, keys - max(leading(past.flip(1)), leading(future.flip(1))))

    def far(self, keys: slice, pair: tuple[int, int]) -> tuple[Tensor | None, Tensor | None]:
        some = self.k_at[:, keys]
        least, largest = some.amin(1, keepdim=True), some.amax(1, keepdim=True)
        # Counted from the nearest of the keys, so that what is rounded in less precision is what weighs least.
        nearest = torch.where(self.q_at.amin(1, keepdim=True) >= largest, largest, least)
        of_query, of_key = ((places - nearest).abs().to(self.rise.dtype) for places in (self.q_at, some))
        return self.rise[:, None] * of_query[:, None], self.rise[:, None] * of_key[:, None]


def _cut(known: Tensor | None, queries: slice, keys: slice) -> Tensor | None:
    return None if known is None else cut(known, queries, keys)

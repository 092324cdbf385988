"""Which row of a table each pair has, and between which keys the rows differ at all."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.pairs import Ended, PairFunction, Values, at, dense
from gnomon.room import Room


class Rows(Ended):
    """A row of a table for each pair; all pairs with the keys before those near by have one, and so those after."""

    @abstractmethod
    def one(self, table: Tensor, query: int, key: int) -> Tensor:
        """The row of one pair, of a table `[h, rows, d]`: `[h, d]`."""

    def of_heads(self, heads: slice) -> "Rows":
        return self


@dataclass(frozen=True)
class Diagonal(Rows):
    """The diagonal on which a pair lies, by rising key: `first + j - i + queries - 1`; or the row named for each.

    Over evenly spaced positions all pairs of a diagonal are equally far apart, and so have the same row of a table.
    """

    queries: int
    keys: int
    rows: Tensor | None = None
    """`[diagonals]` int64, the row of a table."""
    ends: tuple[int, int] | None = None
    """Two values of `j - i`: pairs that lie before the first, or past the last, have the row of that one."""
    first: int = 0

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        diagonal = self.first + j - i + (self.queries - 1)
        return diagonal if self.rows is None else self.rows[diagonal]

    @property
    def told_apart(self) -> slice:
        """The diagonals of these queries and keys whose rows may differ: all before have the row of the first of them,

        and all after that of the last.
        """
        count = self.queries + self.keys - 1
        if self.ends is None:
            return slice(0, count)
        first, last = (min(max(end + self.queries - 1, 0), count - 1) for end in self.ends)
        return slice(first, last + 1)

    def of(self, table: Tensor, some: slice) -> Tensor:
        """The rows of a table `[h, rows, d]` for some of the diagonals that these queries and keys have."""
        mine = slice(self.first + some.start, self.first + some.stop)
        return table[:, mine] if self.rows is None else table.index_select(1, self.rows[mine])

    def one(self, table: Tensor, query: int, key: int) -> Tensor:
        diagonal = self.first + key - query + (self.queries - 1)
        return table[:, diagonal if self.rows is None else self.rows[diagonal]]

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        if self.ends is None:
            return 0, keys
        first, last = self.ends
        begin = min(max(first + 1, 0), keys)
        return begin, min(max(last + queries - 1, begin), keys)

    def part(self, queries: slice, keys: slice) -> "Diagonal":
        count = queries.stop - queries.start
        first = self.first + keys.start - queries.start + self.queries - count
        moved = queries.start - keys.start
        ends = None if self.ends is None else (self.ends[0] + moved, self.ends[1] + moved)
        return Diagonal(count, keys.stop - keys.start, self.rows, ends, first)


@dataclass(frozen=True)
class Apart(Rows):
    """The row for the difference `p_i - p_j` of a pair, wherever its tokens lie."""

    q_at: Tensor
    """`[rows, i]` float64."""
    k_at: Tensor
    """`[rows, j]` float64."""
    row: Callable[[Tensor], Tensor]
    """Of differences."""
    ends: tuple[float, float] | None = None
    """The least and the largest difference: all at one of them or beyond have its row."""

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.row(at(self.q_at, b, i) - at(self.k_at, b, j))

    def one(self, table: Tensor, query: int, key: int) -> Tensor:
        return table[:, self.row(self.q_at[0, query] - self.k_at[0, key])]

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        # On a GPU the host would wait for an answer from each part.
        if self.ends is None or not queries or not keys or self.q_at.device.type != "cpu":
            return 0, keys
        least, largest = self.q_at.amin(1, keepdim=True), self.q_at.amax(1, keepdim=True)
        past, future = least - self.k_at >= self.ends[1], largest - self.k_at <= self.ends[0]
        begin, end = (max(leading(one) for one in (past.flip(step), future.flip(step))) for step in ((), (1,)))
        return begin, max(begin, keys - end)

    def part(self, queries: slice, keys: slice) -> "Apart":
        return replace(self, q_at=self.q_at[:, queries], k_at=self.k_at[:, keys])


def made_rows(
    row: PairFunction, rows: int, queries: int, keys: int, device: torch.device, room: Room | None = None
) -> PairFunction:
    """The same function with the row of every pair worked out, unless a diagonal says them all."""
    return row if isinstance(row, Diagonal) else Values(dense(row, rows, 1, queries, keys, device, room))


def leading(holds: Tensor) -> int:
    """Of how many of the first keys it holds in every row of `[rows, keys]`."""
    everywhere = holds.all(0)
    return len(everywhere) if bool(everywhere.all()) else int(everywhere.to(torch.int8).argmin())

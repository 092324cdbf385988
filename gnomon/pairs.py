"""Functions of four indices: batch row b, head h, query token i, key token j.

They broadcast. On scalars such a function is FlexAttention's `score_mod` or `mask_mod`; on open index grids its value
is the dense matrix that SDPA takes. A bias returns numbers that are added to scaled logits, a mask returns bools.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

PairFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def at(table: Tensor, b: Tensor, i: Tensor) -> Tensor:
    """`table[b, i]`, where a table of one row serves every row of the batch."""
    return table[b, i] if table.shape[0] > 1 else table[0, i]


def dense(pair: PairFunction, rows: int, heads: int, queries: int, keys: int, device=None) -> Tensor:
    """The value of `pair` on every index: four dimensions that broadcast to `[rows, heads, queries, keys]`."""
    if isinstance(pair, Dense):
        return pair.dense(rows, queries, keys)
    b = torch.arange(rows, device=device)[:, None, None, None]
    h = torch.arange(heads, device=device)[:, None, None]
    i = torch.arange(queries, device=device)[:, None]
    j = torch.arange(keys, device=device)
    value = pair(b, h, i, j)
    return value[(None,) * (4 - value.dim())]


class Divisible(ABC):
    """A pair function that knows how to speak for some of its queries and keys alone."""

    @abstractmethod
    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        """The value of the pairs."""

    @abstractmethod
    def part(self, queries: slice, keys: slice) -> "PairFunction":
        """The same function of some queries and keys, which are counted from the first of these."""


class Dense(Divisible):
    """A pair function that knows a faster way to all of its values than one by one."""

    @abstractmethod
    def dense(self, rows: int, queries: int, keys: int) -> Tensor:
        """The value of every pair, `[b, h, i, j]`."""

    @abstractmethod
    def pointwise(self) -> PairFunction:
        """The same function with all its products made, as a kernel wants it."""


class Content(Dense):
    """A bias that reads content."""


class Clipped(Content):
    """One that may tell pairs apart near the diagonal only."""

    @abstractmethod
    def near(self, queries: int, keys: int) -> tuple[int, int]:
        """The first key, and one past the last, that has to be looked at pair by pair; see `far` for the others."""

    @abstractmethod
    def far(self, queries: int, keys: slice, row: int) -> tuple[Tensor | None, Tensor | None]:
        """The value of all pairs with keys that are not near, on the side of the diagonal `row`: `[b, h, i]` and

        `[b, h, keys]`, whose sum it is; None for zero.
        """


def pointwise(pair: PairFunction) -> PairFunction:
    """The pair function as a kernel wants it."""
    return pair.pointwise() if isinstance(pair, Dense) else pair


def part(pair: PairFunction, queries: slice, keys: slice) -> PairFunction:
    """The pair function of some queries and keys, which are counted from the first of these."""
    if isinstance(pair, Divisible):
        return pair.part(queries, keys)
    first, other = queries.start, keys.start
    return lambda b, h, i, j: pair(b, h, i + first, j + other)

"""Functions of four indices: batch row b, head h, query token i, key token j.

They broadcast. On scalars such a function is FlexAttention's `score_mod` or `mask_mod`; on open index grids its value
is the dense matrix that SDPA takes. A bias returns numbers that are added to scaled logits, a mask returns bools.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.room import Room, empty
from gnomon.traced import traced

PairFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

AT_ONCE = 2**17
"""Values that are worked out at once where no gradient is asked for: steps on the way to them stay in the cache."""


def at(table: Tensor, b: Tensor, i: Tensor) -> Tensor:
    """`table[b, i]`, where a table of one row serves every row of the batch."""
    return table[b, i] if table.shape[0] > 1 else table[0, i]


def cut(values: Tensor, queries: slice, keys: slice) -> Tensor:
    """Those of some queries and keys, of `[b, h, i, j]`, where one query or one key may serve all."""
    values = values if values.shape[2] == 1 else values[:, :, queries]
    return values if values.shape[3] == 1 else values[..., keys]


def dense(
    pair: PairFunction, rows: int, heads: int, queries: int, keys: int, device=None, room: Room | None = None
) -> Tensor:
    """The value of `pair` on every index: four dimensions that broadcast to `[rows, heads, queries, keys]`.

    room: memory for it; what is made there lasts until the room is used again.
    """
    if isinstance(pair, Dense):
        return pair.dense(rows, queries, keys, room)
    # A graph is compiled for every length, and a gradient keeps every step anyway.
    kept = traced() or torch.is_grad_enabled()
    if kept or rows * heads * queries * keys <= at_once(device):
        return _value(pair, rows, heads, torch.arange(queries, device=device), keys)
    return filled(pair, rows, heads, queries, keys, device, room)


def filled(
    pair: PairFunction, rows: int, heads: int, queries: int, keys: int, device=None, room: Room | None = None
) -> Tensor:
    """The value of `pair` on every index, `[rows, heads, queries, keys]`, in memory that is the caller's to change."""
    if isinstance(pair, Dense):
        value = pair.dense(rows, queries, keys, room)
        whole = max(rows, value.shape[0]), max(heads, value.shape[1]), queries, keys
        return value if value.shape == whole else value.expand(whole).contiguous()
    size, value = max(1, at_once(device) // max(1, rows * heads * keys)), None
    for start in range(0, max(1, queries), size):
        stop = min(start + size, queries)
        some = _value(pair, rows, heads, torch.arange(start, stop, device=device), keys)
        if value is None:
            value = empty(room, (max(rows, some.shape[0]), heads, queries, keys), some.dtype, some.device)
        value[:, :, start:stop] = some
    return value


def at_once(device: torch.device | str | None) -> int:
    """Values that are worked out at once there: on a GPU all, which would wait for the next block."""
    return AT_ONCE if torch.device(device or "cpu").type == "cpu" else sys.maxsize


def _value(pair: PairFunction, rows: int, heads: int, i: Tensor, keys: int) -> Tensor:
    b = torch.arange(rows, device=i.device)[:, None, None, None]
    h = torch.arange(heads, device=i.device)[:, None, None]
    value = pair(b, h, i[:, None], torch.arange(keys, device=i.device))
    return value[(None,) * (4 - value.dim())]


class Divisible(ABC):
    """A pair function that knows how to speak for some of its queries and keys, or of its heads, alone."""

    @abstractmethod
    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        """The value of the pairs."""

    @abstractmethod
    def part(self, queries: slice, keys: slice) -> "PairFunction":
        """The same function of some queries and keys, which are counted from the first of these."""

    @abstractmethod
    def of_heads(self, heads: slice) -> "PairFunction":
        """The same function of some heads, which are counted from the first of these."""


class Ended(Divisible):
    """A pair function that has to be looked at pair by pair only near by."""

    @abstractmethod
    def near(self, queries: int, keys: int) -> tuple[int, int]:
        """The first key, and one past the last, that has to be looked at pair by pair.

        Queries do not tell the keys before apart, nor those after.
        """


class Dense(Divisible):
    """A pair function that knows a faster way to all of its values than one by one."""

    by_head: bool = True
    """Whether heads are worked out apart as fast as together."""

    @abstractmethod
    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        """The value of every pair, `[b, h, i, j]`, in memory that is the caller's to change."""

    @abstractmethod
    def pointwise(self) -> PairFunction:
        """The same function with all its products made, as a kernel wants it."""

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "Dense":
        """The same function with what all heads share worked out."""
        return self


@dataclass(frozen=True)
class Values(Dense):
    """The values of all pairs, `[b, h, i, j]`; one row or one head may serve all of them."""

    values: Tensor

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        b, h = (index if size != 1 else 0 for index, size in zip((b, h), self.values.shape[:2], strict=True))
        return self.values[b, h, i, j]

    def pointwise(self) -> PairFunction:
        return self.__call__

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        return self.values

    def part(self, queries: slice, keys: slice) -> "Values":
        return Values(cut(self.values, queries, keys))

    def of_heads(self, heads: slice) -> "Values":
        return self if self.values.shape[1] == 1 else Values(self.values[:, heads])


class Content(Dense):
    """A bias that reads content."""

    def onto(self, value: Tensor, room: Room | None = None) -> Tensor:
        """`value` `[b, h, i, j]` with that of every pair added to it in place."""
        return value.add_(self.dense(value.shape[0], *value.shape[2:], room))


class Clipped(Dense, Ended):
    """A bias that is a sum of two numbers elsewhere than near by."""

    @abstractmethod
    def far(self, keys: slice, pair: tuple[int, int]) -> tuple[Tensor | None, Tensor | None]:
        """The value of all pairs with keys that are not near, on the side of `pair` (query, key): `[b, h, i]` and

        `[b, h, keys]`, whose sum it is; None for zero.
        """


def near(pair: PairFunction, queries: int, keys: int) -> tuple[int, int]:
    """The first key, and one past the last, that has to be looked at pair by pair; all, where nothing is known."""
    return pair.near(queries, keys) if isinstance(pair, Ended) else (0, keys)


def pointwise(pair: PairFunction) -> PairFunction:
    """The pair function as a kernel wants it."""
    return pair.pointwise() if isinstance(pair, Dense) else pair


def part(pair: PairFunction, queries: slice, keys: slice) -> PairFunction:
    """The pair function of some queries and keys, which are counted from the first of these."""
    if isinstance(pair, Divisible):
        return pair.part(queries, keys)
    first, other = queries.start, keys.start
    return lambda b, h, i, j: pair(b, h, i + first, j + other)


def made(
    pair: PairFunction, rows: int, heads: int, queries: int, keys: int, device: torch.device, room: Room | None = None
) -> Dense:
    """The pair function with what all heads share worked out; one that knows no faster way, with all of its values."""
    if isinstance(pair, Dense):
        return pair.made(rows, queries, keys, room)
    return Values(filled(pair, rows, heads, queries, keys, device, room))


def of_heads(pair: PairFunction, heads: slice) -> PairFunction:
    """The pair function of some heads, which are counted from the first of these."""
    if isinstance(pair, Divisible):
        return pair.of_heads(heads)
    first = heads.start
    return lambda b, h, i, j: pair(b, h + first, i, j)

"""Functions of four indices: batch row b, head h, query token i, key token j.

They broadcast. On scalars such a function is FlexAttention's `score_mod` or `mask_mod`; on open index grids its value
is the dense matrix that SDPA takes. A bias returns numbers that are added to scaled logits, a mask returns bools.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.positions import Positions

PairFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def at(table: Tensor, b: Tensor, i: Tensor) -> Tensor:
    """`table[b, i]`, where a table of one row serves every row of the batch."""
    return table[b, i] if table.shape[0] > 1 else table[0, i]


def dense(pair: PairFunction, rows: int, heads: int, queries: int, keys: int, device=None) -> Tensor:
    """The value of `pair` on every index: four dimensions that broadcast to `[rows, heads, queries, keys]`."""
    if isinstance(pair, Content):
        return pair.dense(rows, queries, keys)
    b = torch.arange(rows, device=device)[:, None, None, None]
    h = torch.arange(heads, device=device)[:, None, None]
    i = torch.arange(queries, device=device)[:, None]
    j = torch.arange(keys, device=device)
    value = pair(b, h, i, j)
    return value[(None,) * (4 - value.dim())]


def at_head(table: Tensor, b: Tensor, h: Tensor, i: Tensor, row: Tensor) -> Tensor:
    """`table[b, h, i, row]`, where a table of one batch row or one head serves all of them."""
    b, h = (index if size != 1 else 0 for index, size in ((b, table.shape[0]), (h, table.shape[1])))
    return table[b, h, i, row]


@dataclass(frozen=True)
class Diagonal:
    """The diagonal on which a pair lies, by rising key: `j - i + queries - 1`; or the row of a table named for each.

    Over evenly spaced positions all pairs of a diagonal are equally far apart, and so have the same row of a table.
    """

    queries: int
    rows: Tensor | None = None
    """`[queries + keys - 1]` int64."""
    ends: tuple[int, int] | None = None
    """Two values of `j - i`: pairs that lie before the first, or past the last, have the row of that one."""

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        diagonal = j - i + (self.queries - 1)
        return diagonal if self.rows is None else self.rows[diagonal]

    def of(self, table: Tensor) -> Tensor:
        """A table `[h, rows, d]` with a row for each diagonal."""
        return table if self.rows is None else table[:, self.rows]


class Content(ABC):
    """A bias that reads content. It is a pair function, and knows a faster way to all of its values."""

    @abstractmethod
    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        """The value of the pairs."""

    @abstractmethod
    def dense(self, rows: int, queries: int, keys: int) -> Tensor:
        """The value of every pair, `[b, h, i, j]`."""

    @abstractmethod
    def pointwise(self) -> PairFunction:
        """The same function with all its products made, as a kernel wants it."""

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        """The first key, and one past the last, that has to be looked at pair by pair; see `far` for the others."""
        return 0, keys

    def far(self, queries: int, keys: slice, row: int) -> tuple[Tensor | None, Tensor | None]:
        """The value of all pairs with keys that are not near, on the side of the diagonal `row`: `[b, h, i]` and

        `[b, h, keys]`, whose sum it is; None for zero.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Lookup(Content):
    """`<x, table[h, row(i, j)]>`, x that of the query or of the key: `[b, h, n, d]`, table `[h or 1, rows, d]`."""

    x: Tensor
    table: Tensor
    row: PairFunction
    of_key: bool = False

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.pointwise()(b, h, i, j)

    def pointwise(self) -> PairFunction:
        product = self.x @ self.table.mT.to(self.x.dtype)
        if self.of_key:
            return lambda b, h, i, j: at_head(product, b, h, j, self.row(b, h, i, j))
        return lambda b, h, i, j: at_head(product, b, h, i, self.row(b, h, i, j))

    def dense(self, rows: int, queries: int, keys: int) -> Tensor:
        # A compiler asks whether the skewed view is contiguous; of two keys it is, so its graph would serve more only.
        if isinstance(self.row, Diagonal) and queries and keys and not torch.compiler.is_compiling():
            # A product with a row for each diagonal: choosing among the columns of a smaller one costs far more.
            table = self.row.of(self.table).to(self.x.dtype)
            return self._keys_by_block(table, queries, keys) if self.of_key else _skewed(self.x @ table.mT, keys)
        product = self.x @ self.table.mT.to(self.x.dtype)
        row = dense(self.row, rows, 1, queries, keys, self.x.device)
        if self.of_key:
            row = row.mT
        found = product.gather(-1, row.expand(*product.shape[:2], *row.shape[2:]))
        return found.mT if self.of_key else found

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        if not isinstance(self.row, Diagonal) or self.row.ends is None:
            return 0, keys
        first, last = self.row.ends
        begin = min(max(first + 1, 0), keys)
        return begin, min(max(last + queries - 1, begin), keys)

    def far(self, queries: int, keys: slice, row: int) -> tuple[Tensor | None, Tensor | None]:
        of_row = self.row.of(self.table)[:, row].to(self.x.dtype)
        if self.of_key:
            return None, torch.einsum("bhjd,hd->bhj", self.x[:, :, keys], of_row.expand(self.x.shape[1], -1))
        return torch.einsum("bhid,hd->bhi", self.x, of_row.expand(self.x.shape[1], -1)), None

    def _keys_by_block(self, table: Tensor, queries: int, keys: int) -> Tensor:
        """Keys by blocks: each meets only the diagonals that cross it."""
        size, table, parts = min(keys, BLOCK), table.flip(1), []
        for start in range(0, keys, size):
            stop = min(start + size, keys)
            near = table[:, keys - stop : keys - stop + queries + stop - start - 1]
            parts.append(_skewed(self.x[:, :, start:stop] @ near.mT, queries).mT)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


@dataclass(frozen=True)
class Total(Content):
    """The sum of several biases."""

    terms: tuple[PairFunction, ...]

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return sum(term(b, h, i, j) for term in self.terms)

    def pointwise(self) -> PairFunction:
        return Total(tuple(pointwise(term) for term in self.terms)).__call__

    def dense(self, rows: int, queries: int, keys: int) -> Tensor:
        return reduce(operator.add, [term.dense(rows, queries, keys) for term in self.terms])

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        each = [term.near(queries, keys) for term in self.terms]
        return min(begin for begin, _ in each), max(end for _, end in each)

    def far(self, queries: int, keys: slice, row: int) -> tuple[Tensor | None, Tensor | None]:
        of_query, of_key = zip(*(term.far(queries, keys, row) for term in self.terms), strict=True)
        return tuple(
            reduce(operator.add, some) if (some := [value for value in side if value is not None]) else None
            for side in (of_query, of_key)
        )


@dataclass(frozen=True)
class Matrix(Content):
    """A number for every pair, `[b or 1, h or 1, i, j]`."""

    values: Tensor

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return at_head(self.values, b, h, i, j)

    def pointwise(self) -> PairFunction:
        return self.__call__

    def dense(self, rows: int, queries: int, keys: int) -> Tensor:
        return self.values


BLOCK = 256
"""Keys whose products with a table are made at once."""


def _skewed(product: Tensor, others: int) -> Tensor:
    """`product[..., a, b - a + n - 1]` for a below n and b below `others`: a view of `[..., n, n + others - 1]`."""
    n, wide = product.shape[-2:]
    first = product.contiguous().flatten(-2)[..., n - 1 :]
    return first.as_strided((*product.shape[:-1], others), (*first.stride()[:-1], wide - 1, 1))


def by_diagonal(values: Tensor) -> Tensor:
    """`[..., i, j]` by diagonals, `[..., i, i + j - 1]`: entry `j - i + n - 1` of row i is that of the pair."""
    n, keys = values.shape[-2:]
    wide = n + keys - 1
    rows = values.new_zeros(*values.shape[:-2], n, wide)
    rows.as_strided(values.shape, (*rows.stride()[:-2], wide - 1, 1), n - 1).copy_(values)
    return rows


def pointwise(pair: PairFunction) -> PairFunction:
    """The pair function as a kernel wants it."""
    return pair.pointwise() if isinstance(pair, Content) else pair


def query_lookup(q: Tensor, table: Tensor, row: PairFunction) -> Lookup:
    """`<q_i, table[h, row(i, j)]>`: q `[b, h, i, d]`, table `[h or 1, rows, d]`."""
    return Lookup(q, table, row)


def key_lookup(k: Tensor, table: Tensor, row: PairFunction) -> Lookup:
    """`<k_j, table[h, row(i, j)]>`: k `[b, g, j, d]` with h a multiple of g, table `[h or 1, rows, d]`."""
    return Lookup(k.repeat_interleave(max(table.shape[0] // k.shape[1], 1), dim=1), table, row, of_key=True)


def matrix(values: Tensor) -> Content:
    """`values[b, h, i, j]`, four dimensions of which the first two may be 1."""
    return Matrix(values)


def total(*terms: PairFunction) -> PairFunction:
    """The sum of several biases."""
    if all(isinstance(term, Content) for term in terms):
        return terms[0] if len(terms) == 1 else Total(terms)
    return lambda b, h, i, j: sum(term(b, h, i, j) for term in terms)


def causal(q_pos: Positions, k_pos: Positions) -> PairFunction:
    """A query sees the keys whose turn is not later than its own."""
    q_turn, k_turn = q_pos.turns(), k_pos.turns()
    return lambda b, h, i, j: at(q_turn, b, i) >= at(k_turn, b, j)


def window(q_pos: Positions, k_pos: Positions, size: int) -> PairFunction:
    """A query sees the keys fewer than `size` turns away, on either side."""
    q_turn, k_turn = q_pos.turns(), k_pos.turns()
    return lambda b, h, i, j: (at(q_turn, b, i) - at(k_turn, b, j)).abs() < size


def same_document(q_pos: Positions, k_pos: Positions) -> PairFunction:
    """A query sees the keys of its own document; padding neither sees nor is seen."""
    q_segment, k_segment = q_pos.segments(), k_pos.segments()
    return lambda b, h, i, j: (at(q_segment, b, i) == at(k_segment, b, j)) & (at(k_segment, b, j) >= 0)


def both(first: PairFunction | None, second: PairFunction | None) -> PairFunction | None:
    """What both masks allow; an absent mask allows everything."""
    if first is None or second is None:
        return second if first is None else first
    return lambda b, h, i, j: first(b, h, i, j) & second(b, h, i, j)


def placed(bias: PairFunction | None, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
    """`bias`, and zero for every pair with a token that has no place."""
    if bias is None or (q_pos.placed is None and k_pos.placed is None):
        return bias
    q_placed, k_placed = q_pos.has_place(), k_pos.has_place()
    return lambda b, h, i, j: torch.where(at(q_placed, b, i) & at(k_placed, b, j), bias(b, h, i, j), 0.0)


@checked
@dataclass(frozen=True)
class Mask:
    """Which keys a query sees. Documents and padding come from the positions and are always kept apart.

    causal: only keys whose turn is not later than the query's.
    window: only keys fewer than this many turns away.
    """

    causal: bool = True
    window: int | None = None

    def __post_init__(self):
        if self.window is not None and self.window < 1:
            raise OptionError("a window holds at least the token itself", given=self.window, allowed="1 or more")

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        """The mask as a function of four indices, or None where it is known that every query sees every key."""
        allowed = None
        if self.causal and not self.past_only(q_pos, k_pos):
            allowed = causal(q_pos, k_pos)
        if self.window is not None:
            allowed = both(allowed, window(q_pos, k_pos, self.window))
        if q_pos.segment is not None or k_pos.segment is not None:
            allowed = both(allowed, same_document(q_pos, k_pos))
        return allowed

    def square(self, q_pos: Positions, k_pos: Positions) -> bool:
        """Whether this is the plain lower triangle: turns in order, as many queries as keys, nothing else masked."""
        return (
            self.causal
            and self.window is None
            and q_pos.index is None
            and k_pos.index is None
            and q_pos.segment is None
            and k_pos.segment is None
            and q_pos.turn == k_pos.turn
            and q_pos.length == k_pos.length
        )

    def span(self, q_pos: Positions, k_pos: Positions) -> tuple[int, int]:
        """The first of the keys that some query may see, and one past the last, as far as is known without data."""
        first, last = 0, k_pos.length
        if q_pos.index is None and k_pos.index is None:
            begin = q_pos.turn - k_pos.turn
            end = begin + q_pos.length
            if self.causal:
                last = min(last, max(end, 1))
            if self.window is not None:
                first = max(0, min(begin - self.window + 1, last - 1))
                last = max(min(last, end + self.window - 1), first + 1)
        return first, last

    @staticmethod
    def past_only(q_pos: Positions, k_pos: Positions) -> bool:
        """Whether no key comes after any query, known without looking at data."""
        in_order = q_pos.index is None and k_pos.index is None
        return in_order and q_pos.turn >= k_pos.turn + k_pos.length - 1


CAUSAL = Mask()
BIDIRECTIONAL = Mask(causal=False)

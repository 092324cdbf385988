"""Biases that read content: products of queries or keys with rows of a table, and faster ways to all of them."""

import operator
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from gnomon.pairs import Clipped, Content, Dense, PairFunction, Values, at, dense, near, of_heads, part, pointwise
from gnomon.positions import Positions
from gnomon.products import products
from gnomon.room import Room
from gnomon.rows import Diagonal, made_rows
from gnomon.traced import differs, traced


def at_head(table: Tensor, b: Tensor, h: Tensor, i: Tensor, row: Tensor) -> Tensor:
    """`table[b, h, i, row]`, where a table of one batch row or one head serves all of them."""
    b, h = (index if size != 1 else 0 for index, size in ((b, table.shape[0]), (h, table.shape[1])))
    return table[b, h, i, row]


@dataclass(frozen=True)
class Lookup(Content, Clipped):
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

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        # A compiler asks whether the skewed view is contiguous; of two keys it is, so its graph would serve more only.
        if isinstance(self.row, Diagonal) and queries and keys and not self._chooses(queries):
            # A product with the row of each diagonal: choosing among those of each pair costs far more.
            some, count = self.row.told_apart, queries + keys - 1
            table = self.row.of(self.table, some).to(self.x.dtype)
            if not self.of_key:
                return products(self.x, table, some, keys, room)
            return products(self.x, table.flip(1), slice(count - some.stop, count - some.start), queries, room).mT
        product = _times(self.x, self.table.to(self.x.dtype), room)
        row = dense(self.row, rows, 1, queries, keys, self.x.device)
        if self.of_key:
            row = row.mT
        row = row.expand(*product.shape[:2], *row.shape[2:])
        found = (
            product.gather(-1, row)
            if room is None or differs(product)
            else torch.gather(product, -1, row, out=room.empty(row.shape, product.dtype, product.device))
        )
        return found.mT if self.of_key else found

    def _chooses(self, queries: int) -> bool:
        """Whether each pair chooses among products with all rows of the table."""
        return torch.compiler.is_compiling() or (not self.of_key and self.row.rows is not None and queries <= FEW)

    def part(self, queries: slice, keys: slice) -> "Lookup":
        mine = keys if self.of_key else queries
        return Lookup(self.x[:, :, mine], self.table, part(self.row, queries, keys), self.of_key)

    def of_heads(self, heads: slice) -> "Lookup":
        table = self.table if self.table.shape[0] == 1 else self.table[heads]
        return Lookup(self.x[:, heads], table, self.row, self.of_key)

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "Lookup":
        row = made_rows(self.row, rows, queries, keys, self.x.device, room)
        return Lookup(self.x, self.table, row, self.of_key)

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        return near(self.row, queries, keys)

    def far(self, keys: slice, pair: tuple[int, int]) -> tuple[Tensor | None, Tensor | None]:
        of_row = self.row.one(self.table, *pair).to(self.x.dtype)
        if self.of_key:
            return None, torch.einsum("bhjd,hd->bhj", self.x[:, :, keys], of_row.expand(self.x.shape[1], -1))
        return torch.einsum("bhid,hd->bhi", self.x, of_row.expand(self.x.shape[1], -1)), None


@dataclass(frozen=True)
class Total(Content, Clipped):
    """The sum of several biases."""

    terms: tuple[PairFunction, ...]

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return sum(term(b, h, i, j) for term in self.terms)

    def pointwise(self) -> PairFunction:
        return Total(tuple(pointwise(term) for term in self.terms)).__call__

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        first, *others = self.terms
        value = first.dense(rows, queries, keys, room)
        for term in others:
            # What has no graph may lie in the room, which must not get one.
            beside = traced() or (torch.is_grad_enabled() and not value.requires_grad)
            value = value + term.dense(rows, queries, keys) if beside else term.onto(value, room)
        return value

    def part(self, queries: slice, keys: slice) -> "Total":
        return Total(tuple(part(term, queries, keys) for term in self.terms))

    def of_heads(self, heads: slice) -> "Total":
        return Total(tuple(of_heads(term, heads) for term in self.terms))

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "Total":
        return Total(tuple(term.made(rows, queries, keys, room) for term in self.terms))

    def near(self, queries: int, keys: int) -> tuple[int, int]:
        each = [near(term, queries, keys) for term in self.terms]
        return min(begin for begin, _ in each), max(end for _, end in each)

    def far(self, keys: slice, pair: tuple[int, int]) -> tuple[Tensor | None, Tensor | None]:
        of_query, of_key = zip(*(term.far(keys, pair) for term in self.terms), strict=True)
        return tuple(
            reduce(operator.add, some) if (some := [value for value in side if value is not None]) else None
            for side in (of_query, of_key)
        )


@dataclass(frozen=True)
class Product(Content):
    """`<x_i, y_j>`: x `[b, h, i, e]`, y `[b or 1, h or 1, j, e]`."""

    x: Tensor
    y: Tensor

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.pointwise()(b, h, i, j)

    def pointwise(self) -> PairFunction:
        values = self.x @ self.y.mT
        return lambda b, h, i, j: at_head(values, b, h, i, j)

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        return _times(self.x, self.y, room)

    def part(self, queries: slice, keys: slice) -> "Product":
        return Product(self.x[:, :, queries], self.y[:, :, keys])

    def of_heads(self, heads: slice) -> "Product":
        return Product(self.x[:, heads], self.y if self.y.shape[1] == 1 else self.y[:, heads])


@dataclass(frozen=True)
class Chosen(Content):
    """One bias where a condition holds, and another, or zero, where it does not."""

    condition: PairFunction
    yes: Dense
    no: Dense | None
    device: torch.device

    @property
    def by_head(self) -> bool:
        return self.yes.by_head and (self.no is None or self.no.by_head)

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.pointwise()(b, h, i, j)

    def pointwise(self) -> PairFunction:
        yes, no = self.yes.pointwise(), None if self.no is None else self.no.pointwise()
        return lambda b, h, i, j: torch.where(
            self.condition(b, h, i, j), yes(b, h, i, j), 0.0 if no is None else no(b, h, i, j)
        )

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        yes, no = (
            self.yes.dense(rows, queries, keys, room),
            0.0 if self.no is None else self.no.dense(rows, queries, keys, room),
        )
        return torch.where(dense(self.condition, rows, 1, queries, keys, self.device), yes, no)

    def part(self, queries: slice, keys: slice) -> "Chosen":
        no = None if self.no is None else self.no.part(queries, keys)
        return Chosen(part(self.condition, queries, keys), self.yes.part(queries, keys), no, self.device)

    def of_heads(self, heads: slice) -> "Chosen":
        no = None if self.no is None else self.no.of_heads(heads)
        return Chosen(of_heads(self.condition, heads), self.yes.of_heads(heads), no, self.device)

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> "Chosen":
        condition = Values(dense(self.condition, rows, 1, queries, keys, self.device, room))
        no = None if self.no is None else self.no.made(rows, queries, keys, room)
        return Chosen(condition, self.yes.made(rows, queries, keys, room), no, self.device)


FEW = 16
"""Queries whose pairs choose among products with a table sooner than it is laid out by diagonals."""


def _times(x: Tensor, y: Tensor, room: Room | None) -> Tensor:
    """`x y^T`, `[b, h, i, d]` with `[b or 1, h or 1, j, d]` or `[h or 1, j, d]`, in the room that there is."""
    if room is None or differs(x, y):
        return x @ y.mT
    product = room.empty((*x.shape[:3], y.shape[-2]), x.dtype, x.device)
    return torch.matmul(x, y.mT, out=product)


def few(queries: int, heads: int, width: int) -> bool:
    """Whether <q, W r> over many rows r `[w]` is cheaper as <W^T q, r>: a projection of queries, not of the table.

    queries: of all rows of the batch, which share the table.
    """
    return not torch.compiler.is_compiling() and queries * heads < width


def query_lookup(q: Tensor, table: Tensor, row: PairFunction) -> Lookup:
    """`<q_i, table[h, row(i, j)]>`: q `[b, h, i, d]`, table `[h or 1, rows, d]`."""
    return Lookup(q, table, row)


def key_lookup(k: Tensor, table: Tensor, row: PairFunction) -> Lookup:
    """`<k_j, table[h, row(i, j)]>`: k `[b, g, j, d]` with h a multiple of g, table `[h, rows, d]`."""
    shared = table.shape[0] // k.shape[1]
    return Lookup(k.repeat_interleave(shared, dim=1) if shared > 1 else k, table, row, of_key=True)


def total(*terms: PairFunction) -> PairFunction:
    """The sum of several biases."""
    if all(isinstance(term, Content) for term in terms):
        return terms[0] if len(terms) == 1 else Total(terms)
    return lambda b, h, i, j: sum(term(b, h, i, j) for term in terms)


def placed(bias: PairFunction | None, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
    """`bias`, and zero for every pair with a token that has no place."""
    if bias is None or (q_pos.placed is None and k_pos.placed is None):
        return bias
    q_placed, k_placed = q_pos.has_place(), k_pos.has_place()

    def condition(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return at(q_placed, b, i) & at(k_placed, b, j)

    if isinstance(bias, Dense):
        return Chosen(condition, bias, None, q_placed.device)
    return lambda b, h, i, j: torch.where(condition(b, h, i, j), bias(b, h, i, j), 0.0)

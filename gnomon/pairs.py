"""Functions of four indices: batch row b, head h, query token i, key token j.

They broadcast. On scalars such a function is FlexAttention's `score_mod` or `mask_mod`; on open index grids its value
is the dense matrix that SDPA takes. A bias returns numbers that are added to scaled logits, a mask returns bools.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.positions import Positions

PairFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def at(table: Tensor, b: Tensor, i: Tensor) -> Tensor:
    """`table[b, i]`, where a table of one row serves every row of the batch."""
    return table[b, i] if table.shape[0] > 1 else table[0, i]


def dense(pair: PairFunction, rows: int, heads: int, queries: int, keys: int, device=None) -> Tensor:
    """The value of `pair` on every index: four dimensions that broadcast to `[rows, heads, queries, keys]`."""
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


def query_lookup(q: Tensor, table: Tensor, row: PairFunction) -> PairFunction:
    """`<q_i, table[h, row(i, j)]>`: q `[b, h, i, d]`, table `[h or 1, rows, d]`."""
    product = q @ table.transpose(-2, -1).to(q.dtype)
    return lambda b, h, i, j: at_head(product, b, h, i, row(b, h, i, j))


def key_lookup(k: Tensor, table: Tensor, row: PairFunction) -> PairFunction:
    """`<k_j, table[h, row(i, j)]>`: k `[b, g, j, d]` with h a multiple of g, table `[h or 1, rows, d]`."""
    group = max(table.shape[0] // k.shape[1], 1)
    product = k.repeat_interleave(group, dim=1) @ table.transpose(-2, -1).to(k.dtype)
    return lambda b, h, i, j: at_head(product, b, h, j, row(b, h, i, j))


def matrix(values: Tensor) -> PairFunction:
    """`values[b, h, i, j]`, four dimensions of which the first two may be 1."""
    return lambda b, h, i, j: at_head(values, b, h, i, j)


def total(*terms: PairFunction) -> PairFunction:
    """The sum of several biases."""
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
        if self.causal and not self._past_only(q_pos, k_pos):
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

    def _past_only(self, q_pos: Positions, k_pos: Positions) -> bool:
        in_order = q_pos.index is None and k_pos.index is None
        return in_order and q_pos.turn >= k_pos.turn + k_pos.length - 1


CAUSAL = Mask()
BIDIRECTIONAL = Mask(causal=False)

"""Biases that are made pair by pair, for some queries and heads at a time, and far keys that need none apart."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon import pairs
from gnomon.backends import far, weights
from gnomon.backends.backend import Raw, nothing
from gnomon.backends.fused import fused
from gnomon.backends.kept import Kept
from gnomon.backends.way import Part, Planned, Seen, Way
from gnomon.content import placed
from gnomon.encoding import Encoding, Mix, both_placed
from gnomon.pairs import Clipped, Dense, PairFunction, dense, filled
from gnomon.room import Room
from gnomon.rows import made_rows
from gnomon.traced import traced

BIASES = 2**20
"""Biases that are made at once for some of the heads: 4 MB of float32, which a cache may hold."""
ALL_HEADS = 2**23
"""Biases that are made at once where all heads have to be made together."""


@dataclass(frozen=True)
class Pairwise(Way):
    """A bias for each pair, or only a mask; and rows of a table for values, where there is a `mix`."""

    seen: Seen
    heads: int
    dtype: torch.dtype
    """That of the queries."""
    bias: PairFunction | None = None
    mix: Mix | None = None
    content_free: bool = True
    looked_up: bool = False
    """Whether the bias is an entry of a table of differences."""

    @property
    def words(self) -> str:
        return "a mask" if self.bias is None else "looked up by difference" if self.looked_up else "pair by pair"

    @property
    def by_head(self) -> bool:
        """Whether heads are made apart as fast as together."""
        return self.bias is None or (isinstance(self.bias, Dense) and self.bias.by_head)

    def queries_at_once(self, rows: int, usual: int) -> int:
        if self.by_head:
            return usual
        return min(max(ALL_HEADS // (rows * self.heads * self.seen.keys), usual // 8), usual)

    def heads_at_once(self, rows: int, heads: int, width: int) -> int:
        return heads if self.bias is None else BIASES // max(1, rows * self.seen.queries * self.seen.keys)

    def part(self, queries: slice, keys: slice) -> "Pairwise":
        return replace(
            self,
            seen=self.seen.part(queries, keys),
            bias=None if self.bias is None else pairs.part(self.bias, queries, keys),
            mix=weights.part(self.mix, queries, keys),
        )

    def of_heads(self, heads: slice) -> "Pairwise":
        mix = weights.of_heads(self.mix, heads)
        bias = None if self.bias is None else pairs.of_heads(self.bias, heads)
        return replace(self, heads=heads.stop - heads.start, bias=bias, mix=mix)

    def split(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Part:
        sides = self.sides() if far.can(q, dropout) else []
        if not sides:
            return self
        begin = max([some.stop for some, _ in sides if some.start == 0], default=0)
        end = min([some.start for some, _ in sides if some.start > 0], default=self.seen.keys)
        between = slice(begin, end)
        near = self.part(slice(0, self.seen.queries), between)
        return far.Split(self.bias, self.mix, near, between, sides)

    def sides(self) -> list[far.Side]:
        """The keys on either side that no query tells apart, where there are any worth it, and one of their pairs."""
        if not isinstance(self.bias, Clipped):
            return []
        if self.content_free and self.dtype.itemsize <= 2:
            # Each part would be counted from a largest bias of its own.
            return []
        seen = self.seen
        sides = far.far_keys(self.bias, self.mix, seen.queries, seen.keys)
        masked = (seen.mask.pair(seen.q_pos, seen.k_pos.tokens(some.start, some.stop)) for some, _ in sides)
        return [] if any(pair is not None for pair in masked) else sides

    def made(self, rows: int, room: Room) -> "Pairwise":
        if self.bias is None:
            return self
        rows, heads, *sizes = self._sizes(rows)
        bias = pairs.made(self.bias, rows, heads, *sizes, self.seen.device, room)
        mix = self.mix
        if mix is not None:
            mix = Mix(mix.table, made_rows(mix.row, rows, *sizes, self.seen.device, room))
        return replace(self, bias=bias, mix=mix, seen=self.seen.looked_at())

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        if self.mix is None:
            return fused(q, k, v, scale, dropout, self.added(q.shape[0], room))
        bias = None
        if self.bias is not None:
            bias = dense(self.bias, *self._sizes(q.shape[0]), q.device, room)
        return weights.weighted(q, k, v, bias, self.seen.allowed(), self.mix, self.counted(), scale, dropout)

    def counted(self) -> Tensor | None:
        """The pairs to which the mix applies, `[rows, 1, i, j]`; None: all."""
        q_pos, k_pos = self.seen.q_pos, self.seen.k_pos
        return None if q_pos.placed is None and k_pos.placed is None else both_placed(q_pos, k_pos)

    def added(self, rows: int, room: Room | None = None) -> Tensor | None:
        if self.bias is None:
            return self.seen.allowed()
        sizes = self._sizes(rows)
        if torch.is_grad_enabled() or traced():
            bias, allowed = dense(self.bias, *sizes, self.seen.device), self.seen.allowed()
            return self._rounded(bias if allowed is None else torch.where(allowed, bias, -torch.inf))
        return self._rounded(self._masked(filled(self.bias, *sizes, self.seen.device, room)))

    def value(self, rows: int, room: Room | None = None) -> Tensor | None:
        return None if self.bias is None else dense(self.bias, *self._sizes(rows), self.seen.device, room)

    def onto(self, scores: Tensor, value: Tensor | None) -> Tensor:
        if value is None or self.dtype.itemsize > 2:
            return self._masked(scores if value is None else scores.add_(value))
        # As the kernel was given it.
        whole = torch.broadcast_shapes(value.shape, (1, 1, *scores.shape[2:]))
        return scores.add_(self._rounded(self._masked(value.expand(whole).clone())))

    def _masked(self, value: Tensor) -> Tensor:
        """In place, minus infinity where a query does not see a key."""
        first, allowed = self.seen.visible()
        if allowed is not None:
            value[..., first:].masked_fill_(~allowed, -torch.inf)
        return value

    def _rounded(self, bias: Tensor) -> Tensor:
        return (_from_the_largest(bias, self.dtype) if self.content_free else bias).to(self.dtype)

    def kept(self) -> Kept:
        """The same with every pair worked out."""
        return Kept(self.seen, self.added(self.seen.rows))

    def _sizes(self, rows: int) -> tuple[int, int, int, int]:
        """Of a bias: no more rows than positions have, where it reads nothing else."""
        return self.seen.rows if self.content_free else rows, self.heads, self.seen.queries, self.seen.keys


@dataclass(frozen=True)
class Reading(Planned):
    """A bias or a mix that is made in each layer: it reads its queries and keys, or is more than a bias."""

    seen: Seen
    heads: int
    dtype: torch.dtype
    encoding: Encoding

    @property
    def words(self) -> str:
        values = self.encoding.mix(self.seen.q_pos, self.seen.k_pos) is not None
        return "products with content" + " and rows for values" * values

    def of_layer(self, raw: Raw | None) -> Pairwise:
        q_pos, k_pos = self.seen.q_pos, self.seen.k_pos
        read = nothing(q_pos, self.dtype) if raw is None else raw
        bias = placed(self.encoding.bias(*read, q_pos, k_pos), q_pos, k_pos)
        mix = self.encoding.mix(q_pos, k_pos)
        return Pairwise(self.seen, self.heads, self.dtype, bias, mix, content_free=False)


def _from_the_largest(bias: Tensor, dtype: torch.dtype) -> Tensor:
    """Each query's biases counted from its largest, which softmax does not see, where they are to fit 16 bits.

    To a query far from every key the penalties of ALiBi would merge there, and past 65504 hide all of them.
    """
    if dtype.itemsize > 2 or not bias.shape[-1]:
        return bias
    largest = bias.detach().amax(dim=-1, keepdim=True)
    return bias - torch.where(largest.isinf(), 0.0, largest)

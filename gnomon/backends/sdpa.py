"""PyTorch's scaled_dot_product_attention: the lowered queries and keys, and the bias as its attention mask."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from gnomon import pairs
from gnomon.backends import far
from gnomon.backends.backend import Backend, Raw, nothing
from gnomon.backends.tabled import Tabled, by_difference, tabled
from gnomon.backends.weights import weighted
from gnomon.content import placed
from gnomon.encoding import Encoding, Mix, Property, both_placed
from gnomon.masks import Mask
from gnomon.pairs import Clipped, Dense, PairFunction, dense, filled
from gnomon.positions import Positions
from gnomon.room import Room
from gnomon.rows import made_rows

CHUNK = 256
"""Queries that share one matrix of biases where no gradient is asked for."""
BIASES = 2**20
"""Biases that are made at once for some of the heads: 4 MB of float32, which a cache may hold."""
FLIPPED = 2**19
"""Numbers of queries that are turned round at once where biases are a table: 2 MB of float32."""
ALL_HEADS = 2**23
"""Biases that are made at once where all heads have to be made together."""
SHARED = 2**22
"""Biases that are kept for all layers rather than made anew in each: 16 MB of float32."""


@dataclass(frozen=True)
class _Plan:
    q_pos: Positions
    k_pos: Positions
    mask: Mask
    heads: int
    dtype: torch.dtype
    encoding: Encoding
    content_free: bool
    plain: bool = False
    """Nothing is added and nothing is masked, but for the triangle that SDPA draws where it is `square`."""
    square: bool = False
    table: Tabled | None = None
    """Bias and mask by diagonal, where that is all they depend on."""
    dense: Tensor | None = None
    """Bias and mask of every pair, made for all layers."""
    bias: PairFunction | None = None
    """What is added to the logits: of the layer at hand where it reads content."""
    mix: Mix | None = None
    looked_up: bool = False
    """Whether the bias is an entry of a table of differences."""
    hidden: tuple[int, Tensor | None] | None = None
    """See `masked`; None: not worked out."""

    def of_layer(self, raw: Raw | None) -> "_Plan":
        """The plan with the bias of one layer, whose queries and keys are `raw` where it reads them."""
        read = nothing(self.q_pos, self.dtype) if raw is None else raw
        bias = self.encoding.bias(*read, self.q_pos, self.k_pos)
        mix = self.encoding.mix(self.q_pos, self.k_pos)
        return replace(self, bias=placed(bias, self.q_pos, self.k_pos), mix=mix)

    def part(self, queries: slice, keys: slice) -> "_Plan":
        """The plan of some of the queries and keys."""
        return replace(
            self,
            q_pos=self.q_pos.tokens(queries.start, queries.stop),
            k_pos=self.k_pos.tokens(keys.start, keys.stop),
            table=None if self.table is None else self.table.part(queries, keys),
            dense=None if self.dense is None else _cut(self.dense, queries, keys),
            bias=None if self.bias is None else pairs.part(self.bias, queries, keys),
            mix=None if self.mix is None else Mix(self.mix.table, pairs.part(self.mix.row, queries, keys)),
            hidden=None,
        )

    def made(self, rows: int, room: Room) -> "_Plan":
        """The plan with what all heads share worked out, for `rows` of queries."""
        if self.bias is None or self.dense is not None:
            return self
        sizes, device = (self.q_pos.length, self.k_pos.length), self.q_pos.coords.device
        bias = pairs.made(self.bias, rows, self.heads, *sizes, device, room)
        mix = None if self.mix is None else Mix(self.mix.table, made_rows(self.mix.row, rows, *sizes, device, room))
        return replace(self, bias=bias, mix=mix, hidden=self.masked())

    def of_heads(self, heads: slice) -> "_Plan":
        """The plan of some heads."""
        mix = None
        if self.mix is not None:
            table = self.mix.table if self.mix.table.shape[0] == 1 else self.mix.table[heads]
            mix = Mix(table, pairs.of_heads(self.mix.row, heads))
        return replace(
            self,
            heads=heads.stop - heads.start,
            table=None if self.table is None else self.table.of_heads(heads),
            dense=None if self.dense is None or self.dense.shape[1] == 1 else self.dense[:, heads],
            bias=None if self.bias is None else pairs.of_heads(self.bias, heads),
            mix=mix,
        )

    def masked(self) -> tuple[int, Tensor | None]:
        """How many of the first keys every query sees, and which of the others each does: None for all of them."""
        if self.hidden is not None:
            return self.hidden
        seen = self.mask.seen(self.q_pos, self.k_pos)
        rest = replace(self, k_pos=self.k_pos.tokens(seen, self.k_pos.length))
        return seen, rest.allowed()

    @property
    def rows(self) -> int:
        return max(self.q_pos.rows, self.k_pos.rows)

    def allowed(self) -> Tensor | None:
        """Bools that broadcast to `[b, h, i, j]`; None where every query sees every key."""
        pair = self.mask.pair(self.q_pos, self.k_pos)
        if pair is None:
            return None
        return dense(pair, self.rows, 1, self.q_pos.length, self.k_pos.length, self.q_pos.coords.device)

    def added(self, rows: int, room: Room | None = None) -> Tensor | None:
        """What is added to the logits of every pair, what is masked at minus infinity; bools where nothing is."""
        if self.bias is None:
            return self.allowed()
        sizes = rows, self.heads, self.q_pos.length, self.k_pos.length
        device = self.q_pos.coords.device
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            bias, allowed = dense(self.bias, *sizes, device), self.allowed()
            bias = bias if allowed is None else torch.where(allowed, bias, -torch.inf)
        else:
            bias, (seen, allowed) = filled(self.bias, *sizes, device, room), self.masked()
            if allowed is not None:
                bias[..., seen:].masked_fill_(~allowed, -torch.inf)
        return (_from_the_least(bias, self.dtype) if self.content_free else bias).to(self.dtype)


class Sdpa(Backend):
    """Over evenly spaced positions a content-free bias, and the mask with it, is a strided view of one table.

    Everything else of size n^2 is made for some queries at a time, and for the keys that these may see: O(n) memory.
    Where a gradient is asked for, or a graph compiled, all is made at once: a gradient keeps every part anyway, and a
    graph of parts would serve one length.
    """

    lowers = True

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> _Plan:
        of_all = q_pos, k_pos, mask, heads, dtype, encoding
        if Property.CONTENT_FREE not in encoding.properties or encoding.mix(q_pos, k_pos) is not None:
            return _Plan(*of_all, content_free=False)
        bias = encoding.bias(*nothing(q_pos, dtype), q_pos, k_pos)
        if bias is None:
            square = mask.square(q_pos, k_pos)
            if square or mask.pair(q_pos, k_pos) is None:
                return _Plan(*of_all, content_free=True, plain=True, square=square)
        else:
            table = tabled(encoding, q_pos, k_pos, mask, heads, dtype)
            if table is not None:
                return _Plan(*of_all, content_free=True, table=table)
        plan = _Plan(*of_all, content_free=True, bias=placed(bias, q_pos, k_pos))
        size = plan.rows * heads * q_pos.length * k_pos.length
        if _whole(q_pos.length) or size <= SHARED:
            return replace(plan, dense=plan.added(plan.rows))
        known = bias is None or _mostly_far(plan)
        entries = None if known else by_difference(encoding, q_pos, k_pos, heads, dtype)
        return plan if entries is None else replace(plan, bias=placed(entries, q_pos, k_pos), looked_up=True)

    def attend(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        plan = plan if plan.content_free else plan.of_layer(raw)
        if plan.plain or _whole(q.shape[2]):
            return _split(plan, q, k, v, dropout).attend(q, k, v, scale, dropout)
        out, shared, own = v.new_empty(*q.shape[:3], v.shape[3]), Room(), Room()
        for queries, keys in _chunks(plan, q.shape[0]):
            part = _split(plan.part(queries, keys), q, k, v, dropout).made(q.shape[0], shared.again())
            for heads, of_key in _heads(part.near, q, k):
                here = q[:, heads, queries], k[:, of_key, keys], v[:, of_key, keys]
                out[:, heads, queries] = part.of_heads(heads).attend(*here, scale, dropout, own.again())
        return out

    def way(self, plan: _Plan) -> str:
        if plan.plain:
            return "nothing is added: the fused kernel alone"
        if plan.table is not None:
            return "a view of one table, a number for each diagonal"
        if plan.dense is not None:
            return "all pairs at once, kept for all layers"
        if not plan.content_free:
            values = plan.encoding.mix(plan.q_pos, plan.k_pos) is not None
            return f"{CHUNK} queries at a time: products with content" + " and rows for values" * values
        if plan.bias is None:
            return f"{CHUNK} queries at a time: a mask"
        return f"{CHUNK} queries at a time: " + ("looked up by difference" if plan.looked_up else "pair by pair")


def _whole(queries: int) -> bool:
    # The length last: asked of a symbolic one, it would be a condition of the graph.
    return torch.compiler.is_compiling() or torch.is_grad_enabled() or queries <= CHUNK


def _chunks(plan: _Plan, rows: int) -> Iterator[tuple[slice, slice]]:
    """Queries that are attended to at once, and the keys that they may see."""
    n = plan.q_pos.length
    if plan.table is not None:
        # Nothing is made of it, and PyTorch's kernel takes larger blocks from 768 queries on.
        size = 3 * CHUNK
    elif plan.bias is None or (isinstance(plan.bias, Dense) and plan.bias.by_head):
        size = CHUNK
    else:
        size = min(max(ALL_HEADS // (rows * plan.heads * plan.k_pos.length), CHUNK // 8), CHUNK)
    for start in range(0, n, size):
        queries = slice(start, min(start + size, n))
        yield queries, slice(*plan.mask.span(plan.q_pos.tokens(queries.start, queries.stop), plan.k_pos))


def _heads(plan: _Plan, q: Tensor, k: Tensor) -> Iterator[tuple[slice, slice]]:
    """Heads that are attended to at once, and the heads of keys that they read."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    if plan.table is not None:
        size = FLIPPED // (q.shape[0] * plan.q_pos.length * q.shape[3])
    elif plan.bias is not None and plan.dense is None:
        size = BIASES // max(1, q.shape[0] * plan.q_pos.length * plan.k_pos.length)
    else:
        size = heads
    # Whole groups, or such a part of one that all parts are alike.
    size = size // group * group if size >= group else max(n for n in range(1, max(1, size) + 1) if group % n == 0)
    for start in range(0, heads, size):
        stop = min(start + size, heads)
        yield slice(start, stop), slice(start // group, (stop - 1) // group + 1)


def _sides(plan: _Plan) -> list[tuple[slice, tuple[int, int]]]:
    """The keys on either side that no query tells apart, where there are any worth it, and one of their pairs."""
    if not isinstance(plan.bias, Clipped):
        return []
    if plan.content_free and plan.dtype.itemsize <= 2:
        # Each part would be counted from a largest bias of its own.
        return []
    sides = far.far_keys(plan.bias, plan.mix, plan.q_pos.length, plan.k_pos.length)
    masked = (plan.mask.pair(plan.q_pos, plan.k_pos.tokens(some.start, some.stop)) for some, _ in sides)
    return [] if any(pair is not None for pair in masked) else sides


def _mostly_far(plan: _Plan) -> bool:
    """Whether some queries in the middle have most keys that they see so far off."""
    chunks = list(_chunks(plan, plan.rows))
    queries, keys = chunks[len(chunks) // 2]
    sides = _sides(plan.part(queries, keys))
    return sum(some.stop - some.start for some, _ in sides) > (keys.stop - keys.start) / 2


@dataclass(frozen=True)
class _Split:
    """A plan by its keys: on either side those that no query tells apart, and those between, seen pair by pair."""

    whole: _Plan
    near: _Plan
    between: slice
    sides: list[tuple[slice, tuple[int, int]]]

    def made(self, rows: int, room: Room) -> "_Split":
        return replace(self, near=self.near.made(rows, room))

    def of_heads(self, heads: slice) -> "_Split":
        return replace(self, whole=self.whole.of_heads(heads), near=self.near.of_heads(heads))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        """Attention of its queries; what has been made in the room is lost."""
        if not self.sides:
            return _some(self.near, q, k, v, scale, dropout, room)
        bias, mix = self.whole.bias, self.whole.mix
        parts = [far.attend_far(q, k, v, bias, mix, keys, pair, scale) for keys, pair in self.sides]
        if self.between.start < self.between.stop:
            k, v = k[:, :, self.between], v[:, :, self.between]
            parts.append(far.attend_near(q, k, v, self.near.added(q.shape[0], room), self.near.mix, scale))
        return far.merged(parts)


def _split(plan: _Plan, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> _Split:
    """The plan by its keys, where it is known that queries do not tell some apart, and worth it."""
    queries, keys = plan.q_pos.length, plan.k_pos.length
    sides = _sides(plan) if far.can(q, k, v, dropout) else []
    if not sides:
        return _Split(plan, plan, slice(0, keys), [])
    begin = max([some.stop for some, _ in sides if some.start == 0], default=0)
    end = min([some.start for some, _ in sides if some.start > 0], default=keys)
    between = slice(begin, end)
    return _Split(plan, plan.part(slice(0, queries), between), between, sides)


def _some(
    plan: _Plan, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None
) -> Tensor:
    """Attention of some queries, or of all; what has been made in the room is lost."""
    options = dict(dropout_p=dropout, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    if plan.plain:
        return _fused(q, k, v, is_causal=True, **options) if plan.square else _fused(q, k, v, **options)
    if plan.table is not None:
        return _fused(q.flip(2), k, v, attn_mask=plan.table.flipped(), **options).flip(2)
    if plan.dense is not None:
        return _sdpa(q, k, v, plan.dense, options)
    if plan.mix is None:
        return _sdpa(q, k, v, plan.added(plan.rows if plan.content_free else q.shape[0], room), options)
    nowhere = plan.q_pos.placed is None and plan.k_pos.placed is None
    counted = None if nowhere else both_placed(plan.q_pos, plan.k_pos)
    bias = (
        None
        if plan.bias is None
        else dense(plan.bias, q.shape[0], plan.heads, *q.shape[2:3], *k.shape[2:3], q.device, room)
    )
    return weighted(q, k, v, bias, plan.allowed(), plan.mix, counted, scale, dropout)


def _fused(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """SDPA, whose kernels of O(n) memory want values as wide as keys: under widened heads they are filled up."""
    room = k.shape[3] - v.shape[3]
    if room <= 0:
        return scaled_dot_product_attention(q, k, v, **options)
    return scaled_dot_product_attention(q, k, pad(v, (0, room)), **options)[..., : v.shape[3]]


def _sdpa(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, options: dict[str, Any]) -> Tensor:
    if attn_mask is not None:
        attn_mask = attn_mask.expand(-1, -1, q.shape[2], k.shape[2])
    return _fused(q, k, v, attn_mask=attn_mask, **options)


def _cut(bias: Tensor, queries: slice, keys: slice) -> Tensor:
    """The biases of some pairs; a dimension of one stands for all."""
    bias = bias if bias.shape[2] == 1 else bias[:, :, queries]
    return bias if bias.shape[3] == 1 else bias[..., keys]


def _from_the_least(bias: Tensor, dtype: torch.dtype) -> Tensor:
    """Each query's biases counted from its largest, which softmax does not see, where they are to fit 16 bits.

    To a query far from every key the penalties of ALiBi would merge there, and past 65504 hide all of them.
    """
    if dtype.itemsize > 2 or not bias.shape[-1]:
        return bias
    least = bias.detach().amax(dim=-1, keepdim=True)
    return bias - torch.where(least.isinf(), 0.0, least)

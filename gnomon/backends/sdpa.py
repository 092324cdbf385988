"""PyTorch's scaled_dot_product_attention: the lowered queries and keys, and the bias as its attention mask."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from gnomon import pairs
from gnomon.backends import far
from gnomon.backends.backend import Backend, Raw, nothing
from gnomon.backends.tabled import Tabled, tabled
from gnomon.backends.weights import weighted
from gnomon.content import placed
from gnomon.encoding import Encoding, Mix, Property, both_placed
from gnomon.masks import Mask
from gnomon.pairs import Clipped, PairFunction, dense
from gnomon.positions import Positions

CHUNK = 256
"""Queries that share one matrix of biases where no gradient is asked for."""
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
        )

    @property
    def rows(self) -> int:
        return max(self.q_pos.rows, self.k_pos.rows)

    def allowed(self) -> Tensor | None:
        """Bools that broadcast to `[b, h, i, j]`; None where every query sees every key."""
        pair = self.mask.pair(self.q_pos, self.k_pos)
        return None if pair is None else self.values(pair)

    def values(self, pair: PairFunction, rows: int | None = None) -> Tensor:
        """The value of every pair, `[b, h, i, j]` or what broadcasts to it."""
        rows = self.rows if rows is None else rows
        return dense(pair, rows, self.heads, self.q_pos.length, self.k_pos.length, self.q_pos.coords.device)

    def masked_bias(self) -> Tensor | None:
        """The content-free bias of every pair, what is masked at minus infinity; bools where there is only a mask."""
        if self.bias is None:
            return self.allowed()
        bias = self.values(self.bias)
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return _from_the_least(_masked(bias, self.allowed()), self.dtype).to(self.dtype)
        # Written to only where something is hidden, and never to what an encoding may have kept.
        full = (max(bias.shape[0], self.rows), bias.shape[1], self.q_pos.length, self.k_pos.length)
        bias = bias.expand(full).clone(memory_format=torch.contiguous_format)
        seen = self.mask.seen(self.q_pos, self.k_pos)
        rest = replace(self, k_pos=self.k_pos.tokens(seen, self.k_pos.length)).allowed()
        if rest is not None:
            bias[..., seen:].masked_fill_(~rest, -torch.inf)
        return _from_the_least(bias, self.dtype).to(self.dtype)


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
        return replace(plan, dense=plan.masked_bias()) if _whole(q_pos.length) or size <= SHARED else plan

    def attend(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        plan, n = plan if plan.content_free else plan.of_layer(raw), q.shape[2]
        if plan.plain or _whole(n):
            return _some(plan, q, k, v, scale, dropout)
        parts = []
        for start in range(0, n, CHUNK):
            queries = slice(start, min(start + CHUNK, n))
            keys = slice(*plan.mask.span(plan.q_pos.tokens(queries.start, queries.stop), plan.k_pos))
            part = plan.part(queries, keys)
            parts.append(_some(part, q[:, :, queries], k[:, :, keys], v[:, :, keys], scale, dropout))
        return torch.cat(parts, dim=2)


def _whole(queries: int) -> bool:
    # The length last: asked of a symbolic one, it would be a condition of the graph.
    return torch.compiler.is_compiling() or torch.is_grad_enabled() or queries <= CHUNK


def _some(plan: _Plan, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float) -> Tensor:
    """Attention of some queries, or of all."""
    options = dict(dropout_p=dropout, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    if plan.plain:
        return _fused(q, k, v, is_causal=True, **options) if plan.square else _fused(q, k, v, **options)
    if plan.table is not None:
        return _fused(q.flip(2), k, v, attn_mask=plan.table.flipped(), **options).flip(2)
    if plan.content_free:
        return _sdpa(q, k, v, plan.masked_bias() if plan.dense is None else plan.dense, options)
    sides = _far(plan, q, k, v, dropout)
    if sides:
        return _near_and_far(plan, q, k, v, sides, scale)
    bias, allowed = None if plan.bias is None else plan.values(plan.bias, q.shape[0]).to(q.dtype), plan.allowed()
    if plan.mix is None:
        return _sdpa(q, k, v, allowed if bias is None else _masked(bias, allowed), options)
    nowhere = plan.q_pos.placed is None and plan.k_pos.placed is None
    counted = None if nowhere else both_placed(plan.q_pos, plan.k_pos)
    return weighted(q, k, v, bias, allowed, plan.mix, counted, scale, dropout)


def _far(plan: _Plan, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> list[tuple[slice, int]]:
    """The keys so far off that all queries see them alike, where that is known and worth it."""
    if not isinstance(plan.bias, Clipped) or not far.can(q, k, v, dropout):
        return []
    sides = far.far_keys(plan.bias, plan.mix, q.shape[2], k.shape[2])
    seen = all(plan.mask.pair(plan.q_pos, plan.k_pos.tokens(keys.start, keys.stop)) is None for keys, _ in sides)
    return sides if seen else []


def _near_and_far(plan: _Plan, q: Tensor, k: Tensor, v: Tensor, sides: list[tuple[slice, int]], scale: float) -> Tensor:
    """Attention to the keys that are far off on either side, and to those between, looked at pair by pair."""
    parts = [far.attend_far(q, k, v, plan.bias, plan.mix, keys, row, scale) for keys, row in sides]
    begin = max([keys.stop for keys, _ in sides if keys.start == 0], default=0)
    end = min([keys.start for keys, _ in sides if keys.start > 0], default=k.shape[2])
    if begin < end:
        between = slice(begin, end)
        near = plan.part(slice(0, q.shape[2]), between)
        bias = near.values(near.bias, q.shape[0])
        parts.append(far.attend_near(q, k[:, :, between], v[:, :, between], bias, near.allowed(), near.mix, scale))
    return far.merged(parts)


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


def _masked(bias: Tensor, allowed: Tensor | None) -> Tensor:
    return bias if allowed is None else torch.where(allowed, bias, -torch.inf)


def _from_the_least(bias: Tensor, dtype: torch.dtype) -> Tensor:
    """Each query's biases counted from its largest, which softmax does not see, where they are to fit 16 bits.

    To a query far from every key the penalties of ALiBi would merge there, and past 65504 hide all of them.
    """
    if dtype.itemsize > 2 or not bias.shape[-1]:
        return bias
    least = bias.detach().amax(dim=-1, keepdim=True)
    return bias - torch.where(least.isinf(), 0.0, least)

"""PyTorch's scaled_dot_product_attention: the lowered queries and keys, and the bias as its attention mask."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from gnomon import pairs
from gnomon.backends.backend import Backend, Raw
from gnomon.backends.weights import weighted
from gnomon.encoding import Encoding, Property, both_placed
from gnomon.pairs import Mask, PairFunction, dense
from gnomon.positions import Positions

CHUNK = 256
"""Queries that share one matrix of biases where these depend on content and no gradient is asked for."""


@dataclass(frozen=True)
class _Plan:
    encoding: Encoding
    q_pos: Positions
    k_pos: Positions
    mask: Mask
    heads: int
    content_free: bool
    square: bool = False
    """The mask is the plain lower triangle, which SDPA draws itself."""
    allowed: Tensor | None = None
    """Bools that broadcast to `[b, h, i, j]`."""
    bias: Tensor | None = None
    """The content-free bias of every pair, what is not allowed at minus infinity; broadcasts to `[b, h, i, j]`."""
    table: Tensor | None = None
    """The content-free bias by difference of place, `[1, h, i + j - 1]`, where one strided view of it serves all."""


class Sdpa(Backend):
    """Content-free biases are made once per forward pass. Over evenly spaced positions such a bias is a strided view

    of one table of differences: with the queries flipped, mask[i', j] = table[i' + j], and nothing of size n^2 is kept.
    Biases that read content, and values that depend on the pair, are made for some queries at a time: O(n) memory
    without gradients.
    """

    lowers = True

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> _Plan:
        content_free = Property.CONTENT_FREE in encoding.properties and encoding.mix(q_pos, k_pos) is None
        plan = _Plan(encoding, q_pos, k_pos, mask, heads, content_free)
        if not content_free:
            return plan
        empty = torch.empty(0, device=q_pos.coords.device)
        bias = encoding.bias(empty, empty, q_pos, k_pos)
        if mask.square(q_pos, k_pos):
            if bias is None:
                return replace(plan, square=True)
            if _even(encoding, q_pos, k_pos):
                return replace(plan, table=_table(encoding, q_pos, heads, dtype))
        plan = replace(plan, allowed=_allowed(plan))
        if bias is None:
            return plan
        bias = _masked(_dense(plan, pairs.placed(bias, q_pos, k_pos)), plan.allowed)
        return replace(plan, bias=_from_the_least(bias, dtype).to(dtype))

    def attend(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        if not plan.content_free:
            return self._by_chunks(plan, q, k, v, raw, scale, dropout)
        options = dict(dropout_p=dropout, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
        if plan.square:
            return _fused(q, k, v, is_causal=True, **options)
        if plan.table is not None:
            view = _view(plan.table, q.shape[2], k.shape[2])
            return _fused(q.flip(2), k, v, attn_mask=view, **options).flip(2)
        return _sdpa(q, k, v, plan.allowed if plan.bias is None else plan.bias, scale, dropout)

    def _by_chunks(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        n = q.shape[2]
        # Gradients keep every chunk anyway, and a compiled graph would be unrolled for one length.
        size = n if torch.is_grad_enabled() or torch.compiler.is_compiling() else CHUNK
        if n <= size:
            return self._content(plan, q, k, v, raw, scale, dropout)
        parts = []
        for start in range(0, n, size):
            some = slice(start, min(start + size, n))
            chunk = replace(plan, q_pos=plan.q_pos.tokens(some.start, some.stop))
            first, last = plan.mask.span(chunk.q_pos, plan.k_pos)
            chunk, seen = replace(chunk, k_pos=plan.k_pos.tokens(first, last)), slice(first, last)
            raw_some = None if raw is None else (raw[0][:, :, some], raw[1][:, :, seen])
            parts.append(self._content(chunk, q[:, :, some], k[:, :, seen], v[:, :, seen], raw_some, scale, dropout))
        return torch.cat(parts, dim=2)

    def _content(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        read = (torch.empty(0, device=q.device),) * 2 if raw is None else raw
        pair = pairs.placed(plan.encoding.bias(*read, plan.q_pos, plan.k_pos), plan.q_pos, plan.k_pos)
        bias = None if pair is None else _dense(plan, pair, q.shape[0]).to(q.dtype)
        mix, allowed = plan.encoding.mix(plan.q_pos, plan.k_pos), _allowed(plan)
        if mix is None:
            return _sdpa(q, k, v, allowed if bias is None else _masked(bias, allowed), scale, dropout)
        nowhere = plan.q_pos.placed is None and plan.k_pos.placed is None
        counted = None if nowhere else both_placed(plan.q_pos, plan.k_pos)
        return weighted(q, k, v, bias, allowed, mix, counted, scale, dropout)


def _fused(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """SDPA, whose kernels of O(n) memory want values as wide as keys: under widened heads they are filled up."""
    room = k.shape[3] - v.shape[3]
    if room <= 0:
        return scaled_dot_product_attention(q, k, v, **options)
    return scaled_dot_product_attention(q, k, pad(v, (0, room)), **options)[..., : v.shape[3]]


def _sdpa(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, scale: float, dropout: float) -> Tensor:
    if attn_mask is not None:
        attn_mask = attn_mask.expand(-1, -1, q.shape[2], k.shape[2])
    return _fused(q, k, v, attn_mask=attn_mask, dropout_p=dropout, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


def _dense(plan: _Plan, pair: PairFunction, rows: int | None = None) -> Tensor:
    rows = max(plan.q_pos.rows, plan.k_pos.rows) if rows is None else rows
    return dense(pair, rows, plan.heads, plan.q_pos.length, plan.k_pos.length, plan.q_pos.coords.device)


def _allowed(plan: _Plan) -> Tensor | None:
    pair = plan.mask.pair(plan.q_pos, plan.k_pos)
    return None if pair is None else _dense(plan, pair)


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


def _even(encoding: Encoding, q_pos: Positions, k_pos: Positions) -> bool:
    """Whether the bias depends on `i - j` alone, known without looking at data."""
    return (
        Property.TRANSLATION_INVARIANT in encoding.properties
        and q_pos is k_pos
        and q_pos.step is not None
        and q_pos.placed is None
        and q_pos.length > 0
    )


def _table(encoding: Encoding, pos: Positions, heads: int, dtype: torch.dtype) -> Tensor:
    """The bias of the differences n - 1, ..., 1 - n, the future at minus infinity: `[1, h, 2 n - 1]`."""
    n, device = pos.length, pos.coords.device
    apart = torch.arange(n - 1, -n, -1, device=device)
    origin = Positions(torch.zeros(1, 1, 1, dtype=torch.float64, device=device))
    line = Positions((apart.to(torch.float64) * pos.step)[None, :, None])
    empty = torch.empty(0, device=device)
    bias = dense(encoding.bias(empty, empty, line, origin), 1, heads, line.length, 1, device)[..., 0].to(dtype)
    return bias.masked_fill(apart < 0, -torch.inf).expand(1, heads, -1)


def _view(table: Tensor, queries: int, keys: int) -> Tensor:
    """mask[h, i', j] = table[h, i' + j], where i' counts the queries from the last: `[1, h, queries, keys]`."""
    table = table.contiguous()
    return table.as_strided((1, table.shape[1], queries, keys), (0, table.stride(1), 1, 1))

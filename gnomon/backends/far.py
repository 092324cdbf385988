"""Keys so far off that no query tells their distances apart: attention to them is plain, and merged by log-sum-exp.

Where a relative table is clipped, all pairs beyond it share one row. Over those keys the bias is one number for a query
plus one for a key, and what values are mixed with is one vector: an unmasked kernel attends to them, and its sum of
exponentials says how much they weigh beside the keys near by. A band of the matrix of pairs is left to look at.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon import pairs
from gnomon.backends import weights
from gnomon.backends.fused import Received, summed
from gnomon.backends.way import Part
from gnomon.backends.weights import gathered, logits_of
from gnomon.encoding import Mix
from gnomon.pairs import Clipped
from gnomon.room import Room
from gnomon.traced import traced

LEAST = 64
"""Far keys that are worth a call of their own."""

Side = tuple[slice, tuple[int, int]]
"""Keys that no query tells apart, and one of their pairs: query and key."""


@dataclass(frozen=True)
class Split(Part):
    """A bias, and a mix, by keys: on either side those that no query tells apart, and those between, in `near`."""

    bias: Clipped
    mix: Mix | None
    near: Part
    between: slice
    sides: list[Side]

    def heads_at_once(self, rows: int, heads: int, width: int) -> int:
        return self.near.heads_at_once(rows, heads, width)

    def of_heads(self, heads: slice) -> "Split":
        bias, mix = pairs.of_heads(self.bias, heads), weights.of_heads(self.mix, heads)
        return replace(self, bias=bias, mix=mix, near=self.near.of_heads(heads))

    def made(self, rows: int, room: Room) -> "Split":
        return replace(self, near=self.near.made(rows, room))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        parts = [attend_far(q, k, v, self.bias, self.mix, keys, pair, scale) for keys, pair in self.sides]
        if self.between.start < self.between.stop:
            k, v = k[:, :, self.between], v[:, :, self.between]
            parts.append(attend_near(q, k, v, self.near.added(q.shape[0], room), self.near.mix, scale))
        return merged(parts)


def can(q: Tensor, dropout: float) -> bool:
    """Whether there is a kernel that tells its sum of exponentials: on CPU, without gradients."""
    inference = not (torch.is_grad_enabled() or traced())
    return inference and q.device.type == "cpu" and not dropout


def far_keys(pair: Clipped, mix: Mix | None, queries: int, keys: int) -> list[Side]:
    """The keys on either side that are worth it, and one of their pairs."""
    begin, end = pair.near(queries, keys)
    if mix is not None:
        first, last = pairs.near(mix.row, queries, keys)
        begin, end = min(begin, first), max(end, last)
    sides = ((slice(0, begin), (0, 0)), (slice(end, keys), (queries - 1, keys - 1)))
    return [(some, one) for some, one in sides if some.stop - some.start >= LEAST]


def attend_far(
    q: Tensor, k: Tensor, v: Tensor, pair: Clipped, mix: Mix | None, keys: slice, one: tuple[int, int], scale: float
) -> Received:
    """Attention to the keys that are far off on the side of one pair."""
    of_query, of_key = pair.far(keys, one)
    mask = None if of_key is None else of_key[:, :, None].expand(-1, -1, q.shape[2], -1).to(q.dtype)
    out, weight = summed(q, k[:, :, keys], v[:, :, keys], mask, scale)
    if of_query is not None:
        weight = weight + of_query
    if mix is not None:
        out = out + mix.row.one(mix.table, *one)[:, None].to(out.dtype)
    return out, weight


def attend_near(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, mix: Mix | None, scale: float) -> Received:
    """Attention to the keys between, by a bias for each pair, which is minus infinity where it is masked."""
    if mix is None:
        out, weight = summed(q, k, v, bias.to(q.dtype), scale)
        # Of a query that sees no key the kernel says 0, as of others by chance.
        blank = weight == 0
        if blank.any():
            weight = weight.masked_fill(blank & (bias == -torch.inf).all(dim=-1), -torch.inf)
        return out, weight
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    logits = logits_of(q, k, bias, scale)
    weights = torch.softmax(logits, dim=-1).to(v.dtype)
    return weights @ v + gathered(weights, mix), logits.logsumexp(dim=-1)


def merged(parts: list[Received]) -> Tensor:
    """What queries receive from all keys."""
    share = torch.stack([weight for _, weight in parts]).softmax(dim=0)[..., None]
    # Where a part is all masked it weighs nothing, and what it gave is no number.
    received = [torch.where(one > 0, out, 0.0) * one for (out, _), one in zip(parts, share, strict=True)]
    return sum(received).to(parts[0][0].dtype)

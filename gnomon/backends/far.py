"""Keys so far off that no query tells their distances apart: attention to them is plain, and merged by log-sum-exp.

Where a relative table is clipped, all pairs beyond it share one row. Over those keys the bias is one number for a query
plus one for a key, and what values are mixed with is one vector: an unmasked kernel attends to them, and its sum of
exponentials says how much they weigh beside the keys near by. A band of the matrix of pairs is left to look at.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from gnomon.backends.weights import gathered, logits_of
from gnomon.encoding import Mix
from gnomon.pairs import Clipped
from gnomon.rows import Rows

LEAST = 64
"""Far keys that are worth a call of their own."""

Part = tuple[Tensor, Tensor]
"""What queries receive from some keys, `[b, h, i, d]`, and the logarithm of the sum of their weights, `[b, h, i]`."""


def can(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> bool:
    """Whether there is a kernel that tells its sum of exponentials: on CPU, without gradients."""
    inference = not (torch.is_grad_enabled() or torch.compiler.is_compiling())
    return inference and q.device.type == "cpu" and not dropout and q.shape[3] == k.shape[3] == v.shape[3]


def far_keys(pair: Clipped, mix: Mix | None, queries: int, keys: int) -> list[tuple[slice, tuple[int, int]]]:
    """The keys on either side that are worth it, and one of their pairs."""
    begin, end = pair.near(queries, keys)
    if mix is not None:
        first, last = mix.row.near(queries, keys) if isinstance(mix.row, Rows) else (0, keys)
        begin, end = min(begin, first), max(end, last)
    sides = ((slice(0, begin), (0, 0)), (slice(end, keys), (queries - 1, keys - 1)))
    return [(some, one) for some, one in sides if some.stop - some.start >= LEAST]


def attend_far(
    q: Tensor, k: Tensor, v: Tensor, pair: Clipped, mix: Mix | None, keys: slice, one: tuple[int, int], scale: float
) -> Part:
    """Attention to the keys that are far off on the side of one pair."""
    of_query, of_key = pair.far(keys, one)
    mask = None if of_key is None else of_key[:, :, None].expand(-1, -1, q.shape[2], -1).to(q.dtype)
    out, weight = _kernel(q, k[:, :, keys], v[:, :, keys], mask, scale)
    if of_query is not None:
        weight = weight + of_query
    if mix is not None:
        out = out + mix.row.one(mix.table, *one)[:, None].to(out.dtype)
    return out, weight


def attend_near(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, mix: Mix | None, scale: float) -> Part:
    """Attention to the keys between, by a bias for each pair, which is minus infinity where it is masked."""
    if mix is None:
        out, weight = _kernel(q, k, v, bias.to(q.dtype), scale)
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


def merged(parts: list[Part]) -> Tensor:
    """What queries receive from all keys."""
    share = torch.stack([weight for _, weight in parts]).softmax(dim=0)[..., None]
    # Where a part is all masked it weighs nothing, and what it gave is no number.
    received = [torch.where(one > 0, out, 0.0) * one for (out, _), one in zip(parts, share, strict=True)]
    return sum(received).to(parts[0][0].dtype)


def _kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Part:
    group = q.shape[1] // k.shape[1]
    if group > 1:
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    if mask is not None:
        mask = mask.expand(q.shape[0], -1, -1, -1)
    # The kernel that scaled_dot_product_attention calls, which has no way to say its sum of exponentials.
    kernel: Callable = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return kernel(q, k, v, 0.0, False, attn_mask=mask, scale=scale)

"""PyTorch's fused kernel, kept from falling back to one that holds every weight."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from gnomon.precision import autocasts
from gnomon.traced import differs, traced

Received = tuple[Tensor, Tensor]
"""What queries receive from some keys, `[b, h, i, d]`, and the logarithm of the sum of their weights, `[b, h, i]`."""


def fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    dropout: float = 0.0,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    """`[b, h, i, d_v]` by scaled_dot_product_attention; the mask broadcasts to `[b, h, i, j]`.

    Its kernels of O(n) memory want values as wide as keys: whichever is narrower is filled up with zeros, unless
    queries are so few that their weights are less than that.
    """
    if not (is_causal or dropout or traced()) and _few(q, k, v, attn_mask):
        return _by_weights(q, k, v, scale, attn_mask)
    options: dict[str, Any] = dict(dropout_p=dropout, scale=scale, is_causal=is_causal)
    options["enable_gqa"] = q.shape[1] != k.shape[1]
    if attn_mask is not None:
        attn_mask = attn_mask.expand(-1, -1, q.shape[2], k.shape[2])
    width = v.shape[3]
    q, k, v = alike(q, k, v)
    out = scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, **options)
    return out if out.shape[3] == width else out[..., :width]


def _few(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the weights, in float32 at least and without a gradient, take no more than filling up would."""
    filling = k.shape[1] * abs(k.shape[3] - v.shape[3])
    few = q.shape[1] * q.shape[2] <= filling and k.shape[2] > 0
    exact = q.dtype.itemsize > 2 and not autocasts(q.device)
    return few and exact and not differs(q, k, v) and (mask is None or not differs(mask))


def _by_weights(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """The same by a matrix of weights: what sees no key receives zeros."""
    # Heads that share a head of keys one below the other.
    below = q.shape[1] // k.shape[1] * q.shape[2]
    grouped = (scale * q).reshape(q.shape[0], k.shape[1], below, q.shape[3])
    scores = (grouped @ k.mT).view(*q.shape[:3], k.shape[2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    largest = scores.amax(-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
    weights = scores.sub_(largest).exp_()
    total = weights.sum(-1, keepdim=True)
    weights = weights.div_(total.masked_fill_(total == 0, 1.0)).view(*grouped.shape[:3], k.shape[2])
    return (weights @ v).view(*q.shape[:3], v.shape[3])


def summed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Received:
    """The same with its sum of weights; of a query that sees no key it says 0, as of others by chance."""
    group, width = q.shape[1] // k.shape[1], v.shape[3]
    if group > 1:
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=q.dtype, device=mask.device).masked_fill_(~mask, -torch.inf)
    if mask is not None:
        mask = mask.expand(q.shape[0], -1, q.shape[2], k.shape[2])
    # The kernel that scaled_dot_product_attention calls on a CPU, which has no way to say its sum of exponentials.
    kernel: Callable = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, weight = kernel(*alike(q, k, v), 0.0, False, attn_mask=mask, scale=scale)
    return out if out.shape[3] == width else out[..., :width], weight


def alike(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All of one width, the narrower filled up with zeros: of q and k these add nothing to their products."""
    room = k.shape[3] - v.shape[3]
    if room > 0:
        return q, k, pad(v, (0, room))
    return (pad(q, (0, -room)), pad(k, (0, -room)), v) if room else (q, k, v)

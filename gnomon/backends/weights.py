"""Attention with its weights in hand, for encodings whose values depend on the pair: O(n^2) memory."""

import torch
from torch import Tensor

from gnomon import pairs, skew
from gnomon.encoding import Mix
from gnomon.errors import OptionError
from gnomon.pairs import dense
from gnomon.rows import Diagonal
from gnomon.skew import by_diagonal


def weighted(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    allowed: Tensor | None,
    mix: Mix,
    counted: Tensor | None,
    scale: float,
    dropout: float,
) -> Tensor:
    """`dropout(softmax(scale q k^T + bias)) (v + table[row])`, `[b, h, i, d_v]`.

    bias, allowed: broadcast to `[b, h, i, j]`; a query that is allowed no key receives zeros.
    counted:       `[rows, 1, i, j]`, the pairs to which `mix` applies; None: all.
    """
    if mix.table.shape[-1] != v.shape[-1]:
        raise OptionError(
            "values have the width of the vectors that are mixed with them",
            given=f"values of width {v.shape[-1]}",
            allowed=f"{mix.table.shape[-1]}",
        )
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    logits = logits_of(q, k, bias, scale)
    sees = None
    if allowed is not None:
        # Where nothing is allowed the softmax would be nan, and so would its gradient: it sees all, and receives none.
        sees = allowed.any(dim=-1, keepdim=True)
        logits = logits.masked_fill(~(allowed | ~sees), -torch.inf)
    weights = torch.softmax(logits, dim=-1)
    weights = torch.nn.functional.dropout(weights, dropout).to(v.dtype)
    out = weights @ v + gathered(weights if counted is None else torch.where(counted, weights, 0.0), mix)
    return out if sees is None else out.masked_fill(~sees, 0.0)


def logits_of(q: Tensor, k: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """`scale q k^T + bias`, `[b, h, i, j]`, in float32 or float64."""
    logits = ((scale * q) @ k.mT).to(torch.promote_types(q.dtype, torch.float32))
    return logits if bias is None else logits + bias


def gathered(weights: Tensor, mix: Mix) -> Tensor:
    """`sum_j weight_ij table[h, row(i, j)]`."""
    if isinstance(mix.row, Diagonal) and not torch.compiler.is_compiling():
        apart = mix.row.told_apart
        return skew.gathered(by_diagonal(weights), apart) @ mix.row.of(mix.table, apart).to(weights.dtype)
    row = dense(mix.row, weights.shape[0], 1, *weights.shape[2:], device=weights.device).expand_as(weights)
    of_row = weights.new_zeros(*weights.shape[:3], mix.table.shape[-2]).scatter_add(-1, row, weights)
    return of_row @ mix.table.to(weights.dtype)


def part(mix: Mix | None, queries: slice, keys: slice) -> Mix | None:
    """The mix of some queries and keys, which are counted from the first of these."""
    return None if mix is None else Mix(mix.table, pairs.part(mix.row, queries, keys))


def of_heads(mix: Mix | None, heads: slice) -> Mix | None:
    """The mix of some heads, which are counted from the first of these."""
    if mix is None:
        return None
    table = mix.table if mix.table.shape[0] == 1 else mix.table[heads]
    return Mix(table, pairs.of_heads(mix.row, heads))

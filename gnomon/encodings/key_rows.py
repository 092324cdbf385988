"""Keys that read a row of a table for each pair: all rows at once, or the one of the pair where queries are few."""

import torch
from torch import Tensor

from gnomon.content import Lookup, key_lookup, total
from gnomon.pairs import PairFunction, Values, dense, part
from gnomon.positions import Positions
from gnomon.rows import Rows
from gnomon.traced import traced

FEW, MANY = 16, 8
"""Up to so many queries, and from so many keys for each of them on, a row is chosen for each pair."""


def lookups(
    of_query: Lookup | None, k: Tensor, table: Tensor, row: Rows, q_pos: Positions, k_pos: Positions
) -> PairFunction:
    """`<k_j, table[h, row(i, j)]>`, and `of_query` besides: k `[b, g, j, d]`, table `[h, rows, d]`."""
    queries, keys = q_pos.length, k_pos.length
    if traced() or queries > FEW or queries * MANY > keys or not queries * k.shape[0]:
        return total(*() if of_query is None else (of_query,), key_lookup(k, table, row))
    value = _chosen(k, table, row, queries)
    if of_query is not None:
        value = value + dense(of_query, k.shape[0], table.shape[0], queries, keys, k.device)
    return Values(value)


def _chosen(k: Tensor, table: Tensor, row: Rows, queries: int) -> Tensor:
    """`<k_j, table[h, row(i, j)]>`, `[b, h, i, j]`."""
    keys, groups = k.shape[2], (k.shape[1], table.shape[0] // k.shape[1])
    table, begin, end = table.to(k.dtype), *row.near(queries, keys)
    sides = []
    for some, pair in ((slice(0, begin), (0, 0)), (slice(end, keys), (queries - 1, keys - 1))):
        one = row.one(table, *pair).unflatten(0, groups)
        sides.append(torch.einsum("bgjd,ghd->bghj", k[:, :, some], one).flatten(1, 2))
    numbers = dense(part(row, slice(0, queries), slice(begin, end)), k.shape[0], 1, queries, end - begin, k.device)
    numbers, of_rows = numbers.expand(k.shape[0], 1, queries, end - begin)[:, 0], []
    for near, of_row in zip(k[:, :, None, begin:end], numbers, strict=True):
        products = [(table.index_select(1, of_pair).unflatten(0, groups) * near).sum(-1) for of_pair in of_row]
        of_rows.append(torch.stack(products, dim=2).flatten(0, 1))
    first, last = (side[:, :, None].expand(-1, -1, queries, -1) for side in sides)
    return torch.cat([first, torch.stack(of_rows), last], dim=-1)

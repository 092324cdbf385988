"""Biases that depend on the difference of two positions alone: one table of them instead of a value for each pair.

Over evenly spaced positions that is the diagonal, so the mask goes into the table and the matrix is a strided view of
it; over whole numbers in any order the difference of a pair is the entry.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.backends.backend import nothing
from gnomon.encoding import Encoding, Property
from gnomon.masks import Mask
from gnomon.pairs import at, dense
from gnomon.per_head import Entry
from gnomon.positions import Positions

WORTH = 64
"""Pairs for each entry of a table, at least."""


@dataclass(frozen=True)
class Tabled:
    """Bias and mask of `queries` by `keys` pairs by diagonal.

    table: `[1, h, diagonals]`, that of pair (i, j) at `j - i + last`, where it is minus infinity if the pair is masked.
    last:  where the diagonal of the last query and the first key lies, plus the number of queries less one.
    """

    table: Tensor
    last: int
    queries: int
    keys: int

    def part(self, queries: slice, keys: slice) -> "Tabled":
        """That of some of the queries and keys."""
        last = self.last - queries.start + keys.start
        return Tabled(self.table, last, queries.stop - queries.start, keys.stop - keys.start)

    def of_heads(self, heads: slice) -> "Tabled":
        """That of some heads."""
        return replace(self, table=self.table[:, heads])

    def flipped(self) -> Tensor:
        """`[1, h, queries, keys]` with the queries counted from the last: entry (i', j) is that of i' + j, a view."""
        table = self.table[..., self.last - (self.queries - 1) :]
        return table.as_strided((1, table.shape[1], self.queries, self.keys), (0, table.stride(1), 1, 1))


def tabled(
    encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
) -> Tabled | None:
    """Bias and mask by diagonal; None unless that is known to be all that they depend on, without looking at data."""
    if Property.TRANSLATION_INVARIANT not in encoding.properties or not q_pos.length or not k_pos.length:
        return None
    ahead = q_pos.ahead_of(k_pos)
    in_order = all(pos.index is None and pos.segment is None and pos.placed is None for pos in (q_pos, k_pos))
    if ahead is None or not in_order:
        return None
    if dtype.itemsize <= 2 and q_pos is not k_pos:
        # Far from every key, penalties would merge in 16 bits: they are counted from the least of each query.
        return None
    n, device = q_pos.length, q_pos.coords.device
    # j - i of each diagonal, from the last query and the first key on.
    offset = torch.arange(1 - n, k_pos.length, device=device)
    bias = _of_differences(encoding, ahead - q_pos.step * offset.to(torch.float64), heads, dtype).to(dtype)
    later = offset + (k_pos.turn - q_pos.turn)
    if mask.causal:
        bias = bias.masked_fill(later > 0, -torch.inf)
    if mask.window is not None:
        bias = bias.masked_fill(later.abs() >= mask.window, -torch.inf)
    return Tabled(bias[None].contiguous(), n - 1, n, k_pos.length)


def by_difference(
    encoding: Encoding, q_pos: Positions, k_pos: Positions, heads: int, dtype: torch.dtype
) -> Entry | None:
    """The bias by the difference of whole positions; None where they are none, or lie too far apart to be worth it."""
    if (
        Property.TRANSLATION_INVARIANT not in encoding.properties
        or q_pos.axes != 1
        or q_pos.coords.device.type != "cpu"
    ):
        return None
    q_at, k_at = q_pos.coords[..., 0], k_pos.coords[..., 0]
    if not all((places == places.round()).all() for places in (q_at, k_at)):
        return None
    least, most = (q_at.min() - k_at.max()).item(), (q_at.max() - k_at.min()).item()
    if most - least >= q_pos.length * k_pos.length / WORTH:
        return None
    apart = torch.arange(int(most - least) + 1, dtype=torch.float64) + least
    table = _of_differences(encoding, apart, heads, dtype)
    return Entry(lambda b, h, i, j: (at(q_at, b, i) - at(k_at, b, j) - least).to(torch.int64), table.contiguous())


def _of_differences(encoding: Encoding, apart: Tensor, heads: int, dtype: torch.dtype) -> Tensor:
    """The bias of pairs by the difference of their positions, `[h, differences]`."""
    origin = Positions(torch.zeros(1, 1, 1, dtype=torch.float64, device=apart.device))
    line = Positions(apart[None, :, None])
    bias = dense(encoding.bias(*nothing(line, dtype), line, origin), 1, heads, line.length, 1, apart.device)
    return bias[0, :, :, 0].expand(heads, -1)

"""Biases that depend on the difference of two positions alone: one table of them instead of a value for each pair.

Over evenly spaced positions that is the diagonal, so the mask goes into the table and the matrix is a strided view of
it; over whole numbers in any order the difference of a pair is the entry.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.backends.backend import nothing
from gnomon.backends.fused import Received, fused, summed
from gnomon.backends.way import Seen, Way
from gnomon.encoding import Encoding, Property
from gnomon.pairs import at, dense
from gnomon.per_head import Entry
from gnomon.positions import Positions
from gnomon.room import Room
from gnomon.skew import of_diagonals
from gnomon.traced import differs

FLIPPED = 2**19
"""Numbers of queries that are turned round at once: 2 MB of float32."""
WORTH = 64
"""Pairs for each entry of a table, at least."""


@dataclass(frozen=True)
class Tabled(Way):
    """Bias and mask by diagonal.

    table: `[1, h, diagonals]`, that of pair (i, j) at `j - i + last`, where it is minus infinity if the pair is masked.
    """

    seen: Seen
    table: Tensor
    last: int

    @property
    def words(self) -> str:
        return "a view of one table, a number for each diagonal"

    def queries_at_once(self, rows: int, usual: int) -> int:
        # Nothing is made of it, and PyTorch's kernel takes larger blocks from 768 queries on.
        return 3 * usual

    def heads_at_once(self, rows: int, heads: int, width: int) -> int:
        return FLIPPED // max(1, rows * self.seen.queries * width)

    def part(self, queries: slice, keys: slice) -> "Tabled":
        return Tabled(self.seen.part(queries, keys), self.table, self.last - queries.start + keys.start)

    def of_heads(self, heads: slice) -> "Tabled":
        return replace(self, table=self.table[:, heads])

    def flipped(self) -> Tensor:
        """`[1, h, queries, keys]` with the queries counted from the last: entry (i', j) is that of i' + j, a view."""
        table = self.table[..., self.last - (self.seen.queries - 1) :]
        size = 1, table.shape[1], self.seen.queries, self.seen.keys
        return table.as_strided(size, (0, table.stride(1), 1, 1))

    def added(self, rows: int, room: Room | None = None) -> Tensor:
        return self.value(rows)

    def value(self, rows: int, room: Room | None = None) -> Tensor:
        first = self.last - (self.seen.queries - 1)
        return of_diagonals(self.table[..., first : self.last + self.seen.keys], self.seen.queries)

    def received(self, q: Tensor, k: Tensor, v: Tensor, scale: float, room: Room) -> Received:
        out, weight = summed(q.flip(2), k, v, self.flipped(), scale)
        return out.flip(2), weight.flip(2)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        return fused(q.flip(2), k, v, scale, dropout, self.flipped()).flip(2)


def tabled(encoding: Encoding, seen: Seen, heads: int, dtype: torch.dtype) -> Tabled | None:
    """Bias and mask by diagonal; None unless that is known to be all that they depend on, without looking at data."""
    q_pos, k_pos, mask = seen.q_pos, seen.k_pos, seen.mask
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
    return Tabled(seen, bias[None].contiguous(), n - 1)


def by_difference(
    encoding: Encoding, q_pos: Positions, k_pos: Positions, heads: int, dtype: torch.dtype
) -> Entry | None:
    """The bias by the difference of whole positions; None where they are none, or lie too far apart to be worth it."""
    if (
        Property.TRANSLATION_INVARIANT not in encoding.properties
        or q_pos.axes != 1
        or q_pos.coords.device.type != "cpu"
        or differs(q_pos.coords, k_pos.coords)
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

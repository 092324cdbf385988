"""PyTorch's scaled_dot_product_attention: the lowered queries and keys, and the bias as its attention mask."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.backends import trained
from gnomon.backends.backend import Backend, Raw, nothing
from gnomon.backends.pairwise import Pairwise, Reading
from gnomon.backends.parts import chunks, of_heads
from gnomon.backends.plain import Plain
from gnomon.backends.tabled import by_difference, tabled
from gnomon.backends.way import Planned, Seen, Way
from gnomon.content import placed
from gnomon.encoding import Encoding, Property
from gnomon.masks import Mask
from gnomon.positions import Positions
from gnomon.room import Room
from gnomon.traced import traced

CHUNK = 256
"""Queries that share one matrix of biases."""
SHARED = 2**22
"""Biases that are kept for all layers rather than made anew in each: 16 MB of float32."""
TRAINED = 2**22
"""Logits from which on a gradient is found part by part: as fast or faster then, and in less memory.

Two rows of 512 tokens under 8 heads. Below, all at once fit a cache, and parts took up to 1.4 times as long.
"""


class Sdpa(Backend):
    """Over evenly spaced positions a content-free bias, and the mask with it, is a strided view of one table.

    Everything else of size n^2 is made for some queries at a time, and for the keys that these may see: O(n) memory,
    with a gradient and without. Where a graph is compiled, all is made at once: a graph of parts would serve one
    length. Whether there is a gradient is asked of the tensors, not of the mode.
    """

    lowers = True

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> Planned:
        seen = Seen(q_pos, k_pos, mask)
        if Property.CONTENT_FREE not in encoding.properties or encoding.mix(q_pos, k_pos) is not None:
            return Reading(seen, heads, dtype, encoding)
        bias = encoding.bias(*nothing(q_pos, dtype), q_pos, k_pos)
        if bias is None:
            square = mask.square(q_pos, k_pos)
            if square or mask.pair(q_pos, k_pos) is None:
                return Plain(seen, heads, dtype, square)
        else:
            table = tabled(encoding, seen, heads, dtype)
            if table is not None:
                return table
        way = Pairwise(seen, heads, dtype, placed(bias, q_pos, k_pos))
        if traced() or (torch.is_grad_enabled() and seen.device.type != "cpu"):
            return way.kept()
        learned = trained.learned(way)
        with torch.set_grad_enabled(learned):
            if seen.queries <= CHUNK or seen.rows * heads * seen.queries * seen.keys <= SHARED:
                return way.kept()
            if bias is None or (not learned and _mostly_far(way)):
                return way
            entries = by_difference(encoding, q_pos, k_pos, heads, dtype)
            return way if entries is None else replace(way, bias=placed(entries, q_pos, k_pos), looked_up=True)

    def attend(
        self, plan: Planned, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        way = plan.of_layer(raw)
        if traced() or not q.shape[2] or not k.shape[2]:
            return way.attend(q, k, v, scale, dropout)
        learned = trained.learned(way)
        # What is dropped must be the same where a forward pass is made again, with a gradient: reentrant checkpoints.
        if not (dropout or learned or (torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v)))):
            with torch.no_grad():
                return _attend(way, q, k, v, scale, dropout)
        # Others have a gradient from the kernel itself, of O(n) memory.
        parts = learned or dropout or way.mix is not None or isinstance(way, Pairwise)
        large = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] >= TRAINED
        if parts and large and trained.can(q) and not (learned and trained.hides(way)):
            return trained.attend(way, q, k, v, scale, dropout, CHUNK)
        return way.attend(q, k, v, scale, dropout)

    def way(self, plan: Planned) -> str:
        parts = isinstance(plan, Pairwise | Reading)
        return f"{CHUNK} queries at a time: {plan.words}" if parts else plan.words


def _attend(way: Way, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float) -> Tensor:
    """Attention without a gradient."""
    rows, heads = q.shape[:2]
    if isinstance(way, Plain) or q.shape[2] <= CHUNK:
        return way.split(q, k, v, dropout).attend(q, k, v, scale, dropout)
    out, shared, own = v.new_empty(*q.shape[:3], v.shape[3]), Room(), Room()
    for queries, keys in chunks(way, way.queries_at_once(rows, CHUNK)):
        some = way.part(queries, keys).split(q, k, v, dropout).made(rows, shared.again())
        for mine, of_key in of_heads(some.heads_at_once(rows, heads, q.shape[3]), q, k):
            here = q[:, mine, queries], k[:, of_key, keys], v[:, of_key, keys]
            out[:, mine, queries] = some.of_heads(mine).attend(*here, scale, dropout, own.again())
    return out


def _mostly_far(way: Pairwise) -> bool:
    """Whether some queries in the middle have most keys that they see so far off."""
    parts = list(chunks(way, way.queries_at_once(way.seen.rows, CHUNK)))
    queries, keys = parts[len(parts) // 2]
    far = sum(some.stop - some.start for some, _ in way.part(queries, keys).sides())
    return far > (keys.stop - keys.start) / 2

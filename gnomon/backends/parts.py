"""The parts that attention is computed by: some queries with the keys that they may see, and some heads of these."""

from collections.abc import Iterator

from torch import Tensor

from gnomon.backends.way import Way


def chunks(way: Way, size: int) -> Iterator[tuple[slice, slice]]:
    """`size` queries at a time, and the keys that they may see; the last first, which may see most of them."""
    for stop in range(way.seen.queries, 0, -size):
        queries = slice(max(0, stop - size), stop)
        yield queries, way.seen.span(queries)


def of_heads(size: int, q: Tensor, k: Tensor) -> Iterator[tuple[slice, slice]]:
    """`size` heads at a time, at least one, and the heads of keys that they read."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    # Whole groups, or such a part of one that all parts are alike.
    size = size // group * group if size >= group else max(n for n in range(1, max(1, size) + 1) if group % n == 0)
    for start in range(0, heads, size):
        stop = min(start + size, heads)
        yield slice(start, stop), slice(start // group, (stop - 1) // group + 1)

"""Ways of attention beside the plain one: other orders, masks, rows, widths, precisions, caches; each with a bound."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, ClassVar

import torch
import tyro
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from benchmarks.decode import TOGETHER, Decoding, Plain, together
from benchmarks.measure import Call, interleaved
from benchmarks.rows import Row, timed
from benchmarks.script import Script, main
from benchmarks.subjects import HEAD_DIM, HEADS, SUBJECTS, WIDTH, Subject, chosen, scattered
from gnomon import positions
from gnomon.attention import attend
from gnomon.commands.output import Names
from gnomon.encoding import Encoding
from gnomon.errors import UserError, unknown
from gnomon.kv_cache import SinkCache, WindowCache
from gnomon.masks import Mask
from gnomon.past import Past
from gnomon.positions import Positions

Lay = Callable[[Encoding, int], Positions]
"""Where so many tokens lie."""
ROWS, DOCUMENTS, WINDOW, CHUNK, SINKS = 8, 16, 256, 256, 4


@dataclass(frozen=True)
class Way(ABC):
    """A way of attention, and what it may cost over SDPA without positions."""

    name: str
    labels: Sequence[str]
    """The encodings that are measured where none are named: one for each way to compute."""
    bound: float | None
    """None: that which was set for arbitrary positions, or for evenly spaced ones where they are such."""
    why: str
    _: KW_ONLY
    causal: bool = True
    even: bool = True
    others: bool = True
    """Whether it can be asked of other encodings."""
    limit: ClassVar[str]
    """Over what the ratio is taken."""

    def most(self, subject: Subject) -> float | None:
        """The bound of an encoding."""
        bounds = subject.even if self.even else subject.sorted
        return self.bound if self.bound is not None or bounds is None else bounds.time(self.causal)

    @abstractmethod
    def calls(self, subject: Subject, n: int, repeats: int) -> tuple[Call, Call]:
        """SDPA and attention, among `n` tokens or over as many keys."""


@dataclass(frozen=True)
class Whole(Way):
    """Attention by one call, with all work on positions."""

    limit = "SDPA given the same mask"
    _: KW_ONLY
    lay: Lay = lambda encoding, n: positions.sequence(n)
    part: int = 1
    """Of `n` tokens one in so many, where there are as many rows."""
    batch: int = 1
    queries: int | None = None
    """The last tokens, which alone ask; None: all do."""
    window: int | None = None
    axes: int = 1
    kv_heads: int = HEADS
    values: int = HEAD_DIM
    """Width of the values."""
    dtype: torch.dtype = torch.float32
    grad: bool = False
    """Whether gradients are not turned off, though nothing asks for one."""

    def calls(self, subject: Subject, n: int, repeats: int) -> tuple[Call, Call]:
        n = n // self.part
        subject = subject if self.axes == 1 else replace(subject, options={**subject.options, "axes": self.axes})
        encoding = subject.build(n, self.causal).to(self.dtype).requires_grad_(False)
        asking = min(self.queries or n, n)
        sizes = (HEADS, asking, HEAD_DIM), (self.kv_heads, n, HEAD_DIM), (self.kv_heads, n, self.values)
        q, k, v = (torch.randn(self.batch, *size, dtype=self.dtype) for size in sizes)
        x, mask = torch.randn(self.batch, n, WIDTH, dtype=self.dtype), Mask(self.causal, self.window)

        def placed() -> tuple[Positions, Positions]:
            keys = self.lay(encoding, n)
            return (keys if asking == n else keys.tokens(n - asking, n)), keys

        def ours() -> Tensor:
            queries, keys = placed()
            encoding.embed(x, keys)
            return attend(q, k, v, encoding, queries, keys, mask=mask)

        wide = [pad(t, (0, self.values - HEAD_DIM)) for t in (q, k)]
        options = dict(scale=HEAD_DIM**-0.5, enable_gqa=self.kv_heads != HEADS, **masking(*placed(), mask))
        return self._call(lambda: scaled_dot_product_attention(*wide, v, **options)), self._call(ours)

    def _call(self, forward: Callable[[], Tensor]) -> Callable[[], Tensor]:
        def call() -> Tensor:
            with torch.set_grad_enabled(self.grad):
                return forward()

        return call


@dataclass(frozen=True)
class Step(Way):
    """One token over the keys of a cache that forgets."""

    limit = "SDPA over the same keys"
    _: KW_ONLY
    cache: Callable[[int], Past]
    """One that holds so many tokens."""
    window: bool = False
    """Whether the mask hides what the cache has forgotten."""

    def calls(self, subject: Subject, n: int, repeats: int) -> tuple[Call, Call]:
        room, mask = TOGETHER * (repeats + 3), Mask(window=n if self.window else None)
        step = Decoding(subject, n, room, cache=self.cache(n), mask=mask).step
        return together(Plain(n, room).step), together(step)


def _sinks(n: int) -> SinkCache:
    return SinkCache(SINKS, n - SINKS)


def masking(q_pos: Positions, k_pos: Positions, mask: Mask) -> dict[str, bool | Tensor]:
    """What SDPA is given: that it is causal, or which keys each query sees; nothing where it sees all."""
    later = q_pos.turns()[:, :, None] - k_pos.turns()[:, None]
    seen = later >= 0 if mask.causal else torch.ones_like(later, dtype=torch.bool)
    if mask.window is not None:
        seen = seen & (later.abs() < mask.window)
    if k_pos.segment is not None:
        seen = seen & (q_pos.segments()[:, :, None] == k_pos.segments()[:, None]) & (k_pos.segments() >= 0)[:, None]
    if seen.all():
        return {}
    if seen.shape[1] == seen.shape[2] and torch.equal(seen[0], torch.ones_like(seen[0]).tril()) and len(seen) == 1:
        return dict(is_causal=True)
    return dict(attn_mask=seen[:, None])


def _shuffled(encoding: Encoding, n: int) -> Positions:
    return positions.timed(scattered(encoding, n))


def _sorted(encoding: Encoding, n: int) -> Positions:
    return positions.timed(scattered(encoding, n).sort().values)


def _each_its_own(encoding: Encoding, n: int) -> Positions:
    return positions.timed(torch.stack([scattered(encoding, n, seed).sort().values for seed in range(ROWS)]))


def _documents(encoding: Encoding, n: int) -> Positions:
    return positions.packed([n // DOCUMENTS] * DOCUMENTS)


def _ragged(rows: int, left: bool) -> Lay:
    """Rows of all lengths from half the tokens to all of them, padded on one side."""

    def lay(encoding: Encoding, n: int) -> Positions:
        real = torch.arange(n) < torch.linspace(n / 2, n, rows).round()[:, None]
        return positions.padded(real.flip(1) if left else real)

    return lay


def _square(encoding: Encoding, n: int) -> Positions:
    return positions.grid(int(n**0.5), int(n**0.5))


ARBITRARY, ONE = "the bound of arbitrary positions", "the bound of one token"
SCATTERED = dict(causal=False, even=False)
WAYS: tuple[Way, ...] = (
    Whole(
        "shuffled", ("rope", "alibi", "t5", "shaw keys"), None,
        f"{ARBITRARY}: that they are in order is none of its conditions", lay=_shuffled, **SCATTERED,
    ),
    Whole(
        "rows that differ", ("alibi", "t5", "shaw keys"), None,
        f"{ARBITRARY}, which are others in each of {ROWS} rows", lay=_each_its_own, batch=ROWS, part=ROWS, **SCATTERED,
    ),
    Whole(
        "padded rows", ("none", "alibi", "deberta"), None,
        f"{ARBITRARY}; SDPA has the padding in its mask", lay=_ragged(ROWS, left=False), batch=ROWS, part=ROWS,
        **SCATTERED,
    ),
    Whole(
        "packed documents", ("none", "alibi", "shaw keys"), 0.25,
        f"of {DOCUMENTS} documents the pairs inside one are a {DOCUMENTS}th, and SDPA looks at all: four times that",
        lay=_documents,
    ),
    Whole(
        "window", ("none", "alibi", "shaw keys"), 0.25,
        f"{WINDOW} queries meet {2 * WINDOW - 1} keys, an eighth of 4096, and SDPA looks at all: twice that",
        window=WINDOW,
    ),
    Whole("grid", ("rope", "relative_bias"), None, f"{ARBITRARY}, on two axes", lay=_square, axes=2, **SCATTERED),
    Whole(
        "grouped keys", ("none", "alibi", "shaw keys"), None,
        "the bound of as many keys as queries: SDPA has fewer too", kv_heads=2,
    ),
    Whole(
        "wide values", ("none", "alibi"), None,
        "the bound of equal widths: SDPA has queries and keys filled up to the width of values", values=2 * HEAD_DIM,
    ),
    Whole(
        "bfloat16", ("rope", "alibi", "shaw keys"), None,
        "the bound of float32: SDPA is in bfloat16 too", dtype=torch.bfloat16,
    ),
    Whole(
        "bfloat16, sorted", ("alibi", "t5"), None,
        f"{ARBITRARY} in float32: SDPA is in bfloat16 too", lay=_sorted, even=False, dtype=torch.bfloat16,
    ),
    Whole(
        "gradients not turned off", ("alibi", "t5"), None,
        f"{ARBITRARY}: nothing here has a gradient to ask for", lay=_shuffled, grad=True, **SCATTERED,
    ),
    Whole(
        f"the last {CHUNK} queries", ("none", "alibi", "t5"), None,
        "the bound of all queries: SDPA is given their mask", queries=CHUNK,
    ),
    Whole(
        "a token of padded rows", ("none", "alibi", "deberta"), 1.2,
        f"{ONE}: SDPA has the padding in its mask", lay=_ragged(2, left=True), batch=2, queries=1,
    ),
    Step(
        "a token, WindowCache", ("none", "rope", "alibi", "shaw keys"), 1.2,
        f"{ONE}: a window moves on without a copy of what it holds", cache=WindowCache, window=True,
    ),
    Step(
        "a token, SinkCache", ("none", "alibi", "shaw keys"), 1.2,
        f"{ONE}: keys that no position changes are read as they lie", cache=_sinks,
    ),
    Step(
        "a token, SinkCache, keys turned", ("rope",), 3.0,
        "keys move with every token, and all are turned: read, written, and read again for keys and values read once",
        cache=_sinks, others=False,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Ways(Script):
    """Ways of attention that the forward table does not have, each over SDPA that is given the same mask.

    4096 tokens in one row, or as many in eight, h=8, d=64, float32, no gradient, causal and evenly spaced where a
    way is not about that. The mask is made before: documents, padding, a window. Each way has a bound of its own and
    the reason for it, so that no encoding runs a slow path in silence.
    """

    encodings: Names = ()
    only: Annotated[
        tuple[str, ...], tyro.conf.arg(help="Ways, by name.", metavar="WAY ...", help_behavior_hint="")
    ] = ()

    def rows(self) -> Iterator[Row]:
        names = [way.name for way in WAYS]
        for name in self.only:
            if name not in names:
                raise unknown("way", name, names)
        asked = chosen(self.encodings) if self.encodings else {}
        for way in WAYS:
            if self.only and way.name not in self.only:
                continue
            for label in asked or way.labels:
                if label not in way.labels and not way.others:
                    continue
                yield self._row(way, label, SUBJECTS[label])

    def _row(self, way: Way, label: str, subject: Subject) -> Row:
        n = subject.sized(256 if self.quick else 4096)
        try:
            limit, ours = way.calls(subject, n, self.repeats)
            found = interleaved({way.limit: limit, label: ours}, self.repeats)
        except UserError as error:
            return Row(way.name, label, note=f"refused: {error.asked}")
        return timed(way.name, label, way.limit, found[label], found[way.limit], bound=way.most(subject), note=way.why)


if __name__ == "__main__":
    sys.exit(main(Ways))

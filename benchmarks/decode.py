"""Decoding: one token over cached keys near the cost of SDPA over the same keys, and no slower as it goes on."""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.measure import ChildFailed, Timing, fresh, grown, interleaved
from benchmarks.rows import Row, timed
from benchmarks.script import Script, main
from benchmarks.subjects import HEAD_DIM, HEADS, SUBJECTS, Floor, Subject, cacheable, chosen
from gnomon.attention import attend_by, plan
from gnomon.commands.output import Names
from gnomon.kv_cache import Cache
from gnomon.masks import CAUSAL, Mask
from gnomon.once import one_pass
from gnomon.past import Past

BOUND, STEADY, WHOLE = 1.2, 1.1, 1.1
"""One token over SDPA; late steps over those of a cache filled at once; growth over the size of the cache."""
TOGETHER = 10
"""Tokens that are timed as one."""
LAYERS = 12
HUNDRED = 100
LONG = ("rope", "alibi", "t5", "shaw")


class Decoding:
    """Layers that decode token by token after `held` cached ones, as a model's do: positions, plans, attention.

    Layers have the encodings that a model gives them; those that share one share a plan.
    """

    def __init__(
        self, subject: Subject, held: int, room: int, layers: int = 1, cache: Past | None = None, mask: Mask = CAUSAL
    ):
        self.encodings = subject.build(held + room, causal=True).layers(layers)
        self.cache, self.mask = Cache(held + room) if cache is None else cache, mask
        self.token = [torch.randn(1, HEADS, 1, HEAD_DIM) for _ in range(3)]
        self.x = torch.randn(1, 1, HEADS * HEAD_DIM)
        if held:
            # Of the tokens that came before, the last one is a query: attention among all of them is not needed.
            k, v = (torch.randn(1, HEADS, held, HEAD_DIM) for _ in range(2))
            self._attend(self.token[0], k, v, held)

    def step(self) -> None:
        """One more token."""
        self._attend(*self.token, 1)

    @torch.no_grad()
    def _attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, n: int) -> None:
        extent, shared = self.cache.extend(self.cache.next(n, q.device)), []
        last = extent.queries if n == 1 else extent.queries.tokens(n - 1, n)
        for owner in dict.fromkeys(encoding.owner for encoding in self.encodings):
            owner.embed(self.x, last)
        options = dict(q_pos=last, heads=HEADS, dtype=q.dtype, mask=self.mask, renumbered=extent.renumbered)
        plans = {
            encoding: plan(encoding, extent.computed, extent.keys, shared=shared, **options)
            for encoding in dict.fromkeys(self.encodings)
        }
        with one_pass():
            for layer, encoding in enumerate(self.encodings):
                attend_by(plans[encoding], q, k, v, cache=self.cache, layer=layer)


class Plain:
    """SDPA of one query over as many keys, which lie in place; every call sees one more, which it does not write."""

    def __init__(self, held: int, room: int, layers: int = 1):
        self.q = torch.randn(1, HEADS, 1, HEAD_DIM)
        self.layers = [[torch.randn(1, HEADS, held + room, HEAD_DIM) for _ in range(2)] for _ in range(layers)]
        self.length = held

    @torch.no_grad()
    def step(self) -> None:
        self.length += 1
        for k, v in self.layers:
            scaled_dot_product_attention(self.q, k[:, :, : self.length], v[:, :, : self.length])


def together(step: Callable[[], None]) -> Callable[[], float]:
    """Seconds of a step, the mean of TOGETHER."""

    def call() -> float:
        begun = time.perf_counter()
        for _ in range(TOGETHER):
            step()
        return (time.perf_counter() - begun) / TOGETHER

    return call


@dataclass(frozen=True)
class Decode(Script):
    """One token over 4096 cached keys, over SDPA on the same keys, for every encoding whose keys stay right.

    In one layer with all that a model does once for a token (positions, masks, tables), and in twelve as a model
    has them: layers of one encoding share it, those with parameters of their own do it each.
    Then steps after ten thousand in a fresh process, over steps after as many keys that were cached at once, and
    the growth of memory over the size of the cache. b=1, h=8, d=64, float32.
    """

    encodings: Names = ()

    def rows(self) -> Iterator[Row]:
        held, steps = (256, 4 * HUNDRED) if self.quick else (4096, 10_000)
        limit = f"SDPA over {held} keys"
        subjects = chosen(self.encodings, cacheable())
        # Many short rounds: a step takes a millisecond.
        repeats = self.repeats if self.quick else 5 * self.repeats
        room = TOGETHER * (repeats + 3)
        for layers in (1, 2 if self.quick else LAYERS):
            section, least = f"one token, {layers} layer{'s' * (layers > 1)}", ""
            for label, subject in subjects.items():
                sizes = held, room, layers
                calls = {limit: together(Plain(*sizes).step), label: together(Decoding(subject, *sizes).step)}
                found = interleaved(calls, repeats if layers == 1 else self.repeats)
                row = timed(section, label, limit, found[label], found[limit], bound=BOUND)
                yield replace(row, note=least) if row.verdict.startswith("missed") else row
                if label == "none":
                    least = Floor(row.ratio, "none, the same without positions", "reference").note()
        for label in subjects if self.encodings else LONG:
            yield from _long(label, steps, repeats)


def _long(label: str, steps: int, repeats: int) -> Iterator[Row]:
    section, limit = f"{steps} steps", "as many keys cached at once"
    try:
        first, late, at_once, bytes = fresh(decoded, label=label, steps=steps, repeats=repeats)
    except ChildFailed as error:
        yield Row(section, label, note=str(error))
        return
    yield Row(section, f"{label}, the first {HUNDRED}", value=first)
    yield timed(section, f"{label}, after {steps}", limit, late, at_once, bound=STEADY)
    # Keys and values, and a coordinate for each token.
    size = steps * (2 * HEADS * HEAD_DIM * 4 + 8)
    yield Row(f"{section}, memory", label, "the size of the cache", bytes, "B", size, bytes / size, WHOLE)


def decoded(label: str, steps: int, repeats: int) -> tuple[float, Timing, Timing, int]:
    """For a fresh process: seconds of the first steps; of those after `steps`, and after as many keys that were cached
    at once, in turns; and the bytes that `steps` of them have taken."""
    torch.manual_seed(0)
    subject, took, room = SUBJECTS[label], [], TOGETHER * (repeats + 3)
    _seconds(Decoding(subject, HUNDRED, HUNDRED), HUNDRED)
    decoding = Decoding(subject, 0, steps + room)
    bytes = grown(lambda: took.extend(_seconds(decoding, steps)))
    calls = {"at once": together(Decoding(subject, steps, room).step), "late": together(decoding.step)}
    found = interleaved(calls, repeats)
    return statistics.median(took[:HUNDRED]), found["late"], found["at once"], bytes


def _seconds(decoding: Decoding, steps: int) -> list[float]:
    took = []
    for _ in range(steps):
        begun = time.perf_counter()
        decoding.step()
        took.append(time.perf_counter() - begun)
    return took


if __name__ == "__main__":
    sys.exit(main(Decode))

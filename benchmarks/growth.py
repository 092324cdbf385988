"""Growth with length, 512 to 16384 tokens: time no faster than its square, memory no faster than the length."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.measure import ChildFailed, fresh, interleaved
from benchmarks.memory import growth
from benchmarks.rows import Row, quartiles
from benchmarks.script import Script, main
from benchmarks.subjects import KINDS, Setting, chosen, plain
from gnomon.commands.output import Names

LENGTHS, FEW = (512, 2048, 8192, 16384), (128, 256, 512)
PLAIN, SQUARED, LONGER = "SDPA", "the shorter times the square", "the shorter times the length"
KINDS_OF_WORK = ("rope", "alibi", "t5", "shaw keys", "shaw", "deberta", "seqpe", "transformer_xl")
"""One for each way to compute; others are measured when they are named."""
SLACK = 1.25
"""Above the power of the length: what caches of the machine that are outgrown may cost; another power would be 32x."""


@dataclass(frozen=True)
class Growth(Script):
    """From one length to the next: time over the square of the length, and memory over the length; causal.

    Plain SDPA stands beside them. b=1, h=8, d=64, float32, no gradient, evenly spaced positions.
    """

    encodings: Names = ()

    def rows(self) -> Iterator[Row]:
        lengths = FEW if self.quick else LENGTHS
        subjects = chosen(self.encodings, () if self.encodings else KINDS_OF_WORK)
        yield from self._times(PLAIN, {n: plain(Setting(n, True)) for n in lengths}, None)
        for label, subject in subjects.items():
            yield from self._times(label, {n: KINDS["kernel"](subject, Setting(n, True)) for n in lengths}, SLACK)
        for label in ("", *subjects):
            # Of the shortest, what is left over from before is a large part.
            yield from self._memory(label, lengths[1:])

    def _times(self, label: str, calls: dict, bound: float | None) -> Iterator[Row]:
        found = interleaved({str(n): call for n, call in calls.items()}, self.repeats)
        for shorter, n in pairwise(calls):
            timing, other = found[str(n)], found[str(shorter)]
            limit, per = other.seconds * (n / shorter) ** 2, (shorter / n) ** 2 / other.ratio
            yield Row(
                "time", f"{label}, {shorter} to {n}", SQUARED, timing.seconds, "s", limit, per * timing.ratio, bound,
                **quartiles(timing, per),
            )  # fmt: skip

    def _memory(self, label: str, lengths: tuple[int, ...]) -> Iterator[Row]:
        grown: dict[int, int] = {}
        for n in lengths:
            try:
                grown[n] = fresh(growth, label=label, setting=Setting(n, True), kind="kernel")
            except ChildFailed as error:
                yield Row("memory", f"{label}, {n}", note=str(error))
        for shorter, n in pairwise(grown):
            limit, bound = max(grown[shorter], 1) * n / shorter, SLACK if label else None
            what = f"{label or PLAIN}, {shorter} to {n}"
            yield Row("memory", what, LONGER, grown[n], "B", limit, grown[n] / limit, bound)


if __name__ == "__main__":
    sys.exit(main(Growth))

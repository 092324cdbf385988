"""Growth with length: time no faster than the square, memory no faster than the length, up to 16384 tokens."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.measure import ChildFailed, fresh, interleaved
from benchmarks.memory import growth
from benchmarks.rows import Row, timed
from benchmarks.script import Script, main
from benchmarks.subjects import KINDS, Setting, chosen, plain
from gnomon.commands.output import Names

LENGTHS, FEW = (512, 2048, 8192, 16384), (128, 256, 512)
KINDS_OF_WORK = ("rope", "alibi", "t5", "shaw keys", "shaw", "deberta", "seqpe", "transformer_xl")
"""One for each way to compute; others are measured when they are named."""
SLACK = 1.25
"""Above the power of the length: what caches of the machine that are outgrown may cost; another power would be 32x."""


@dataclass(frozen=True)
class Growth(Script):
    """Time over the square of the length, and memory over the length, each from the shortest on; causal.

    Plain SDPA stands beside them. b=1, h=8, d=64, float32, no gradient, evenly spaced positions.
    """

    encodings: Names = ()

    def rows(self) -> Iterator[Row]:
        lengths = FEW if self.quick else LENGTHS
        subjects = chosen(self.encodings, () if self.encodings else KINDS_OF_WORK)
        yield from self._times("SDPA", {n: plain(Setting(n, True)) for n in lengths}, None)
        for label, subject in subjects.items():
            yield from self._times(label, {n: KINDS["kernel"](subject, Setting(n, True)) for n in lengths}, SLACK)
        for label in ("", *subjects):
            # Of the shortest, what is left over from before is a large part.
            yield from self._memory(label, lengths[1:])

    def _times(self, label: str, calls: dict, bound: float | None) -> Iterator[Row]:
        first = min(calls)
        found = interleaved({str(n): call for n, call in calls.items()}, self.repeats)
        for n in list(calls)[1:]:
            power = (n / first) ** 2
            row = timed("time", f"{label} {n}", f"{first} tokens times the square", found[str(n)], found[str(first)])
            yield row.scaled(power, bound)

    def _memory(self, label: str, lengths: tuple[int, ...]) -> Iterator[Row]:
        first, grown = lengths[0], {}
        for n in lengths:
            row = dict(section="memory", what=f"{label or 'SDPA'} {n}", limit=f"{first} tokens times the length")
            row |= dict(unit="B", bound=SLACK if label else None)
            try:
                grown[n] = fresh(growth, label=label, setting=Setting(n, True), kind="kernel")
            except ChildFailed as error:
                yield Row(**row, note=str(error))
                continue
            if n > first in grown:
                limit = max(grown[first], 1) * n / first
                yield Row(**row, value=grown[n], of_limit=limit, ratio=grown[n] / limit)


if __name__ == "__main__":
    sys.exit(main(Growth))

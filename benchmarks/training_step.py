"""The lab's training step: near a bare loop over the same model, no slower than x-transformers at the same shape."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import steps
from benchmarks.measure import interleaved
from benchmarks.rows import Row, peer, timed
from benchmarks.script import Script, main

BARE, NO_SLOWER = 1.1, 1.0


@dataclass(frozen=True)
class TrainingStep(Script):
    """A step of the lab over that of a bare loop over the same model, and over x-transformers' model in such a loop.

    The model and batches of `gnomon compare quick`: w=64, 2 layers, 4 heads, 16 x 128 bytes.
    """

    def rows(self) -> Iterator[Row]:
        for name in ("none", "rope", "alibi"):
            asked = steps.experiment(name, 3 if self.quick else 10, self.quick)
            other = peer("x-transformers")
            for limit, call, bound in (
                ("a bare loop", steps.bare(asked), BARE),
                (other, steps.of_x_transformers(asked), NO_SLOWER),
            ):
                found = interleaved({limit: call, name: steps.of_the_lab(asked)}, self.repeats)
                what = f"{name}, over {limit}"
                yield timed("a training step of the lab", what, limit, found[name], found[limit], bound=bound)


if __name__ == "__main__":
    sys.exit(main(TrainingStep))

"""Training: forward and backward over plain SDPA, memory over the square, and what reading positions costs."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import steps
from benchmarks.measure import ChildFailed, fresh, interleaved
from benchmarks.memory import growth
from benchmarks.rows import Row, timed
from benchmarks.script import Script, main
from benchmarks.subjects import KINDS, Setting, chosen, plain
from gnomon.commands.output import Names

BOUNDS = {"t5": 2.0, "alibi": 1.5, "rope": 1.2, "shaw keys": 2.5, "shaw": 3.5, "deberta": 5.0}
SQUARE = 1.25
"""Memory of twice the length over four times that of the length: at most the square."""
LIMIT = "F.scaled_dot_product_attention"


@dataclass(frozen=True)
class Trained(Script):
    """Forward and backward of every encoding over plain SDPA, n=512, b=4, h=8, d=64, float32.

    Then memory of twice the length, and the share that chain and seqpe have in the lab's training step.
    """

    encodings: Names = ()

    def rows(self) -> Iterator[Row]:
        n, batch = (128, 2) if self.quick else (512, 4)
        subjects = chosen(self.encodings)
        for label, subject in subjects.items():
            for causal in subject.masks():
                setting = Setting(n, causal, batch=batch, grad=True)
                calls = {LIMIT: plain(setting), label: KINDS["kernel"](subject, setting)}
                found = interleaved(calls, self.repeats)
                section = f"forward and backward, {'causal' if causal else 'bidirectional'}"
                yield timed(section, label, LIMIT, found[label], found[LIMIT], bound=BOUNDS.get(label))
        for label in subjects:
            yield self._memory(label, Setting(n, True, batch=batch, grad=True))
        for label, subject in subjects.items():
            if subject.reads:
                yield self._share(label)

    def _memory(self, label: str, setting: Setting) -> Row:
        twice = setting.sized(2 * setting.n)
        row = dict(section="memory of training, causal", what=f"{label} {twice.n}", unit="B", bound=SQUARE)
        row |= dict(limit=f"four times that of {setting.n} tokens")
        try:
            small, large = (fresh(growth, label=label, setting=spot, kind="kernel") for spot in (setting, twice))
        except ChildFailed as error:
            return Row(**row, note=str(error))
        return Row(**row, value=large, of_limit=4 * small, ratio=large / max(4 * small, 1))

    def _share(self, label: str) -> Row:
        count = 3 if self.quick else 8
        calls = {name: steps.of_the_lab(steps.experiment(name, count, self.quick)) for name in ("none", label)}
        timing = interleaved(calls, self.repeats)[label]
        share = 1 - 1 / timing.ratio
        return Row("share of the lab's training step", label, "", share, "share", runs=timing.runs)


if __name__ == "__main__":
    sys.exit(main(Trained))

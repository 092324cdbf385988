"""Two workers of one thread: nearly twice the runs an hour of one."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import steps
from benchmarks.measure import interleaved
from benchmarks.rows import Row, quartiles
from benchmarks.script import Script, main
from gnomon.lab import engine
from gnomon.lab.experiment import Measure, Text
from gnomon.lab.machine import cores

RUNS, BOUND, ROUNDS = 2, 1.8, 3


@dataclass(frozen=True)
class Workers(Script):
    """Runs an hour of the lab with two workers of one thread each, over those with one; at most three rounds.

    Each run is a process that starts, trains the model of `gnomon compare quick` and measures it.
    """

    def rows(self) -> Iterator[Row]:
        row = dict(section="workers", what="two workers", limit="one worker", unit="per hour", bound=BOUND)
        if cores() < 2:
            yield Row(**row, at_least=True, note="this machine has one core")
            return
        with tempfile.TemporaryDirectory() as folder, _one_thread_each():
            calls = {f"{count}": _Sweeps(Path(folder), count, self.quick) for count in (1, 2)}
            found = interleaved(calls, min(self.repeats, ROUNDS), patience=float("inf"))
        one, two = (RUNS * 3600 / found[count].seconds for count in "12")
        ends = quartiles(found["2"], inverse=True)
        yield Row(**row, value=two, of_limit=one, ratio=1 / found["2"].ratio, at_least=True, **ends)


class _Sweeps:
    """Each call makes RUNS runs that were not made before."""

    def __init__(self, folder: Path, workers: int, quick: bool):
        self.folder, self.workers, self.quick, self.calls = folder, workers, quick, 0
        self.text = folder / "text.txt"
        self.text.write_bytes(steps.text(200_000))

    def __call__(self) -> None:
        self.calls += 1
        asked = steps.experiment("rope", 2 if self.quick else 100, self.quick)
        measure = Measure(lengths=(asked.training.length,), bytes=4096, pairs=8, targets=4)
        asked = replace(asked, task=Text(str(self.text)), measure=measure)
        runs = [replace(asked, seed=RUNS * self.calls + i) for i in range(RUNS)]
        records = engine.run(runs, self.folder / f"runs{self.workers}", self.workers, command="", cpu=True)
        assert all(record["status"] == "finished" and record["environment"]["threads"] == 1 for record in records)


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        os.environ.pop("OMP_NUM_THREADS") if before is None else os.environ.update(OMP_NUM_THREADS=before)


if __name__ == "__main__":
    sys.exit(main(Workers))

"""`gnomon compare` in a process of its own, with a checkpoint every moment, that writes down what it is at."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# What a command needs is loaded once, by the process that all of them are forked from.
import gnomon.report  # noqa: F401
from gnomon.cli import main
from gnomon.commands import compare, report
from gnomon.lab import engine, spawn
from gnomon.lab.experiment import Experiment
from gnomon.lab.pool import Pool
from gnomon.lab.store import Store
from tests.drill import forked

EVERY = 0.0
"""Seconds between two checkpoints: there is one after each step, so that a kill costs one step at most."""

SAID, REPORTING = ".said", ".reporting"
"""Beside the list of workers: what the command says, and a file that is there once it makes its report."""

ROOT = Path(__file__).resolve().parents[2]

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.drill.command", "tests.lab.toys", "torch._dynamo"])


class Worker(NamedTuple):
    hash: str
    pid: int


class _Told(Pool):
    """A pool that writes down whom it starts."""

    def __init__(self, told: Path, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.told = told

    def start(self, experiment: Experiment) -> None:
        super().start(experiment)
        with self.told.open("a") as file:
            file.write(f"{experiment.hash} {self.running[experiment.hash].pid}\n")


def run(told: Path, arguments: Sequence[str], begin: spawn.Begin = forked.begin) -> int:
    """The command, in this process; its exit code. `begin`: how it starts its workers."""

    def drill(store: Store, settings: Mapping[str, Any], asked: int | None, runs: int) -> Pool:
        often = {**settings, "checkpoint_seconds": EVERY}
        return _Told(told, store, often, threads=1, count=min(asked or 1, runs), begin=begin)

    def write(*given: object) -> Path:
        told.with_suffix(REPORTING).touch()
        return report.write(*given)

    engine.ENGINES["drill"] = drill
    compare.write = write
    return main([*arguments, *(["--engine", "drill"] if arguments[0] == "compare" else [])])


def prepare(told: Path) -> None:
    """Make a process that has loaded everything ready to be a command: what it says goes to a file."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with told.with_suffix(SAID).open("ab") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.environ["OMP_NUM_THREADS"] = "1"


def _forked(told: Path, arguments: Sequence[str], before: Callable[[], None]) -> None:
    prepare(told)
    before()
    sys.exit(run(told, arguments))


def nothing() -> None:
    pass


class Command:
    """One call of `gnomon compare` that goes on. `told` is where it writes down its workers.

    real: a new Python, which starts its workers as new Pythons; else it is forked from a process that has loaded
    everything, and so are they: a tenth of the work. before: what is done in its process first.
    """

    def __init__(
        self, told: Path, arguments: Sequence[str], *, real: bool = False, before: Callable[[], None] = nothing
    ):
        self.told, self.real = told, real
        told.touch()
        if real:
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
            with told.with_suffix(SAID).open("ab") as said:
                words = [sys.executable, "-m", "tests.drill.command", str(told), *arguments]
                self._process = subprocess.Popen(
                    words, stdout=said, stderr=said, env=environment, start_new_session=True
                )
        else:
            self._process = CONTEXT.Process(target=_forked, args=(told, arguments, before))
            self._process.start()
        self.pid: int = self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it goes on."""
        return self._process.poll() if self.real else self._process.exitcode

    def wait(self, seconds: float) -> int | None:
        """The exit code, or None where it goes on after so many seconds."""
        if not self.real:
            self._process.join(seconds)
            return self.code
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def workers(self) -> list[Worker]:
        """All that it has started, the last one last."""
        lines = self.told.read_text().splitlines(keepends=True)
        whole = [line.split() for line in lines if line.endswith("\n")]
        return [Worker(hash, int(pid)) for hash, pid in whole]

    @property
    def reporting(self) -> bool:
        """Whether its runs have ended, and it makes the report."""
        return self.told.with_suffix(REPORTING).exists()

    def said(self) -> str:
        """What it has said on both of its outputs."""
        file = self.told.with_suffix(SAID)
        return file.read_text(errors="replace") if file.exists() else ""


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2:], spawn.begin))

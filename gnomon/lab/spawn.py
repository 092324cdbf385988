"""The process of one run, for those who start it: what it is told, what it says, and what its end means.

No torch here.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from gnomon.lab import wire
from gnomon.lab.events import Event
from gnomon.lab.experiment import Experiment
from gnomon.lab.files import writing
from gnomon.lab.store import Store
from gnomon.lab.workers import Exit

WORKER = "import sys; sys.path[:] = {path!r}; from gnomon.lab.worker import main; sys.exit(main())"
"""A worker finds its modules where this process found them, wherever that is."""


class Process(Protocol):
    """A process that is a worker: what is needed here of `subprocess.Popen`."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]

    def wait(self) -> int: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class Begin(Protocol):
    """Starts the process of one run and tells it its task.

    It says on stdout what happens, and on stderr, the log, what libraries say. path: where it finds modules. device:
    its GPU, as CUDA_VISIBLE_DEVICES names it; None: as it is here.
    """

    def __call__(
        self, task: Mapping[str, Any], log: Path, path: Sequence[str], device: str | None = None
    ) -> Process: ...


def task(
    experiment: Experiment, store: Store, threads: int, settings: Mapping[str, Any], folder: str | None = None
) -> dict[str, Any]:
    """What a worker is told, as `gnomon.lab.worker` reads it. `folder`: where it is to work; None: where it begins."""
    return {
        "folder": folder,
        "experiment": experiment.to_json(),
        "store": str(store.path.absolute()),
        "threads": threads,
        "settings": dict(settings),
    }


def begin(
    task: Mapping[str, Any], log: Path, path: Sequence[str], device: str | None = None
) -> "subprocess.Popen[bytes]":
    """A `Begin`: a new Python."""
    # Not multiprocessing: a worker must not run the caller's script again, which may lack a main guard.
    with writing(log):
        errors = log.open("wb")
    with errors:
        worker = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER.format(path=list(path))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **environment(task, device)},
            # Ctrl-C at a terminal reaches every process of the group; only we are to act on it.
            start_new_session=True,
        )
    tell(worker, task)
    return worker


def environment(task: Mapping[str, Any], device: str | None) -> dict[str, str]:
    """What a worker has in its environment that is not there here."""
    told = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(task["threads"]))
    return told if device is None else {**told, "CUDA_VISIBLE_DEVICES": device}


def tell(worker: Process, task: Mapping[str, Any]) -> None:
    """Give a worker its task. One that has died already cannot read it; its end will be heard."""
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.write(json.dumps(task).encode() + b"\n")
        worker.stdin.flush()


def said(worker: Process, log: Path) -> Iterator[Event | wire.End | Exit]:
    """What a worker says, and when it has ended, how."""
    with worker.stdout as lines:
        for line in lines:
            # The last line of a worker that was killed may be cut off.
            with contextlib.suppress(ValueError):
                yield wire.decode(line)
    yield exit_of(worker.wait(), log)


def exit_of(code: int, log: Path) -> Exit:
    """What the exit code of a worker means, negative for a signal, with the last line of its log."""
    if code < 0:
        hint = ": out of memory, or killed by hand" if code == -signal.SIGKILL else ""
        return Exit(f"the process was killed by signal {-code}{hint}", lost=True, stopped=code == -signal.SIGTERM)
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return Exit(f"the process ended with code {code}" + (f": {lines[-1]}" if lines else ""))

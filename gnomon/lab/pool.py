"""Workers on this machine: a handful of processes, each making one run, and the messages they send."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.lab.experiment import Experiment
from gnomon.lab.files import writing
from gnomon.lab.store import Store
from gnomon.lab.workers import End, Mailbox, Message

WORKER = "import sys; sys.path[:] = {path!r}; from gnomon.lab.worker import main; sys.exit(main())"
"""A worker finds its modules where this process found them, wherever that is."""


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


def begin(task: Mapping[str, Any], log: Path, path: Sequence[str], device: str | None = None) -> subprocess.Popen:
    """The process of one run, which says on stdout what happens, and on stderr, the log, what libraries say.

    path: where it finds modules. device: its GPU, as CUDA_VISIBLE_DEVICES names it; None: as it is here.
    """
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(task["threads"]))}
    if device is not None:
        environment["CUDA_VISIBLE_DEVICES"] = device
    # Not multiprocessing: a worker must not run the caller's script again, which may lack a main guard.
    with writing(log):
        errors = log.open("wb")
    with errors:
        worker = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER.format(path=list(path))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            # Ctrl-C at a terminal reaches every process of the group; only we are to act on it.
            start_new_session=True,
        )
    # One that has died already cannot read; its end will be reported.
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.write(json.dumps(task).encode() + b"\n")
        worker.stdin.flush()
    return worker


def said(worker: subprocess.Popen) -> Iterator[dict[str, Any]]:
    """What a worker says, until it ends."""
    with worker.stdout as lines:
        for line in lines:
            # The last line of a worker that was killed may be cut off.
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def ended(code: int, log: Path) -> End:
    """What the exit code of a worker means, negative for a signal, with the last line of its log."""
    if code < 0:
        hint = ": out of memory, or killed by hand" if code == -signal.SIGKILL else ""
        return End(f"the process was killed by signal {-code}{hint}", stopped=code == -signal.SIGTERM, lost=True)
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return End(f"the process ended with code {code}" + (f": {lines[-1]}" if lines else ""))


class Pool:
    """Workers that are processes of this machine. One that is killed leaves a record: here it would be killed again.

    count: runs at once. devices: the GPUs, one for each of them, as CUDA_VISIBLE_DEVICES names them; none: no GPU.
    """

    retries = 0

    def __init__(
        self, store: Store, settings: Mapping[str, Any], threads: int, count: int = 1, devices: Sequence[str] = ()
    ):
        self.store, self.settings, self.threads = store, settings, threads
        self.count, self.gpus = count, bool(devices)
        self.running: dict[str, subprocess.Popen] = {}
        self._free, self._on = list(devices), {}
        self._messages = Mailbox()

    def start(self, experiment: Experiment) -> None:
        self.store.make()  # a worker opens it
        hash, log = experiment.hash, self.store.log(experiment.hash)
        device = self._on[hash] = self._free.pop() if self._free else None
        told = task(experiment, self.store, self.threads, self.settings)
        worker = self.running[hash] = begin(told, log, sys.path, device)
        threading.Thread(target=self._listen, args=(hash, worker), daemon=True).start()

    def next(self, timeout: float) -> Message | None:
        return self._messages.next(timeout)

    def end(self, hash: str) -> End:
        code = self.running.pop(hash).wait()
        device = self._on.pop(hash)
        self._free += [] if device is None else [device]
        return ended(code, self.store.log(hash))

    def stop(self) -> None:
        for worker in self.running.values():
            worker.send_signal(signal.SIGTERM)

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.running.values():
            worker.kill()
            worker.wait()

    def _listen(self, hash: str, worker: subprocess.Popen) -> None:
        for content in said(worker):
            self._messages.put(Message(hash, content))
        self._messages.put(Message(hash, None))

"""Workers on this machine: a handful of processes, each making one run."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.lab import spawn
from gnomon.lab.experiment import Experiment
from gnomon.lab.store import Store
from gnomon.lab.workers import Exit, Mailbox, Message


class Pool:
    """Workers that are processes of this machine. One that is killed leaves a record: here it would be killed again.

    count: runs at once. devices: the GPUs, one for each of them, as CUDA_VISIBLE_DEVICES names them; none: no GPU.
    begin: how a process is started.
    """

    retries, delay = 0, 0.0

    def __init__(
        self,
        store: Store,
        settings: Mapping[str, Any],
        threads: int,
        count: int = 1,
        devices: Sequence[str] = (),
        begin: spawn.Begin = spawn.begin,
    ):
        self.store, self.settings, self.threads = store, settings, threads
        self.count, self.gpus = count, bool(devices)
        self.running: dict[str, spawn.Process] = {}
        self._begin, self._free, self._on = begin, list(devices), {}
        self._messages = Mailbox()

    def start(self, experiment: Experiment) -> None:
        self.store.make()  # a worker opens it
        hash, log = experiment.hash, self.store.log(experiment.hash)
        if self._free:
            self._on[hash] = self._free.pop()
        told = spawn.task(experiment, self.store, self.threads, self.settings)
        worker = self.running[hash] = self._begin(told, log, sys.path, self._on.get(hash))
        self._messages.listen(hash, spawn.said(worker, log))

    def next(self, timeout: float) -> Message | None:
        message = self._messages.next(timeout)
        if message is not None and isinstance(message.said, Exit):
            _end(self.running.pop(message.hash))
            if message.hash in self._on:
                self._free.append(self._on.pop(message.hash))
        return message

    def stop(self) -> None:
        for worker in self.running.values():
            worker.terminate()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.running.values():
            _end(worker)


def _end(worker: spawn.Process) -> None:
    """Let nothing be left of a worker, which has ended already where it could be heard."""
    worker.kill()
    worker.wait()

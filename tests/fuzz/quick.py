"""Commands without what takes long in them: no process of its own for a run, two laws, times of one token."""

import contextlib
import os
import queue
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnomon import laws
from gnomon.commands import compare, installed
from gnomon.commands import list as listed
from gnomon.errors import StoreError
from gnomon.lab import engine, machine
from gnomon.lab.experiment import Experiment
from gnomon.lab.run import Settings, run
from gnomon.lab.store import Store
from gnomon.lab.wire import End
from gnomon.lab.workers import Exit, Message
from gnomon.laws import mutants

LAWS = {name: laws.LAWS[name] for name in ("batch", "padded")}
CASES = laws.cases
MUTANTS = mutants.MUTANTS[:2]


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """Sweeps end before their first run, as by Ctrl-C."""

    @contextlib.contextmanager
    def at_once():
        yield lambda: True

    with _set((engine, "flagged", at_once), *_SMALL):
        yield


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Sweeps make their runs here; there is no report."""
    with _set((engine, "ENGINES", {"local": _here}), (compare, "write", lambda *given: Path("none")), *_SMALL):
        yield


@contextlib.contextmanager
def environment(told: Mapping[str, str]) -> Iterator[None]:
    """With these variables."""
    before = dict(os.environ)
    os.environ.update(told)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _here(store: Store, settings: Mapping[str, Any], asked: int | None, runs: int) -> "Here":
    return Here(store, settings)


class Here:
    """`gnomon.lab.workers.Workers` whose workers are calls."""

    count, gpus, retries, delay = 1, False, 0, 0.0

    def __init__(self, store: Store, settings: Mapping[str, Any]):
        self.store, self.settings = store, settings
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def start(self, experiment: Experiment) -> None:
        told = lambda event: self._messages.put(Message(experiment.hash, event))  # noqa: E731
        settings = replace(Settings(**self.settings), report=told)
        try:
            end = End(run(Experiment.from_json(experiment.to_json()), self.store, settings))
        except StoreError as error:
            end = End(None, error)
        self._messages.put(Message(experiment.hash, end))
        self._messages.put(Message(experiment.hash, Exit("it has said so")))

    def next(self, timeout: float) -> Message | None:
        return self._messages.get(timeout=timeout)

    def stop(self) -> None:
        pass

    def __enter__(self) -> "Here":
        self.store.make()
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _child(code: str, **environment: str) -> subprocess.CompletedProcess:
    """What `gnomon doctor` asks of a new Python, which takes seconds to come."""
    return subprocess.CompletedProcess([], 1, "", "no process is begun here")


_SMALL = (
    (machine, "cores", lambda: 1),
    (laws, "LAWS", LAWS),
    (laws, "cases", lambda names: CASES(names)[:3]),
    (mutants, "MUTANTS", MUTANTS),
    (listed, "TOKENS", 1),
    (listed, "TURNS", 1),
    (installed, "child", _child),
)


@contextlib.contextmanager
def _set(*changes: tuple[object, str, object]) -> Iterator[None]:
    """With these values in place of what modules hold."""
    before = [(thing, name, getattr(thing, name)) for thing, name, _ in changes]
    try:
        for thing, name, value in changes:
            setattr(thing, name, value)
        yield
    finally:
        for thing, name, value in before:
            setattr(thing, name, value)

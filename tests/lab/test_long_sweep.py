"""Memory does not grow with the number of runs: of the process that has the sweep, and of one that makes them all.

What Python has allocated is counted, and the bytes of tensors: how large a process is says how its allocator feels.
"""

import gc
import os
import queue
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from gnomon.lab import engine
from gnomon.lab.events import Event
from gnomon.lab.experiment import Experiment
from gnomon.lab.log import Log, Logged
from gnomon.lab.progress import JsonLines, LiveTable, PlainLines
from gnomon.lab.record import Draft
from gnomon.lab.run import run
from gnomon.lab.store import Store
from gnomon.lab.wire import End, decode, encode
from gnomon.lab.workers import Exit, Message
from tests.lab.toys import toy

RUNS, EVENTS = 48, 20
"""Runs of a sweep, and what each says of itself."""

MOST = 10_000
"""Bytes a run that may stay: a sweep keeps the experiment, its record, and how it went."""


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Gives a function that says how many bytes Python has in use, of those asked for since."""

    def in_use() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        yield in_use
    finally:
        tracemalloc.stop()


def of_tensors() -> int:
    """The bytes of all tensors there are, but those of a compiler, which have no memory."""
    tensors = [thing for thing in gc.get_objects() if type(thing) in (torch.Tensor, torch.nn.Parameter)]
    tensors = [tensor for tensor in tensors if tensor.device.type == "cpu"]
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}
    return sum(storages.values())


def growth(sizes: list[int]) -> float:
    """Bytes from one to the next, over the last two thirds: what is loaded once is loaded by then."""
    first = len(sizes) // 3
    return (sizes[-1] - sizes[first]) / (len(sizes) - 1 - first)


class Fast:
    """`gnomon.lab.workers.Workers` that train nothing: each run speaks, and leaves a record."""

    count, gpus, retries, delay = 1, False, 0, 0.0

    def __init__(self, store: Store, settings: dict[str, Any], seen: Callable[[], None]):
        self.store, self.seen = store, seen
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def start(self, experiment: Experiment) -> None:
        self.seen()
        event = Event(experiment.hash, experiment.title, experiment.seed, "train", 1, 10, loss=1.0, seconds_left=1.0)
        for step in range(EVENTS):
            told = replace(event, step=step, phase="checkpoint" if step % 7 == 0 else "train", tokens_per_second=1.0)
            self._messages.put(Message(experiment.hash, decode(encode(told))))
        draft = Draft(experiment, "gnomon compare")
        draft.fail(ValueError("it is made fast"))
        with self.store.claim(experiment.hash):
            draft.write(self.store)
        self._messages.put(Message(experiment.hash, End("written")))
        self._messages.put(Message(experiment.hash, Exit("it has said so")))

    def next(self, timeout: float) -> Message | None:
        return self._messages.get(timeout=timeout)

    def stop(self) -> None: ...

    def __enter__(self) -> "Fast":
        self.store.make()
        return self

    def __exit__(self, *error: object) -> None: ...


LISTENERS = {
    "lines": PlainLines,
    "JSON": JsonLines,
    "a table": lambda stream: LiveTable(Console(file=stream, force_terminal=True)),
    "a log": lambda stream: Logged(Log(os.devnull), PlainLines(stream)),
}


@pytest.mark.parametrize("leak", [0, 10 * MOST], ids=["as it is", "with a leak"])
def test_a_sweep(leak: int, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, sizes, kept = toy(text), [], []

    def seen() -> None:
        kept.append(os.urandom(leak))
        if len(kept) % 8 == 0:
            sizes.append(in_use())

    monkeypatch.setattr(engine, "_check", lambda *given: None)
    monkeypatch.setitem(engine.ENGINES, "local", lambda store, settings, *given: Fast(store, settings, seen))
    monkeypatch.setattr("gnomon.lab.environment.commit", lambda: None)
    experiments = [replace(first, seed=seed) for seed in range(RUNS)]
    with counted() as in_use, open(os.devnull, "w") as stream:
        listener = LISTENERS["a log"](stream)
        records = engine.run(experiments, tmp_path / "runs", 1, listener)
    assert len(records) == RUNS
    assert (growth(sizes) / 8 > MOST) == bool(leak), sizes


@pytest.mark.parametrize("name", LISTENERS)
def test_a_listener(name: str):
    """Of a run that goes on for long, a listener keeps the last that it has heard."""
    sizes = []
    with counted() as in_use, open(os.devnull, "w") as stream:
        listener = LISTENERS[name](stream)
        event = Event("a" * 16, "rope", 0, "train", 0, 10**6, loss=1.0, tokens_per_second=1.0, seconds_left=1.0)
        listener.begin([replace(event, phase="queued")])
        for step in range(1500):
            listener.update(replace(event, step=step, reason="x" * 1000))
            if step % 100 == 0:
                sizes.append(in_use())
        listener.end()
    assert growth(sizes) < 100 * 100, "a tenth of what it hears"


@pytest.mark.parametrize("leak", [0, 10 * MOST], ids=["as it is", "with a leak"])
def test_runs_in_one_process(leak: int, text: Path, tmp_path: Path):
    """As under a launch, where one process makes them all."""
    store, sizes, kept = Store(tmp_path / "runs", create=True), [], []
    with counted() as in_use:
        for seed in range(6):
            assert run(replace(toy(text, steps=4, lengths=(16,)), seed=seed), store) == "written"
            kept.append(torch.zeros(leak, dtype=torch.uint8))
            sizes.append(in_use() + of_tensors())
    assert (growth(sizes) > MOST) == bool(leak), sizes

"""How times and peaks of memory are taken: interleaved medians after warm-up, and growth in a fresh process."""

import gc
import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import psutil
import torch

from gnomon.lab.machine import peak_memory

Call = Callable[[], Any]
"""What is measured. One that returns a float has taken the time itself, in seconds."""

PATIENCE = 8.0
"""Seconds that the repetitions of one call may take: a slower call has fewer, and its row says how many."""

T = TypeVar("T")
# A server that has loaded torch and never computed: a child of it is fresh, and starts at once.
CONTEXT = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)
CONTEXT.set_forkserver_preload(["benchmarks.memory"])


class ChildFailed(RuntimeError):
    """A process of its own that gave no result, and why."""


@dataclass(frozen=True)
class Timing:
    """The median of one call, beside that of the limit in the same rounds."""

    seconds: float
    ratio: float
    """Median over the rounds of this call's time over the limit's."""
    low: float
    high: float
    """Its quartiles: a quarter of the rounds lies below, a quarter above; those of one round are its ratio."""
    runs: int


def interleaved(calls: Mapping[str, Call], repeats: int, patience: float = PATIENCE) -> dict[str, Timing]:
    """Every call in rounds, each after a warm-up, in alternating order; the first is the limit of the others."""
    runs = {name: _runs(call, repeats, patience) for name, call in calls.items()}
    limit = next(iter(calls))
    runs[limit] = max(runs.values())
    took: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(max(runs.values())):
        order = [name for name in calls if turn < runs[name]]
        for name in order if turn % 2 == 0 else reversed(order):
            took[name].append(_seconds(calls[name]))
    return {name: _timing(times, took[limit]) for name, times in took.items()}


def _runs(call: Call, repeats: int, patience: float) -> int:
    """How many rounds a call takes part in, by its time once it is warm."""
    first = _whole_seconds(call)
    if first > patience:
        return 1
    # What is compiled or loaded at the first call says nothing of the others.
    each = first if first < patience / repeats else _whole_seconds(call)
    return max(1, int(min(repeats, patience / each)))


def _whole_seconds(call: Call) -> float:
    """How long one has to wait for a call, also for one that tells the time of a part of it."""
    begun = time.perf_counter()
    return max(_seconds(call), time.perf_counter() - begun)


def _seconds(call: Call) -> float:
    _synchronize()
    begun = time.perf_counter()
    own = call()
    _synchronize()
    return own if isinstance(own, float) else time.perf_counter() - begun


def _synchronize() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _timing(times: list[float], limit: list[float]) -> Timing:
    ratios = [mine / other for mine, other in zip(times, limit, strict=False)]
    # Inclusive: of few rounds the other method goes beyond the least and the largest.
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return Timing(statistics.median(times), middle, low, high, len(ratios))


def grown(call: Call) -> int:
    """The bytes by which this process is larger at its peak while `call` runs than before.

    The kernel's own peak where the call exceeds whatever came before, and the highest of a thousand samples a second.
    """
    gc.collect()
    process = psutil.Process()
    before, earlier, samples, done = process.memory_info().rss, peak_memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.001):
            samples[0] = max(samples[0], process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        call()
    finally:
        done.set()
        watcher.join()
    samples.append(process.memory_info().rss)
    highest = peak_memory()
    return max(*samples, highest if highest > earlier else 0) - before


def fresh(task: Callable[..., T], **given: Any) -> T:
    """What `task(**given)` returns in a process of its own that has loaded code and computed nothing.

    ChildFailed where it raises or is killed.
    """
    receive, send = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_serve, args=(send, torch.get_num_threads(), task, given))
    child.start()
    send.close()
    try:
        result, error = receive.recv()
    except EOFError:
        result, error = None, "it was killed"
    child.join()
    if error is not None:
        raise ChildFailed(f"{error} (exit code {child.exitcode})")
    return result


def _serve(send: Connection, threads: int, task: Callable[..., Any], given: dict[str, Any]) -> None:
    torch.set_num_threads(threads)
    try:
        send.send((task(**given), None))
    except Exception as error:
        send.send((None, f"{type(error).__name__}: {error}".splitlines()[0]))

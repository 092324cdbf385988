"""A list of experiments, several runs at once, whatever happens to any of them."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from gnomon.errors import OptionError, StoreError, unknown
from gnomon.lab.corpus import pin
from gnomon.lab.events import Progress, Quiet
from gnomon.lab.experiment import Experiment
from gnomon.lab.files import REMOVED
from gnomon.lab.interrupt import Interrupted, flagged
from gnomon.lab.load import Plan
from gnomon.lab.machine import MEMORY, cores, launched, most_threads
from gnomon.lab.pool import Pool
from gnomon.lab.store import Store, missing
from gnomon.lab.sweep import Sweep, planned
from gnomon.lab.workers import Workers


def run(
    experiments: Sequence[Experiment],
    store: Store | str | Path,
    workers: int | None = None,
    progress: Progress | None = None,
    retry: bool = False,
    *,
    command: str | None = None,
    cpu: bool = False,
    trackers: Sequence[str] = (),
    checkpoint_seconds: float = 20.0,
    engine: str = "local",
) -> list[dict[str, Any]]:
    """Make every run that is not yet in the store, and return all records, in the order of the experiments.

    workers: runs at once, each in a process of its own; None: as many as there are cores, or GPUs, and memory for
    them. The cores are divided among them. A finished run is never made again; one that failed or diverged is, with
    `retry`. A process that dies leaves a record that says so, and the others go on.
    command: what a reader types to do this again; None: the command line of this process.
    engine: local, this machine; ray, the Ray cluster that it belongs to, whose nodes all see the store as one folder.
    There a run whose worker or node is lost is begun again elsewhere, from its checkpoint, before it is said to fail.

    UserError before anything is trained when an experiment cannot be; StoreError when the store cannot be written;
    Interrupted after Ctrl-C or SIGTERM, once every worker has written a checkpoint. Under `accelerate launch` the
    runs are made one after another, each by all processes together.
    """
    if not experiments:
        raise OptionError("there is nothing to run", given="no experiments")
    if workers is not None and workers < 1:
        raise OptionError("workers make the runs", given=workers, allowed="1 or more")
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    rank, processes = launched()
    together = processes > 1
    if together and engine != "local":
        raise OptionError("the processes of a launch make each run together", given=f"engine {engine}", allowed="local")
    store = store if isinstance(store, Store) else Store(store, create=True)
    pinned = pin(experiments)
    unique = {e.hash: e for e in pinned}
    settings = {
        "command": _command() if command is None else command,
        "cpu": cpu,
        "trackers": tuple(trackers),
        "checkpoint_seconds": checkpoint_seconds,
        "retry": retry,
    }
    stored = {hash: store.record(hash) for hash in unique}
    todo = {hash: e for hash, e in unique.items() if missing(stored[hash], retry)}
    # Of the processes of a launch, one speaks.
    progress = Quiet() if progress is None or rank > 0 else progress
    with ExitStack() as stack:
        made_by = stack.enter_context(ENGINES[engine](store, settings, workers, len(todo))) if todo else None
        if made_by is not None:
            _check(list(todo.values()), cpu or not made_by.gpus, trackers)
        progress.begin([planned(e, None if hash in todo else stored[hash]) for hash, e in unique.items()])
        stack.callback(progress.end)
        if together:
            from gnomon.lab.distributed import run_together

            # All runs, also those that are stored: every process must go through the same list.
            run_together(list(unique.values()), store, settings, progress, todo)
        elif made_by is not None:
            sweep, stop = Sweep(list(todo.values()), made_by, store, settings, progress), stack.enter_context(flagged())
            sweep.run(stop)
            # Also where all are made: who has stopped the trials does not want the runs that come after them.
            if sweep.waiting or stop():
                raise Interrupted(len(unique) - len(sweep.waiting), len(unique))
    records = [store.record(e.hash) for e in pinned]
    if None in records:
        lost = ", ".join(e.hash for e, record in zip(pinned, records) if record is None)
        raise StoreError("the store has lost runs that were made", given=f"{store.path}: {lost}", do=REMOVED)
    return records


def run_plan(
    plan: Plan,
    store: Store,
    workers: int | None = None,
    progress: Callable[[], Progress | None] = lambda: None,
    retry: bool = False,
    **settings: Any,
) -> list[dict[str, Any]]:
    """The records of a plan's experiments; where it is tuned, the trials are made first, in the store of trials.

    Where a trial has failed, its rate may be the best one, so none is chosen: in place of the runs that it was for
    stands the record of that trial.
    progress: makes the listener of the trials, and that of the runs. The others are those of `run`.
    """
    experiments, failed = plan.experiments, []
    if plan.tuning is not None:
        tuning, experiments = plan.tuning, pin(experiments)
        made = run(tuning.trials(experiments), store.trials(), workers, progress(), retry, **settings)
        tried = {record["hash"]: record for record in made}
        failed = [record for record in tried.values() if record["status"] == "failed"]
        lost = {record["hash"] for record in failed}
        known = [e for e in experiments if lost.isdisjoint(tuning.trial(e, rate).hash for rate in tuning.rates)]
        experiments = tuning.tuned(known, tried)
    return (run(experiments, store, workers, progress(), retry, **settings) if experiments else []) + failed


def _check(experiments: Sequence[Experiment], cpu: bool, trackers: Sequence[str]) -> None:
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

    from gnomon.lab import build

    installed = [tracker.value for tracker in get_available_trackers()]
    for name in trackers:
        if name not in LOGGER_TYPE_TO_CLASS:
            raise unknown("tracker", name, LOGGER_TYPE_TO_CLASS)
        if name not in installed:
            allowed = ", ".join(installed) or "none is installed"
            raise OptionError(f"the tracker {name} is not installed", allowed=allowed, do=f"pip install {name}")
    for experiment in experiments:
        build.check(experiment, cpu=cpu)


def _devices() -> list[str]:
    """The GPUs of this machine that we may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.accelerator.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(device) for device in range(count)]


def _ray(store: Store, settings: Mapping[str, Any], asked: int | None, runs: int) -> Workers:
    from gnomon.lab.cluster import Cluster

    return Cluster(store, settings, asked, runs)


def _local(store: Store, settings: Mapping[str, Any], asked: int | None, runs: int) -> Workers:
    """How many at once, the threads of each, and its GPU, where there are any."""
    devices = [] if settings["cpu"] else _devices()
    fits = max(1, psutil.virtual_memory().available // MEMORY)
    count = min(runs, asked or len(devices) or min(cores(), fits))
    threads = min(max(1, cores() // count), most_threads())
    return Pool(store, settings, threads, count, [devices[i % len(devices)] for i in range(count)] if devices else [])


ENGINES: dict[str, Callable[[Store, Mapping[str, Any], int | None, int], Workers]] = {"local": _local, "ray": _ray}
"""Who makes the runs: of a store, the settings of `gnomon.lab.run`, how many are wanted at once (None: as many as have
room), and how many there are to make. A further one has its name in `--engine`."""


def _command() -> str:
    program = Path(sys.argv[0])
    named = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name
    return " ".join([named, *map(shlex.quote, sys.argv[1:])])

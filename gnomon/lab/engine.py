"""A list of experiments, several runs at once, whatever happens to any of them."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from gnomon.errors import OptionError, StoreError, unknown
from gnomon.lab.corpus import pin
from gnomon.lab.events import Event, Progress, Quiet
from gnomon.lab.experiment import Experiment
from gnomon.lab.files import REMOVED
from gnomon.lab.interrupt import Interrupted, flagged
from gnomon.lab.load import Plan
from gnomon.lab.machine import cores
from gnomon.lab.pool import Pool
from gnomon.lab.store import Store

MEMORY = 2**30
"""Free memory that a worker of its own must find, in bytes: torch alone takes a quarter of it."""

PATIENCE = 30.0
"""Seconds that an interrupted worker has for its checkpoint."""

AGAIN = 1.0
"""Seconds until we look again at a run that another process is making."""


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
) -> list[dict[str, Any]]:
    """Make every run that is not yet in the store, and return all records, in the order of the experiments.

    workers: runs at once, each in a process of its own; None: as many as there are cores, or GPUs, and memory for
    them. The cores are divided among them. A finished run is never made again; one that failed or diverged is, with
    `retry`. A process that dies leaves a record that says so, and the others go on.
    command: what a reader types to do this again; None: the command line of this process.

    UserError before anything is trained when an experiment cannot be; StoreError when the store cannot be written;
    Interrupted after Ctrl-C or SIGTERM, once every worker has written a checkpoint. Under `accelerate launch` the
    runs are made one after another, each by all processes together.
    """
    if not experiments:
        raise OptionError("there is nothing to run", given="no experiments")
    if workers is not None and workers < 1:
        raise OptionError("workers make the runs", given=workers, allowed="1 or more")
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
    missing = {hash: e for hash, e in unique.items() if _missing(stored[hash], retry)}
    if missing:
        _check(list(missing.values()), cpu, trackers)
    together = int(os.environ.get("WORLD_SIZE", "1")) > 1
    # Of the processes of a launch, one speaks.
    progress = Quiet() if progress is None or int(os.environ.get("RANK", "0")) > 0 else progress
    progress.begin([_planned(e, None if hash in missing else stored[hash]) for hash, e in unique.items()])
    try:
        if together:
            from gnomon.lab.distributed import run_together

            # All runs, also those that are stored: every process must go through the same list.
            run_together(list(unique.values()), store, settings, progress)
        elif missing:
            count, devices = _workers(workers, len(missing), cpu)
            threads = min(max(1, cores() // count), _most_threads())
            with Pool(store, settings, threads) as pool, flagged() as stop:
                sweep = _Sweep(list(missing.values()), pool, progress, count, devices)
                sweep.run(stop)
                if sweep.waiting:
                    raise Interrupted(len(unique) - len(sweep.waiting), len(unique))
    finally:
        progress.end()
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


def _most_threads() -> int:
    """The user's OMP_NUM_THREADS is a bound: where others compute too, waiting threads cost more than they bring."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(given)) if given.isdigit() else sys.maxsize


class _Sweep:
    """The state of one call of `run`: what waits, what runs, and until when to leave alone what others run."""

    def __init__(self, missing: list[Experiment], pool: Pool, progress: Progress, count: int, devices: list[str]):
        self.waiting = {e.hash: e for e in missing}
        self.pool, self.progress, self.count = pool, progress, count
        self.started: dict[str, Experiment] = {}
        self.later: dict[str, float] = {}
        self.ends: dict[str, dict[str, Any]] = {}
        self.free, self.on = list(devices), {}

    def run(self, stop: Callable[[], bool]) -> None:
        """Make all runs; once `stop` says so, let the workers write checkpoints and leave the rest in `waiting`."""
        while (self.waiting or self.started) and not stop():
            self._fill()
            self._hear(0.2)
        self.pool.stop()
        deadline = time.monotonic() + PATIENCE
        while self.started and time.monotonic() < deadline:
            self._hear(0.2)
        self.waiting |= self.started

    def _fill(self) -> None:
        for hash in list(self.waiting):
            if len(self.started) >= self.count:
                return
            if self.later.get(hash, 0.0) > time.monotonic():
                continue
            if self.pool.store.folder(hash).is_dir() and not self.pool.settings["retry"]:
                # Another process has finished it meanwhile.
                self._note(self.waiting.pop(hash), "stored")
            elif self._held(hash):
                self._postpone(self.waiting[hash])
            else:
                experiment = self.started[hash] = self.waiting.pop(hash)
                device = self.on[hash] = self.free.pop() if self.free else None
                self.pool.start(experiment, device)

    def _held(self, hash: str) -> bool:
        """Whether another process has the run: not worth a worker of ours, which would decide the same."""
        with self.pool.store.claim(hash) as ours:
            return not ours

    def _hear(self, timeout: float) -> None:
        message = self.pool.next(timeout)
        if message is None:
            return
        if message.content is None:
            self._ended(self.started.pop(message.hash))
        elif "event" in message.content:
            self.progress.update(Event(**message.content["event"]))
        else:
            self.ends[message.hash] = message.content

    def _ended(self, experiment: Experiment) -> None:
        hash = experiment.hash
        code, last = self.pool.end(hash)
        device = self.on.pop(hash)
        self.free += [] if device is None else [device]
        # A worker that is asked to stop before it can listen dies of it; it has lost nothing.
        end = self.ends.pop(hash, {"end": "stopped" if code == -signal.SIGTERM else "died"})
        if end["end"] == "store":
            self.pool.store.make()  # where it has gone, that is what is wrong
            asked, given, allowed, do = end["error"]
            raise StoreError(asked, given=given, allowed=allowed, do=do)
        if end["end"] == "busy":
            self.waiting[hash] = experiment
            self._postpone(experiment)
        elif end["end"] == "stopped":
            self.waiting[hash] = experiment
            self._note(experiment, "stopped")
        elif end["end"] == "died":
            self._died(experiment, _cause(code, last))
        elif end["end"] == "present":
            self._note(experiment, "stored")
        record = self.pool.store.record(hash)
        if end["end"] == "written" and record is None:
            given = str(self.pool.store.folder(hash))
            raise StoreError("the store has lost a run that was made", given=given, do=REMOVED)
        if record is None or record["status"] != "failed":
            self.pool.store.log(hash).unlink(missing_ok=True)

    def _died(self, experiment: Experiment, reason: str) -> None:
        from gnomon.lab.record import Draft

        store = self.pool.store
        with store.claim(experiment.hash) as ours:
            if not ours:
                self.waiting[experiment.hash] = experiment
                return
            record = store.record(experiment.hash)
            if not _missing(record, self.pool.settings["retry"]):
                # It died after its last word to the store, and before that to us.
                self.progress.update(_planned(experiment, record))
                return
            draft = Draft(experiment, self.pool.settings["command"])
            draft.record["reason"] = reason
            draft.write(store)
            self._note(experiment, "failed", reason=reason)

    def _postpone(self, experiment: Experiment) -> None:
        self.later[experiment.hash] = time.monotonic() + AGAIN
        self._note(experiment, "waiting", reason="another process is making this run")

    def _note(self, experiment: Experiment, phase: str, reason: str | None = None) -> None:
        self.progress.update(_event(experiment, phase, reason))


def _check(experiments: Sequence[Experiment], cpu: bool, trackers: Sequence[str]) -> None:
    import torch
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
        build.check(experiment, cpu=cpu or not torch.accelerator.is_available())


def _planned(experiment: Experiment, record: dict[str, Any] | None) -> Event:
    """How a run begins: queued, or there already; a failure that stays one keeps its reason."""
    if record is None or record["status"] == "finished":
        return _event(experiment, "queued" if record is None else "stored")
    return _event(experiment, record["status"], record["reason"])


def _event(experiment: Experiment, phase: Any, reason: str | None = None) -> Event:
    return Event(
        experiment.hash, experiment.title, experiment.seed, phase, steps=experiment.training.steps, reason=reason
    )


def _missing(record: dict[str, Any] | None, retry: bool) -> bool:
    return record is None or (retry and record["status"] != "finished")


def _cause(code: int, last: str) -> str:
    if code < 0:
        hint = ": out of memory, or killed by hand" if code == -signal.SIGKILL else ""
        return f"the process was killed by signal {-code}{hint}"
    return f"the process ended with code {code}" + (f": {last}" if last else "")


def _devices() -> list[str]:
    """The GPUs of this machine that we may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.accelerator.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(device) for device in range(count)]


def _workers(asked: int | None, runs: int, cpu: bool) -> tuple[int, list[str]]:
    """How many runs at once, and the GPU of each: none on a machine without."""
    devices = [] if cpu else _devices()
    if asked is not None:
        count = min(asked, runs)
        return count, [devices[i % len(devices)] for i in range(count)] if devices else []
    if devices:
        return min(len(devices), runs), devices
    fits = max(1, psutil.virtual_memory().available // MEMORY)
    return min(runs, cores(), fits), []


def _command() -> str:
    program = Path(sys.argv[0])
    named = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name
    return " ".join([named, *map(shlex.quote, sys.argv[1:])])

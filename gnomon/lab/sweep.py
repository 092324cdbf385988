"""The state of one sweep: what waits, what runs, what was lost, and until when to leave alone what others run."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gnomon.errors import StoreError
from gnomon.lab.events import Event, Progress
from gnomon.lab.experiment import Experiment
from gnomon.lab.files import REMOVED
from gnomon.lab.shared import refresh
from gnomon.lab.store import Store, missing
from gnomon.lab.wire import End
from gnomon.lab.workers import Exit, Workers

PATIENCE = 30.0
"""Seconds that an interrupted worker has for its checkpoint."""

AGAIN = 1.0
"""Seconds until we look again at a run that another process is making."""

GONE = 5.0
"""Seconds until a run whose worker was lost is begun again: until then its node may not be known to be gone."""

TOGETHER = 1.0
"""Seconds within which a SIGTERM that is for all processes of a job reaches the last of them."""

UNBEGUN = 20
"""How often a worker may be lost before it begins, as on a node that is not yet known to be gone."""


def planned(experiment: Experiment, record: Mapping[str, Any] | None) -> Event:
    """How a run begins: queued, or there already; a failure that stays one keeps its reason."""
    if record is None or record["status"] == "finished":
        return event(experiment, "queued" if record is None else "stored")
    return event(experiment, record["status"], record["reason"])


def event(experiment: Experiment, phase: Any, reason: str | None = None) -> Event:
    return Event(
        experiment.hash, experiment.title, experiment.seed, phase, steps=experiment.training.steps, reason=reason
    )


class Sweep:
    """Has the runs made by `workers`, whatever happens to any of them.

    settings: those of `gnomon.lab.run`. `waiting` holds what is still to be made, `started` what has a worker, `unseen`
    what was made and is not seen here yet. StoreError and other UserErrors where no run can be made.
    """

    def __init__(
        self,
        experiments: Sequence[Experiment],
        workers: Workers,
        store: Store,
        settings: Mapping[str, Any],
        progress: Progress,
    ):
        self.waiting = {e.hash: e for e in experiments}
        self.workers, self.store, self.settings, self.progress = workers, store, settings, progress
        self.started: dict[str, Experiment] = {}
        self.unseen: dict[str, tuple[Experiment, float]] = {}
        """With the time until which it may be."""
        self.later: dict[str, float] = {}
        """Until when a run is left alone."""
        self.ends: dict[str, End] = {}
        """Last words of workers whose processes have not yet ended."""
        self.saved: dict[str, int] = {}
        """The step at which the last checkpoint of a run stands, where we have heard of one."""
        self.losses: Counter[tuple[str, bool]] = Counter()
        """How often a worker of a run was lost that had begun, and that had not."""
        self._stop: Callable[[], bool] = lambda: False

    def run(self, stop: Callable[[], bool]) -> None:
        """Make all runs; once `stop` says so, let the workers write checkpoints and leave the rest in `waiting`."""
        self._stop = stop
        while (self.waiting or self.started or self.unseen) and not stop():
            self._fill()
            self._hear(0.2)
        self.workers.stop()
        deadline = time.monotonic() + PATIENCE
        while self.started and time.monotonic() < deadline:
            self._hear(0.2)
        self.waiting |= self.started | {hash: experiment for hash, (experiment, _) in self.unseen.items()}

    def _fill(self) -> None:
        for hash in list(self.waiting):
            if len(self.started) >= self.workers.count:
                return
            if self.later.get(hash, 0.0) > time.monotonic():
                continue
            if self.store.folder(hash).is_dir() and not self.settings["retry"]:
                # Another process has finished it meanwhile.
                self._note(self.waiting.pop(hash), "stored")
            elif self._held(hash):
                self._postpone(self.waiting[hash])
            else:
                experiment = self.started[hash] = self.waiting.pop(hash)
                self.workers.start(experiment)

    def _held(self, hash: str) -> bool:
        """Whether another process has the run: not worth a worker of ours, which would decide the same."""
        with self.store.claim(hash) as ours:
            return not ours

    def _hear(self, timeout: float) -> None:
        message = self.workers.next(timeout)
        if message is not None:
            if isinstance(message.said, Event):
                if message.said.phase == "checkpoint":
                    self.saved[message.hash] = message.said.step
                self.progress.update(message.said)
            elif isinstance(message.said, End):
                self.ends[message.hash] = message.said
            else:
                self._ended(self.started.pop(message.hash), message.said)
        self._look()

    def _ended(self, experiment: Experiment, exit: Exit) -> None:
        """What is made of a run whose worker has ended, by what it has said last, if anything."""
        if exit.error is not None:
            raise exit.error
        end = self.ends.pop(experiment.hash, None)
        if end is None:
            self._silent(experiment, exit)
        elif end.error is not None:
            self.store.make()  # where it has gone, that is what is wrong
            raise end.error
        elif end.outcome == "stopped":
            reason = f"it was stopped, and not by this command: {exit.reason}"
            self._silent(experiment, replace(exit, reason=reason, lost=True, stopped=True))
        elif end.outcome == "busy":
            self.waiting[experiment.hash] = experiment
            self._postpone(experiment)
            self._tidy(experiment)
        else:
            if end.outcome == "present":
                self._note(experiment, "stored")
            self.unseen[experiment.hash] = experiment, time.monotonic() + self.workers.delay

    def _look(self) -> None:
        """Find the runs that were made: those who have made one may see it before we do."""
        for hash, (experiment, until) in list(self.unseen.items()):
            refresh(self.store.path)
            if self.store.record(hash) is not None:
                del self.unseen[hash]
                self._tidy(experiment)
            elif time.monotonic() >= until:
                given = str(self.store.folder(hash))
                raise StoreError("the store has lost a run that was made", given=given, do=REMOVED)

    def _silent(self, experiment: Experiment, exit: Exit) -> None:
        """What is made of a worker that has not said that it has come to its end: killed, or stopped before that."""
        hash = experiment.hash
        if exit.lost and self._stopping(exit):
            self.waiting[hash] = experiment
            self._note(experiment, "stopped")
        elif exit.lost and self.losses[hash, exit.begun] < (self.workers.retries if exit.begun else UNBEGUN):
            self.losses[hash, exit.begun] += 1
            self.waiting[hash] = experiment
            self.later[hash] = time.monotonic() + GONE
            self._note(experiment, "lost", reason=exit.reason)
        else:
            times = self.losses[hash, True]
            self._died(experiment, exit.reason + (f"; lost {times} times before" if times else ""))
        self._tidy(experiment)

    def _stopping(self, exit: Exit) -> bool:
        """Whether the sweep is to stop, or is told so at the same time as that worker was."""
        deadline = time.monotonic() + (TOGETHER if exit.stopped else 0.0)
        while not self._stop() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self._stop()

    def _tidy(self, experiment: Experiment) -> None:
        """Drop the log of a worker, but where it may tell why its run has failed."""
        record = self.store.record(experiment.hash)
        if record is None or record["status"] != "failed":
            self.store.log(experiment.hash).unlink(missing_ok=True)

    def _died(self, experiment: Experiment, reason: str) -> None:
        from gnomon.lab.record import Draft

        with self.store.claim(experiment.hash) as ours:
            if not ours:
                self.waiting[experiment.hash] = experiment
                return
            refresh(self.store.path)
            record = self.store.record(experiment.hash)
            if not missing(record, self.settings["retry"]):
                # It died after its last word to the store, and before that to us.
                self.progress.update(planned(experiment, record))
                return
            draft = Draft(experiment, self.settings["command"])
            draft.record["reason"] = reason
            draft.write(self.store)
            self._note(experiment, "failed", reason=reason)

    def _postpone(self, experiment: Experiment) -> None:
        self.later[experiment.hash] = time.monotonic() + AGAIN
        self._note(experiment, "waiting", reason="another process is making this run")

    def _note(self, experiment: Experiment, phase: str, reason: str | None = None) -> None:
        # What another sweep has made may have failed there.
        record = self.store.record(experiment.hash) if phase == "stored" else None
        told = event(experiment, phase, reason) if record is None else planned(experiment, record)
        self.progress.update(replace(told, step=self.saved.get(experiment.hash, 0)))

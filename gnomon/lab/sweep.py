"""The state of one sweep: what waits, what runs, what was lost, and until when to leave alone what others run."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gnomon.errors import StoreError
from gnomon.lab.events import Event, Progress
from gnomon.lab.experiment import Experiment
from gnomon.lab.files import REMOVED
from gnomon.lab.store import Store, missing
from gnomon.lab.workers import End, Workers

PATIENCE = 30.0
"""Seconds that an interrupted worker has for its checkpoint."""

AGAIN = 1.0
"""Seconds until we look again at a run that another process is making."""

GONE = 5.0
"""Seconds until a run whose worker was lost is begun again: until then its node may not be known to be gone."""

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

    settings: those of `gnomon.lab.run`. `waiting` holds what is still to be made; StoreError and other UserErrors
    where no run can be made.
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
        self.later: dict[str, float] = {}
        self.ends: dict[str, dict[str, Any]] = {}
        self.losses: Counter[tuple[str, bool]] = Counter()

    def run(self, stop: Callable[[], bool]) -> None:
        """Make all runs; once `stop` says so, let the workers write checkpoints and leave the rest in `waiting`."""
        while (self.waiting or self.started) and not stop():
            self._fill()
            self._hear(0.2)
        self.workers.stop()
        deadline = time.monotonic() + PATIENCE
        while self.started and time.monotonic() < deadline:
            self._hear(0.2)
        self.waiting |= self.started

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
        end = self.workers.end(hash)
        if end.error is not None:
            raise end.error
        said = self.ends.pop(hash, {"end": self._silent(hash, end)})
        if said["end"] == "store":
            self.store.make()  # where it has gone, that is what is wrong
            asked, given, allowed, do = said["error"]
            raise StoreError(asked, given=given, allowed=allowed, do=do)
        if said["end"] == "busy":
            self.waiting[hash] = experiment
            self._postpone(experiment)
        elif said["end"] == "stopped":
            self.waiting[hash] = experiment
            self._note(experiment, "stopped")
        elif said["end"] == "lost":
            self.waiting[hash] = experiment
            self.later[hash] = time.monotonic() + GONE
            self._note(experiment, "lost", reason=end.reason)
        elif said["end"] == "died":
            times = self.losses[hash, True]
            self._died(experiment, end.reason + (f"; lost {times} times before" if times else ""))
        elif said["end"] == "present":
            self._note(experiment, "stored")
        record = self.store.record(hash)
        if said["end"] == "written" and record is None:
            given = str(self.store.folder(hash))
            raise StoreError("the store has lost a run that was made", given=given, do=REMOVED)
        if record is None or record["status"] != "failed":
            self.store.log(hash).unlink(missing_ok=True)

    def _silent(self, hash: str, end: End) -> str:
        """What is made of a worker that did not say how it ended."""
        if end.stopped:
            return "stopped"
        if end.lost and self.losses[hash, end.begun] < (self.workers.retries if end.begun else UNBEGUN):
            self.losses[hash, end.begun] += 1
            return "lost"
        return "died"

    def _died(self, experiment: Experiment, reason: str) -> None:
        from gnomon.lab.record import Draft

        with self.store.claim(experiment.hash) as ours:
            if not ours:
                self.waiting[experiment.hash] = experiment
                return
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
        self.progress.update(event(experiment, phase, reason))

"""The kills of a drill: at which moment, whom, and how."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from gnomon.lab.checkpoint import step_of
from gnomon.lab.store import HASH, TRIALS
from tests.drill.command import Command, Worker

POLL = 0.001
"""Seconds between two looks at the store."""

MOMENTS = {"starting": 2, "training": 4, "checkpoint": 4, "record": 4, "recorded": 1, "anytime": 1}
"""How often each is waited for, in proportion."""

PARENTS = ("kill", "terminate", "interrupt", "interrupt twice", "all")
WORKERS = ("kill worker", "terminate worker")
HOW = {"kill worker": 8, "terminate worker": 2, **dict(zip(PARENTS, (3, 1, 1, 1, 1)))}
"""The same of what is done then."""


@dataclass(frozen=True)
class Strike:
    """One kill: of a worker, of the command, or of all at once."""

    moment: str
    how: str

    @property
    def ends(self) -> bool:
        """Whether the command is to end by it."""
        return self.how in PARENTS


def drawn(draw: random.Random, reporting: bool) -> Strike:
    """Any strike; at a command that makes its report, one of those by which it does not come to its end."""
    if reporting:
        return Strike(draw.choices(("report", "report file"), (3, 1))[0], draw.choice(PARENTS[:3]))
    moment = draw.choices([*MOMENTS], [*MOMENTS.values()])[0]
    how = {name: weight for name, weight in HOW.items() if moment != "anytime" or name in PARENTS}
    return Strike(moment, draw.choices([*how], [*how.values()])[0])


class Watcher:
    """Waits for the moments of commands on one store, and strikes.

    ended: those that were struck so that they end; they are let alone from then on.
    """

    def __init__(self, commands: Sequence[Command], store: Path, draw: random.Random, glance: Callable[[], None]):
        self.commands, self.draw, self.glance = commands, draw, glance
        self.stores = (store, store / TRIALS)
        self.ended: set[Command] = set()
        self.there = {run.name for path in self.stores for run in _runs(path)}
        self._began: dict[Worker, int] = {}
        """At which step each worker was seen first."""
        self._past: set[Worker] = set()
        """Workers that have ended."""
        self._known: set[Worker] = set()
        """Workers that were waited for as they started."""

    def alive(self) -> list[Command]:
        """The commands that go on."""
        return [command for command in self.commands if command not in self.ended and command.code is None]

    def reporting(self) -> bool:
        """Whether all that go on make their reports."""
        return all(command.reporting for command in self.alive())

    def strike(self, strike: Strike) -> Command | None:
        """Wait for the moment and do it; the command that was hit, or None where nobody was alive."""
        moments = {
            "starting": self._starting,
            "training": self._training,
            "checkpoint": self._checkpoint,
            "record": self._record,
            "recorded": self._recorded,
            "anytime": self._anytime,
            "report": self._report,
            "report file": self._report_file,
        }
        found = self._wait(moments[strike.moment])
        if found is None:
            return None
        if isinstance(found, Worker):
            command = next(command for command in self.commands if found in command.workers())
        else:
            command = self.draw.choice(self.alive() or [*self.commands])
        if strike.ends:
            hit = self._end(command, strike.how)
            self.ended |= {command} if hit else set()
        else:
            number = signal.SIGKILL if strike.how == "kill worker" else signal.SIGTERM
            hit = isinstance(found, Worker) and _send(found.pid, number)
        return command if hit else None

    def _end(self, command: Command, how: str) -> bool:
        if how == "kill":
            return _send(command.pid, signal.SIGKILL)
        if how == "terminate":
            return _send(command.pid, signal.SIGTERM)
        if how == "all":
            hit = _send(command.pid, signal.SIGKILL)
            for worker in command.workers():
                _send(worker.pid, signal.SIGKILL)
            return hit
        hit = _send(command.pid, signal.SIGINT, group=True)
        if hit and how == "interrupt twice":
            time.sleep(self.draw.uniform(0, 0.2))
            _send(command.pid, signal.SIGINT, group=True)
        return hit

    def _wait(self, moment: Callable[[], Worker | bool | None]) -> Worker | bool | None:
        """What `moment` finds, as soon as it does; None where it can no longer come."""
        before = self.alive(), self.reporting()
        while (self.alive(), self.reporting()) == before and before[0]:
            self.glance()
            if found := moment():
                return found
            time.sleep(POLL)
        return None

    def _sleep(self, most: float) -> None:
        time.sleep(self.draw.uniform(0, most))

    # Each of the moments: a worker that is at it, or True, or None where it has not come.

    def _starting(self) -> Worker | None:
        found = next((worker for worker in self._alive() if worker not in self._known), None)
        if found is not None:
            self._known.add(found)
            self._sleep(4.0 if self._real() else 0.3)
        return found

    def _training(self) -> Worker | None:
        for worker in self._alive():
            name = f".work/{worker.hash}.checkpoint.safetensors"
            at = max(step_of(path / name, worker.hash) for path in self.stores)
            if at > self._began.setdefault(worker, at):
                self._sleep(0.1)
                return worker
        return None

    def _checkpoint(self) -> Worker | None:
        return self._at(lambda name: ".checkpoint." in name and name.endswith(".tmp"))

    def _record(self) -> Worker | None:
        found = self._at(lambda name: name.count(".") == 2 and name.endswith(".tmp"))
        if found is not None:
            self._sleep(0.005)
        return found

    def _recorded(self) -> Worker | None:
        new = {run.name for path in self.stores for run in _runs(path)} - self.there
        return next((worker for worker in self._alive() if worker.hash in new), None)

    def _anytime(self) -> bool:
        self._sleep(5.0 if self._real() else 0.5)
        return True

    def _report(self) -> bool:
        self._sleep(3.0)
        return True

    def _report_file(self) -> bool:
        return any(self.stores[0].glob("report.html.*.tmp"))

    def _at(self, kind: Callable[[str], bool]) -> Worker | None:
        """A worker whose run has a file of that kind in the work."""
        hashes = {name.partition(".")[0] for path in self.stores for name in _names(path / ".work") if kind(name)}
        return next((worker for worker in self._alive() if worker.hash in hashes), None)

    def _real(self) -> bool:
        return any(command.real for command in self.alive())

    def _alive(self) -> list[Worker]:
        """The workers of commands that go on."""
        known = [worker for command in self.alive() for worker in command.workers() if worker not in self._past]
        self._past |= {worker for worker in known if not lives(worker.pid)}
        return [worker for worker in known if worker not in self._past]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _runs(store: Path) -> Iterator[Path]:
    return (store / name for name in _names(store) if HASH.fullmatch(name))


def lives(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _send(pid: int, number: signal.Signals, group: bool = False) -> bool:
    """Whether there was somebody to hear it."""
    if not lives(pid):
        return False
    with suppress(ProcessLookupError):
        os.killpg(pid, number) if group else os.kill(pid, number)
        return True
    return False

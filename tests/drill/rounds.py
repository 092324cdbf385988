"""The rounds of a drill: a sweep is killed, begun again, and in the end held against an undisturbed one."""

import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.drill import counted, plan
from tests.drill.command import Command, Worker, nothing
from tests.drill.reader import Outcome, Reader, differences, outcome
from tests.drill.strikes import Strike, Watcher, drawn, lives

STEPS = 80
"""Training steps of a run: less than a second."""

KILLS = 20
"""Kills of one sweep, before it is left to end."""

PATIENCE = 600.0
"""Seconds after which a command is said to hang."""

ENDS = (0, 1, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)
"""Exit codes of a command that is killed, or whose workers are."""


@dataclass(frozen=True)
class Manner:
    """How a sweep is killed: so many commands at once on its store, each with or without --retry.

    Without, the run of a worker that was killed has failed, and stays so until the end, when all runs are made.
    """

    commands: int
    retry: bool


MANNERS = (Manner(1, True), Manner(2, True), Manner(2, False))


@dataclass
class Tally:
    """What a drill has found so far."""

    kills: int = 0
    by: Counter[Strike] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    anew: list[str] = field(default_factory=list)
    """Runs that did not go on from their last checkpoint."""
    odd: list[str] = field(default_factory=list)
    """Commands that end as none should: with a traceback, with an error, or not at all."""

    def __str__(self) -> str:
        lost, twice, broken, anew = len(self.lost), len(self.twice), len(self.broken), len(self.anew)
        return f"kills {self.kills}, lost {lost}, twice {twice}, half-written {broken}, begun anew {anew}"

    def found(self) -> list[str]:
        """Every fault in words; none after a drill that has gone well."""
        kinds = {
            "lost": self.lost,
            "twice": self.twice,
            "half-written": self.broken,
            "begun anew": self.anew,
            "odd": self.odd,
        }
        return [f"{kind}: {what}" for kind, faults in kinds.items() for what in faults]


@dataclass
class Sweep:
    """What is killed again and again, and every command that was given for it."""

    plan: Path
    store: Path
    manner: Manner
    reader: Reader
    commands: list[Command] = field(default_factory=list)

    def workers(self) -> list[Worker]:
        return [worker for command in self.commands for worker in command.workers()]


class Drill:
    """Kills sweeps in a folder, by one plan and in one manner after another, until there were `kills` kills.

    real: the share of commands that are new Pythons. before: what is done first in the process of a forked one.
    """

    def __init__(
        self,
        folder: Path,
        kills: int,
        seed: int,
        *,
        real: float,
        plans: Mapping[str, Mapping[str, Any]] = plan.PLANS,
        manners: Sequence[Manner] = MANNERS,
        before: Callable[[], None] = nothing,
    ):
        self.folder, self.kills, self.real = folder, kills, real
        self.manners, self.before = manners, before
        self.draw = random.Random(seed)
        self.plans = plan.write(folder, plans, STEPS)
        self.tally = Tally()
        self.commands = self.new = 0

    def run(self, report: Callable[[str], None]) -> Tally:
        begun, expected = time.monotonic(), {}
        ways = zip(itertools.cycle(self.plans), itertools.cycle(self.manners))
        for number, (name, manner) in enumerate(ways, 1):
            if self.tally.kills >= self.kills:
                break
            if name not in expected:
                expected[name] = self._undisturbed(name)
            self._round(number, name, manner, expected[name])
            said = f"{manner.commands} at once, {'with' if manner.retry else 'without'} --retry"
            report(f"sweep {number}, {name}, {said}, at {time.monotonic() - begun:.0f} s: {self.tally}")
        return self.tally

    def _undisturbed(self, name: str) -> Outcome:
        store = self.folder / f"undisturbed-{name}"
        sweep = Sweep(self.plans[name], store, Manner(1, True), Reader(store))
        command = self._begin(sweep)
        if self._ended(command) != 0:
            raise RuntimeError(f"an undisturbed sweep has failed:\n{command.said()}")
        found = outcome(store)
        self._count(sweep, found)
        return found

    def _round(self, number: int, name: str, manner: Manner, expected: Outcome) -> None:
        store = self.folder / f"killed-{number}"
        sweep = Sweep(self.plans[name], store, manner, Reader(store, failed=not manner.retry))
        last = min(self.tally.kills + KILLS, self.kills)
        while self.tally.kills < last:
            left_alone = self._attacked(sweep, last)
            if len(sweep.reader.finished()) == len(expected) or (left_alone and not manner.retry):
                break
        sweep.reader.release()
        command = self._begin(sweep, retry=True)
        if self._ended(command) != 0:
            self.tally.odd.append(f"left alone, it ended with {command.code}: {command.said()[-1000:]}")
        sweep.reader.look()
        self.tally.lost += [f"{store}: {what}" for what in differences(outcome(store), expected)]
        for kind in ("lost", "twice", "broken"):
            getattr(self.tally, kind).extend(getattr(sweep.reader, kind))
        self._count(sweep, expected)

    def _attacked(self, sweep: Sweep, last: int) -> bool:
        """Commands, struck until they end or there were `last` kills. Whether all came to their end by themselves."""
        real = self.draw.random() < self.real
        commands = [self._begin(sweep, real=real) for _ in range(sweep.manner.commands)]
        watcher = Watcher(commands, sweep.store, self.draw, sweep.reader.glance)
        interrupted = set()
        while watcher.alive() and self.tally.kills < last:
            strike = drawn(self.draw, watcher.reporting())
            struck = watcher.strike(strike)
            if struck is None:
                continue
            self.tally.kills += 1
            self.tally.by[strike] += 1
            sweep.reader.look()
            if strike.how.startswith("interrupt"):
                interrupted.add(struck)
        for command in commands:
            code = self._ended(command)
            if code not in ENDS or ("Traceback" in command.said() and command not in interrupted):
                self.tally.odd.append(f"it ended with {code}: {command.said()[-1000:]}")
        sweep.reader.look()
        # Half of the time the next command finds workers that have not yet seen that theirs is gone.
        while self.draw.random() < 0.5 and any(lives(worker.pid) for worker in sweep.workers()):
            time.sleep(0.5)
        return not watcher.ended

    def _count(self, sweep: Sweep, expected: Outcome) -> None:
        """Hold the steps that were trained against what the kills may have cost, once no worker is left."""
        deadline = time.monotonic() + PATIENCE
        while any(lives(worker.pid) for worker in sweep.workers()) and time.monotonic() < deadline:
            time.sleep(0.1)
        trained: dict[str, list[int]] = {}
        for worker in sweep.workers():
            trained.setdefault(worker.hash, []).append(counted.steps(self.folder, worker.pid))
        for _, hash in expected:
            self.tally.anew += [f"{sweep.store}: {hash} {what}" for what in begun_anew(trained.get(hash, []), STEPS)]
        # Numbers of processes are given again.
        for worker in sweep.workers():
            counted.forget(self.folder, worker.pid)

    def _begin(self, sweep: Sweep, *, real: bool = False, retry: bool | None = None) -> Command:
        self.commands += 1
        self.new += real
        arguments = ["compare", str(sweep.plan), "--store", str(sweep.store), "--workers", "2", "--cpu"]
        arguments += ["--retry"] if (sweep.manner.retry if retry is None else retry) else []
        made = Command(self.folder / f"{self.commands}.workers", arguments, real=real, before=self.before)
        sweep.commands.append(made)
        return made

    def _ended(self, command: Command) -> int | None:
        """Its exit code; None where it had to be killed."""
        code = command.wait(PATIENCE)
        if code is None:
            self.tally.odd.append(f"it hangs after {PATIENCE} s: {command.said()[-1000:]}")
            for pid in (command.pid, *(worker.pid for worker in command.workers())):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            command.wait(PATIENCE)
        return code


def begun_anew(trained: Sequence[int], steps: int) -> list[str]:
    """What is wrong with the steps that each process of one run has begun, of a run that has ended.

    There is a checkpoint after each step, so a process that ends costs the next one a step at most.
    """
    each = [begun for begun in trained if begun]
    if sum(each) < steps:
        return [f"was trained for {sum(each)} steps of {steps}: they were not counted"]
    most, by = steps + len(each) - 1, " + ".join(map(str, each))
    return [f"was trained for {by} = {sum(each)} steps: {most} do"] if sum(each) > most else []

"""The rounds of a drill: a sweep is killed, begun again, and in the end held against an undisturbed one."""

import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.drill import plan
from tests.drill.command import Command
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


@dataclass
class Tally:
    """What a drill has found so far."""

    kills: int = 0
    by: Counter[Strike] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """Commands that end as none should: with a traceback, with an error, or not at all."""

    def __str__(self) -> str:
        lost, twice, broken = len(self.lost), len(self.twice), len(self.broken)
        return f"kills {self.kills}, lost {lost}, twice {twice}, half-written {broken}"

    def found(self) -> list[str]:
        """Every fault in words; none after a drill that has gone well."""
        kinds = {"lost": self.lost, "twice": self.twice, "half-written": self.broken, "odd": self.odd}
        return [f"{kind}: {what}" for kind, faults in kinds.items() for what in faults]


@dataclass(frozen=True)
class Sweep:
    """What is killed again and again."""

    plan: Path
    store: Path
    reader: Reader


class Drill:
    """Kills sweeps in a folder, one plan after another, until there were `kills` kills.

    real: the share of commands that are new Pythons.
    """

    def __init__(
        self,
        folder: Path,
        kills: int,
        seed: int,
        *,
        real: float = 0.2,
        plans: Mapping[str, Mapping[str, Any]] = plan.PLANS,
    ):
        self.folder, self.kills, self.real = folder, kills, real
        self.draw = random.Random(seed)
        self.plans = plan.write(folder, plans, STEPS)
        self.tally = Tally()
        self.commands = self.new = 0

    def run(self, report: Callable[[str], None]) -> Tally:
        begun, expected = time.monotonic(), {}
        for number, name in enumerate(itertools.cycle(self.plans), 1):
            if self.tally.kills >= self.kills:
                break
            if name not in expected:
                expected[name] = self._undisturbed(name)
            self._round(number, name, expected[name])
            report(f"sweep {number}, {name}, at {time.monotonic() - begun:.0f} s: {self.tally}")
        return self.tally

    def _undisturbed(self, name: str) -> Outcome:
        store = self.folder / f"undisturbed-{name}"
        command = self._begin(self.plans[name], store, real=False)
        if self._ended(command) != 0:
            raise RuntimeError(f"an undisturbed sweep has failed:\n{command.said()}")
        return outcome(store)

    def _round(self, number: int, name: str, expected: Outcome) -> None:
        store = self.folder / f"killed-{number}"
        sweep = Sweep(self.plans[name], store, Reader(store))
        last = min(self.tally.kills + KILLS, self.kills)
        while self.tally.kills < last:
            self._attacked(sweep, last)
            if len(sweep.reader.finished()) == len(expected):
                break
        command = self._begin(sweep.plan, store, real=False)
        if self._ended(command) != 0:
            self.tally.odd.append(f"left alone, it ended with {command.code}: {command.said()[-1000:]}")
        sweep.reader.look()
        self.tally.lost += [f"{store}: {what}" for what in differences(outcome(store), expected)]
        for kind in ("lost", "twice", "broken"):
            getattr(self.tally, kind).extend(getattr(sweep.reader, kind))

    def _attacked(self, sweep: Sweep, last: int) -> None:
        """One command, struck until it ends or there were `last` kills."""
        command = self._begin(sweep.plan, sweep.store, self.draw.random() < self.real)
        watcher = Watcher(command, sweep.store, self.draw, sweep.reader.glance)
        interrupted = False
        while command.code is None and self.tally.kills < last:
            strike = drawn(self.draw, command.reporting)
            if not watcher.strike(strike):
                continue
            self.tally.kills += 1
            self.tally.by[strike] += 1
            sweep.reader.look()
            if strike.ends:
                interrupted = strike.how.startswith("interrupt")
                break
        code = self._ended(command)
        if code not in ENDS or ("Traceback" in command.said() and not interrupted):
            self.tally.odd.append(f"it ended with {code}: {command.said()[-1000:]}")
        sweep.reader.look()
        # Half of the time the next command finds workers that have not yet seen that theirs is gone.
        while self.draw.random() < 0.5 and any(lives(worker.pid) for worker in command.workers()):
            time.sleep(0.5)

    def _begin(self, path: Path, store: Path, real: bool) -> Command:
        self.commands += 1
        self.new += real
        arguments = ["compare", str(path), "--store", str(store), "--workers", "2", "--retry", "--cpu"]
        return Command(self.folder / f"{self.commands}.workers", arguments, real=real)

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

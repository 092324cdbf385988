"""A log for programs: one JSON object a line, appended to a file as things happen. No torch here.

A file, and not stderr: there libraries and a user's own code print as well, so that not every line of it is ours; and a
file outlives a terminal, and takes the next command that goes on with a sweep. docs/log.md shows how it is read.
"""

import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from gnomon.errors import exit_code
from gnomon.lab.events import ASIDE, WORKING, Event, Progress
from gnomon.lab.files import writing
from gnomon.lab.lossy import Lossy

EVERY = 0.25
"""Seconds between two lines of a run that say the same but for the numbers."""

LONGEST = 2000
"""Letters of a warning."""

FORMAT = 1
"""Raised when a field comes to mean something else; new fields and phases may come without that."""

SCHEMA: dict[str, dict[str, str]] = {
    "begin": {
        "format": "of this log: 1",
        "command": "what gives the comparison again",
        "store": "the folder of runs",
        "process": "its number",
        "gnomon": "the version",
    },
    "plan": {
        "runs": "how many runs are asked for",
        "stored": "how many of them need not be made",
        "trials": "whether they are those of a tuning: a second plan follows",
    },
    "run": {
        "hash": "the run, as its folder in the store is called",
        "label": "its encoding and options, and the task where it is not text",
        "seed": "its seed",
        "phase": "where it is: "
        "queued, waiting, start, train, checkpoint, measure, stored, finished, diverged, failed, stopped, lost",
        "step": "training steps done; in `measure`, thousands of tokens; in `checkpoint`, the step that it stands at",
        "steps": "of how many",
        "loss": "nats, of the last training steps; in `finished`, at the training length",
        "tokens_per_second": "in `train` and `measure`",
        "seconds_left": "of this phase",
        "reason": "in failed, diverged, lost and waiting: why",
        "exact": "in `finished`, on a task with answers: the share that is right at the training length",
        "node": "where it is at work, on a cluster",
    },
    "warning": {
        "hash": "the run whose process gave it; null: this process",
        "label": "of that run, or null",
        "seed": "of that run, or null",
        "node": "where it is at work, on a cluster",
        "text": "what was said, once for each process and text",
    },
    "end": {"code": "the exit code; null where this is a bug", "reason": "why, where it is neither 0 nor 1"},
}
"""What a line says besides `time` (UTC, ISO 8601) and `kind`, by its kind. All fields are there, or null."""


class Log:
    """Appends lines to a file. StoreError where it cannot be opened; where it fills up later, that is told once."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        with writing(self.path, "the log"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)

    def write(self, kind: str, **told: Any) -> None:
        """One line, in one piece where there is room: others may append to the file as well.

        Where a disk was full, half a line may be left, of us or of another: what follows begins a line of its own.
        """
        if self._handle is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "kind": kind} | dict.fromkeys(SCHEMA[kind]) | told, allow_nan=False) + "\n"
        try:
            self._append((b"" if self._at_line() else b"\n") + line.encode())
        except OSError as error:
            self.close()
            said = f"the log cannot be written: {self.path}: {error.strerror}; the runs go on"
            print(said, file=Lossy(sys.stderr), flush=True)

    def _at_line(self) -> bool:
        """Whether the file is at the beginning of a line."""
        if os.lseek(self._handle, 0, os.SEEK_END) == 0:
            return True
        os.lseek(self._handle, -1, os.SEEK_END)
        return os.read(self._handle, 1) == b"\n"  # what is written goes to the end, wherever we read

    def _append(self, line: bytes) -> None:
        """All of it: a disk that is nearly full takes a part of what it is given, and says how much."""
        while line:
            line = line[os.write(self._handle, line) :]

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Logged:
    """A listener that logs what it hears, and passes it on to another one.

    What a run says of its work again and again is logged every EVERY seconds, whoever makes it.
    """

    def __init__(self, log: Log, other: Progress, *, trials: bool = False):
        self.log, self.other, self.trials = log, other, trials
        self._last: dict[str, tuple[str, float]] = {}

    def begin(self, plan: Sequence[Event]) -> None:
        stored = sum(event.phase != "queued" for event in plan)
        self.log.write("plan", runs=len(plan), stored=stored, trials=self.trials)
        for event in plan:
            self._tell(event)
        self.other.begin(plan)

    def update(self, event: Event) -> None:
        if event.phase in ASIDE or self._due(event):
            self._tell(event)
        self.other.update(event)

    def _due(self, event: Event) -> bool:
        now = time.monotonic()
        phase, before = self._last.get(event.hash, ("", 0.0))
        if event.phase == phase in WORKING and now - before < EVERY:
            return False
        self._last[event.hash] = (event.phase, now)
        return True

    def end(self) -> None:
        self.other.end()

    def _tell(self, event: Event) -> None:
        told = event.to_json()
        if event.phase == "warning":
            named = {name: told[name] for name in ("hash", "label", "seed", "node")}
            self.log.write("warning", **named, text=event.reason)
        else:
            self.log.write("run", **told)


@contextmanager
def logged(path: str | Path, **begins: Any) -> Iterator[Log]:
    """A log of one command, from its `begin` to its `end`, with the warnings of this process."""
    log = Log(path)
    log.write("begin", format=FORMAT, process=os.getpid(), **begins)
    try:
        with warned(lambda text: log.write("warning", text=text)):
            yield log
    except BaseException as error:
        log.write("end", code=exit_code(error), reason=str(error) or type(error).__name__)
        raise
    finally:
        log.close()


class _Handler(logging.Handler):
    """Hands on what is logged, and ends nothing where that cannot be said, as logging asks of handlers."""

    def __init__(self, told: Callable[[logging.LogRecord], None]):
        super().__init__(logging.WARNING)
        self.told = told

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.told(record)
        except Exception:
            self.handleError(record)


class warned:
    """Within it, `tell` is called with each warning of Python's and of loggers, once, besides where they go anyway."""

    def __init__(self, tell: Any):
        self.tell = tell
        self.told: set[str] = set()

    def __enter__(self) -> "warned":
        self._shows = warnings.showwarning
        warnings.showwarning = self._show
        self._handler = _Handler(self._logged)
        root = logging.getLogger()
        # Without a handler of its own, logging prints warnings; with ours alone, it would not.
        self._last = None if root.handlers else logging.lastResort
        for handler in filter(None, (self._handler, self._last)):
            root.addHandler(handler)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        warnings.showwarning = self._shows
        for handler in filter(None, (self._handler, self._last)):
            logging.getLogger().removeHandler(handler)

    def _show(self, message: Any, category: type, filename: str, lineno: int, file: Any = None, line: Any = None):
        self._once(f"{category.__name__}: {message}")
        self._shows(message, category, filename, lineno, file, line)

    def _logged(self, record: logging.LogRecord) -> None:
        # What we log ourselves is an event already.
        if not record.name.startswith("gnomon."):
            self._once(record.getMessage())

    def _once(self, text: str) -> None:
        if text not in self.told:
            self.told.add(text)
            self.tell(text[:LONGEST])

"""A log for programs: one JSON object a line, appended to a file as things happen. No torch here.

A file, and not stderr: there libraries and a user's own code print as well, so that not every line of it is ours; and a
file outlives a terminal, and takes the next command that goes on with a sweep. docs/log.md shows how it is read.
"""

import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from gnomon.errors import UserError
from gnomon.lab.events import Event, Progress
from gnomon.lab.files import writing

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
            self._handle: int | None = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def write(self, kind: str, **told: Any) -> None:
        """One line, in one piece: others may append to the file as well."""
        if self._handle is None:
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": time, "kind": kind} | dict.fromkeys(SCHEMA[kind]) | told, allow_nan=False) + "\n"
        try:
            os.write(self._handle, line.encode())
        except OSError as error:
            self.close()
            print(f"the log cannot be written: {self.path}: {error.strerror}; the runs go on", file=sys.stderr)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Logged:
    """A listener that logs what it hears, and passes it on to another one."""

    def __init__(self, log: Log, other: Progress, *, trials: bool = False):
        self.log, self.other, self.trials = log, other, trials

    def begin(self, plan: Sequence[Event]) -> None:
        stored = sum(event.phase != "queued" for event in plan)
        self.log.write("plan", runs=len(plan), stored=stored, trials=self.trials)
        for event in plan:
            self._tell(event)
        self.other.begin(plan)

    def update(self, event: Event) -> None:
        self._tell(event)
        self.other.update(event)

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
        known = 130 if isinstance(error, KeyboardInterrupt) else 2 if isinstance(error, UserError | OSError) else None
        log.write("end", code=known, reason=str(error) or type(error).__name__)
        raise
    finally:
        log.close()


class warned:
    """Within it, `tell` is called with each warning of Python's and of loggers, once, besides where they go anyway."""

    def __init__(self, tell: Any):
        self.tell = tell
        self.told: set[str] = set()

    def __enter__(self) -> "warned":
        self._shows = warnings.showwarning
        warnings.showwarning = self._show
        self._handler = logging.Handler(logging.WARNING)
        self._handler.emit = self._emit
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

    def _emit(self, record: logging.LogRecord) -> None:
        # What we log ourselves is an event already.
        if not record.name.startswith("gnomon."):
            self._once(record.getMessage())

    def _once(self, text: str) -> None:
        if text not in self.told:
            self.told.add(text)
            self.tell(text[:LONGEST])

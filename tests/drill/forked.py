"""A worker that is forked from whoever wants it, in place of a new Python: its modules are loaded already."""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gnomon.lab import spawn, worker

HEARD = (signal.SIGINT, signal.SIGTERM)


def begin(task: Mapping[str, Any], log: Path, path: Sequence[str], device: str | None = None) -> "Forked":
    """`gnomon.lab.spawn.begin` in a moment. The path is this process's."""
    with log.open("wb") as errors:
        made = Forked(errors.fileno(), spawn.environment(task, device))
    spawn.tell(made, task)
    return made


class Forked:
    """A `gnomon.lab.spawn.Process`."""

    def __init__(self, errors: int, environment: Mapping[str, str]):
        taken, given = os.pipe()
        heard, said = os.pipe()
        # Until it has handlers of its own, a signal to the worker must not be heard by those of its parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        self.pid = os.fork()
        if self.pid == 0:
            _become((taken, said, errors), environment)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        os.close(taken)
        os.close(said)
        self.stdin, self.stdout = os.fdopen(given, "wb"), os.fdopen(heard, "rb")
        self._code: int | None = None
        self._turn = threading.Lock()

    def wait(self) -> int:
        with self._turn:
            if self._code is None:
                self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return self._code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        # Its number is its own until it has been waited for.
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _become(standard: Sequence[int], environment: Mapping[str, str]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        for number, file in enumerate(standard):
            os.dup2(file, number)
        # A copy of another worker's pipe would keep that from seeing that its parent has gone.
        os.closerange(3, 1024)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.environ.update(environment)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        code = worker.main()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)

"""A worker that is forked from whoever wants it, in place of a new Python: its modules are loaded already."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NoReturn

from gnomon.lab import worker

HEARD = (signal.SIGINT, signal.SIGTERM)


class Forked:
    """What the pool needs of `subprocess.Popen`. The command is not looked at: it is that of a worker."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: BinaryIO,
        env: Mapping[str, str],
        start_new_session: bool,
    ):
        taken, given = os.pipe()
        heard, said = os.pipe()
        # Until it has handlers of its own, a signal to the worker must not be heard by those of its parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        self.pid = os.fork()
        if self.pid == 0:
            _become((taken, said, stderr.fileno()), env)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        os.close(taken)
        os.close(said)
        self.stdin, self.stdout = os.fdopen(given, "wb"), os.fdopen(heard, "rb")
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _become(standard: Sequence[int], env: Mapping[str, str]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        for number, file in enumerate(standard):
            os.dup2(file, number)
        # A copy of another worker's pipe would keep that from seeing that its parent has gone.
        os.closerange(3, 1024)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.environ.update(env)
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

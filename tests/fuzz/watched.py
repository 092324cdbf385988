"""One command line in this process, watched: how it ends, what it says, how long it takes, and what it writes."""

import io
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from gnomon import cli

CODES = {0, 1, 2, 130}
"""The exit codes that `gnomon --help` lists."""

PATIENCE = 30.0
"""Seconds of computing that one call may take. The toys of the sandbox need two, the first report eight."""

WAIT = 6 * PATIENCE
"""Seconds that it may take on a machine which others use too."""

ROOM = 4 << 30
"""Bytes that it may take beside what this process holds."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NAMED = {
    "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1,
    "os.rename": 2, "os.link": 2, "os.symlink": 2, "shutil.rmtree": 1, "shutil.move": 2, "tempfile.mkstemp": 1,
    "tempfile.mkdtemp": 1,
}  # fmt: skip
"""What Python tells before it changes a file, and how many paths it names."""


class Finding(AssertionError):
    """What no command may do."""


class Hang(BaseException):
    """A call that does not end. No `except Exception` holds it up."""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def call(words: Sequence[str], home: Path) -> Outcome:
    """`gnomon WORDS` in the folder that we are in, which lies in `home`; Finding for what no command may do.

    A traceback, an exit code that is none of CODES, more than PATIENCE or ROOM, a write outside `home`, something that
    is unpickled, a mistake without a word on stderr.
    """
    out, err = _Terminal(), _Terminal()
    before = sys.stdout, sys.stderr
    try:
        with bounded(), guarding(home):
            sys.stdout, sys.stderr = out, err
            code = cli.main(list(words))
    except Hang as hang:
        raise Finding(f"gnomon {words} does not end:\n{_last(hang)}") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Finding(f"gnomon {words} ends in a traceback:\n{_last(error)}") from error
    finally:
        sys.stdout, sys.stderr = before
    found = Outcome(code, out.said(), err.said())
    if code not in CODES or isinstance(code, bool):
        raise Finding(f"gnomon {words}: exit code {code!r}\n{found.err}")
    if re.search(r"^Traceback|^  File \"", found.err, re.MULTILINE):
        raise Finding(f"gnomon {words} shows a traceback:\n{found.err}")
    if code == 2 and words and not found.err.strip():
        raise Finding(f"gnomon {words}: exit code 2, and no word of why")
    return found


class _Terminal(io.TextIOWrapper):
    """A stream as Python opens one: UTF-8, and what that cannot hold as an escape."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)

    def said(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()


def _last(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-14:])


@contextmanager
def bounded() -> Iterator[None]:
    """Hang after PATIENCE of computing or WAIT of waiting; MemoryError beyond ROOM."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    numbers = (signal.SIGALRM, signal.SIGPROF)
    before = [signal.signal(number, ring) for number in numbers]
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_data() + ROOM, hard))
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        for number, old in zip(numbers, before):
            signal.signal(number, old)


def _data() -> int:
    """Bytes of private memory that this process has mapped."""
    told = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"^VmData:\s+(\d+)", told, re.MULTILINE)[1])


_allowed: Path | None = None
"""The folder outside which nothing may be written now; None while nobody looks."""

_written: list[str] = []
"""What was to be written outside it, or unpickled: code that takes any error may take the one that tells it."""

_hooked = False


@contextmanager
def guarding(home: Path) -> Iterator[None]:
    """Refuse every write of Python's outside `home`, and whatever is unpickled, with a Finding, before it is done."""
    global _allowed, _hooked
    if not _hooked:
        sys.addaudithook(_look)  # it can never be taken away, so it asks whether anybody looks
        _hooked = True
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(home / "cache")  # torch's own, made as soon as it is asked for
    before, _allowed = _allowed, home.resolve()
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        _allowed, sys.dont_write_bytecode = before, bytecode
        told = [*_written]
        _written.clear()
    if told:
        raise Finding("\n".join(told))


def _look(event: str, told: tuple) -> None:
    if _allowed is None:
        return
    if event == "pickle.find_class":
        _written.append(f"something is unpickled: {told}")
        raise Finding(_written[-1])
    if event == "open":
        path, _, flags = told
        paths = [path] if flags & WRITES else []
    else:
        paths = told[: NAMED.get(event, 0)]
        if event in ("os.remove", "os.rmdir", "os.mkdir") and told[-1] != -1:
            return  # named within a folder whose removal was told before
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike):
            _check(os.fsdecode(path), event)


def _check(path: str, event: str) -> None:
    global _allowed
    home, _allowed = _allowed, None  # asking the file system is told here as well
    try:
        real = Path(os.path.realpath(path))
    except ValueError:  # a NUL in it: no file has that name
        return
    finally:
        _allowed = home
    # No file: the second lets the peak of memory begin anew.
    nothing = (Path(os.devnull), Path(f"/proc/{os.getpid()}/clear_refs"))
    if real not in nothing and not real.is_relative_to(home):
        _written.append(f"{event} outside {home}: {real}")
        raise Finding(_written[-1])


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in this folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)

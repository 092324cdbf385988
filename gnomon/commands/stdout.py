"""Stdout belongs to what a command says. Whatever else is printed while it works goes to stderr."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from gnomon.errors import STDOUT

_ours: TextIO | None = None


def stdout() -> TextIO:
    """Where a command says what it has to say."""
    return sys.stdout if _ours is None else _ours


def say(text: str = "", end: str = "\n") -> None:
    """A line on stdout."""
    print(text, end=end, file=stdout())


@contextlib.contextmanager
def owned() -> Iterator[None]:
    """Keep stdout for `say`: prints of a user's file and of libraries go to stderr, here and in processes started."""
    global _ours
    outer = _ours, sys.stdout
    with _descriptor() if _real() else contextlib.nullcontext(sys.stdout) as _ours:
        sys.stdout = sys.stderr
        try:
            yield
            _ours.flush()
        finally:
            _ours, sys.stdout = outer


def _real() -> bool:
    """Whether stdout and stderr are those of the process, not what a caller or a test has put in their place."""
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() >= 0
    except (OSError, ValueError, AttributeError):
        return False


@contextlib.contextmanager
def _descriptor() -> Iterator[TextIO]:
    """A stream to what descriptor 1 was; the descriptor itself leads to stderr meanwhile."""
    now = sys.stdout
    now.flush()
    raw = _Named(os.dup(1), "w")
    # What the terminal's encoding lacks is written as an escape.
    said = dict(encoding=now.encoding, errors="backslashreplace", line_buffering=now.isatty())
    stream = io.TextIOWrapper(io.BufferedWriter(raw), **said)
    os.dup2(sys.stderr.fileno(), 1)
    try:
        yield stream
    finally:
        os.dup2(raw.fileno(), 1)
        # What could not be written has been told; closing tries once more.
        with contextlib.suppress(OSError):
            stream.close()


class _Named(io.FileIO):
    """A descriptor whose errors say what could not be written."""

    def write(self, data: object) -> int | None:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise

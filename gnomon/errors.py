"""Errors for a user's mistake: what was asked, what was given, what is allowed, what to do."""

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 200
"""Letters of a value that a message shows."""


def shown(value: object) -> str:
    """A value as a message shows it: its repr, not all of it where that is long.

    What Python cannot write, a number of thousands of digits or lists in lists without end, is named by its kind.
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large to be shown"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


class UserError(ValueError):
    """Something the caller can put right. The command line prints it and exits with code 2."""

    def __init__(self, asked: str, *, given: object = None, allowed: object = None, do: str | None = None):
        self.asked, self.given, self.allowed, self.do = asked, given, allowed, do
        lines = [asked]
        if given is not None:
            lines.append(f"  given:   {given if isinstance(given, str) else _plainly(given)}")
        if allowed is not None:
            lines.append(f"  allowed: {allowed}")
        if do is not None:
            lines.append(f"  do:      {do}")
        super().__init__("\n".join(lines))

    def __reduce__(self):
        return _rebuild, (type(self), self.asked, self.given, self.allowed, self.do)


def _plainly(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):
        return shown(value)


def _rebuild(kind, asked, given, allowed, do):
    return kind(asked, given=given, allowed=allowed, do=do)


class OptionError(UserError):
    """An unknown name or a value outside its range."""


class PositionError(UserError):
    """A position that the encoding does not define."""


class BackendError(UserError):
    """A backend that cannot compute what was asked."""


class DataError(UserError):
    """Data that is missing, too short or not what it should be."""


class StoreError(UserError):
    """A folder that is not a store of ours, or a record that cannot be read."""


STDOUT = "stdout"
"""What an error of the command line's stdout names as its file."""


def exit_code(error: BaseException) -> int | None:
    """The exit code of a command that this ends; None for a bug, which ends in a traceback and code 1.

    Whoever reads stdout may go (`| head`): that is no mistake.
    """
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, BrokenPipeError) and error.filename == STDOUT:
        return 0
    return 2 if isinstance(error, UserError) or (isinstance(error, OSError) and error.filename is not None) else None


def unknown(kind: str, name: str, known: Iterable[str]) -> OptionError:
    """The error for a name outside a known set; it suggests the nearest known one."""
    known = sorted(known)
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    do = f"did you mean {near[0]!r}?" if near else "choose one of those allowed" if known else "leave it out"
    return OptionError(f"unknown {kind} {name!r}", allowed=", ".join(known) or "none", do=do)

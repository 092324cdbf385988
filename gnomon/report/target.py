"""Where a page or a figure can be written: said before the work that it is to show, not after it."""

import os
import tempfile
from pathlib import Path

from gnomon.checked import checked
from gnomon.errors import OptionError

_BESIDE = len(".12345678.tmp")
"""Bytes that the name of the file has more while it is written."""

SHOWN = 200
"""Letters of a path that a message shows."""


@checked
def check(out: Path | str, what: str = "page") -> None:
    """OptionError where no `what` can be written to `out`, a regular file or none.

    A file is made in the folder that is there, or in the nearest one above, and taken away.
    """
    try:
        path = Path(os.path.realpath(out))
        folder = next(above for above in path.parents if above.exists())
        longest = os.pathconf(folder, "PC_NAME_MAX")
        names = [*path.relative_to(folder).parts]
        names[-1] += "x" * _BESIDE
        if any(len(os.fsencode(name)) > longest for name in names):
            raise _unwritable(out, what, f"a name has up to {longest - _BESIDE} bytes here")
        if path.is_dir():
            do = f"name a file: {path / what}.html"
            raise OptionError(f"a {what} is one file", given=f"the folder {out}", do=do)
        if path.is_symlink():
            raise _unwritable(out, what, "links that lead to each other")
        if path.exists() and not path.is_file():
            raise OptionError(f"a {what} is a regular file", given=_short(out), do="name another file")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise _unwritable(out, what, getattr(error, "strerror", None) or str(error)) from error


def _unwritable(out: Path | str, what: str, why: str) -> OptionError:
    do = "name a file in a folder of your own"
    return OptionError(f"the {what} cannot be written there", given=f"{_short(out)}: {why}", do=do)


def _short(out: Path | str) -> str:
    return str(out) if len(str(out)) <= SHOWN else f"{str(out)[:SHOWN]}..."

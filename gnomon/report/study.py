"""The sections of an analysis -> one HTML file, everything in it, nothing fetched."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.checked import checked
from gnomon.errors import OptionError, StoreError
from gnomon.report.document import framed
from gnomon.report.drawings import drawn, errors_told
from gnomon.report.palette import VARIABLES
from gnomon.report.still import put
from gnomon.section import Section, Value

STILL_WIDTH = 900


_BESIDE = len(".12345678.tmp")
"""Bytes that the name of the file has more while it is written."""


@checked
def check(out: Path | str) -> None:
    """OptionError where no page can be written to `out`, a regular file or none: said before the work, not after it.

    A file is made in the folder that is there, or in the nearest one above, and taken away.
    """
    path = Path(os.path.realpath(out))
    try:
        folder = next(above for above in path.parents if above.exists())
        longest = os.pathconf(folder, "PC_NAME_MAX")
        names = [*path.relative_to(folder).parts]
        names[-1] += "x" * _BESIDE
        if any(len(os.fsencode(name)) > longest for name in names):
            raise _unwritable(out, f"a name has up to {longest - _BESIDE} bytes here")
        if path.is_dir():
            do = f"name a file: {path / 'analysis.html'}"
            raise OptionError("a page is one file", given=f"the folder {out}", do=do)
        if path.exists() and not path.is_file():
            raise OptionError("a page is a regular file", given=str(out), do="name another file")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(out, error.strerror) from error


def _unwritable(out: Path | str, why: str | None) -> OptionError:
    given = str(out) if len(str(out)) <= 200 else f"{str(out)[:200]}..."
    return OptionError("the page cannot be written", given=f"{given}: {why}", do="name a file in a folder of your own")


@checked
def write(
    sections: Sequence[Section],
    out: Path | str,
    *,
    title: str,
    settings: Mapping[str, Value],
    command: str,
    overline: str = "gnomon · the mathematics of one encoding, without training",
) -> Path:
    """Write the page of an analysis to the file `out` (folders are made; a file there is replaced whole); its path.

    title: what was analysed. settings: under which sizes, by name. command: how to reproduce.
    overline: what kind of page it is.
    Raises OptionError where it cannot be written (`check`), StoreError where the disk turns out to be full.
    """
    out = Path(out)
    check(out)
    charts = drawn(sections, VARIABLES)
    page = framed(
        "study.html.j2",
        charts,
        dict.fromkeys(charts, STILL_WIDTH),
        title=title,
        overline=overline,
        sections=[section for section in sections if section.applies],
        others=[section for section in sections if not section.applies],
        settings=settings,
        command=command,
        cell=cell,
        errors_told=errors_told,
    )
    try:
        put(out, page)
    except StoreError as error:
        raise StoreError(
            "the page cannot be written", given=error.given, do="make room, or name a file elsewhere"
        ) from error
    return out


def cell(value: Value) -> str:
    """A value as a table shows it: whole numbers whole, others by four digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else value

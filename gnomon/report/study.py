"""The sections of an analysis -> one HTML file, everything in it, nothing fetched."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from gnomon import __version__
from gnomon.checked import checked
from gnomon.errors import StoreError
from gnomon.report.document import framed
from gnomon.report.drawings import drawn, errors_told
from gnomon.report.letters import readable
from gnomon.report.palette import VARIABLES
from gnomon.report.still import put
from gnomon.report.target import check
from gnomon.section import Section, Value

STILL_WIDTH = 900


@checked
def write(
    sections: Sequence[Section],
    out: Path | str,
    *,
    title: str,
    settings: Mapping[str, Value],
    command: str,
    overline: str = "gnomon · the mathematics of one encoding, without training",
    short: bool = False,
) -> Path:
    """Write the page of an analysis to the file `out` (folders are made; a file there is replaced whole); its path.

    title: what was analysed. settings: under which sizes, by name. command: how to reproduce.
    overline: what kind of page it is. short: whether the first sentence of each answer stands on top, and which gnomon
    made the page, and when, at its end.
    Raises OptionError where it cannot be written (`check`), StoreError where the disk turns out to be full.
    """
    out = Path(out)
    check(out)
    told = (sections, title, settings, command, overline)
    sections, title, settings, command, overline = readable(told)
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
        short=[section for section in sections if section.applies] if short else [],
        made=f"Made by gnomon {__version__}{_of_commit()} on {date.today().isoformat()}." if short else "",
    )
    try:
        put(out, page)
    except StoreError as error:
        raise StoreError(
            "the page cannot be written", given=error.given, do="make room, or name a file elsewhere"
        ) from error
    return out


def _of_commit() -> str:
    from gnomon.lab.environment import commit

    found = commit()
    return "" if found is None else f" (commit {found})"


def cell(value: Value) -> str:
    """A value as a table shows it: whole numbers, and what has five digits before its point, in groups of three digits;

    others by four digits.
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and 1e4 <= abs(value) < 1e15):
        return f"{value:,.0f}"
    return f"{value:.4g}" if isinstance(value, float) else value

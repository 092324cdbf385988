"""The sections of an analysis -> one HTML file, everything in it, nothing fetched."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.analysis.section import Section, Value
from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.report.document import framed
from gnomon.report.drawings import drawing
from gnomon.report.palette import VARIABLES
from gnomon.report.still import put

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
) -> Path:
    """Write the page of an analysis to the file `out` (folders are made; a file there is replaced whole); its path.

    title: what was analysed. settings: under which sizes, by name. command: how to reproduce.
    overline: what kind of page it is.
    Raises OptionError when `out` is a folder, StoreError where the file cannot be written.
    """
    out = Path(out)
    if out.is_dir():
        raise OptionError("a page is one file", given=f"the folder {out}", do=f"name a file: {out / 'analysis.html'}")
    charts = {
        f"{section.key}-{at}": drawing(figure, VARIABLES)
        for section in sections
        for at, figure in enumerate(section.figures)
    }
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
    )
    put(out, page)
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

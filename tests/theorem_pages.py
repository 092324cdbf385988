"""A page for each theorem from its section: `python -m tests.theorem_pages` writes docs/theorems/.

Every number on a page is computed when it is written, and a test holds the pages there.
"""

from pathlib import Path

from gnomon.analysis.theorems import section
from gnomon.claims.claim import DOCUMENTS
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.report.study import cell
from gnomon.section import Section, Table

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "theorems"
THEOREMS = ("theorem1", "theorem2", "theorem3")
OTHERS = {"theorem1": (3, 8), "theorem2": (), "theorem3": (6,)}
"""Widths at which something else is true."""
HEAD = (
    f"D1 is the document '{DOCUMENTS['D1']}', on the encoding of Vaswani et al. 2017, section 3.5; its three proofs "
    "are checked here. p and q are positions, w is the frequency of a wave in radians a position, k and n are whole "
    "numbers. A ball is a number with a proved error: an interval that contains the exact value, as wide as its "
    "precision in bits makes it (interval arithmetic). Nothing beyond school mathematics is needed but five facts that "
    "are not proved here, named where they are used: (1) pi is irrational; (2) pi is not algebraic; (3) sums, "
    "differences, products and quotients of algebraic numbers are algebraic; and, for the certificates alone, (4) the "
    "convergents of a continued fraction give the nearest multiples (Khinchin 1964, 'Continued Fractions', section 6), "
    "and (5) Euclid's algorithm finds the first multiple of an angle that lies in an arc (the proof is the comment of "
    "`gnomon.analysis.turns.first_between`).\n"
)


def page(which: str, width: int = 512) -> str:
    """The page of one theorem, for sinusoidal positions of a width."""
    made: Section = section(Sinusoidal(width), which)
    parts = [
        f"# {made.title}\n",
        HEAD,
        f"**{made.question}** {made.answer}\n",
        *(_paragraph(*part) for part in made.argument),
        *(_table(table) for table in made.tables),
        *_others(which),
        f"Written by `python -m tests.theorem_pages`; for other widths and bases: `gnomon analyze sinusoidal` "
        f"(`gnomon.analysis.theorems.section(encoding, {which!r})`).\n",
    ]
    return "\n".join(parts)


def _others(which: str) -> list[str]:
    """What is different at other widths, with its witness."""
    parts = []
    for width in OTHERS[which]:
        made = section(Sinusoidal(width), which)
        told = [_paragraph(name, rest) for name, rest in made.argument if "itness" in name + rest]
        parts += [f"## At width {width}\n", f"{_plain(made.answer)}\n", *told]
    return parts


def pages() -> dict[str, str]:
    """File name -> text, of every page."""
    return {f"{number}.md": page(which) for number, which in enumerate(THEOREMS, 1)}


def _paragraph(name: str, rest: str) -> str:
    return f"**{_plain(name)}** {_plain(rest)}\n" if name else f"{_plain(rest)}\n"


def _table(table: Table) -> str:
    head = f"| {' | '.join(map(_cell, table.columns))} |\n|{' --- |' * len(table.columns)}\n"
    rows = "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in table.rows)
    return f"## {table.title}\n\n{head}{rows}" + (f"\n{_plain(table.note)}\n" if table.note else "")


def _cell(value: object) -> str:
    return "" if value is None else _plain(cell(value)).replace("|", "\\|")


def _plain(text: str) -> str:
    """Text in which Markdown finds no emphasis."""
    return text.replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")

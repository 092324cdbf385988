"""Sections on the terminal: a question, its answer, its tables; last, those that do not apply."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding

from gnomon.commands.output import Screen, table

if TYPE_CHECKING:
    from gnomon.section import Section, Table


def show(out: Screen, section: "Section", *, first: bool = False) -> None:
    """One section; `first`: at the top of the screen, where nothing sets it off."""
    out.print("" if first else "\n", f"{section.key}: {section.title}", sep="")
    out.print(Padding(section.question, (0, 0, 0, 2)))
    if section.answer:
        out.print(f"\n{section.answer}")
    for made in section.tables:
        _show_table(out, made)


def show_others(out: Screen, heading: str, sections: "Sequence[Section]", *, first: bool = False) -> None:
    """What does not apply, each reason once, under a heading."""
    reasons: dict[str, list[str]] = {}
    for section in sections:
        if not section.applies:
            reasons.setdefault(section.answer, []).append(section.key)
    if reasons:
        out.print("" if first else "\n", heading, sep="")
    for why, keys in reasons.items():
        out.print(Padding(f"{', '.join(keys)}: {why}", (0, 0, 0, 2)))


def _show_table(out: Screen, found: "Table") -> None:
    from gnomon.report.study import cell

    numbers = [name for at, name in enumerate(found.columns) if not any(isinstance(row[at], str) for row in found.rows)]
    shown = table(*found.columns, right=numbers)
    for row in found.rows:
        shown.add_row(*map(cell, row))
    out.print(f"\n{found.title}\n")
    out.table(shown)
    if found.note:
        out.print(found.note)

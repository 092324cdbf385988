"""Sections on the terminal: a question, its answer, its tables; last, those that do not apply."""

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding

from gnomon.commands.output import Screen, table

_INDENT = {"initial_indent": "  ", "subsequent_indent": "  "}

if TYPE_CHECKING:
    from gnomon.section import Section, Table


def show(out: Screen, section: "Section", *, first: bool = False) -> None:
    """One section; `first`: at the top of the screen, where nothing sets it off."""
    out.print("" if first else "\n", _heading(section), sep="")
    # No padding of the library's, which ends each line with spaces.
    out.print(textwrap.fill(section.question, out.width, **_INDENT, break_long_words=False, break_on_hyphens=False))
    if section.answer:
        out.print(f"\n{section.answer}")
    for made in section.tables:
        _show_table(out, made)


def _heading(section: "Section") -> str:
    """The key, which is what --only takes, and the title; where the title begins with that word, what follows it."""
    word = re.match(r"\s*".join(map(re.escape, section.key)), section.title, re.IGNORECASE)
    rest = section.title[word.end() :].lstrip(": ") if word else section.title
    return f"{section.key}: {rest}" if rest else section.key


def show_short(out: Screen, sections: "Sequence[Section]") -> None:
    """The first sentence of each answer, where there are several."""
    if len(sections) > 1:
        out.print("In short\n")
        out.pairs((section.key, section.short) for section in sections)


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

    numbers = [name for at, name in enumerate(found.columns) if not found.of_words(at)]
    shown = table(*found.columns, right=numbers)
    for row in found.rows:
        shown.add_row(*map(cell, row))
    out.print(f"\n{found.title}\n")
    out.table(shown)
    if found.note:
        out.print(found.note)

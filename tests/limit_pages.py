"""The second document's diagrams, drawn anew with what was found: `python -m tests.limit_pages` writes docs/limits.md.

Each box has the verdicts of the claims that it stands for and a number out of their evidence, read when the page is
written; a test holds the page to the records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from gnomon.claims import CLAIMS
from gnomon.claims.ledger import Entry, entry

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "limits.md"
COLOURS = {
    "holds": "fill:#d9ead3,stroke:#38761d,color:#000",
    "holds if": "fill:#fff2cc,stroke:#b45f06,color:#000",
    "does not hold": "fill:#f4cccc,stroke:#990000,color:#000",
    "inconclusive": "fill:#eeeeee,stroke:#666666,color:#000",
    "not measured": "fill:#ffffff,stroke:#999999,color:#000,stroke-dasharray:4",
    "mixed": "fill:#fce5cd,stroke:#b45f06,color:#000",
}
HEAD = """# The four limits, as the document draws them and as they were measured

The second document has a diagram for each of its arguments. They are drawn here with what was measured: a box that
asserts something has the claims of the ledger that it stands for, their verdicts, and a number out of their evidence.
Numbers of trained models are means over the seeds of the quick forms of `experiments/`, five seeds of text and three
of all else, small models all of them; nats are of one byte of text. How far the seeds lie apart, each of them, the rule
of the verdict and the commits are in `gnomon claims ID -v`.

Green holds, yellow holds under a condition, red does not hold, grey was not settled, a broken line was not measured;
orange: the claims of a box differ.
"""


class Facts:
    """The entries of the ledger, and numbers out of their evidence."""

    def __init__(self) -> None:
        self._held: dict[str, Entry] = {}

    def entry(self, id: str) -> Entry:
        if id not in self._held:
            self._held[id] = entry(CLAIMS[id], ROOT / "results" / "claims")
        return self._held[id]

    def word(self, id: str) -> str:
        word = self.entry(id).verdict.word
        return "not measured" if word.startswith("not measured") else word

    def value(self, id: str, name: str) -> Any:
        """A number of a claim that is no list."""
        return self._numbers(id)[name]

    def mean(self, id: str, name: str, column: str, **where: Any) -> float:
        """That of a column over the rows whose columns are as told, missing values left out."""
        columns, rows = self._rows(id, name)
        asked = {columns.index(key.replace("_", " ")): value for key, value in where.items()}
        at = columns.index(column)
        found = [row[at] for row in rows if all(row[i] == value for i, value in asked.items()) and row[at] is not None]
        return fmean(found)

    def most(self, id: str, name: str, column: str) -> float:
        columns, rows = self._rows(id, name)
        return max(row[columns.index(column)] for row in rows)

    def _numbers(self, id: str) -> Mapping[str, Any]:
        numbers = self.entry(id).numbers
        if numbers is None:
            raise LookupError(f"{id} has no numbers")
        return numbers

    def _rows(self, id: str, name: str) -> tuple[tuple[str, ...], list[list]]:
        self._numbers(id)
        return self.entry(id).rows(name)


Told = Callable[[Facts], str]


@dataclass(frozen=True)
class Box:
    """A statement of a diagram, with the claims that it stands for and a number out of their evidence."""

    key: str
    text: str
    claims: tuple[str, ...] = ()
    found: Told | None = None


@dataclass(frozen=True)
class Diagram:
    """Boxes and arrows between their keys; an arrow may have words."""

    title: str
    section: str
    """Where the document draws it."""
    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str] | tuple[str, str, str], ...]
    direction: str = "TD"
    note: str = ""


def page(facts: Facts) -> str:
    from tests.limit_diagrams import DIAGRAMS

    parts = [HEAD, *(_part(diagram, facts) for diagram in DIAGRAMS)]
    return "\n".join([*parts, "Written by `python -m tests.limit_pages`.\n"])


def _part(diagram: Diagram, facts: Facts) -> str:
    told = [f"## {diagram.title}\n", f"In the document: {diagram.section}.\n", mermaid(diagram, facts)]
    conditions = [
        f"- {id} {facts.entry(id).verdict.short}.\n"
        for id in dict.fromkeys(id for box in diagram.boxes for id in box.claims)
        if facts.entry(id).verdict.condition
    ]
    return "\n".join([*told, *[f"{diagram.note}\n"] * bool(diagram.note), "".join(conditions)]).rstrip("\n") + "\n"


def mermaid(diagram: Diagram, facts: Facts) -> str:
    """The diagram in the language that Markdown viewers draw."""
    lines = [f"flowchart {diagram.direction}"]
    lines += [f'    {box.key}["{_text(box, facts)}"]' for box in diagram.boxes]
    for start, end, *words in diagram.arrows:
        lines.append(f"    {start} -->{f'|{_plain(words[0])}|' if words else ''} {end}")
    for name, colours in COLOURS.items():
        of_it = [box.key for box in diagram.boxes if box.claims and _colour(box, facts) == name]
        if of_it:
            short = name.replace(" ", "_")
            lines += [f"    classDef {short} {colours}", f"    class {','.join(of_it)} {short}"]
    return "\n".join(["```mermaid", *lines, "```\n"])


def _colour(box: Box, facts: Facts) -> str:
    words = {facts.word(id) for id in box.claims}
    return words.pop() if len(words) == 1 else "mixed"


def _text(box: Box, facts: Facts) -> str:
    lines = [box.text, *(f"<b>{id} {facts.word(id)}</b>" for id in box.claims)]
    if box.found is not None and all(facts.entry(id).numbers is not None for id in box.claims):
        lines.append(f"<i>{_plain(box.found(facts))}</i>")
    return "<br/>".join(lines)


def _plain(text: str) -> str:
    """Without what the language of diagrams reads itself."""
    return text.replace('"', "'").replace("|", "/")


def main() -> None:
    FILE.write_text(page(Facts()), encoding="utf-8")
    print(FILE.relative_to(ROOT))


if __name__ == "__main__":
    main()

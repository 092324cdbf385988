"""The ledger as a page: every claim, its verdict, the numbers and the commits behind it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gnomon.analysis.section import Section, Table
from gnomon.checked import checked
from gnomon.claims.claim import DOCUMENTS
from gnomon.claims.ledger import Entry, told_rule
from gnomon.report import study


@checked
def write(entries: Sequence[Entry], out: Path | str, *, command: str) -> Path:
    """Write the page of these claims to the file `out`; its path. Errors are those of `gnomon.report.study.write`."""
    counted = Counter(entry.verdict.word for entry in entries)
    verdicts = ", ".join(f"{word}: {count}" for word, count in counted.most_common())
    rows = tuple((entry.claim.id, entry.claim.title, entry.verdict.word, entry.basis) for entry in entries)
    summary = Section(
        "ledger",
        "All claims",
        "What do the documents assert of position encodings, and what becomes of it?",
        f"{len(entries)} claims. {verdicts}. A verdict is computed by a rule that was committed before the record.",
        (Table("Verdicts", ("id", "claim", "verdict", "basis"), rows),),
    )
    return study.write(
        [summary, *map(_section, entries)],
        out,
        title="What two documents assert about position encodings",
        overline="gnomon · claims, verdicts, evidence",
        settings=dict(DOCUMENTS),
        command=command,
    )


def _section(entry: Entry) -> Section:
    claim = entry.claim
    facts = {
        "said in": f"{claim.document} {claim.section}",
        "rule": told_rule(claim),
        "rule's commit": entry.rule and entry.rule.last and entry.rule.last.hash,
        "record's first commit": entry.record_past and entry.record_past.first and entry.record_past.first.hash,
        "still open": claim.awaits or None,
        "command": claim.command,
    } | {f"warning {at}": warning for at, warning in enumerate(entry.warnings, 1)}
    tables = [Table("How it was judged", ("", "what"), tuple((name, text) for name, text in facts.items() if text))]
    for name, value in (entry.numbers or {}).items():
        tables += _listed(name.replace("_", " "), value)
    single = tuple(
        (name.replace("_", " "), value) for name, value in (entry.numbers or {}).items() if not isinstance(value, list)
    )
    if single:
        tables.insert(1, Table("Numbers", ("", "value"), single))
    return Section(
        claim.id,
        f"{claim.id}: {claim.title}",
        f"{claim.english} · {claim.korean}",
        f"{entry.verdict.word.upper()}. {entry.verdict.because}",
        tuple(tables),
    )


def _listed(name: str, value: object) -> list[Table]:
    """A table of a list of lists of one length, or of a list; none for a single value."""
    if not isinstance(value, list) or not value:
        return []
    rows = [tuple(row) if isinstance(row, list) else (row,) for row in value]
    wide = max(map(len, rows))
    filled = tuple(tuple(_plain(cell) for cell in row) + (None,) * (wide - len(row)) for row in rows)
    return [Table(name, tuple("" for _ in range(wide)), filled)]


def _plain(value: object) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)

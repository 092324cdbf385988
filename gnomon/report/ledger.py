"""The ledger as a page: every claim, its verdict, the numbers and the commits behind it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gnomon.checked import checked
from gnomon.claims.claim import DOCUMENTS
from gnomon.claims.ledger import NEARLY, Entry, digits, thresholds, told_rule
from gnomon.report import study
from gnomon.section import Section, Table


@checked
def write(entries: Sequence[Entry], out: Path | str, *, command: str, more: Sequence[Section] = ()) -> Path:
    """Write the page of these claims to the file `out`; its path. Errors are those of `gnomon.report.study.write`.

    more: sections that stand before the claims.
    """
    counted = Counter(entry.verdict.word for entry in entries)
    verdicts = ", ".join(f"{word}: {count}" for word, count in counted.most_common())
    rows = tuple((entry.claim.id, entry.claim.title, entry.verdict.short, entry.basis) for entry in entries)
    summary = Section(
        "ledger",
        "All claims",
        "What do the documents assert of position encodings, and what becomes of it?",
        f"{len(entries)} claims. {verdicts}. {_precedence(entries)}",
        (Table("Verdicts", ("id", "claim", "verdict", "basis"), rows),),
    )
    return study.write(
        [summary, *more, *map(_section, entries)],
        out,
        title="What two documents assert about position encodings",
        overline="gnomon · claims, verdicts, evidence",
        settings=dict(DOCUMENTS),
        command=command,
    )


def _precedence(entries: Sequence[Entry]) -> str:
    """Which rules are older than what they judge, as far as git tells."""
    judged = [entry for entry in entries if entry.rule is not None]
    if not judged:
        return "None has evidence yet."
    corrected = [entry.claim.id for entry in judged if entry.claim.corrected]
    before = [entry for entry in judged if entry.precedes == "before" and not entry.claim.corrected]
    others = [entry.claim.id for entry in judged if entry not in before and entry.claim.id not in corrected]
    if len(before) == len(judged):
        return "Each verdict is computed by a rule that was committed before the first record of its claim."
    said = [f"Each verdict is computed by a rule; of {len(judged)} rules"]
    said.append(f"{len(before)} {'was' if len(before) == 1 else 'were'} committed before the first record of the claim")
    if corrected:
        said.append(f"{len(corrected)} corrected after it, with the reason told there ({', '.join(corrected)})")
    if others:
        said.append(f"of {len(others)} this is not known, or not so ({', '.join(others)})")
    return f"{said[0]} {', '.join(said[1:])}."


def _section(entry: Entry) -> Section:
    claim = entry.claim
    facts = {
        "said in": f"{claim.document} {claim.section}",
        "rule": told_rule(claim),
        "thresholds": ", ".join(f"{name} = {_plain(value)}" for name, value in thresholds(claim).items()),
        "rule's commit": entry.rule and entry.rule.last and entry.rule.last.hash,
        "record's first commit": entry.record_past and entry.record_past.first and entry.record_past.first.hash,
        "still open": claim.awaits or None,
        "command": claim.command,
    } | {f"warning {at}": warning for at, warning in enumerate(entry.warnings, 1)}
    tables = [Table("How it was judged", ("", "what"), tuple((name, text) for name, text in facts.items() if text))]
    numbers = entry.numbers or {}
    rows = {name: found for name in numbers if (found := entry.rows(name)) is not None}
    single = tuple((name.replace("_", " "), _plain(value)) for name, value in numbers.items() if name not in rows)
    if single:
        tables.append(Table("Numbers", ("", "value"), single))
    for name, (columns, values) in rows.items():
        shown = tuple(tuple(_plain(cell) for cell in row) for row in values)
        tables.append(Table(name.replace("_", " "), columns, shown))
    return Section(
        claim.id,
        f"{claim.id}: {claim.title}",
        f"{claim.english} · {claim.korean}",
        f"{entry.verdict.word.upper()}. {entry.verdict.because}",
        tuple(tables),
    )


def _plain(value: object) -> str | int | float | bool | None:
    """A value for a cell: a list in words, and a number that is nearly 1 by what it lacks, which four digits hide."""
    if isinstance(value, list):
        return ", ".join(str(_plain(each)) for each in value) or "none"
    if isinstance(value, float) and 0 < abs(1 - value) < NEARLY:
        return digits(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)

"""What a reader takes away from all results, as sections of a page: advice, scorecard, tables, published orderings."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gnomon.claims import experiments
from gnomon.claims.adjectives import JUDGED
from gnomon.claims.advice import Advice, advice
from gnomon.claims.columns import LIMITS, Column
from gnomon.claims.comparison import Row, compared
from gnomon.claims.published import Answer, answered
from gnomon.claims.scorecard import LEGEND, Scorecard, reasons, scorecard, shown
from gnomon.report.study import cell
from gnomon.section import Section, Table


def sections(folder: Path | None) -> list[Section]:
    """All of them; `folder`: of the records of claims, None where it is not there."""
    card = scorecard(folder, JUDGED)
    return [
        *map(_advice, advice()),
        _scorecard(card),
        _table(compared(card)),
        _published(answered(experiments.FOLDER)),
    ]


def _advice(told: Advice) -> Section:
    rows = tuple((str(at), question) for at, question in enumerate(told.questions, 1))
    tables = (Table("What was asked", ("", "what was found"), rows),) if rows else ()
    return Section(
        f"advice-{told.kind.key}", f"Advice: {told.kind.title}", "Which encoding to take?", told.text, tables
    )


def _scorecard(card: Scorecard) -> Section:
    there = [column for column in card.columns if column.limit in LIMITS and card.found[column.key].cells]
    missing = [column.title for column in card.columns if column not in there]
    lacking = f" Not measured here: {', '.join(missing)}." if missing else ""
    tables = [
        _means(card, limit, columns)
        for limit in LIMITS
        if (columns := [column for column in there if column.limit == limit])
    ]
    if there:
        tables.append(_evidence(card, there))
    return Section(
        "scorecard",
        "The scorecard",
        "How does each encoding stand to the four limits of absolute positions, and what does it cost?",
        f"{len(there)} of {len(card.columns)} questions have numbers here.{lacking}",
        tuple(tables),
    )


def _means(card: Scorecard, limit: str, columns: Sequence[Column]) -> Table:
    labels = [label for label in card.labels if any(card.cell(column.key, label).of for column in columns)]
    rows = tuple((label, *(shown(card, column.key, label) for column in columns)) for label in labels)
    asked = " ".join(f"{each.title}: {each.unit}, {each.better} is better. {each.measured}" for each in columns)
    return Table(limit, ("encoding", *(column.title for column in columns)), rows, f"{asked} {LEGEND}")


def _evidence(card: Scorecard, columns: Sequence[Column]) -> Table:
    rows = []
    for column in columns:
        for label, each in card.found[column.key].cells.items():
            ends = tuple(cell(end) for end in (each.mean, each.low, each.high))
            why = "; ".join(reasons(each))
            rows.append((column.title, label, each.label, *ends, str(each.runs or "-"), each.of, each.where, why))
    names = ("question", "encoding", "label of its runs", "mean", "lowest", "highest", "runs", "in", "where")
    return Table("The numbers behind it", (*names, "without a number"), tuple(rows))


def _table(found: Sequence[Row]) -> Section:
    counted = Counter(row.word for row in found)
    rows = tuple(
        (said.method, said.table, f"{said.english} · {said.korean}", row.measured, row.word)
        for row in found
        for said in [row.adjective]
    )
    parts = tuple(
        (row.adjective.method, row.adjective.english, part.label, part.column, part.asked, part.found, part.word)
        for row in found
        for part in row.parts
    )
    return Section(
        "tables",
        "The documents' tables, measured",
        "What do the comparison tables say of each method, and do measurements agree?",
        f"{len(found)} words. {', '.join(f'{word}: {count}' for word, count in counted.most_common())}.",
        (
            Table("Word by word", ("method", "said in", "the document says", "measured", "verdict"), rows),
            Table(
                "What was asked of each number",
                ("method", "word", "encoding", "question", "asked", "found", "verdict"),
                parts,
            ),
        ),
    )


def _published(found: Sequence[Answer]) -> Section:
    counted = Counter(each.finding.word for each in found)
    rows = tuple(
        (asked.id, asked.ordering, asked.source, asked.published, asked.here, each.finding.word, each.finding.because)
        for each in found
        for asked in [each.ordering]
    )
    names = ("id", "what is asked of it", "source", "published", "our number", "verdict", "because")
    return Section(
        "published",
        "Published orderings",
        "What have others found, and do our runs show the same?",
        f"{len(found)} orderings. {', '.join(f'{word}: {count}' for word, count in counted.most_common())}.",
        (Table("Orderings", names, rows),),
    )

"""The other views of `gnomon claims`: scorecard, rebuilt tables, advice, published orderings."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.commands.output import Screen, items, print_json, table

if TYPE_CHECKING:
    from gnomon.claims.columns import Column
    from gnomon.claims.comparison import Part, Row
    from gnomon.claims.published import Answer
    from gnomon.claims.scorecard import Scorecard

VIEWS = ("scorecard", "table", "advice", "published")
"""What is made of all results together, by the option that asks for it."""


def check(views: Sequence[str], others: Sequence[str]) -> None:
    """OptionError where more than one view is asked for, or something that a view does not have."""
    from gnomon.errors import OptionError

    if len(views) + len(others) > 1:
        raise OptionError(
            "one view at a time",
            given=", ".join([*(f"--{view}" for view in views), *others]),
            do="ask for one; `gnomon claims --out FILE` has all of it on a page",
        )


def show(view: str, records: str | None, as_json: bool, verbose: bool) -> None:
    """Print one of VIEWS. `records`: the folder of records, where one was named."""
    from gnomon.claims.records import found

    folder = found(records)
    if view == "scorecard":
        show_scorecard(folder, as_json, verbose)
    elif view == "table":
        show_table(folder, as_json, verbose)
    elif view == "advice":
        show_advice(as_json)
    else:
        show_published(as_json, verbose)


def show_scorecard(folder: Path | None, as_json: bool, verbose: bool) -> None:
    """Encodings beside the limits of absolute positions, and beside their cost."""
    from gnomon.claims.columns import LIMITS
    from gnomon.claims.scorecard import LEGEND, scorecard

    card = scorecard(folder)
    if as_json:
        print_json(card.as_dict())
        return
    out = Screen()
    for limit in LIMITS:
        out.print(limit.upper())
        columns = [column for column in card.columns if column.limit == limit]
        there = [column for column in columns if card.found[column.key].cells]
        if there and verbose:
            _every(out, card, there)
        elif there:
            _means(out, card, there)
        _not_measured(out, card, [column for column in columns if column not in there])
        out.print()
    out.print(LEGEND)


def _means(out: Screen, card: "Scorecard", columns: "Sequence[Column]") -> None:
    from gnomon.claims.scorecard import shown

    labels = [label for label in card.labels if any(card.cell(column.key, label).of for column in columns)]
    for some in _fitting(out, card, columns, labels):
        made = table("encoding", *(column.title for column in some))
        for label in labels:
            made.add_row(label, *(shown(card, column.key, label) for column in some))
        out.table(made)
        out.print()
    out.pairs((column.title, " ".join(_asked(card, column))) for column in columns)


def _fitting(
    out: Screen, card: "Scorecard", columns: "Sequence[Column]", labels: Sequence[str]
) -> "Iterator[list[Column]]":
    """The columns in lots that stand beside each other on the screen, at least one in each."""
    from gnomon.claims.scorecard import shown

    lot: list[Column] = []
    for column in columns:
        made = table("encoding", *(each.title for each in (*lot, column)))
        for label in labels:
            made.add_row(label, *(shown(card, each.key, label) for each in (*lot, column)))
        if lot and not out.holds(made):
            yield lot
            lot = []
        lot.append(column)
    yield lot


def _every(out: Screen, card: "Scorecard", columns: "Sequence[Column]") -> None:
    """A table for each column, the best first, those that are not ranked last."""
    from gnomon.claims.scorecard import mark, reasons, short, spread

    for column in columns:
        cells, order = card.found[column.key].cells, card.ranked(column.key)
        out.print()
        out.pairs([(column.title, " ".join(_asked(card, column)))])
        made = table("encoding", "mean", "range", "runs", "without a number", right=("runs",))
        for label in (*order, *(label for label in cells if label not in order)):
            cell = cells[label]
            mean = "-" if cell.mean is None else short(cell.mean) + mark(card, column.key, label)
            made.add_row(cell.label, mean, spread(cell), str(cell.runs or "-"), "; ".join(reasons(cell)))
        out.table(made)


def _asked(card: "Scorecard", column: "Column") -> Iterator[str]:
    """What a column is, and where its numbers are from."""
    yield f"{column.unit}, {column.better} is better. {column.measured}"
    if cell := next(iter(card.found[column.key].cells.values()), None):
        yield f"({cell.of}: {cell.where})"


def _not_measured(out: Screen, card: "Scorecard", columns: "Sequence[Column]") -> None:
    """What has no numbers, and what to do, once for columns that lack the same."""
    lacking: dict[str, list[str]] = {}
    for column in columns:
        lacking.setdefault(card.found[column.key].why, []).append(column.title)
    for why, titles in lacking.items():
        out.print(f"{'; '.join(titles)}: {why}")


def show_table(folder: Path | None, as_json: bool, verbose: bool) -> None:
    """Each word of the documents' tables beside what was measured."""
    from collections import Counter

    from gnomon.claims.adjectives import JUDGED
    from gnomon.claims.comparison import compared
    from gnomon.claims.scorecard import scorecard

    found = compared(scorecard(folder, JUDGED))
    if as_json:
        print_json([row.as_dict() for row in found])
        return
    out = Screen()
    if verbose:
        _words(out, found)
    else:
        made = table("method", "the document says", "measured", "verdict")
        for row in found:
            made.add_row(row.adjective.method, row.adjective.english, row.measured, row.word)
        out.table(made)
        out.print(
            "\nNumbers are means over seeds, in brackets those of others; 2/3: so many runs learned their task, which "
            "decides nothing. `gnomon claims --table -v` has what was asked of each number, and its interval."
        )
    counted = Counter(row.word for row in found)
    out.print(f"\n{len(found)} words. {', '.join(f'{word}: {count}' for word, count in counted.most_common())}")


def _words(out: Screen, found: "Sequence[Row]") -> None:
    for at, row in enumerate(found):
        if at:
            out.print()
        said = row.adjective
        out.pairs(
            [
                (said.method, said.english),
                ("주장", said.korean),
                ("said in", said.table),
                ("verdict", row.word.upper()),
                *((f"{part.label}, {part.column}", _part(part)) for part in row.parts),
            ]
        )


def _part(part: "Part") -> str:
    return f"asked: {part.asked}; found: {part.found}; {part.word}"


def show_advice(as_json: bool) -> None:
    """A paragraph for each kind of data."""
    from gnomon.claims.advice import advice

    found = advice()
    if as_json:
        print_json([each.as_dict() for each in found])
        return
    out = Screen()
    for at, each in enumerate(found):
        if at:
            out.print()
        out.print(each.kind.title.upper())
        out.print(each.text)
        out.table(items(each.questions))


def show_published(as_json: bool, verbose: bool) -> None:
    """What others have found, and what our own runs say of it."""
    from collections import Counter

    from gnomon.claims import experiments
    from gnomon.claims.published import answered

    found = answered(experiments.FOLDER)
    if as_json:
        print_json([each.as_dict() for each in found])
        return
    out = Screen()
    if verbose:
        _orderings(out, found)
    else:
        made = table("id", "published", "here", whole=("id",))
        for each in found:
            made.add_row(each.ordering.id, f"{each.ordering.ordering} ({each.ordering.source})", each.finding.word)
        out.table(made)
        out.print("\n`gnomon claims --published -v` has what was found there and here, and how they differ.")
    counted = Counter(each.finding.word for each in found)
    told = ", ".join(f"{word}: {count}" for word, count in counted.most_common())
    out.print(f"\n{len(found)} orderings. {told}")


def _orderings(out: Screen, found: "Sequence[Answer]") -> None:
    for at, each in enumerate(found):
        if at:
            out.print()
        asked = each.ordering
        out.pairs(
            [
                (asked.id, asked.ordering),
                ("source", asked.source),
                ("published", asked.published),
                ("our number", asked.here),
                ("verdict", each.finding.word.upper()),
                ("because", each.finding.because),
                ("experiment", f"experiments/{asked.experiment}.py"),
            ]
        )

"""Advice for each kind of data, in sentences made of the numbers that are here.

For each question that was asked of a kind of data, what is learned in range and what is left past training or under a
shift: who learned the task with every seed, who holds, who is best, who is as good, and who is not told apart from it.
Of those that are best or as good in most questions, where they are worse, and what a training step takes. Then the
limits of what was measured, as the records have them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from gnomon.claims import experiments
from gnomon.claims.cells import UNLEARNED, Cell, Read
from gnomon.claims.columns import COLUMNS, Column
from gnomon.claims.intervals import Interval
from gnomon.claims.scorecard import REFERENCE, Scorecard, scorecard, short
from gnomon.claims.sources import Runs, to_run

STEP = next(column for column in COLUMNS if column.key == "step")
"""What a training step takes over one without positions: of two that do as well, the cheaper is better."""


@dataclass(frozen=True)
class Kind:
    """One kind of data: what was asked of it, as keys of columns."""

    key: str
    title: str
    columns: tuple[str, ...]


KINDS = (
    Kind("text", "Text, read from left to right", ("text_in", "text_2x", "text_8x")),
    Kind(
        "answers", "Answers that are right or wrong: copying, sorting, finding, adding",
        ("copy_2x", "reverse_2x", "sort_2x", "count_2x", "recall_2x", "repeated_2x", "addition", "sum_shift"),
    ),
    Kind(
        "images", "Images",
        (
            *("image_line_in", "image_line", "image_line_down", "image_wider"),
            *("image_grid_in", "image_grid", "image_grid_down"),
        ),
    ),
    Kind("series", "Time series", ("ecg_in", "ecg_shift", "series_in", "series_shift")),
    Kind("masked", "Masked text, read from both sides", ("masked_loss", "masked_2x")),
)  # fmt: skip


@dataclass(frozen=True)
class Advice:
    """What is to be said of one kind of data, and the numbers that say it."""

    kind: Kind
    text: str
    """Which encodings to take, what they cost, and on how small a scale this is known; or what to run."""
    questions: tuple[str, ...]
    """What each question says, some sentences each."""
    numbers: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        told = {"key": self.kind.key, "title": self.kind.title, "text": self.text, "questions": list(self.questions)}
        return told | dict(self.numbers)


def advice(kinds: Sequence[Kind] = KINDS) -> list[Advice]:
    """A paragraph for each kind of data, from the results that are here."""
    read = cache(experiments.records)
    return [_of(kind, read) for kind in kinds]


def _of(kind: Kind, read: Read) -> Advice:
    asked = [column for column in COLUMNS if column.key in kind.columns]
    steps = [replace(STEP, key=f"step {column.key}", source=_timed(column.source)) for column in asked]
    card = scorecard(None, (*asked, *steps), read)
    measured = [column for column in asked if card.found[column.key].cells]
    if not measured:
        do = to_run(asked[0].source.experiments[0])
        return Advice(kind, f"Nothing was measured here; {do}.", (), {"answers": {}, "choice": None})
    told = {column.key: _question(card, column) for column in measured}
    told_apart = [column for column in measured if card.best(column.key)]
    among, most = _choice(card, told_apart)
    cost = _cost(card, steps, among)
    missing = [column.title for column in asked if column not in measured]
    text = [*_chosen(among, most, len(told_apart)), *_worse(card, told_apart, among), *_taking(among, cost)]
    text += [*_silent(card, measured), _limits(measured, read)]
    text += [f"Not measured here: {', '.join(missing)}."] * bool(missing)
    answers = {key: answer for key, (answer, _) in told.items()}
    choice = {"among": among, "in": most, "of": len(told_apart), "times_none": {k: [*v[:3]] for k, v in cost.items()}}
    questions = tuple(sentences for _, sentences in told.values())
    return Advice(kind, " ".join(text), questions, {"answers": answers, "choice": choice})


def _timed(source: Runs) -> Runs:
    """The times of the runs that a question is asked of."""
    return replace(STEP.source, experiments=source.experiments, task=source.task, among=source.among)


def _question(card: Scorecard, column: Column) -> tuple[dict[str, Any], str]:
    """What one column says, in names of encodings and in sentences."""
    cells = {label: cell for label, cell in card.found[column.key].cells.items() if label != REFERENCE}
    lost = {label: cell for label, cell in cells.items() if UNLEARNED in cell.without}
    gone = [label for label, cell in cells.items() if not cell.ranked and label not in lost]
    order = card.ranked(column.key)
    held = [label for label in order if _holds(column, cells[label])]
    best = card.best(column.key)
    said = [f"{column.title} ({column.unit}, {column.better} is better): {column.measured}"]
    if column.source.learned:
        said.append(f"Learned in range with every seed: {_listed(order) or 'none'}.")
    if lost:
        each = [f"{label} ({len(cell.values)} of {cell.runs} seeds)" for label, cell in lost.items()]
        said.append(f"Not, and so not ranked: {_listed(each)}.")
    if gone:
        said.append(f"Without a number for every seed: {_listed(gone)}.")
    if order and column.holds is not None:
        limit = f"{'at most' if column.better == 'lower' else 'at least'} {column.holds:g}"
        said.append(
            f"Held ({limit}, in the whole interval over seeds): {_listed(_numbers(cells, held)) or 'no encoding'}."
        )
    said.append(_ranks(card, column, order, best))
    open_ = [*card.undecided(column.key)]
    return {"learned": order, "not_learned": [*lost], "held": held, "best": [*best], "undecided": open_}, " ".join(said)


def _ranks(card: Scorecard, column: Column, order: Sequence[str], best: Sequence[str]) -> str:
    """Who is best, as good, not told apart from it, and worse; or why nobody is best."""
    cells = card.found[column.key].cells
    if not order:
        return "So nobody is best."
    first = _numbers(cells, order[:1])[0]
    if not best:
        if column.holds is not None and not column.is_held(cells[order[0]].mean):
            return f"Nobody is best where nobody holds: {first} comes nearest."
        alone = f"Only {first} is ranked."
        return (
            f"Nobody is best: none is surely worse than {first} by what counts, {column.counts:g}."
            if order[1:]
            else alone
        )
    said = [f"Best: {first}"]
    if best[1:]:
        said.append(f"as good, to {column.counts:g}: {_listed(_numbers(cells, best[1:]))}")
    if undecided := card.undecided(column.key):
        said.append(f"not told apart from it by these seeds: {_listed(_numbers(cells, undecided))}")
    if worse := [label for label in order if label not in (*best, *undecided)]:
        said.append(f"worse: {_listed(_numbers(cells, worse))}")
    return "; ".join(said) + "."


def _holds(column: Column, cell: Cell) -> bool:
    ends = cell.interval
    return column.holds is not None and column.is_held(ends.high if column.better == "lower" else ends.low)


def _choice(card: Scorecard, told_apart: Sequence[Column]) -> tuple[list[str], int]:
    """Those that are best, or as good, in most questions; in how many."""
    counted = Counter(label for column in told_apart for label in card.best(column.key))
    most = max(counted.values(), default=0)
    return [label for label, count in counted.items() if count == most], most


def _cost(card: Scorecard, steps: Sequence[Column], among: Sequence[str]) -> dict[str, Interval]:
    """What a training step takes over one without positions, the least first."""
    cost: dict[str, Interval] = {}
    for column in steps:
        for label, cell in card.found[column.key].cells.items():
            if label in among and cell.interval is not None:
                cost.setdefault(label, cell.interval)
    return dict(sorted(cost.items(), key=lambda item: (item[1].mean, item[0])))


def _chosen(among: Sequence[str], most: int, of: int) -> Iterator[str]:
    if not among:
        yield "So nothing is advised: in no question is an encoding better than another and holds."
        return
    yield f"Among the best in {most} of {of} question{'s' * (of != 1)}: {_listed(among)}."


def _worse(card: Scorecard, told_apart: Sequence[Column], among: Sequence[str]) -> Iterator[str]:
    """Where those that are chosen are worse than the best, or may be."""
    told = []
    for column in told_apart:
        best, cells = card.best(column.key), card.found[column.key].cells
        if behind := [label for label in among if label in card.ranked(column.key) and label not in best]:
            first = _numbers(cells, best[:1])[0]
            told.append(f"{column.title} ({_listed(_numbers(cells, behind))}; best is {first})")
    if told:
        yield f"Not among the best: in {_listed(told)}."


def _taking(among: Sequence[str], cost: Mapping[str, Interval]) -> Iterator[str]:
    told = [f"{label} {_number(ends)}" for label, ends in cost.items()]
    if told:
        yield f"A training step takes, in times of one without positions: {_listed(told)}."
    elif among:
        yield "What they cost was not measured here."


def _silent(card: Scorecard, measured: Sequence[Column]) -> Iterator[str]:
    """Questions that say nothing."""
    titles = [column.title for column in measured if not card.best(column.key)]
    if titles:
        yield f"Nothing is told apart, or nobody holds, in: {', '.join(titles)}."


def _limits(asked: Sequence[Column], read: Read) -> str:
    """On how small a scale this is known."""
    found = [record for column in asked for record in column.source.records(read)]
    runs = [record["experiment"] for record in {record["hash"]: record for record in found}.values()]
    models, training = [run["model"] for run in runs], [run["training"] for run in runs]
    sizes = (
        f"models of {_range(model['depth'] for model in models)} layers and width "
        f"{_range(model['width'] for model in models)}, {_range(each['steps'] for each in training)} steps of "
        f"{_range(each['batch'] for each in training)} sequences, trained on lengths up to "
        f"{_range(each['length'] for each in training)}"
    )
    data = sorted({name for record in found if (name := (record.get("data") or {}).get("name"))})
    seeds = len({run["seed"] for run in runs})
    few = " One seed tells nothing of chance." if seeds == 1 else ""
    of = f" on {_listed(data)}" if data else ""
    return f"Limits: {len(runs)} runs with {seeds} seed{'s' * (seeds != 1)}{of}: {sizes}.{few}"


def _range(values: Iterable[int]) -> str:
    found = sorted({*values})
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def _numbers(cells: Mapping[str, Cell], labels: Sequence[str]) -> list[str]:
    """Each with its mean and the ends of its interval."""
    return [f"{label} {_number(cells[label].interval)}" for label in labels]


def _number(found: Interval) -> str:
    ends = f" [{short(found.low)}, {short(found.high)}]" if found.seeds > 1 and found.low != found.high else ""
    return f"{short(found.mean)}{ends}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

"""Advice for each kind of data, in sentences made of the numbers that are here.

For each question that was asked of a kind of data: who learned the task in range with every seed, who holds past
training or under a shift, who is best, and who is not worse than the best beyond the interval over seeds. Of those that
are so in most questions, the cheapest. Then the limits of what was measured, as the records have them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from gnomon.claims import experiments
from gnomon.claims.cells import UNLEARNED, Cell, Read
from gnomon.claims.columns import COLUMNS, Column
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
    Kind("text", "Text, read from left to right", ("text_2x", "text_8x")),
    Kind(
        "answers", "Answers that are right or wrong: copying, sorting, finding, adding",
        ("copy_2x", "reverse_2x", "sort_2x", "count_2x", "recall_2x", "repeated_2x", "addition", "sum_shift"),
    ),
    Kind("images", "Images", ("image_line", "image_grid", "image_wider")),
    Kind("series", "Time series", ("ecg_shift", "series_shift")),
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
    among, most, cost = _choice(card, measured, steps)
    missing = [column.title for column in asked if column not in measured]
    text = [*_chosen(among, cost, most, len(measured)), _limits(measured, read)]
    text += [f"Not measured here: {', '.join(missing)}."] * bool(missing)
    answers = {key: answer for key, (answer, _) in told.items()}
    choice = {"among": among, "in": most, "of": len(measured), "times_none": cost}
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
    level = card.best(column.key) or tuple(order)
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
        said.append(f"Held ({limit}, in the whole interval over seeds): {_listed(_numbers(cells, held)) or 'none'}.")
    if len(order) > 1:
        said.append(f"Best: {_numbers(cells, order[:1])[0]}; {_level(cells, level[1:])}.")
    return {"learned": order, "not_learned": [*lost], "held": held, "best": list(level)}, " ".join(said)


def _level(cells: Mapping[str, Cell], labels: Sequence[str]) -> str:
    if not labels:
        return "all others are worse beyond the interval over seeds"
    return f"not worse beyond the interval over seeds: {_listed(_numbers(cells, labels))}"


def _holds(column: Column, cell: Cell) -> bool:
    ends = cell.interval
    return column.holds is not None and column.is_held(ends.high if column.better == "lower" else ends.low)


def _choice(
    card: Scorecard, asked: Sequence[Column], steps: Sequence[Column]
) -> tuple[list[str], int, dict[str, float]]:
    """Those that are best, or not worse, in most questions, the cheapest first; in how many; what a step of theirs
    takes."""
    counted = Counter(label for column in asked for label in card.best(column.key) or card.ranked(column.key))
    cost: dict[str, float] = {}
    for column in steps:
        for label, cell in card.found[column.key].cells.items():
            if cell.median is not None:
                cost.setdefault(label, cell.median)
    most = max(counted.values(), default=0)
    among = [label for label, count in counted.items() if count == most]
    among.sort(key=lambda label: (cost.get(label, float("inf")), label))
    return among, most, {label: cost[label] for label in among if label in cost}


def _chosen(among: Sequence[str], cost: Mapping[str, float], most: int, asked: int) -> Iterator[str]:
    if not among:
        yield "So nothing is advised: no encoding learned its task with every seed."
        return
    told = [f"{label} ({short(cost[label])} times the training step without positions)" for label in cost]
    yield f"Among the best in {most} of {asked} question{'s' * (asked != 1)}: {_listed(among)}."
    yield f"The cheapest of them: {told[0]}." if told else "What they cost was not measured here."


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
    told = []
    for label in labels:
        mean, low, high, seeds = cells[label].interval
        ends = f" [{short(low)}, {short(high)}]" if seeds > 1 and low != high else ""
        told.append(f"{label} {short(mean)}{ends}")
    return told


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

"""The comparison tables of the documents, rebuilt: each word beside what was measured, and whether the two agree.

A number agrees where the whole interval of its mean over seeds (95 %), or all between its quartiles, lies in the range
that the word asks for; it differs where the whole lies outside, and is inconclusive across. Beside another encoding,
paired by seed: the word is right where the interval lies on its side of 0 and the mean counts (`Column.counts`); it
differs where the interval lies below what counts. An encoding that did not learn its task with every seed decides
nothing. A word with several numbers, or of several encodings, agrees where all that was measured does, and differs
where all does; what is needed and not enough for a word can only differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from gnomon.claims.adjectives import ADJECTIVES, Adjective, Beside, Within
from gnomon.claims.cells import Cell
from gnomon.claims.intervals import Interval, difference, interval
from gnomon.claims.scorecard import Scorecard, short

Word = Literal["agrees", "differs", "inconclusive", "not measured here"]
WORDS: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class Part:
    """What one number of one encoding says."""

    label: str
    column: str
    asked: str
    brief: str
    """The number, and those of the encodings that it is asked beside."""
    found: str
    """The same with intervals, or why there is none."""
    word: Word


@dataclass(frozen=True)
class Row:
    """One word of a table."""

    adjective: Adjective
    parts: tuple[Part, ...]

    @property
    def word(self) -> Word:
        """Of what was measured."""
        words = {part.word for part in self.parts} - {"not measured here"}
        if not words:
            return "not measured here"
        return next(iter(words)) if len(words) == 1 else "inconclusive"

    @property
    def measured(self) -> str:
        """The numbers in one line; of several encodings, each by its name."""
        told: dict[str, list[str]] = {}
        for part in self.parts:
            if part.word != "not measured here":
                told.setdefault(part.label, []).append(f"{part.column} {part.brief}")
        named = len(self.adjective.labels) > 1
        each = (f"{label}: {', '.join(found)}" if named else ", ".join(found) for label, found in told.items())
        return "; ".join(each) or "-"

    def as_dict(self) -> dict[str, Any]:
        said = {name: getattr(self.adjective, name) for name in ("method", "table", "english", "korean")}
        return said | {"measured": self.measured, "word": self.word, "parts": [asdict(part) for part in self.parts]}


def compared(card: Scorecard, adjectives: Sequence[Adjective] = ADJECTIVES) -> list[Row]:
    """A row for each word of the tables; the card has the columns `adjectives.JUDGED`."""
    return [Row(adjective, tuple(_parts(card, adjective))) for adjective in adjectives]


def _parts(card: Scorecard, adjective: Adjective) -> Iterator[Part]:
    for label in adjective.labels:
        for asked in adjective.asked:
            found, word = _judged(card, label, asked)
            yield Part(label, card.column(asked.column).title, asked.told, _brief(card, label, asked), found, word)


def _brief(card: Scorecard, label: str, asked: Within | Beside) -> str:
    others = asked.over if isinstance(asked, Within) else asked.others
    beside = ", ".join(f"{other} {_mean(card.cell(asked.column, other))}" for other in others)
    return f"{_mean(card.cell(asked.column, label))}{f' ({beside})' if beside else ''}"


def _mean(cell: Cell) -> str:
    """The mean; of what is not ranked, how many runs have a number."""
    if cell.ranked:
        return short(cell.interval.mean)
    return f"{len(cell.values)}/{cell.runs}" if cell.runs else "-"


def _judged(card: Scorecard, label: str, asked: Within | Beside) -> tuple[str, Word]:
    cell = card.cell(asked.column, label)
    if not cell.ranked:
        return _unranked(cell)
    if isinstance(asked, Within) and not asked.over:
        return f"{_told(cell.interval)}", _within(cell.interval, asked)
    others = asked.over if isinstance(asked, Within) else asked.others
    told, words = [f"{short(cell.interval.mean)}"], []
    for other in others:
        beside = card.cell(asked.column, other)
        if not beside.ranked:
            told.append(f"{other}: {_unranked(beside)[0]}")
            continue
        if isinstance(asked, Within):
            ratio = _ratio(cell, beside)
            told.append("no ratio" if ratio is None else f"{_told(ratio)} times {other}")
            words.append("inconclusive" if ratio is None else _within(ratio, asked))
        else:
            gain = _gain(card, asked, cell, beside)
            told.append(f"{asked.wanted} than {other} by {_told(gain)}")
            words.append(_beside(gain, card.column(asked.column).counts))
    if not words:
        return "; ".join(told), "not measured here" if _absent(card, asked.column, others) else "inconclusive"
    return "; ".join(told), _every(words)


def _unranked(cell: Cell) -> tuple[str, Word]:
    """Of one that has no number for every run."""
    if not cell.runs:
        return "not measured here", "not measured here"
    return "; ".join(f"{len(seeds)} of {cell.runs} runs: {why}" for why, seeds in cell.without.items()), "inconclusive"


def _absent(card: Scorecard, column: str, labels: Sequence[str]) -> bool:
    return not any(card.cell(column, label).runs for label in labels)


def _within(found: Interval, asked: Within) -> Word:
    if asked.low <= found.low and found.high <= asked.high:
        return "agrees" if asked.enough else "inconclusive"
    return "differs" if found.high < asked.low or found.low > asked.high else "inconclusive"


def _beside(gain: Interval, counts: float) -> Word:
    if gain.low > 0 and gain.mean >= counts:
        return "agrees"
    return "differs" if gain.high < counts or gain.high <= 0 else "inconclusive"


def _every(words: Sequence[Word]) -> Word:
    """Beside several: right where it is so beside each, and not where it is not beside one."""
    if "differs" in words:
        return "differs"
    return "agrees" if {*words} == {"agrees"} else "inconclusive"


def _gain(card: Scorecard, asked: Beside, cell: Cell, beside: Cell) -> Interval:
    """By how much it is better, or worse, where that is asked; by seed."""
    lower = card.column(asked.column).better == "lower"
    one, two = (beside, cell) if lower == (asked.wanted == "better") else (cell, beside)
    if one.values.keys() & two.values.keys():
        return difference(one.values, two.values)
    a, b = one.interval, two.interval
    return Interval(a.mean - b.mean, a.low - b.high, a.high - b.low, min(a.seeds, b.seeds))


def _ratio(cell: Cell, beside: Cell) -> Interval | None:
    """That of the two numbers; None where the other is not above 0."""
    shared = sorted(cell.values.keys() & beside.values.keys())
    if shared:
        if min(beside.values[seed] for seed in shared) <= 0:
            return None
        return interval([cell.values[seed] / beside.values[seed] for seed in shared])
    a, b = cell.interval, beside.interval
    return None if b.low <= 0 else Interval(a.mean / b.mean, a.low / b.high, a.high / b.low, min(a.seeds, b.seeds))


def _told(found: Interval) -> str:
    if found.low == found.high:
        return short(found.mean)
    if found.seeds == 1:
        return f"{short(found.mean)}, one seed"
    return f"{short(found.mean)} [{short(found.low)}, {short(found.high)}]"

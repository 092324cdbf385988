"""The rule of C28: lost in the middle, and whether the fading of positions goes with it."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, by_seed, interval

LEARNED = 0.9
"""The share of right answers at the training length from which on a run has learned the task."""
LOST = 0.1
"""How much more often than by guessing a needle is found at the best depth, the mean over seeds: below that it is lost
everywhere, and no place is better than another."""
DIP = 0.05
"""The share of answers by which the middle has to be worse than either end: one in twenty."""
FADES = 0.1
"""The loss of R^2 from the input to what the last layer reads that counts as fading, as for C23."""
ENOUGH = 5
"""Encodings from which on ranks are compared: of four, any order but one comes about by chance too often."""
NORMAL = 1.96
"""A rank correlation of n encodings without relation is within NORMAL / sqrt(n - 1) in 95 of 100 cases."""

Values = Mapping[int, float]
"""A number of each seed."""


class Curve(NamedTuple):
    """One encoding at one length: what is found at the start, in the middle and at the end, and the dip by seed."""

    start: float
    middle: float
    end: float
    dips: Values

    @property
    def dip(self) -> Interval:
        return interval([*self.dips.values()])

    @property
    def lost(self) -> bool:
        """Whether the middle is."""
        return self.dip.low > 0 and self.dip.mean >= DIP

    @property
    def even(self) -> bool:
        return self.dip.high < DIP


class Ranks(NamedTuple):
    """How the fading and the dip rank encodings at a length."""

    count: int
    whole: float | None
    """Of the means over seeds."""
    seeds: Interval | None
    text: float | None
    """With the fading in the models of C23."""

    @property
    def chance(self) -> float:
        return NORMAL / math.sqrt(self.count - 1) if self.count > 1 else 1.0

    def related(self, sign: int) -> bool:
        """Whether the correlation has this sign, beyond chance and in all seeds."""
        if self.count < ENOUGH or self.whole is None or self.seeds is None:
            return False
        nearest = min(sign * self.seeds.low, sign * self.seeds.high)
        return sign * self.whole > self.chance and nearest > 0


def rule(numbers: Numbers) -> Verdict:
    """At the training length and past it, of encodings that learned the task in every run and do not lose the needle
    everywhere. The middle is lost where the needle in it (depths between the first and the last) is found less often
    than at either end, the worse of the two, by DIP or more, and the 95 % interval over seeds is above 0; it is not
    where that interval lies below DIP. To be better at one end alone is no dip. The fading is that of C23, in the same
    models: by how much R^2 of a linear guess of the place falls from the input to what the last layer reads.

    Predicted is the dip at a length at which ENOUGH encodings are judged and one has it, where the rank correlation of
    fading and dip over encodings exceeds what chance gives, NORMAL / sqrt(n - 1), and its interval over seeds is above
    0. Holds where it is so at both lengths, holds if (which length) at one. Does not hold where it is at neither, and
    the correlation is as far below 0 at one of them; or under some encoding positions fade by FADES or more and the
    middle is not lost, and no encoding that loses the middle has positions that fade or may do so. Inconclusive
    otherwise, and where fewer than ENOUGH encodings learned the task. That fading goes with a dip is all that can be
    shown here: not that it is the cause."""
    length, longer = numbers["length"], numbers["longer"]
    fading = {label: _falls(numbers["runs"], label, 4) for label in _labels(numbers["runs"])}
    curves = {at: _judged(numbers, at) for at in (length, longer)}
    ranks = {at: _ranks(numbers, found, fading) for at, found in curves.items()}
    told = _told(numbers, curves, ranks, fading)
    if len(curves[length]) < ENOUGH:
        return Verdict("inconclusive", f"{len(curves[length])} encodings learned the task, of {ENOUGH} needed. {told}")
    predicted = [at for at, found in curves.items() if _dips(found) and ranks[at].related(1)]
    if len(predicted) == len(curves):
        return Verdict("holds", told)
    if predicted:
        which = "if texts are longer than in training" if longer in predicted else "of texts as long as in training"
        return Verdict("holds if", f"It holds {which}: at the other length the dip is not predicted. {told}")
    opposed = [at for at, found in curves.items() if _dips(found) and ranks[at].related(-1)]
    if opposed:
        return Verdict("does not hold", f"At length {opposed[0]} the middle is lost less where positions fade. {told}")
    every = [(label, at, curve) for at, found in curves.items() for label, curve in found.items()]
    spared = [each for each in every if each[2].even and _faded(fading[each[0]]) == "yes"]
    if spared and not any(curve.lost and _faded(fading[label]) != "no" for label, _, curve in every):
        label, at, curve = max(spared, key=lambda each: _interval(fading[each[0]]).mean)
        counter = f"R^2 falls by {_interval(fading[label]).text}, the middle is worse than the ends by {curve.dip.text}"
        return Verdict("does not hold", f"Under {label}, at length {at}, {counter}. {told}")
    return Verdict("inconclusive", told)


def _labels(rows: Sequence) -> list[str]:
    return [*dict.fromkeys(row[0] for row in rows)]


def _falls(rows: Sequence, label: str, column: int) -> Values:
    """By how much R^2 falls, by seed: from one column to the next."""
    before, after = (by_seed(rows, label, at) for at in (column, column + 1))
    return {seed: before[seed] - after[seed] for seed in sorted(before.keys() & after.keys())}


def _interval(values: Values) -> Interval:
    return interval([*values.values()])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _faded(falls: Values) -> str:
    if not falls:
        return "open"
    fell = _interval(falls)
    return "yes" if fell.low >= FADES else "no" if fell.high < FADES else "open"


def _judged(numbers: Numbers, length: int) -> dict[str, Curve]:
    """The curve of each encoding that learned the task in every run, and finds something at this length in each."""
    found = {}
    for label in _labels(numbers["runs"]):
        exact = [row[2] for row in numbers["runs"] if row[0] == label]
        rows = [row for row in numbers["depths"] if row[0] == label and row[2] == length]
        seeds = {seed: {depth: right for _, of, _, depth, right in rows if of == seed} for _, seed, *_ in rows}
        learned = all(share is not None and share >= LEARNED for share in exact)
        if learned and len(seeds) == len(exact) and _best(seeds) >= numbers["guessing"] + LOST:
            found[label] = _curve(seeds)
    return found


def _best(seeds: Mapping[int, Mapping[float, float]]) -> float:
    return _mean([max(right.values()) for right in seeds.values()])


def _curve(seeds: Mapping[int, Mapping[float, float]]) -> Curve:
    parts = {}
    for seed, right in sorted(seeds.items()):
        first, *middle, last = (right[depth] for depth in sorted(right))
        parts[seed] = first, _mean(middle), last
    means = (_mean([part[at] for part in parts.values()]) for at in range(3))
    return Curve(*means, {seed: min(first, last) - middle for seed, (first, middle, last) in parts.items()})


def _dips(curves: Mapping[str, Curve]) -> bool:
    return any(curve.lost for curve in curves.values())


def _ranks(numbers: Numbers, curves: Mapping[str, Curve], fading: Mapping[str, Values]) -> Ranks:
    known = [label for label in curves if fading[label]]
    dips = [curves[label].dip.mean for label in known]
    seeds = set.intersection(*(curves[label].dips.keys() & fading[label].keys() for label in known)) if known else set()
    each = [_rank([(fading[label][seed], curves[label].dips[seed]) for label in known]) for seed in sorted(seeds)]
    text = {label: _falls(numbers["text"], label, 2) for label in known}
    both = [(_interval(text[label]).mean, dip) for label, dip in zip(known, dips, strict=True) if text[label]]
    return Ranks(
        len(known),
        _rank([(_interval(fading[label]).mean, dip) for label, dip in zip(known, dips, strict=True)]),
        interval(each) if each and None not in each else None,
        _rank(both),
    )


def _rank(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where either is the same everywhere."""
    columns = [*zip(*pairs, strict=True)]
    if any(len({*values}) < 2 for values in columns) or not columns:
        return None
    x, y = ([_place(values, value) for value in values] for values in columns)
    off = [(a - _mean(x), b - _mean(y)) for a, b in zip(x, y, strict=True)]
    squares = math.fsum(a * a for a, _ in off) * math.fsum(b * b for _, b in off)
    return math.fsum(a * b for a, b in off) / math.sqrt(squares)


def _place(values: Sequence[float], value: float) -> float:
    return sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2


def _told(
    numbers: Numbers,
    curves: Mapping[int, Mapping[str, Curve]],
    ranks: Mapping[int, Ranks],
    fading: Mapping[str, Values],
) -> str:
    """The numbers, in sentences."""
    told = []
    for at, found in curves.items():
        lost = [
            f"{label} {of.start:.2f}, {of.middle:.2f}, {of.end:.2f} (dip {of.dip.text})"
            for label, of in found.items()
            if of.lost
        ]
        even = [label for label, of in found.items() if of.even and not of.lost]
        rest = [label for label, of in found.items() if not of.even and not of.lost]
        told.append(f"At length {at} the middle is lost (right at start, middle and end) by {_list(lost)}")
        told.append(f"It is not by {_list(even)}, open by {_list(rest)}")
        told.append(_correlated(at, ranks[at]))
    learned = curves[numbers["length"]]
    others = [label for label in fading if label not in learned]
    gone = [label for label in learned if label not in curves[numbers["longer"]]]
    told += [f"Not learned in every run: {_list(others)}"] * bool(others)
    told += [f"Refused or lost everywhere at {numbers['longer']}: {_list(gone)}"] * bool(gone)
    fell = [f"{label} {_interval(falls).text}" for label, falls in fading.items() if falls]
    told.append(f"R^2 falls with depth by: {_list(fell)}")
    return ". ".join(told) + "."


def _correlated(at: int, ranks: Ranks) -> str:
    whole = "unknown" if ranks.whole is None else f"{ranks.whole:.2f}"
    seeds = "" if ranks.seeds is None else f" (by seed {ranks.seeds.text})"
    text = "" if ranks.text is None else f"; with the fading in deeper models of text {ranks.text:.2f}"
    said = f"over {ranks.count} encodings, by chance up to {ranks.chance:.2f}"
    return f"Rank correlation of fading and dip at {at}: {whole}{seeds} {said}{text}"


def _list(named: Sequence[str]) -> str:
    return ", ".join(named) or "none"

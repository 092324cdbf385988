"""The rule of C33: whether absolute positions need more data than encodings of distance, and than shared weights."""

import math
from collections.abc import Mapping, Sequence

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, difference, interval

GAP = 0.02
"""By how much more answers have to be right, of all, over the smaller amounts of data, to need less of it: the standard
error of a share of 500 answers, which one model could have by chance."""

ABSOLUTE = ("learned", "sinusoidal")
RELATIVE = ("shaw", "transformer_xl", "t5", "deberta", "relative_bias", "rope_mixed", "rope", "alibi")
SHARED = "convolution"

TASK, AMOUNT, LEARNED, RIGHT = range(2, 6)

Curves = dict[int, dict[int, float]]
"""Share of right answers by amount of data, of each seed."""


def rule(numbers: Numbers) -> Verdict:
    """On each task each absolute encoding is held against the middle one of the encodings of distance, and against
    the convolutional net where there is one; only where every run of both with all the data has learned the task, of
    the encodings of distance those of more than half of them. Over the amounts but the largest, the mean of how many
    more answers the other has right, seed by seed: it needs less data where the interval lies above GAP, not less where
    it lies below, otherwise open. Holds where the absolute encodings need more in all comparisons, holds of those in
    which they do, does not hold where they do in none; inconclusive where in none, and some are open, or where nothing
    can be compared. How much data each needs for as many right answers is told and decides nothing."""
    rows, words, told = numbers["runs"], {}, []
    for task in dict.fromkeys(row[TASK] for row in rows):
        runs = _by_label([row for row in rows if row[TASK] == task])
        amounts = sorted({row[AMOUNT] for row in rows if row[TASK] == task})
        others, curves, parts = _others(runs, amounts[-1]), {}, []
        for label, each in runs.items():
            if label.split()[0] in ABSOLUTE and _learned(each, amounts[-1]):
                curves[label] = _curves(each)
                for name, other in others.items():
                    gap = _gap(other, curves[label], amounts)
                    words[f"{label} beside {name} on {task}"] = _word(gap)
                    parts += [f"{name} less {label} {gap.text}"] if gap else []
        told.append(_told(task, amounts, curves | others, parts, runs))
    text = " ".join(told)
    more, same, unknown = ([name for name, word in words.items() if word == of] for of in ("more", "same", "open"))
    if not words:
        return Verdict(
            "inconclusive", f"Nothing can be compared: too few have learned a task with all the data. {text}"
        )
    if len(more) == len(words):
        return Verdict("holds", text)
    if more:
        rest = [f"not of {', '.join(same)}"] * bool(same) + [f"open of {', '.join(unknown)}"] * bool(unknown)
        return Verdict("holds if", f"It holds of {', '.join(more)}; {'; '.join(rest)}. {text}")
    if unknown:
        return Verdict("inconclusive", f"Not told by these seeds: {', '.join(unknown)}. {text}")
    return Verdict("does not hold", f"Absolute positions need no more data: {', '.join(same)}. {text}")


def _by_label(rows: Sequence[Sequence]) -> dict[str, list]:
    found: dict[str, list] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


def _others(runs: Mapping[str, list], most: int) -> dict[str, Curves]:
    """What absolute encodings are held against: the curves of the net, and of the middle encoding of distance."""
    found = {SHARED: _curves(runs[SHARED])} if SHARED in runs and _learned(runs[SHARED], most) else {}
    relative = [each for label, each in runs.items() if label.split()[0] in RELATIVE]
    if 2 * sum(_learned(each, most) for each in relative) > len(relative):
        found["encodings of distance"] = _middle([_curves(each) for each in relative])
    return found


def _learned(rows: Sequence[Sequence], most: int) -> bool:
    """Whether every run with all the data has learned the task, and none has been lost."""
    return all(row[RIGHT] is not None and (row[LEARNED] or row[AMOUNT] < most) for row in rows)


def _curves(rows: Sequence[Sequence]) -> Curves:
    found: Curves = {}
    for row in rows:
        if row[RIGHT] is not None:
            found.setdefault(row[1], {})[row[AMOUNT]] = row[RIGHT]
    return found


def _middle(each: Sequence[Curves]) -> Curves:
    """By seed and amount, the median over encodings, where all of them have one."""
    seeds = set.intersection(*(set(curves) for curves in each))
    found: Curves = {}
    for seed in sorted(seeds):
        amounts = set.intersection(*(set(curves[seed]) for curves in each))
        found[seed] = {amount: _median([curves[seed][amount] for curves in each]) for amount in sorted(amounts)}
    return found


def _median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _gap(better: Curves, worse: Curves, amounts: Sequence[int]) -> Interval | None:
    """How many more answers are right, the mean over all amounts but the largest, seed by seed; None without a seed
    that both have."""
    smaller = amounts[:-1]
    means = [
        {
            seed: sum(curve[amount] for amount in smaller) / len(smaller)
            for seed, curve in curves.items()
            if curve.keys() >= {*smaller}
        }
        for curves in (better, worse)
    ]
    if not smaller or not means[0].keys() & means[1].keys():
        return None
    return difference(*means)


def _word(gap: Interval | None) -> str:
    if gap is None:
        return "open"
    return "more" if gap.low > GAP else "same" if gap.high < GAP else "open"


def _told(
    task: str, amounts: Sequence[int], curves: Mapping[str, Curves], parts: Sequence[str], runs: Mapping[str, list]
) -> str:
    """Of one task: the gaps, the mean curves, how much data gives what absolute encodings have with all, who failed."""
    means = {name: {amount: _mean(each, amount) for amount in amounts} for name, each in curves.items()}
    right = [f"{name} {', '.join(f'{value:.3f}' for value in curve.values())}" for name, curve in means.items()]
    needed = [
        f"{other} {_needed(means[other], means[name][amounts[-1]])} for what {name} has with {amounts[-1]:,}"
        for name in curves
        for other in curves
        if name.split()[0] in ABSOLUTE and other.split()[0] not in ABSOLUTE
    ]
    failed = [label for label, each in runs.items() if not _learned(each, amounts[-1])]
    listed = ", ".join(f"{amount:,}" for amount in amounts)
    return " ".join(
        [
            f"On {task}, right with {listed}: {'; '.join(right) or '-'}.",
            *([f"Over the smaller amounts: {'; '.join(parts)}."] if parts else []),
            *([f"Data needed: {'; '.join(needed)}."] if needed else []),
            *([f"Not learned with all of it: {', '.join(failed)}."] if failed else []),
        ]
    )


def _mean(curves: Curves, amount: int) -> float:
    values = [curve[amount] for curve in curves.values() if amount in curve]
    return interval(values).mean if values else math.nan


def _needed(curve: Mapping[int, float], target: float) -> str:
    """The first amount at which a mean curve has `target`, between two amounts along their logarithm."""
    before: tuple[int, float] | None = None
    for amount, value in sorted(curve.items()):
        if value >= target:
            if before is None:
                return f"at most {amount:,}"
            share = (target - before[1]) / (value - before[1])
            return f"{round(before[0] * (amount / before[0]) ** share):,}"
        before = (amount, value)
    return f"more than {max(curve):,}"

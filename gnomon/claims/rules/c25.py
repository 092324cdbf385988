"""The rule of C25: a masked model with absolute positions is slow to learn how influence depends on distance."""

import math
from collections.abc import Mapping, Sequence

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import difference

REACHED = 0.9
"""Share of answers right, over all distances, from which on a model has learned the task: that of the lab."""
SLOWER = 1.0
"""How many doublings of the steps more are slow: one, twice the steps, as budgets are doublings of one another."""

BERT = "learned"
"""The sum of words and learned positions, as in BERT, at any scale."""
RELATIVE = ("deberta", "shaw", "transformer_xl", "t5", "rope", "alibi")

LABEL, SEED, STEPS, RIGHT, NEAREST, FARTHEST = 0, 1, 2, 3, 4, -1

Steps = Mapping[int, int | None]
"""Of each seed the smallest budget that is enough; None where none is."""


def rule(numbers: Numbers) -> Verdict:
    """Steps are those of the smallest budget that reaches REACHED, in each seed; where none does they count as a
    doubling of the largest, so that a difference is the least that it can be. BERT's sum has in each seed the steps of
    the better of its scales. It is compared with each relative encoding that has learned the task in every seed, in
    doublings, seed by seed: slower where the mean is SLOWER or more and the interval above 0, not slower where the
    interval is below SLOWER, else not told apart.

    Holds where it is slower than each of them; does not hold where it is slower than none, and told apart from all;
    holds if those are meant that it is slower than; inconclusive where it is slower than none and not told apart from
    some, no relative encoding has learned the task, or the smallest budget is enough for BERT's sum."""
    rows = numbers["runs"]
    steps = {label: _steps(rows, label) for label in dict.fromkeys(row[LABEL] for row in rows)}
    budgets = [row[STEPS] for row in rows]
    told = _told(rows, steps, max(budgets))
    in_sum = _better([steps[label] for label in steps if _name(label) == BERT])
    compared = [label for label in steps if _name(label) in RELATIVE and None not in steps[label].values()]
    if not in_sum or not compared:
        missing = "No relative encoding has learned the task in every seed." if in_sum else "There is no such sum."
        return Verdict("inconclusive", f"{missing} {told}")
    if {*in_sum.values()} == {min(budgets)}:
        return Verdict("inconclusive", f"The smallest budget is enough for BERT's sum: nothing is slower. {told}")
    doublings = _doublings(in_sum, max(budgets))
    apart = {label: difference(doublings, _doublings(steps[label], max(budgets))) for label in compared}
    slower = [label for label, each in apart.items() if each.mean >= SLOWER and each.low > 0]
    not_slower = [label for label, each in apart.items() if each.high < SLOWER]
    unknown = [label for label in compared if label not in slower + not_slower]
    bound = ", at least," if None in in_sum.values() else ""
    listed = ", ".join(f"{label} {each.text}" for label, each in apart.items())
    told = f"Doublings of the steps that BERT's sum needs{bound} more than {listed}. {told}"
    if len(slower) == len(compared):
        return Verdict("holds", told)
    if not slower:
        return Verdict("inconclusive" if unknown else "does not hold", told)
    rest = [f"no slower than {', '.join(not_slower)}"] * bool(not_slower)
    rest += [f"not told apart from {', '.join(unknown)}"] * bool(unknown)
    return Verdict("holds if", f"It holds if {' or '.join(slower)} is meant by relative: {'; '.join(rest)}. {told}")


def _name(label: str) -> str:
    """The encoding, without its options."""
    return label.partition(" ")[0]


def _steps(rows: Sequence[Sequence], label: str) -> Steps:
    reached: dict[int, list[int]] = {}
    for row in rows:
        if row[LABEL] == label:
            enough = row[RIGHT] is not None and row[RIGHT] >= REACHED
            reached.setdefault(row[SEED], []).extend([row[STEPS]] * enough)
    return {seed: min(each, default=None) for seed, each in sorted(reached.items())}


def _better(each: Sequence[Steps]) -> Steps:
    """The fewest steps of any, by seed."""
    seeds = sorted({seed for steps in each for seed in steps})
    found = {seed: [steps[seed] for steps in each if steps.get(seed) is not None] for seed in seeds}
    return {seed: min(of, default=None) for seed, of in found.items()}


def _doublings(steps: Steps, most: int) -> dict[int, float]:
    return {seed: math.log2(2 * most if each is None else each) for seed, each in steps.items()}


def _told(rows: Sequence[Sequence], steps: Mapping[str, Steps], most: int) -> str:
    """The steps of every encoding and seed, and how often BERT's sum is right near and far, by scale and budget."""
    listed = [
        f"{label} {', '.join(f'over {most:,}' if each is None else f'{each:,}' for each in of.values())}"
        for label, of in steps.items()
    ]
    of_sum: dict[tuple, list[Sequence]] = {}
    for row in rows:
        if _name(row[LABEL]) == BERT and row[RIGHT] is not None:
            of_sum.setdefault((row[LABEL], row[STEPS]), []).append(row)
    near = [
        f"{label} {_mean(each, NEAREST):.2f} and {_mean(each, FARTHEST):.2f} after {budget:,} steps"
        for (label, budget), each in sorted(of_sum.items())
    ]
    return (
        f"Steps to {REACHED:g} in each seed: {'; '.join(listed)}. Right at the nearest and at the farthest distance: "
        f"{'; '.join(near) or 'no run came to its end'}."
    )


def _mean(rows: Sequence[Sequence], column: int) -> float:
    return sum(row[column] for row in rows) / len(rows)

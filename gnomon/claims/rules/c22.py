"""The rule of C22: whether keeping content and position apart, as DeBERTa does, beats their sum, as in BERT."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, by_seed, difference

APART, BERT = "deberta", "learned"
"""What the document compares: both terms of position beside the content, and a table added to it. BERT draws contents
and places from N(0, 0.02) alike; here both begin with 1 (`Model.table`)."""
SUMS = {BERT: "BERT's sum", "sinusoidal": "the sinusoidal sum"}
"""What is to be beaten: the document says it of the sum, so that of sinusoids is one too."""
TERMS = ("deberta terms=c2p", "deberta terms=p2c")
"""DeBERTa with one of its two terms."""
NATS = 0.01
"""What a loss has to differ by to count, in nats a masked byte: the probability of the right byte changes by a
hundredth of itself, for which nobody would take the dearer encoding."""
SHARE = 0.05
"""What the share of right pairs, the mean over the budgets of steps, has to differ by: a tenth of what lies between a
guess, which is right in half of them, and no mistake."""

Standing = Literal["ahead", "behind", "even", "open"]
SAID: Mapping[Standing, str] = {
    "ahead": "it is ahead",
    "behind": "it is behind",
    "even": "no difference that counts",
    "open": "the interval leaves it open",
}


class Part(NamedTuple):
    """How DeBERTa stands in one of the two tasks."""

    of: str
    stands: Mapping[str, Standing]
    """To each of SUMS."""
    told: str


def rule(numbers: Numbers) -> Verdict:
    """By two tasks: the loss on masked text, and the share right of pairs that bind when adjacent, the mean over
    budgets of steps, so that learning sooner counts; each beside BERT's sum and the sinusoidal one. Paired by seed,
    DeBERTa is ahead where the interval lies on its side of 0 and the mean counts (NATS, SHARE), behind where the same
    is so of the sum, even where the interval lies within what does not count, open otherwise. Open too where neither
    of the two has learned the task in any run. A run without a number counts as a guess.

    Holds where it is ahead of both sums in both tasks, holds if (where) where it is somewhere; else inconclusive where
    something is open, and does not hold where nothing is.
    """
    parts = _masked(numbers), _binding(numbers)
    told = " ".join(part.told for part in parts)
    every = [stands for part in parts for stands in part.stands.values()]
    if all(stands == "ahead" for stands in every):
        return Verdict("holds", told)
    if "ahead" in every:
        return Verdict("holds if", f"It holds of {', and of '.join(filter(None, map(_where, parts)))}: {told}")
    return Verdict("inconclusive" if "open" in every else "does not hold", told)


def _where(part: Part) -> str:
    """In what DeBERTa is ahead; empty where in nothing."""
    sums = [SUMS[label] for label, stands in part.stands.items() if stands == "ahead"]
    return part.of if len(sums) == len(SUMS) else f"{part.of} beside {sums[0]}" if sums else ""


def _masked(numbers: Numbers) -> Part:
    rows = numbers["masked"]
    losses = {label: _filled(rows, label, 2, numbers["guess"]) for label in _labels(rows)}
    stands, gains = _compared(rows, losses, NATS, less=True)
    told = [
        f"On masked text, in nats a byte at equal steps{_cost(rows)}, {APART} gains {'; '.join(gains)}.",
        *(
            f"Both terms gain {difference(losses[term], losses[APART]).text} on {term.partition('=')[2]} alone."
            for term in TERMS
            if term in losses
        ),
    ]
    others = {label: difference(losses[BERT], each) for label, each in losses.items() if label not in (BERT, APART)}
    if others:
        each = ", ".join(f"{label} {gain.text}" for label, gain in others.items())
        told.append(f"The others gain on {SUMS[BERT]}: {each}.")
    beside = [label for label, gain in others.items() if label not in (*SUMS, *TERMS, "learned") and gain.low > 0]
    if stands[BERT] == "ahead" and beside:
        told.append(f"So do {' and '.join(beside)}, which add nothing to the content either: it is not the two terms.")
    failed = sorted({row[0] for row in rows if not row[4]})
    if failed:
        told.append(f"No better than byte frequencies in some seed: {', '.join(failed)}.")
    return Part("masked text", stands, " ".join(told))


def _binding(numbers: Numbers) -> Part:
    rows = numbers["pairs"]
    shares = {label: _mean_share(rows, label, numbers["chance"]) for label in _labels(rows)}
    stands, gains = _compared(rows, shares, SHARE, less=False)
    each = ", ".join(
        f"{label} {math.fsum(share.values()) / len(share):.2f} ({_steps(rows, label)})"
        for label, share in shares.items()
    )
    told = (
        f"Of pairs that bind when adjacent, in the mean over budgets of steps, {APART} gains {'; '.join(gains)}. Share "
        f"right (steps from which on all seeds know it): {each}."
    )
    return Part("pairs that bind when adjacent", stands, told)


def _compared(
    rows: Sequence[Sequence], values: Mapping[str, Mapping[int, float]], least: float, *, less: bool
) -> tuple[dict[str, Standing], list[str]]:
    """How DeBERTa stands to each of SUMS by a number of each seed; `less`: it is better where it is less."""
    stands: dict[str, Standing] = {}
    told = []
    for label, name in SUMS.items():
        pair = (values[label], values[APART]) if less else (values[APART], values[label])
        gain = difference(*pair)
        learned = any(row[4] for row in rows if row[0] in (APART, label))
        stands[label] = _stands(gain, least) if learned else "open"
        said = SAID[stands[label]] if learned else "neither has learned it"
        told.append(f"{gain.text} on {name} ({label}): {said}")
    return stands, told


def _stands(gain: Interval, least: float) -> Standing:
    if gain.low > 0 and gain.mean >= least:
        return "ahead"
    if gain.high < 0 and gain.mean <= -least:
        return "behind"
    return "even" if -least < gain.low and gain.high < least else "open"


def _labels(rows: Sequence[Sequence]) -> list[str]:
    return [*dict.fromkeys(row[0] for row in rows)]


def _filled(rows: Sequence[Sequence], label: str, column: int, guess: float) -> Mapping[int, float]:
    return {row[1]: guess if row[column] is None else row[column] for row in rows if row[0] == label}


def _mean_share(rows: Sequence[Sequence], label: str, chance: float) -> Mapping[int, float]:
    """Of each seed the share right, the mean over the budgets that it has."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row[0] == label:
            found.setdefault(row[1], []).append(chance if row[3] is None else row[3])
    return {seed: math.fsum(shares) / len(shares) for seed, shares in found.items()}


def _steps(rows: Sequence[Sequence], label: str) -> str:
    """The smallest budget from which on every seed has learned it, larger budgets too."""
    found = "never"
    for steps in sorted({row[2] for row in rows if row[0] == label}, reverse=True):
        if not all(row[4] for row in rows if row[0] == label and row[2] == steps):
            break
        found = str(steps)
    return found


def _cost(rows: Sequence[Sequence]) -> str:
    """What a step of DeBERTa costs over one of BERT's sum, medians over seeds; nothing where that is not known."""
    apart, added = (sorted(by_seed(rows, label, 5).values()) for label in (APART, BERT))
    if not apart or not added:
        return ""
    return f" (one of {APART} costs {apart[len(apart) // 2] / added[len(added) // 2]:.1f} times as much)"

"""The rule of C21: whether positions of too small a norm are ignored, and of too large a norm drown the words."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, difference

ADDED = ("sinusoidal", "learned")
"""The encodings that the document has in mind: they are added to the content, one as it stands, one trained."""
LOST = 0.1
"""The share of what positions are worth (the loss without any, less the best) that has to be lost to be called so: a
tenth. What is worth nothing cannot be lost, so the unit is that of the task."""

End = Literal["lost", "kept", "open"]
Losses = Mapping[int, float]
"""Of each seed."""


class Sweep(NamedTuple):
    """What the sweep of one encoding says."""

    ends: tuple[End, End]
    """Of the smallest norm and of the largest."""
    told: str


def rule(numbers: Numbers) -> Verdict:
    """By the loss of the smallest and of the largest norm, less the best between them, of both encodings, paired by
    seed. The best is chosen for each seed by the others, so that no seed chooses what it is compared with. An end
    is lost where the interval lies above 0 and the mean is LOST of what positions are worth or more, kept where
    the interval lies below that, open otherwise, or where positions are not surely worth anything. A run without a
    finite loss counts as a guess by byte frequencies.

    Holds where all ends are lost, holds if (which) where some are; does not hold where all are kept, inconclusive
    where none is lost and some are open.
    """
    sweeps = {name: _sweep(numbers, name) for name in ADDED}
    ends: dict[End, list[str]] = {"lost": [], "kept": [], "open": []}
    for name, sweep in sweeps.items():
        for which, end in zip(("too small", "too large"), sweep.ends, strict=True):
            ends[end].append(f"{which} a norm of {name} positions")
    told = " ".join(sweep.told for sweep in sweeps.values()) + _broken(numbers)
    if not ends["kept"] and not ends["open"]:
        return Verdict("holds", f"Both ends lose. {told}")
    if ends["lost"]:
        others = [
            f"{what} {' and '.join(ends[end])}"
            for end, what in (("kept", "nothing that counts is lost by"), ("open", "undecided is"))
            if ends[end]
        ]
        return Verdict("holds if", f"It holds of {' and of '.join(ends['lost'])}: {', and '.join(others)}. {told}")
    if ends["open"]:
        return Verdict("inconclusive", f"Undecided is {' and '.join(ends['open'])}. {told}")
    return Verdict("does not hold", f"Nothing that counts is lost by any norm that was tried. {told}")


def _sweep(numbers: Numbers, name: str) -> Sweep:
    rows, guess = numbers["runs"], numbers["guess"]
    by_scale = {scale: _losses(rows, name, scale, guess) for scale in sorted({r[3] for r in rows if r[2] == name})}
    without = _losses(rows, "none", None, guess)
    if len(by_scale) < 3 or not without:
        return Sweep(("open", "open"), f"{name}: there is no sweep with an end on either side, beside no positions.")
    smallest, *between, largest = by_scale
    seeds = sorted(set.intersection(*(set(losses) for losses in by_scale.values())))
    best = {seed: by_scale[_best(by_scale, between, seed)][seed] for seed in seeds}
    worth = difference(without, best)
    costs = {scale: difference(losses, best) for scale, losses in by_scale.items()}
    ends = [_end(costs[scale], worth) for scale in (smallest, largest)]
    small, large = (_told(rows, name, scale, costs[scale]) for scale in (smallest, largest))
    whole = _whole(costs, between, worth)
    least, most = _ratio(rows, name, whole[0]), _ratio(rows, name, whole[-1])
    return Sweep(
        (ends[0], ends[1]),
        f"{name}: positions are worth {worth.text} nats a byte; {small}; {large}; less than {LOST:.0%} of their worth "
        f"is lost from scale {whole[0]:g} to {whole[-1]:g}, where their norm after training is {least} to {most} "
        "of the content's.",
    )


def _end(cost: Interval, worth: Interval) -> End:
    if worth.low <= 0:
        return "open"
    if cost.low > 0 and cost.mean >= LOST * worth.mean:
        return "lost"
    return "kept" if cost.high < LOST * worth.mean else "open"


def _best(by_scale: Mapping[float, Losses], between: Sequence[float], seed: int) -> float:
    """The scale of the lowest mean loss over the other seeds; of the only seed, over that."""

    def mean(scale: float) -> float:
        losses = by_scale[scale]
        others = [loss for other, loss in losses.items() if other != seed] or [*losses.values()]
        return math.fsum(others) / len(others)

    return min(between, key=mean)


def _whole(costs: Mapping[float, Interval], between: Sequence[float], worth: Interval) -> list[float]:
    """The scales around the cheapest one between the ends that lose less than LOST, without a gap."""
    scales = [*costs]
    first = last = scales.index(min(between, key=lambda scale: costs[scale].mean))

    def is_whole(at: int) -> bool:
        return costs[scales[at]].mean < LOST * worth.mean

    while first > 0 and is_whole(first - 1):
        first -= 1
    while last + 1 < len(scales) and is_whole(last + 1):
        last += 1
    return scales[first : last + 1]


def _losses(rows: Sequence[Sequence], name: str, scale: float | None, guess: float) -> Losses:
    return {row[1]: guess if row[4] is None else row[4] for row in rows if row[2] == name and row[3] == scale}


def _told(rows: Sequence[Sequence], name: str, scale: float, cost: Interval) -> str:
    content = [row[6] for row in rows if row[2] == name and row[3] == scale and row[6] is not None]
    share = f", positions in {1 - math.fsum(content) / len(content):.0%} of the logits' variance" if content else ""
    return f"scale {scale:g} (norm {_ratio(rows, name, scale)} of the content's{share}) loses {cost.text}"


def _ratio(rows: Sequence[Sequence], name: str, scale: float) -> str:
    found = [row[5] for row in rows if row[2] == name and row[3] == scale and row[5] is not None]
    return f"{math.fsum(found) / len(found):.2g}" if found else "unknown"


def _broken(numbers: Numbers) -> str:
    """What did not learn the task in range."""
    rows = numbers["runs"]
    not_learned = sorted({row[0] for row in rows if not row[10]})
    broken = sum(row[4] is None for row in rows)
    told = f" No better than byte frequencies in some seed: {', '.join(not_learned)}." if not_learned else ""
    return told + (f" {broken} runs have no finite loss and count as a guess." if broken else "")

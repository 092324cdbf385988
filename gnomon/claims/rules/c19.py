"""The rule of C19: distances on a flattened grid, and what flattening costs a trained model."""

from collections.abc import Sequence

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, difference, interval

STRETCH = 1.5
"""How many times farther the lower neighbour has to be than the right one, in the vectors, to be called distorted."""
EVEN = 1.1
"""The same for the forms with two axes, to be called undistorted."""
GAIN = 0.1
"""By how much rank correlation with Euclidean distance has to be better with two axes."""
COST = 0.1
"""How many more of all answers have to be lost after flattening than with two axes, to be called a cost: one in ten."""

CORRECTED = (
    "the part that waited for trained models is judged now: what they lose on a wider canvas, flattened and with two "
    "axes; of what was judged before nothing is changed"
)

LABEL, SEED, POSITIONS, LEARNED, PLAIN, RIGHT, DOWN, WIDER = range(8)
REFERENCE = "convolution"


def rule(numbers: Numbers) -> Verdict:
    """Three parts. The two neighbours: the flattened lower one is STRETCH times as far as the right one or more, at
    most EVEN times with two axes. The order of all distances: rank correlation with Euclidean distance is better with
    two axes by GAIN. Trained models: of the encodings that have both forms, and of which every run has learned the
    digits, each loses COST more of all answers on a wider canvas flattened than with two axes, by its interval, seed by
    seed; or those that do are named; not so where the interval of each lies below COST; otherwise open. Holds where all
    parts do, does not hold where none does, is inconclusive where none does and the models leave it open; else holds of
    the parts that do. What a moved digit costs is told and decides nothing: it changes all numbers alike, flattened or
    not."""
    one, two = numbers["below_over_right_1d"], numbers["below_over_right_2d"]
    rank_one, rank_two = numbers["rank_1d"], numbers["rank_2d"]
    told = (
        f"On a grid of {numbers['width']} x {numbers['height']}, the lower neighbour is {one:.2f} times as far as the "
        f"right one after flattening, {two:.2f} times with two axes. Rank correlation with Euclidean distance: "
        f"{rank_one:.2f} and {rank_two:.2f}. {_told(numbers['digits'])}"
    )
    costs = _costs(numbers["digits"], (WIDER,))
    dear = [name for name, cost in costs.items() if cost.low > COST]
    trained = _word(costs)
    who = f"models trained with {', '.join(dear)}" if dear and trained != "yes" else "trained models"
    parts = {
        "the two neighbours": "yes" if one >= STRETCH and two <= EVEN else "no",
        "the order of all distances": "yes" if rank_two - rank_one >= GAIN else "no",
        f"{who} on a wider canvas": "yes" if dear else trained,
    }
    true, false, unknown = ([part for part, word in parts.items() if word == of] for of in ("yes", "no", "open"))
    if len(true) == len(parts) and trained == "yes":
        return Verdict("holds", told)
    if not true:
        return Verdict("inconclusive" if unknown else "does not hold", told)
    rest = "".join(
        [f"; not of {' or '.join(false)}"] * bool(false) + ["; trained models leave it open"] * bool(unknown)
    )
    return Verdict("holds if", f"It holds of {' and of '.join(true)}{rest}. {told}")


def _costs(rows: Sequence[Sequence], columns: Sequence[int]) -> dict[str, Interval]:
    """By encoding that has both forms, how many more answers the flattened one loses, as a mean over `columns`."""
    flat, grid = _families(rows, "flat"), _families(rows, "grid")
    both = [name for name in flat if name in grid and name != REFERENCE]
    learned = [name for name in both if _learned(flat[name]) and _learned(grid[name])]
    lost = {name: [_lost(form[name], columns) for form in (flat, grid)] for name in learned}
    return {name: difference(a, b) for name, (a, b) in lost.items() if a.keys() & b.keys()}


def _families(rows: Sequence[Sequence], positions: str) -> dict[str, list]:
    """The runs of each encoding, whatever its options, by the way in which patches lie."""
    found: dict[str, list] = {}
    for row in rows:
        if row[POSITIONS] == positions:
            found.setdefault(row[LABEL].split()[0], []).append(row)
    return found


def _learned(rows: Sequence[Sequence]) -> bool:
    return all(row[LEARNED] and None not in row for row in rows)


def _lost(rows: Sequence[Sequence], columns: Sequence[int]) -> dict[int, float]:
    return {row[SEED]: row[PLAIN] - sum(row[at] for at in columns) / len(columns) for row in rows}


def _word(costs: dict[str, Interval]) -> str:
    if costs and all(cost.low > COST for cost in costs.values()):
        return "yes"
    return "no" if costs and all(cost.high < COST for cost in costs.values()) else "open"


def _told(rows: Sequence[Sequence]) -> str:
    """What a wider canvas and a move cost by flattening, what each form loses, and who has not learned the digits."""
    told = [
        f"By flattening {what} costs a trained model, of all answers: {_each(_costs(rows, columns))}."
        for what, columns in (("a wider canvas", (WIDER,)), ("a move by one patch", (RIGHT, DOWN)))
    ]
    unlearned = []
    for positions, name in (("flat", "flattened"), ("grid", "with two axes")):
        runs = _families(rows, positions)
        lost = {
            encoding: [interval([*_lost(each, columns).values()]).mean for columns in ((WIDER,), (RIGHT, DOWN))]
            for encoding, each in runs.items()
            if _learned(each)
        }
        told.append(
            f"Lost on a wider canvas and by a move, {name}: "
            + ("; ".join(f"{encoding} {wider:.2f}, {moved:.2f}" for encoding, (wider, moved) in lost.items()) or "-")
            + "."
        )
        unlearned += [f"{encoding} {name}" for encoding in runs if encoding not in lost]
    return " ".join(told + [f"Not learned by every seed: {', '.join(unlearned)}."] * bool(unlearned))


def _each(costs: dict[str, Interval]) -> str:
    return "; ".join(f"{name} {cost.text}" for name, cost in costs.items()) or "not known of any"

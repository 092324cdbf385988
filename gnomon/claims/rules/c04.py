"""The rule of C04: different positions can share a value in different dimensions."""

from gnomon.claims.claim import Numbers, Verdict

CLOSE = 1e-9
"""How far apart two values may be, proved, to be called the same where no exact pair is known."""

CORRECTED = (
    "a sentence alone: it called the better of the whole numbers on both sides the nearest, which may miss by more; no "
    "threshold and no verdict changed"
)


def rule(numbers: Numbers) -> Verdict:
    """Holds where a pair of places and dimensions is equal exactly; holds if the same means within CLOSE, where only
    such a pair is certified; else does not hold."""
    miss = numbers["nearest_integer_miss"]
    step = (
        ""
        if miss is None
        else f" The better of the whole numbers on both sides of what the document takes misses by {miss:.2g} where "
        "the second wave is fast."
    )
    if numbers["exact"]:
        p, i, q, j = numbers["witness"]
        return Verdict("holds", f"Place {p} in dimension {i} equals place {q} in dimension {j} exactly.{step}")
    gap = numbers["certified_gap"]
    if gap is not None and gap <= CLOSE:
        return Verdict("holds if", f"It holds if the same means within {gap:.1e}: no exact pair is known.{step}")
    found = "none was found" if gap is None else f"the closest pair found is {gap:.1e} apart"
    return Verdict("does not hold", f"No pair within {CLOSE:g}: {found}.{step}")

"""The rule of C19: distances on a flattened grid."""

from gnomon.claims.claim import Numbers, Verdict

STRETCH = 1.5
"""How many times farther the lower neighbour has to be than the right one, in the vectors, to be called distorted."""
EVEN = 1.1
"""The same for the forms with two axes, to be called undistorted."""
GAIN = 0.1
"""By how much rank correlation with Euclidean distance has to be better with two axes."""


def rule(numbers: Numbers) -> Verdict:
    """Holds where the flattened lower neighbour is STRETCH times as far as the right one or more, at most EVEN times
    with two axes, and rank correlation with Euclidean distance is better with two axes by GAIN; does not hold
    where neither is so; else holds if (which part)."""
    one, two = numbers["below_over_right_1d"], numbers["below_over_right_2d"]
    rank_one, rank_two = numbers["rank_1d"], numbers["rank_2d"]
    told = (
        f"On a grid of {numbers['width']} x {numbers['height']}, the lower neighbour is {one:.2f} times as far as the "
        f"right one after flattening, {two:.2f} times with two axes. Rank correlation with Euclidean distance: "
        f"{rank_one:.2f} and {rank_two:.2f}."
    )
    stretched, ranked = one >= STRETCH and two <= EVEN, rank_two - rank_one >= GAIN
    if stretched and ranked:
        return Verdict("holds", told)
    if not stretched and not ranked:
        return Verdict("does not hold", told)
    part = "the two neighbours" if stretched else "the order of all distances"
    return Verdict("holds if", f"It holds if {part} are meant. {told}" if stretched else f"It holds of {part}. {told}")

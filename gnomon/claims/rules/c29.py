"""The rule of C29: attention without positions does not see order."""

from gnomon.claims.claim import Numbers, Verdict

NOTHING = 1e-9
"""The largest relative change of an output that counts as none, in float64."""


def rule(numbers: Numbers) -> Verdict:
    """Holds where outputs only change places with their inputs, bidirectional and causal; holds if there is no causal
    mask, where that one sees order; does not hold where bidirectional attention does."""
    both, one, two = numbers["bidirectional"], numbers["causal_one_layer"], numbers["causal_two_layers"]
    told = (
        f"When inputs change places, outputs of bidirectional attention change places with them, to {both:.1e}. Behind "
        f"a causal mask, the last output changes by {one:.1e} after one layer and by {two:.1e} after two when the "
        "tokens before it change places."
    )
    if both > NOTHING:
        return Verdict("does not hold", told)
    if max(one, two) <= NOTHING:
        return Verdict("holds", told)
    return Verdict(
        "holds if",
        "It holds if attention is bidirectional, and as equivariance: a causal mask tells order by itself. " + told,
    )

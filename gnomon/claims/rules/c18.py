"""The rule of C18: whether the position-position term is a function of distance, and RoPE's logit."""

from gnomon.claims.claim import Numbers, Verdict

WHOLE = 1 - 1e-9
"""The share of its variance that distance has to explain, for a term to depend on distance alone."""
BROKEN = 0.5
"""The share below which distance no longer explains a term."""
EXACT = 1e-9
"""The largest change of RoPE's logit under a shift, over the logits' root mean square, that is none in float64."""


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where distance does not explain the term under the identity, or does under general projections, or
    RoPE's logit moves in float64. Else: holds where any rotation keeps the term, as the document says, and
    holds if the rotations are the same, where two independent ones break it."""
    identity, same = min(numbers["share_identity"]), min(numbers["share_same_rotation"])
    two, general = max(numbers["share_two_rotations"]), max(numbers["share_general"])
    rope = {name: numbers[f"rope_{name}"] for name in ("float64", "float32", "bfloat16")}
    told = (
        f"Distance explains {identity:.3f} of the position-position term with no projections, {same:.3f} with the same "
        f"rotation for both, {two:.2f} with two rotations, {general:.2f} with general ones (at most, of "
        f"{len(numbers['share_general'])}). Under shifts up to {numbers['shift']:,} RoPE's logit moves by "
        + ", ".join(f"{value:.1e} in {name}" for name, value in rope.items())
        + "."
    )
    if identity < WHOLE or general >= BROKEN or rope["float64"] > EXACT:
        return Verdict("does not hold", told)
    if same >= WHOLE and two >= WHOLE:
        return Verdict("holds", told)
    kept = "W_Q and W_K are the same rotation" if same >= WHOLE else "W_Q and W_K are the identity"
    need = "of other projections, those keep it for which W_Q^T W_K commutes with the shift"
    return Verdict("holds if", f"The term depends on distance alone if {kept}; {need}. {told}")

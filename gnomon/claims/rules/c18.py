"""The rule of C18: whether the position-position term is a function of distance, and RoPE's logit."""

from gnomon.claims.claim import Numbers, Verdict

WHOLE = 1 - 1e-9
"""The share of its variance that distance has to explain, for a term to depend on distance alone: all but rounding."""
BROKEN = 0.5
"""The share below which distance no longer explains a term: less than half of it."""
REMAINS = 0.9
"""The share below which an absolute part remains in a trained model, as the document says: a tenth or more of the term.
Trained projections are never an exact rotation, so that WHOLE would decide it before any model is looked at."""
ROUNDINGS = 8
"""How many roundings of an angle may move RoPE's logit in float64, over the logits' root mean square. Each of the two
angles w p of a pair is off by w p 2^-53 at most, so the logit by twice the sum of w |q| |k| over the pairs: of 32
pairs of normal numbers that is below 6 root mean squares in 200 draws of 1024 logits. Cosines and sums are rounded
too."""

CORRECTED = (
    "the change of RoPE's logit in float64 was held to a constant, a little above what had been measured, though it "
    "grows with the shift; now to what rounding allows at each shift. What float64 angles give is told first. And the "
    "part that waited for trained models is judged now, by a threshold of its own; what the rule says of projections "
    "that were drawn is as it was"
)


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where distance does not explain the term under the identity, or does under general projections, or
    some shift moves RoPE's logit in float64 by more than ROUNDINGS roundings of an angle at that place. Else: holds
    where any rotation keeps the term, as the document says; holds if the rotations are the same, where two independent
    ones break it.

    Of the projections of trained models, the mean over heads: an absolute part remains where the 95 % interval over
    seeds of the share that distance explains lies below REMAINS, for sinusoidal and for learned positions. Where it
    lies above for one of them, what is said of projections holds of drawn ones, and not of trained ones; where it is
    across, or no model was asked, that is open, and told."""
    identity, same = min(numbers["share_identity"]), min(numbers["share_same_rotation"])
    two, general = max(numbers["share_two_rotations"]), max(numbers["share_general"])
    places, moved = numbers["rope_places"], numbers["rope_float64"]
    allowed = {shift: ROUNDINGS * (shift + places) * 2.0**-53 for shift, _ in moved}
    shift, most = max(moved, key=lambda row: row[1] / allowed[row[0]])
    told = (
        f"Distance explains {identity:.3f} of the position-position term with no projections, {same:.3f} with the same "
        f"rotation for both, {two:.2f} with two rotations, {general:.2f} with general ones (at most, of "
        f"{len(numbers['share_general'])}). {_trained(numbers)} Under shifts up to {max(allowed):,} RoPE's logit moves "
        f"by {max(change for _, change in moved):.1e} in float64 (nearest to what rounding allows: {most:.1e} of "
        f"{allowed[shift]:.1e} at shift {shift:,}), by {numbers['rope_float32_from_float64_angles']:.1e} with tables "
        f"in float32 and {numbers['rope_bfloat16_from_float64_angles']:.1e} in bfloat16, angles in float64; only where "
        f"angles are formed in float32 or bfloat16 by {numbers['rope_float32']:.1e} and {numbers['rope_bfloat16']:.1e}."
    )
    if identity < WHOLE or general >= BROKEN or most > allowed[shift]:
        return Verdict("does not hold", told)
    kept = [label for label, _, low, *_ in numbers["trained_share"] if low is not None and low >= REMAINS]
    rotation = "the same rotation" if same >= WHOLE else "the identity"
    if same >= WHOLE and two >= WHOLE:
        if not kept:
            return Verdict("holds", told)
        return Verdict("holds if", f"It holds of projections that were not trained: {_but(kept)}. {told}")
    need = "of other projections, those keep the term for which W_Q^T W_K commutes with the shift"
    limit = ", and of projections that were not trained" if kept else ""
    more = f"; {_but(kept)}" if kept else ""
    return Verdict(
        "holds if", f"That a rotation keeps the term holds if W_Q and W_K are {rotation}{limit}: {need}{more}. {told}"
    )


def _but(kept: list) -> str:
    return f"in trained models of {' and '.join(kept)} positions distance explains the term"


def _trained(numbers: Numbers) -> str:
    """What became of the term in trained models, in a sentence."""
    told = []
    for label, mean, low, high, seeds in numbers["trained_share"]:
        if low is None:
            told.append(f"of {label} positions is not known")
            continue
        across = low < REMAINS <= high
        part = "which leaves open whether" if across else "so that" if high < REMAINS else "so that no"
        told.append(
            f"is {mean:.2f} of {label} positions [{low:.2f}, {high:.2f}, {seeds} seeds], {part} an absolute part "
            "remains"
        )
    return f"In trained models the share {', '.join(told)}."

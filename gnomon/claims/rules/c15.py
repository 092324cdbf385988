"""The rule of C15: the product of two position vectors oscillates with distance."""

from gnomon.claims.claim import Numbers, Verdict

RISING = 0.25
"""The share of lags at which the product has to rise, to be called an oscillation and no decay with ripples."""
LEFT = 0.1
"""How large, as a share of its value at lag 0, the product still has to be far out, to have no limit 0."""


def rule(numbers: Numbers) -> Verdict:
    """At every width: the product rises at a share RISING of lags or more, and far out comes back to a share LEFT of
    its first value or more. Holds where both are so at all widths, does not hold where neither is at any, else
    holds if (which part)."""
    rows = numbers["widths"]
    oscillates = [width for width, first, share, _ in rows if first is not None and share >= RISING]
    stays = [width for width, _, _, far in rows if far >= LEFT]
    told = "; ".join(
        f"width {width}: never rises, far out {far:.2f}"
        if first is None
        else f"width {width}: first rise after lag {first}, {share:.0%} of lags rise, far out {far:.2f}"
        for width, first, share, far in rows
    )
    begin, end = numbers["far"]
    told = f"{told}. Rises are counted up to lag {numbers['last']:,}; far out is the most of lags {begin:,} to {end:,}."
    if len(oscillates) == len(stays) == len(rows):
        return Verdict("holds", told)
    if not oscillates and not stays:
        return Verdict("does not hold", told)
    parts = f"It oscillates at widths {_listed(oscillates)}; it does not fade to 0 at widths {_listed(stays)}."
    return Verdict("holds if", f"{parts} {told}")


def _listed(widths: list) -> str:
    return ", ".join(map(str, widths)) or "none"

"""The rule of C15: the product of two position vectors oscillates with distance."""

from gnomon.claims.claim import Numbers, Verdict

RISING = 0.25
"""The share of steps that have to rise, to be called an oscillation: halfway from a steady fall, of which none does, to
a wave without a trend, of which half do."""

CORRECTED = (
    "whether the product has the limit 0 is settled by a proof and not by how large it is within lags that were looked "
    "at, which is 0.1 of its first value at width 1024 and less at more; the largest is now told and decides nothing"
)


def rule(numbers: Numbers) -> Verdict:
    """At every width: a share RISING of steps or more rises, the first of them proved; and it is proved that the
    product comes back arbitrarily near to its first value, however far out one begins, so that 0 is not its limit.
    Holds where both are so at all widths, does not hold where neither is at any, else holds of what is so."""
    rows, back = numbers["widths"], {width: (proved, power) for width, proved, power in numbers["returns"]}
    oscillates = [width for width, first, share, *_ in rows if first is not None and share >= RISING]
    returns = [width for width, *_ in rows if back[width][0]]
    told = "; ".join(_told(*row, *back[row[0]]) for row in rows)
    begin, end = numbers["far"]
    told = (
        f"{told}. Steps are counted up to lag {numbers['last']:,}; far out is the most, as a share of lag 0, of lags "
        f"{begin:,} to {end:,}, and the mean there."
    )
    if len(oscillates) == len(returns) == len(rows):
        return Verdict("holds", f"It has no limit: a sum of waves comes back as near as one likes. {told}")
    if not oscillates and not returns:
        return Verdict("does not hold", told)
    parts = f"It holds of oscillation at widths {_listed(oscillates)} and of no limit 0 at widths {_listed(returns)}."
    return Verdict("holds if", f"{parts} {told}")


def _told(
    width: int, first: int | None, share: float, far: float, at: int, mean: float, proved: bool, power: float | None
) -> str:
    rises = "never rises" if first is None else f"first rise after lag {first}, {share:.0%} of steps rise"
    half = f", half again by lag 10^{int(power) + 1} for certain" if proved else ", no return proved"
    return f"width {width}: {rises}, far out {far:.2f} at lag {at:,}, mean {mean:.1g}{half}"


def _listed(widths: list) -> str:
    return ", ".join(map(str, widths)) or "none"

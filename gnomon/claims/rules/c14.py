"""The rule of C14: far positions can look alike."""

from gnomon.claims.claim import Numbers, Verdict

MARGIN = 0.0
"""By how much the similarity of a far lag has to exceed that of lag 1, for two places to be taken for each other."""


def rule(numbers: Numbers) -> Verdict:
    """At each width: is the closest far lag closer than lag 1, so that far places are more alike than neighbours?
    Holds where it is at all widths, does not hold where it is at none, holds if the width is small where it is
    at the narrower ones; else inconclusive."""
    rows = sorted(numbers["widths"])
    alike = [width for width, _, far, near in rows if far > near + MARGIN]
    apart = [width for width, *_ in rows if width not in alike]
    told = "; ".join(
        f"width {width}: lag {lag:,}, similarity {_near(far)} {'>' if width in alike else '<='} {near:.6g} at lag 1"
        for width, lag, far, near in rows
    )
    told = f"The closest of the lags {numbers['first']:,} to {numbers['last']:,}, certified: {told}."
    if not apart:
        return Verdict("holds", told)
    if not alike:
        return Verdict("does not hold", told)
    if max(alike) < min(apart):
        return Verdict("holds if", f"It holds if the width is {max(alike)} or less, not from {min(apart)} on. {told}")
    return Verdict("inconclusive", f"Width does not decide it. {told}")


def _near(similarity: float) -> str:
    return f"{similarity:.6g}" if similarity < 0.9999 else f"1 - {1 - similarity:.1e}"

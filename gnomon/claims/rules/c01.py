"""The rule of C01: fine and coarse measures of one place."""

from gnomon.claims.claim import Numbers, Verdict

FINE = 10.0
"""Places: the first wave has to come round within so many, so that neighbours are a tenth of a turn apart or more."""
COARSE = 10_000.0
"""Places: the last wave has to be at least so long, longer than the texts whose places are measured."""
GAIN = 10.0
"""How many times as far the last pair has to stand still as the first, to be another rule: one decimal place."""

CORRECTED = (
    "the smallest step of each wave was one constant over its frequency, so that steps grew as wavelengths do whatever "
    "is stored, and `holds if` could not come out; now how far each pair stands still is read from stored rows. "
    "Later a sentence alone was corrected: in float16 the last pair does not tell neighbours as the first does"
)


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where wavelengths do not grow from at most FINE to at least COARSE places, or the first pair of
    dimensions stores some neighbours alike in every precision. Else: holds where in every precision the last pair
    keeps one value over GAIN times as many places as the first or more; holds if wavelengths are meant, or the
    precisions where it does."""
    first, last = numbers["shortest_wavelength"], numbers["longest_wavelength"]
    steps = numbers["steps"]
    told = (
        f"At width {numbers['width']}, wavelengths run from {first:,.2f} to {last:,.0f} places. Of "
        f"{numbers['places']:,} places, the first and the last pair of dimensions keep one stored value over up to "
        + ", ".join(f"{fine} and {coarse} in {dtype}" for dtype, fine, coarse, *_ in steps)
        + "."
    )
    if not numbers["wavelengths_grow"] or first > FINE or last < COARSE:
        return Verdict("does not hold", f"{told} They do not grow from below {FINE:g} to above {COARSE:,.0f}.")
    if all(fine > 1 for _, fine, *_ in steps):
        return Verdict("does not hold", f"{told} The first pair stores neighbours alike in each.")
    coarser = [dtype for dtype, fine, coarse, *_ in steps if coarse >= GAIN * fine]
    if len(coarser) == len(steps):
        return Verdict("holds", told)
    stored = f", or values are stored in {' or '.join(coarser)}" if coarser else ""
    return Verdict(
        "holds if",
        f"It holds if wavelengths are meant{stored}: elsewhere the last pair keeps one value over less than "
        f"{GAIN:g} times as many places as the first. {told}",
    )

"""The rule of C01: fine and coarse measures of one place."""

from gnomon.claims.claim import Numbers, Verdict

FINE = 10.0
"""Places: the first wave has to come round within so many, to tell neighbours far apart."""
COARSE = 10_000.0
"""Places: the last wave has to be at least so long, to tell far places apart without coming round."""
GAIN = 100.0
"""How many times coarser the last wave has to be than the first, by the smallest step that it tells."""


def rule(numbers: Numbers) -> Verdict:
    """Holds where wavelengths grow from at most FINE to at least COARSE places and the smallest step that a wave tells
    grows at least GAIN-fold; holds if only wavelengths are meant, where the steps do not; else does not hold."""
    first, last = numbers["shortest_wavelength"], numbers["longest_wavelength"]
    fine, coarse = numbers["smallest_step_first"], numbers["smallest_step_last"]
    told = (
        f"At width {numbers['width']}, wavelengths run from {first:,.2f} to {last:,.0f} places; the smallest step told "
        f"everywhere in {numbers['dtype']} runs from {fine:.2g} to {coarse:.2g} places."
    )
    if not numbers["wavelengths_grow"] or first > FINE or last < COARSE:
        return Verdict("does not hold", f"{told} They do not grow from below {FINE:g} to above {COARSE:,.0f}.")
    if coarse < GAIN * fine:
        return Verdict("holds if", f"{told} Wavelengths are meant: steps grow {coarse / fine:.3g}-fold only.")
    return Verdict("holds", told)

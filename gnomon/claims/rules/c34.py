"""The rule of C34: which kernels of distance an encoding can be."""

from gnomon.claims.claim import Numbers, Verdict

FITS = 0.05
"""The relative error below which a kernel is met."""
FAILS = 0.2
"""The relative error above which it is not."""


def rule(numbers: Numbers) -> Verdict:
    """Holds where sinusoidal positions miss some kernel and ALiBi meets the linear one and misses all others (met: a
    relative error of FITS at most; missed: FAILS at least); does not hold where neither half is so; else holds
    if (which half)."""
    sinusoidal = {name: error for encoding, name, error in numbers["errors"] if encoding == "sinusoidal"}
    alibi = {name: error for encoding, name, error in numbers["errors"] if encoding == "alibi"}
    linear = alibi["linear"]
    others = [error for name, error in alibi.items() if name != "linear"]
    limited = max(sinusoidal.values()) >= FAILS
    only_linear = linear <= FITS and min(others) >= FAILS
    told = f"Relative errors, sinusoidal: {_listed(sinusoidal)}; ALiBi: {_listed(alibi)}."
    if limited and only_linear:
        return Verdict("holds", told)
    if not limited and not only_linear:
        return Verdict("does not hold", told)
    half = "sinusoidal positions" if limited else "ALiBi"
    return Verdict(
        "holds if", f"It holds of {half}, and not of {'ALiBi' if limited else 'sinusoidal positions'}. {told}"
    )


def _listed(errors: dict) -> str:
    return ", ".join(f"{name} {error:.0%}" for name, error in errors.items())

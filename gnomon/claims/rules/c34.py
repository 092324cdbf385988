"""The rule of C34: which kernels of distance an encoding can be."""

from gnomon.claims.claim import Numbers, Verdict

FITS = 0.05
"""The relative error up to which a kernel is met: what is left is a twentieth of how much the kernel varies."""
FAILS = 0.2
"""The relative error from which it is missed: four times as much. What lies between is neither."""
RESOLVED = 2.0**-23
"""The share of the largest combination of waves below which one is left out, as float32 numbers would lose it."""

CORRECTED = (
    "one missed kernel of six was enough to call sinusoidal positions limited, which any encoding without a free table "
    "would be; now each class of kernels is judged apart, and the nearest of the other formulas is told beside it. "
    "Later a threshold that the fit had was put here and told: combinations of waves that float32 cannot keep apart "
    "are left out; with real numbers of any size as many waves as lags meet every kernel"
)


def rule(numbers: Numbers) -> Verdict:
    """By classes of kernels. A class is missed where each of its kernels has a relative error of FAILS or more, met
    where each has FITS or less. ALiBi is only linear where it meets the linear kernel and misses each other. Holds
    where sinusoidal positions miss every class and ALiBi is only linear; holds if the classes that are missed are
    meant, where sinusoidal positions miss some; holds of one half where the other is not so; does not hold where
    neither is."""
    sinusoidal, alibi = ([row[1:] for row in numbers["errors"] if row[0] == name] for name in ("sinusoidal", "alibi"))
    missed, met = _classes(sinusoidal)
    everything = len(missed) == len({kind for kind, *_ in sinusoidal})
    only_linear = all(error <= FITS if name == "linear" else error >= FAILS for _, name, error in alibi)
    told = (
        f"With numbers that are kept apart at {RESOLVED:.0e} of the largest; relative errors, sinusoidal: "
        f"{_listed(sinusoidal)}; ALiBi: {_listed(alibi)}. Nearest of the other formulas: "
        + ", ".join(f"{name} {encoding} {error:.0%}" for name, encoding, error in numbers["nearest_formula"])
        + "."
    )
    if everything and only_linear:
        return Verdict("holds", told)
    if not missed and not only_linear:
        return Verdict("does not hold", told)
    if not missed:
        return Verdict("holds if", f"It holds of ALiBi: sinusoidal positions miss no class of kernels. {told}")
    meet = f" and meet those that {_either(met)}" if met else ""
    missing = f"sinusoidal positions miss kernels that {_either(missed)}{meet}"
    if only_linear:
        meant = f"kernels that {_either(missed)} are meant"
        return Verdict("holds if", f"It holds if {meant}: {missing}; ALiBi meets the linear one alone. {told}")
    return Verdict("holds if", f"It holds of sinusoidal positions, not of ALiBi: {missing}. {told}")


def _classes(rows: list) -> tuple[list, list]:
    """The classes of which every kernel is missed, and those of which every kernel is met."""
    errors = {}
    for kind, _, error in rows:
        errors.setdefault(kind, []).append(error)
    missed = [kind for kind, found in errors.items() if min(found) >= FAILS]
    return missed, [kind for kind, found in errors.items() if max(found) <= FITS]


def _either(kinds: list) -> str:
    return " or ".join(kinds)


def _listed(rows: list) -> str:
    return ", ".join(f"{name} {error:.0%}" for _, name, error in rows)

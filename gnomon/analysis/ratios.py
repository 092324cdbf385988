"""Which frequencies stand in a rational ratio to each other: decided exactly, by the prime factors of the base."""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz

from gnomon.analysis.forms import Waves
from gnomon.checked import checked
from gnomon.errors import OptionError

DIGITS = 2**20
"""The most binary digits of a number that is written out."""


@dataclass(frozen=True)
class Ratio:
    """Two waves whose frequencies stand in a rational ratio: w_fast / w_slow = ratio."""

    fast: int
    slow: int
    ratio: Fraction


@checked
def root(base: float) -> tuple[Fraction, int]:
    """`(c, g)`: base = c^g with the largest whole g. Then base^r is rational exactly where g r is whole.

    A float is a fraction k / 2^s and is taken for exactly that. Its prime factors have exponents a_p (negative below
    the line); g is their greatest common divisor: 10000 = 2^4 5^4 gives (10, 4), 10001 = 73 * 137 gives (10001, 1).
    OptionError for a base that does not exceed 1.
    """
    if not 1 < base < math.inf:
        raise OptionError("the base of the wavelengths must exceed 1", given=base, allowed="above 1", do="try 10000")
    value = Fraction(base)
    factors = _factors(value.numerator) | {p: -a for p, a in _factors(value.denominator).items()}
    g = math.gcd(*factors.values())
    return math.prod((Fraction(p) ** (a // g) for p, a in factors.items()), start=Fraction(1)), g


@checked
def power(base: float, exponent: Fraction) -> Fraction | None:
    """`base ** exponent` where that is rational, exactly; None where it is irrational. OptionError past 2^20 digits."""
    c, g = root(base)
    return _raised(c, exponent * g) if (exponent * g).denominator == 1 else None


@checked
def classes(waves: Waves) -> tuple[tuple[int, ...], ...]:
    """The waves in groups: frequencies of one group have rational ratios, those of two groups never.

    Of waves m and n the ratio is base^(e_n - e_m), so they are in one group where g e_m and g e_n differ by a whole
    number. OptionError where the exponents are not known.
    """
    _, g = root(waves.base)
    groups: dict[Fraction, list[int]] = {}
    for m, exponent in enumerate(exponents(waves)):
        groups.setdefault(exponent * g % 1, []).append(m)
    return tuple(map(tuple, groups.values()))


@checked
def rational_pairs(waves: Waves) -> tuple[Ratio, ...]:
    """All pairs of waves whose frequencies have a rational ratio, with the ratio, in the order of the waves."""
    known, (c, g) = exponents(waves), root(waves.base)
    found = []
    for group in classes(waves):
        for index, fast in enumerate(group):
            found += [Ratio(fast, slow, _raised(c, (known[slow] - known[fast]) * g)) for slow in group[index + 1 :]]
    return tuple(sorted(found, key=lambda pair: (pair.fast, pair.slow)))


@checked
def count_rational(waves: Waves) -> tuple[int, int]:
    """How many pairs of waves have a rational ratio, and how many pairs there are."""
    return sum(math.comb(len(group), 2) for group in classes(waves)), math.comb(len(exponents(waves)), 2)


@checked
def exponents(waves: Waves) -> tuple[Fraction, ...]:
    """The exponents e_m of w_m = base^(-e_m). OptionError where a scheme has changed the frequencies."""
    if waves.exponents is None:
        raise OptionError(
            "these frequencies are floats, not powers of the base", do="ask without a scaling scheme: all is exact then"
        )
    return waves.exponents


def _raised(value: Fraction, exponent: Fraction) -> Fraction:
    """A power whose numbers fit in memory; the exponent is whole."""
    digits = int(abs(exponent) * max(value.numerator, value.denominator).bit_length())
    if digits > DIGITS:
        given = f"about 2^{digits.bit_length()} binary digits"
        raise OptionError("a power is written out", given=given, allowed=f"up to {DIGITS}")
    return value ** int(exponent)


def _factors(whole: int) -> dict[int, int]:
    """Exponent of each prime. What a float holds is at most 53 bits times a power of two, which is taken out first."""
    twos = (whole & -whole).bit_length() - 1
    odd = {int(p): int(a) for p, a in fmpz(whole >> twos).factor()}
    return ({2: twos} if twos else {}) | odd

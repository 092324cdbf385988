"""Whole numbers of steps that come near a whole number of turns, or near any angle: Euclid's algorithm, certified."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gnomon.analysis.certified import FIRST, LAST, bounds, frequency, precision
from gnomon.analysis.forms import Waves
from gnomon.analysis.ratios import exponents
from gnomon.checked import checked
from gnomon.errors import OptionError


@dataclass(frozen=True)
class Turn:
    """The shift that nearly repeats one wave: shift * w is nearest to `turns` whole turns."""

    shift: int
    turns: int
    miss: tuple[float, float]
    """Bounds of |shift w - 2 pi turns|, in radians."""


@checked
def nearest_turn(waves: Waves, wave: int, last: int) -> Turn:
    """Of all shifts 1 <= k <= last, the one for which k w_m is nearest to a whole number of turns. Proved, not scanned.

    The denominators q_0 <= q_1 < q_2 < ... of the continued fraction of w / 2 pi are the record holders: no k < q_{n+1}
    comes nearer to a whole number of turns than q_n (Lagrange's law of best approximation).
    wave: index m; last: at least 1. Returns the least such shift, with bounds of what it misses by.
    """
    exponent = _exponent(waves, wave)
    if last < 1:
        raise OptionError("a shift is at least one step", given=last, allowed="1 or more")
    turns, shift = convergents(lambda: frequency(waves.base, exponent) / (2 * arb.pi()), last)[-1]
    with precision(LAST):
        miss = abs(frequency(waves.base, exponent) * shift - 2 * arb.pi() * turns)
        return Turn(shift, turns, bounds(miss))


def convergents(value: Callable[[], arb], last: int) -> list[tuple[int, int]]:
    """Convergents (n, q) of the continued fraction of an irrational number, q <= last; each is certain.

    value: makes the ball at the precision that is set; positive.
    """
    bits = 2 * FIRST + 2 * last.bit_length()
    while bits <= 2 * LAST:
        with precision(bits):
            found = _convergents(value(), last)
        if found is not None:
            return found
        bits *= 2
    raise OptionError("this many steps ask for too many digits", given=f"{last:.3g} steps", do="ask for fewer")


def _convergents(x: arb, last: int) -> list[tuple[int, int]] | None:
    """None where the ball is too wide to say the next quotient."""
    found, (n, q), (n_before, q_before) = [], (1, 0), (0, 1)
    while True:
        quotient = x.floor().unique_fmpz()
        if quotient is None:
            return None
        quotient = int(quotient)
        n, q, n_before, q_before = quotient * n + n_before, quotient * q + q_before, n, q
        if q > last:
            return found
        found.append((n, q))
        x = x - quotient
        if not x > 0:
            return None
        x = 1 / x


def first_between(step: int, size: int, low: int, high: int) -> int | None:
    """The least k >= 0 with low <= (k step mod size) <= high; None where there is none. 0 <= low <= high < size.

    Euclid's algorithm. While the steps of the first round miss the interval, ask at which round they hit it: the rounds
    start at multiples of -size mod step, which is the same question about a smaller circle.
    """
    if not 0 <= low <= high < size:
        raise OptionError("an interval of the circle", given=f"{low} to {high}", allowed=f"0 to {size - 1}, in order")
    step %= size
    if low == 0:
        return 0
    if step == 0:
        return None
    if 2 * step > size:
        return first_between(size - step, size, size - high, size - low)
    k = -(-low // step)
    if k * step <= high:
        return k
    rounds = first_between(-size % step, step, low % step, high % step)
    return None if rounds is None else -(-(low + size * rounds) // step)


def _exponent(waves: Waves, wave: int) -> Fraction:
    known = exponents(waves)
    if not 0 <= wave < len(known):
        raise OptionError("no such wave", given=wave, allowed=f"0 to {len(known) - 1}")
    return known[wave]

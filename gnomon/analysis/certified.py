"""Numbers that are proved: real numbers between two bounds (Arb's balls, by python-flint), never a rounded guess.

A ball of Arb contains the number that was asked for; an inequality between balls that do not meet is a proof. Where
they meet, the precision is doubled until they do not, up to a limit: what is equal cannot be told apart so, and is
said to be undecided.

Searches over many numbers are made in floats first. Their bounds of rounding are derived where they are used, but for
one thing that is taken and not proved: that a float64 sine or cosine of torch's is within TRUSTED of the truth.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from flint import arb, ctx, fmpq

from gnomon.analysis.forms import Waves

FIRST, LAST = 64, 4096
"""Bits of the first try and of the last."""
TRUSTED = 4 * 2.0**-53
"""How far from the truth torch's float64 sine and cosine are taken to be at most. It is not proved; tests sample it."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Balls of so many bits within."""
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


def frequency(base: float, exponent: Fraction) -> arb:
    """`base ** -exponent`, base a float taken exactly."""
    return arb(base) ** arb(fmpq(-exponent.numerator, exponent.denominator))


def frequencies(waves: Waves) -> list[arb]:
    """w_m of each wave, at the precision that is set; floats that a scheme has made are taken for exactly that."""
    if waves.exponents is None:
        return [arb(f) for f in waves.frequencies]
    return [frequency(waves.base, e) for e in waves.exponents]


def whole_beside(ball: arb) -> int:
    """A whole number within 1 of the middle of a ball."""
    return int(arb(ball.mid()).floor().unique_fmpz())


def decided(statement: Callable[[], bool | None]) -> bool | None:
    """Whether a statement about balls is true: it is asked at twice the precision until it answers, or None.

    It answers None where its balls meet, as `below` does.
    """
    bits = FIRST
    while bits <= LAST:
        with precision(bits):
            answer = statement()
        if answer is not None:
            return answer
        bits *= 2
    return None


def below(a: arb, b: arb) -> bool | None:
    """Whether a < b: True or False where that is proved, None where the balls meet."""
    if a < b:
        return True
    return False if a >= b else None


def bounds(value: arb) -> tuple[float, float]:
    """Floats below and above all that the ball contains."""
    lower, upper = float(value.lower()), float(value.upper())
    return math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)


def at_least(bound: float, digits: int = 4) -> str:
    """A lower bound, 0 or from 1e-307 on, in so many digits: rounded down, so that what is printed is one as well."""
    return _printed(bound, digits, ROUND_FLOOR)


def at_most(bound: float, digits: int = 4) -> str:
    """An upper bound in so many digits: rounded up, so that what is printed is one as well."""
    return _printed(bound, digits, ROUND_CEILING)


def _printed(bound: float, digits: int, rounding: str) -> str:
    # Exact: a float is a decimal fraction, and this many digits come back from the nearest float.
    return f"{float(Context(prec=digits, rounding=rounding).plus(Decimal(bound))):.{digits}g}"

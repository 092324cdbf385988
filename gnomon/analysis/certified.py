"""Numbers that are proved: real numbers between two bounds (Arb's balls, by python-flint), never a rounded guess.

A ball of Arb contains the number that was asked for; an inequality between balls that do not meet is a proof. Where
they meet, the precision is doubled until they do not, up to a limit: what is equal cannot be told apart so, and is
said to be undecided.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

FIRST, LAST = 64, 4096
"""Bits of the first try and of the last."""


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


def cosines(base: float, exponents: tuple[Fraction, ...], k: int) -> arb:
    """`sum_m cos(k base^-e_m)`: PE(p) . PE(p + k) of sinusoidal positions whose pairs are whole."""
    return sum((frequency(base, e) * k).cos() for e in exponents) if exponents else arb(0)


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

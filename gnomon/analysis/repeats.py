"""Where vectors of waves repeat over the real numbers: the period that all waves have, or the proof of none."""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from gnomon.analysis.certified import bounds, frequency, precision
from gnomon.analysis.columns import dimensions
from gnomon.analysis.forms import Waves
from gnomon.analysis.ratios import exponents, power
from gnomon.checked import checked

BITS = 512


@dataclass(frozen=True)
class Repeat:
    """Two real positions with the same vector, p + period and p.

    period: in turns of the first wave: period * 2 pi / w_0.
    mirror: None where the vector has this period everywhere. Otherwise the wave that has a sine but no cosine, and the
            two positions lie on both sides of its first crest, where sine is its own mirror image.
    """

    period: Fraction
    mirror: int | None = None


@checked
def period(waves: Waves) -> Fraction | None:
    """The least shift under which no wave changes, in turns of the first (times 2 pi / w_0); None where there is none.

    It exists exactly where all ratios of frequencies are rational: then it is one over their greatest common divisor.
    """
    return _common(waves, tuple(range(len(exponents(waves)))))


@checked
def repeat(waves: Waves) -> Repeat | None:
    """Two real positions with the same vector, or None, which is a proof that there are none.

    Same sine and cosine means a whole number of turns between. If two whole waves have an irrational ratio, no shift
    but 0 is whole turns of both. If all have rational ratios, `period` is; a last wave with a sine only is met by its
    mirror image.
    """
    if not exponents(waves):
        return Repeat(Fraction(1))
    everywhere = period(waves)
    if everywhere is not None:
        return Repeat(everywhere)
    shared, alone = _common(waves, waves.whole_pairs), set(range(len(exponents(waves)))) - set(waves.whole_pairs)
    return None if shared is None else Repeat(shared, alone.pop())


@checked
def places(waves: Waves, found: Repeat) -> tuple[arb, arb]:
    """The two positions of a repeat, as balls at the precision that is set."""
    known = exponents(waves)
    first = frequency(waves.base, known[0]) if known else arb(1)
    length = 2 * arb.pi() * arb(fmpq(found.period.numerator, found.period.denominator)) / first
    if found.mirror is None:
        return length, arb(0)
    crest = arb.pi() / (2 * frequency(waves.base, known[found.mirror]))
    return crest + length / 2, crest - length / 2


@checked
def difference(waves: Waves, found: Repeat) -> float:
    """An upper bound of the largest difference of a column between the two positions, in balls of 512 bits.

    What is equal is within 2^-400; that it is equal is the argument of `repeat`.
    """
    with precision(BITS):
        here, there = places(waves, found)
        largest = 0.0
        for kind, m in dimensions(waves):
            turned = [frequency(waves.base, exponents(waves)[m]) * place for place in (here, there)]
            values = [angle.sin() if kind == "sin" else angle.cos() for angle in turned]
            largest = max(largest, bounds(abs(values[0] - values[1]))[1])
        return largest


def _common(waves: Waves, chosen: tuple[int, ...]) -> Fraction | None:
    """The least shift that is whole turns of each chosen wave, in turns of the first wave of all."""
    known = exponents(waves)
    if not chosen:
        return Fraction(1)
    ratios = []
    for m in chosen:  # wave 0 is one of them
        ratio = power(waves.base, known[0] - known[m])
        if ratio is None:
            return None
        ratios.append(ratio)
    return Fraction(math.lcm(*(r.denominator for r in ratios)), math.gcd(*(r.numerator for r in ratios)))

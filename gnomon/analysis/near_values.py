"""Where a dimension comes near a value of another: the nearest whole number, and the first place within eps, proved."""

import math
from dataclasses import dataclass

import torch
from flint import arb

from gnomon.analysis.certified import LAST, below, bounds, decided, frequency, precision, whole_beside
from gnomon.analysis.columns import value, wave_of
from gnomon.analysis.forms import Waves
from gnomon.analysis.ratios import exponents
from gnomon.analysis.turns import first_between
from gnomon.checked import checked
from gnomon.errors import OptionError

SMALLEST = 1e-60
SPARE = 64
"""Bits more than the search needs."""
SLOWEST = 2.0**-36
"""Radians a place: of a slower wave the real place y has so many digits that float64 cannot round it to a whole one."""


@dataclass(frozen=True)
class Match:
    """A position whose value in a column is near a target, and bounds of how far off it is."""

    position: int
    error: tuple[float, float]


@checked
def nearest_integer(waves: Waves, target: int, p: int, column: int) -> Match:
    """The step of D1, section 5: the least real y >= 0 where `column` has the value of column `target` at p, rounded.

    Of floor(y) and ceil(y) the better one is taken. Both columns are sines or cosines of whole waves.
    """
    kind, m = wave_of(waves, column)
    _check_place(p)
    with precision(LAST // 2):
        aim = value(waves, target, p)
        if kind == "cos":
            angle = aim.acos()
        else:
            angle = aim.asin() if aim >= 0 or aim.overlaps(arb(0)) else arb.pi() - aim.asin()
        y = angle / frequency(waves.base, exponents(waves)[m])
        below_y = y.floor().unique_fmpz()
        # Where the ball of y holds a whole number, that is as good as y itself.
        tried = [int((y + 0.5).floor().unique_fmpz())] if below_y is None else [int(below_y), int(below_y) + 1]
        errors = [abs(value(waves, column, q) - aim) for q in tried]
        best = min(range(len(tried)), key=lambda i: float(errors[i].mid()))
        low = min(bounds(error)[0] for error in errors)
        return Match(tried[best], (max(0.0, low), bounds(errors[best])[1]))


@checked
def worst_nearest(waves: Waves, target: int, column: int, last: int) -> tuple[int, Match]:
    """The p in 0 ... last whose value in `target` the step of D1, section 5, misses by most in `column`, and that miss.

    p is found by a scan in float64; its miss is certified. Of a wave slower than SLOWEST float64 cannot say where the
    step leads, and p is a place like any other: the worst miss is that of p at least. last: 2^22 at most.
    """
    kind, m = wave_of(waves, column)
    aim_kind, aim_m = wave_of(waves, target)
    if not 0 <= last <= 2**22:
        raise OptionError("positions that are scanned at once", given=last, allowed=f"0 to {2**22}")
    places = torch.arange(last + 1, dtype=torch.float64) * waves.frequencies[aim_m]
    aim = places.sin() if aim_kind == "sin" else places.cos()
    angle = aim.acos() if kind == "cos" else torch.where(aim >= 0, aim.asin(), math.pi - aim.asin())
    w = waves.frequencies[m]
    floor = (angle / w).floor()
    wave = torch.sin if kind == "sin" else torch.cos
    miss = torch.minimum((wave(w * floor) - aim).abs(), (wave(w * (floor + 1)) - aim).abs())
    p = int(miss.argmax())
    return p, nearest_integer(waves, target, p, column)


@checked
def match(waves: Waves, target: int, p: int, column: int, eps: float) -> Match:
    """The least whole q >= 0 other than p at which `column` is within eps of the value of `target` at p. Certified.

    The angles that do lie in at most two arcs of the circle. Which multiple of w is first in an arc, Euclid's algorithm
    says without trying them (`first_between`), in whole units of a turn; arcs a little smaller and a little larger give
    the same position, so no rounding matters, and the error is proved to be below eps in balls.
    target, column: dimensions; p: 0 or more; eps: 1e-60 to 2.
    """
    kind, m = wave_of(waves, column)
    if not SMALLEST <= eps < 2:
        raise OptionError("how near is near", given=eps, allowed=f"{SMALLEST:g} to 2", do="try 1e-6")
    _check_place(p)
    # A position is found within about 1 / (w eps) steps; an angle of so many steps is wrong by as many units at most.
    far = SPARE + math.ceil(-math.log2(eps)) + math.ceil(float(exponents(waves)[m]) * math.log2(waves.base))
    margin, turn = 2**far, 2 ** (2 * far + SPARE)
    with precision(4 * far + 4 * SPARE):
        step = whole_beside(frequency(waves.base, exponents(waves)[m]) / (2 * arb.pi()) * turn)
        arcs = _arcs(kind, value(waves, target, p), eps, turn)
    found = []
    for grow in (-margin, margin):
        ways = [_first(step, turn, low - grow, high + grow, p) for low, high in arcs]
        found.append(min((way for way in ways if way is not None), default=None))
    if found[0] is None or found[0] != found[1] or found[0] >= margin // 4:
        raise OptionError(
            "this is too near the edge to say which position is the first", given=eps, do="change eps a bit"
        )
    q = found[0]
    if not decided(lambda: below(abs(value(waves, column, q) - value(waves, target, p)), arb(eps))):
        raise OptionError("this is too near the edge to certify", given=eps, do="change eps a bit")
    with precision(LAST):
        low, high = bounds(abs(value(waves, column, q) - value(waves, target, p)))
    return Match(q, (max(0.0, low), high))


def _check_place(p: int) -> None:
    if p < 0:
        raise OptionError("a position from 0 on", given=p, allowed="0 or more")


def _arcs(kind: str, aim: arb, eps: float, turn: int) -> list[tuple[int, int]]:
    """The arcs of angles whose sine or cosine is within eps of a value, in units; they may begin below 0."""
    low, high = aim - eps, aim + eps
    below_all, above_all = not low > -1, not high < 1
    bottom = -arb.pi() / 2 if below_all else low.asin()
    top = arb.pi() / 2 if above_all else high.asin()
    if below_all and above_all:  # more than the circle, so that a little less is all of it too
        ways = [(arb(0), 4 * arb.pi())]
    elif above_all:  # the arcs meet at the crest
        ways = [(bottom, arb.pi() - bottom)]
    elif below_all:  # and here at the trough
        ways = [(-arb.pi() - top, top)]
    else:
        ways = [(bottom, top), (arb.pi() - top, arb.pi() - bottom)]
    if kind == "cos":  # cos x = sin(x + pi / 2)
        ways = [(a - arb.pi() / 2, b - arb.pi() / 2) for a, b in ways]
    scale = turn / (2 * arb.pi())
    # What these may be wrong by is less than the margin of the search.
    return [(whole_beside(a * scale), whole_beside(b * scale)) for a, b in ways]


def _first(step: int, turn: int, low: int, high: int, without: int) -> int | None:
    """The least k >= 0, not `without`, whose multiple of the step lies in the arc."""
    if high < low:
        return None
    found = _onward(step, turn, low, high, 0)
    if found == without:
        return _onward(step, turn, low, high, without + 1)
    return found


def _onward(step: int, turn: int, low: int, high: int, start: int) -> int | None:
    """The least k >= start whose multiple of the step lies in the arc low ... high, which may cross 0."""
    if high - low >= turn - 1:
        return start
    low, high = (low - start * step) % turn, (high - start * step) % turn
    if low > high:  # the arc holds 0, where k = start is
        return start
    found = first_between(step, turn, low, high)
    return None if found is None else start + found

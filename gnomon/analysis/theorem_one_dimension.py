"""Theorem 2: in one dimension no two positions share a value. True of whole positions that are not negative."""

import math
from dataclasses import dataclass

import torch
from flint import arb

from gnomon.analysis.certified import FIRST, LAST, at_least, at_most, below, bounds, decided, frequency, precision
from gnomon.analysis.columns import value, wave_of
from gnomon.analysis.forms import Waves
from gnomon.analysis.ratios import exponents, power
from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.section import Section, Table

LONGEST = 2**22
"""Positions that are sorted at once: 32 MB."""
RIVALS = 4096
"""Pairs that are told apart in balls."""
QUARTER = 2**62
"""A quarter turn, where a turn is 2^64."""
BITS = 512


@dataclass(frozen=True)
class Pair:
    """Two positions of one dimension, first < second, and bounds of the difference of their values."""

    first: int
    second: int
    difference: tuple[float, float]


@checked
def closest_pair(waves: Waves, column: int, last: int) -> Pair:
    """The two positions 0 <= p < q <= last whose values in one column lie closest, and by how much. Certified.

    Angles are whole multiples of 2^-64 turns, exact but for p 2^-65. Sorted after folding at the crests they are in the
    order of the values, so the closest two are neighbours; those that rounding cannot tell apart are compared as balls.
    column: index of a dimension; last: 1 to 2^22 - 1. Memory 8 bytes a position, several times.
    """
    kind, m = wave_of(waves, column)
    if not 1 <= last < LONGEST:
        raise OptionError("positions that are compared at once", given=last, allowed=f"1 to {LONGEST - 1}")
    if decided(lambda: below(frequency(waves.base, exponents(waves)[m]) * last, arb.pi() / 2)):
        # Within the first quarter turn sine flattens with every step, and cosine steepens.
        best = (last - 1, last) if kind == "sin" else (0, 1)
        return _pair(waves, column, best)
    places, gaps = _neighbours(kind, _step(waves, m), last)
    # Of each angle, p 2^-65 turns, and the unit by which the half turn is moved.
    slack = 4 * math.pi * (last + 2) * 2.0**-65
    rough = gaps.min().item() * (1 + 1e-12) + slack
    near = (gaps <= rough * (1 + 1e-12) + slack).nonzero()[:, 0].tolist()
    if len(near) > RIVALS:
        raise OptionError("too many pairs are equally close for this search", given=last, do="ask for fewer positions")
    rivals = [(i, j) for start, stop in _runs(near) for i in range(start, stop) for j in range(i + 1, stop + 1)]
    best, *others = [tuple(sorted((int(places[i]), int(places[j])))) for i, j in rivals]
    for pair in others:
        best = pair if _nearer(waves, column, pair, best) else best
    return _pair(waves, column, best)


@checked
def mirror(waves: Waves, column: int, position: int) -> Pair | None:
    """Two whole positions with exactly the same value, -p and p, for a cosine; None for a sine, which has none.

    position: p, above 0. The bounds are of the difference in balls of 4096 bits: they contain 0, and cosine is even.
    """
    kind, _ = wave_of(waves, column)
    if position < 1:
        raise OptionError("a position above 0, whose mirror image is another", given=position, allowed="1 or more")
    if kind == "sin":
        return None
    with precision(LAST):
        return Pair(-position, position, bounds(abs(value(waves, column, -position) - value(waves, column, position))))


@checked
def section(waves: Waves, name: str, last: int, constant: int) -> Section:
    """What is true of Theorem 2 for these waves, with the closest pair of some dimensions among positions 0 to `last`.

    constant: how many columns are 0 everywhere, as the last of an odd width of tensor2tensor is.
    """
    key, title, question = texts()
    shown = _shown(waves)
    rows, closest = [], []
    for column in shown:
        kind, m = waves.columns[column]
        pair = closest_pair(waves, column, last)
        length = 2 * math.pi / waves.frequencies[m]
        rows.append((column, kind, f"{length:.6g}", pair.first, pair.second, at_least(pair.difference[0])))
        closest.append([column, kind, pair.first, pair.second, *pair.difference])
    cosine = next((i for i, (kind, _) in enumerate(waves.columns) if kind == "cos"), None)
    equal = None if cosine is None else mirror(waves, cosine, 3)
    holds = bool(waves.columns) and not constant
    numbers = {
        "holds_on_whole_positions_from_0": holds,
        "holds_on_all_whole_positions": holds and equal is None,
        "last": last,
        "closest": closest,
        "mirror": None if equal is None else [cosine, equal.first, equal.second, *equal.difference],
    }
    answer = (
        f"{'PROVED at whole positions from 0 on' if holds else 'FALSE in the last column, PROVED in the others'}"
        f"{', FALSE with negative positions' * (equal is not None)}. Statement: in one dimension no two positions have "
        "the same value. Why: where a sine or a cosine has one value twice, w times a whole number is a multiple of "
        "pi, and pi is not algebraic, while every frequency w is. "
        if waves.columns
        else ""
    )
    if constant:
        answer += "The last column is 0 at every position, so there it fails. "
    if equal is not None:
        answer += (
            f"With negative positions it fails in every cosine: dimension {cosine} has the same value at {equal.first} "
            f"and {equal.second}, and the proof of D1, section 4, looks at the symmetry of the sine only. "
        )
    if closest:
        tight = min(closest, key=lambda row: row[4])
        answer += (
            f"But values come close: of the dimensions shown, dimension {tight[0]} differs by at most "
            f"{at_most(tight[5])} between positions {tight[2]:,} and {tight[3]:,}."
        )
    answer += " The argument: docs/theorems/2.md." * bool(waves.columns)
    table = Table(
        f"The closest two of positions 0 to {last:,}",
        ("dim", "wave", "wavelength", "p", "q", "differ by"),
        tuple(rows),
        "differ by: a proved lower bound, rounded down; no pair lies closer.",
    )
    return Section(
        key, title, question, answer.strip(), (table,) if rows else (), (), _proof(waves, name, cosine, equal), numbers
    )


def texts() -> tuple[str, str, str]:
    """Key, title and question."""
    return (
        "theorem2",
        "Theorem 2: in one dimension values do not repeat",
        "Can two positions have the same value in one dimension?",
    )


def _proof(waves: Waves, name: str, cosine: int | None, equal: Pair | None) -> tuple[str, ...]:
    base = f"{waves.base:.17g}"
    certified = ""
    if equal is not None:
        certified = (
            f" Witness: cos({equal.first} w) = cos({equal.second} w), in dimension {cosine} and in every cosine. "
            f"Exact, as cosine is even; in balls of {LAST} bits the difference is below "
            f"{at_most(equal.difference[1], 1)}."
        )
    return (
        f"Statement. Let p and q be different whole numbers, neither negative, and look at one column, sin(w p) or "
        f"cos(w p). Then its values at p and q differ. ({name}.)",
        f"What is used. The frequency w = {base}^(-e), e = s/t a fraction of whole numbers, is algebraic: a root of an "
        f"equation with whole coefficients, namely {base}^s x^t = 1 (a base with digits behind the point is a "
        "fraction, which multiplies the equation through). Sums, differences, products and quotients of algebraic "
        "numbers are algebraic (not proved here). And pi is not algebraic (Lindemann 1882). So if w a = pi b for "
        "whole numbers a and b, then b = 0, as pi = w a / b would be algebraic otherwise; and then a = 0.",
        "Sine. sin(w p) = sin(w q) where the angles are whole turns apart, w (p - q) = 2 pi n, or mirror images, "
        "w (p + q) = pi (2n + 1). The first gives p - q = 0. The second is impossible, as 2n + 1 is odd and never 0. "
        "So p = q, and that also for negative positions.",
        "Cosine. cos(w p) = cos(w q) where w (p - q) = 2 pi n or w (p + q) = 2 pi n. The first gives p = q. The second "
        "gives p + q = 0, and of two numbers that are not negative that says p = q = 0.",
        "The gap of D1, section 4. First, its proof treats the symmetry of the sine only. In the cosine the "
        "right-hand side 2 pi n is not irrational when n = 0: it is 0, and the equation then has the solution p = -q, "
        f"which only the absence of negative positions excludes.{certified}",
        "Second, it says that the right-hand side contains pi and is therefore irrational. A product of two irrational "
        f"numbers can be rational (sqrt 2 times sqrt 2). {_irrational(waves)}",
        "Beyond whole numbers. The same argument holds for all fractions p, q >= 0. Over the real numbers the "
        "statement is false in every column: values repeat after the wavelength 2 pi / w.",
        "Certificate. The table gives the two positions whose values lie closest. All angles are computed as whole "
        "multiples of 2^-64 turns and sorted; every pair that could be the closest within the error of this is "
        "compared as balls: numbers with a proved error. A wave that stays within a quarter turn needs no search: its "
        "sine flattens and its cosine steepens with every step. A difference proved to be above 0 shows for these "
        "positions what the "
        "proof shows for all. How a number format rounds the values is another question: there neighbours do collide.",
    )


def _irrational(waves: Waves) -> str:
    """In how many waves the inference from 'pi is irrational' fails, counted exactly."""
    known = exponents(waves)
    irrational, count = sum(power(waves.base, -e) is None for e in known), len(known)
    if irrational:
        return (
            f"Multiplied by 1/w, the right-hand side is certainly irrational where 1/w is a fraction; in {irrational} "
            f"of {count} waves 1/w is irrational, and there it is not enough that pi is irrational. It takes that pi "
            "is not algebraic while w is."
        )
    return (
        f"Here 1/w is a fraction in {_all(count)}, so the right-hand side is irrational indeed. In general it takes "
        "that pi is not algebraic while w is."
    )


def _all(count: int) -> str:
    return f"all {count} waves" if count > 1 else "the one wave"


def _shown(waves: Waves) -> tuple[int, ...]:
    """Sine and cosine of waves from the fastest to the slowest, at most ten columns."""
    count = len(waves.frequencies)
    chosen = {round(i * (count - 1) / 4) for i in range(5)} if count else set()
    return tuple(i for i, (_, m) in enumerate(waves.columns) if m in chosen)


def _pair(waves: Waves, column: int, places: tuple[int, int]) -> Pair:
    with precision(BITS):
        low, high = bounds(_apart(waves, column, *places))
    return Pair(*places, (max(0.0, low), high))


def _nearer(waves: Waves, column: int, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
    return decided(lambda: below(_apart(waves, column, *one), _apart(waves, column, *other)))


def _apart(waves: Waves, column: int, p: int, q: int) -> arb:
    """|value at p - value at q| as a product, which has no cancellation."""
    kind, m = wave_of(waves, column)
    half = frequency(waves.base, exponents(waves)[m]) / 2
    other = (half * (p + q)).cos() if kind == "sin" else (half * (p + q)).sin()
    return abs(2 * (half * (q - p)).sin() * other)


def _step(waves: Waves, m: int) -> int:
    """w_m in units of 2^-64 turns, to the nearest."""
    with precision(4 * FIRST):
        turns = frequency(waves.base, exponents(waves)[m]) / (2 * arb.pi()) * arb(2) ** 64 + 0.5
        return int(turns.floor().unique_fmpz())


def _neighbours(kind: str, step: int, last: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions in the order of their values `[last + 1]`, and the differences of neighbours `[last]`, float64."""
    signed = step - 2**64 if step >= 2**63 else step
    # Wraps, as turns do. The half turn itself has no size in 64 bits: the unit beside it stands for it.
    angle = (torch.arange(last + 1, dtype=torch.int64) * signed).clamp(min=1 - 2**63)
    if kind == "sin":
        folded = torch.where(angle.abs() > QUARTER, -(2**63) - angle, angle)
        folded, order = folded.sort()
        low, high = folded[:-1], folded[1:]
        one_side = (low < 0) == (high < 0)
        beside = (QUARTER - low.abs()).double() + (QUARTER - high.abs()).double()
        across = (QUARTER - (low + high).abs()).double() + float(QUARTER)
        rest = torch.where(one_side, beside, across)  # from the nearer crest, summed
    else:
        folded, order = angle.abs().sort()
        low, high = folded[:-1], folded[1:]
        top = low.double() + high.double()
        bottom = (2**63 - 1 - low).double() + (2**63 - 1 - high).double() + 2
        rest = torch.minimum(top, bottom)
    unit = math.pi * 2.0**-64
    return order, 2 * torch.sin((high - low).double() * unit) * torch.sin(rest * unit)


def _runs(found: list[int]) -> list[tuple[int, int]]:
    """First and last place of each run of neighbouring gaps: gap i lies between places i and i + 1."""
    runs = []
    for gap in found:
        if runs and runs[-1][1] == gap:
            runs[-1] = (runs[-1][0], gap + 1)
        else:
            runs.append((gap, gap + 1))
    return runs

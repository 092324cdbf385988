"""Theorem 1: two positions never have the same vector. True of whole ones; of real ones it depends on the width."""

import math
from collections import Counter
from fractions import Fraction

from flint import arb

from gnomon.analysis.certified import at_least, at_most, bounds, precision
from gnomon.analysis.columns import dimensions
from gnomon.analysis.forms import Waves
from gnomon.analysis.forms import waves as waves_of
from gnomon.analysis.ratios import Ratio, classes, count_rational, exponents, rational_pairs, root
from gnomon.analysis.repeats import BITS, Repeat, difference, places, repeat
from gnomon.analysis.turns import nearest_turn
from gnomon.checked import checked
from gnomon.encodings.sinusoidal import Convention, Sinusoidal
from gnomon.section import Section, Table

NOTES = "D1, section 3,"
"""Where the statement and its usual proof are from; which document that is, `gnomon claims` says."""
RANGES = (100, 1000, 8191, 10**6, 10**9, 10**12)
"""Shifts up to which the nearest repeat of the first wave is told."""


@checked
def section(waves: Waves, name: str, convention: Convention | None) -> Section:
    """What is true of Theorem 1 for these waves; `name` says of what.

    convention: in which other widths are told; None for a rotation.
    """
    rotation = convention is None
    key, title, question = texts(rotation)
    if not exponents(waves):
        return Section(
            key, title, question, f"Yes. {name} has no wave: all positions have the same vector.",
            numbers={"holds_on_whole_positions": False, "holds_on_real_positions": False},
        )  # fmt: skip
    (rational, pairs), (c, g), found = count_rational(waves), root(waves.base), repeat(waves)
    base = f"{waves.base:.17g}"
    all_rational = rational == pairs
    real = _real(waves, found)
    listed = rational_pairs(waves)
    numbers = {
        "holds_on_whole_positions": bool(exponents(waves)),
        "holds_on_real_positions": found is None,
        "pairs": pairs,
        "rational_pairs": rational,
        "exponent_of_base": g,
        "period_in_turns": None if found is None or found.mirror is not None else float(found.period),
    }
    thing = "rotation" if rotation else "vector"
    everywhere = "and at real ones" if found is None else "FALSE at real ones"
    answer = (
        f"PROVED at whole positions{' ' if found is None else ', '}{everywhere}. Statement: different positions have "
        f"different {thing}s. Why: {_shortly(waves)} (what is left of it in stored numbers: see uniqueness). "
        f"{_usual(rational, pairs)} {real} The argument: docs/theorems/1.md."
    )
    tables = [] if convention is None else [_by_width(waves, convention)]
    if listed:
        tables.append(_listed(waves, listed))
    certificate = ()
    if 0 in waves.whole_pairs:
        table, told, numbers["nearest"] = _nearest(waves, thing)
        tables.append(table)
        certificate = (told,)
    proof = (
        f"Statement. If p and q are different whole positions, the {thing}s of p and q differ. "
        f"({name}. Wave m turns by w_m = {base}^(-e_m) radians a position, {exponents_told(waves)}; the first turns "
        "by 1.)",
        _why(waves, thing),
        "The argument of D1, section 3, and its gap. It takes two waves i and j, gets k w_i = 2 pi n_i and k w_j = 2 "
        f"pi n_j, divides, and says: n_i / n_j is rational, w_i / w_j = {base}^(e_j - e_i) is irrational, a "
        f"contradiction. It says 'in general' itself. When is the power rational? Write {base} = {c}^{g}, "
        f"where {g} is the greatest common divisor of the exponents of its prime factors. Let the exponent be s/t in "
        f"lowest terms and suppose {base}^(s/t) = x/y. Then {base}^s y^t = x^t. Count a prime on both sides: it occurs "
        f"a multiple of t times in x^t and in y^t, so also in {base}^s. As s and t share no factor, t divides the "
        f"exponent of every prime of the base, so t divides {g}. The other way round, {c}^({g} s/t) is rational when t "
        f"divides {g}. So the ratio is rational exactly where {g} (e_j - e_i) is a whole "
        f"number{_counted(waves, rational, pairs)}",
        _repair(waves, rational, pairs, all_rational),
        *certificate,
        f"Real positions. {real}{_witness(waves, found)}",
    )
    return Section(key, title, question, answer, tuple(tables), (), proof, numbers)


def texts(rotation: bool = False) -> tuple[str, str, str]:
    """Key, title and question."""
    thing = "rotation" if rotation else "vector"
    return "theorem1", f"Theorem 1: {thing}s of two positions differ", f"Can two positions have the same {thing}?"


def _shortly(waves: Waves) -> str:
    """The proof in a line."""
    if 0 not in waves.whole_pairs:
        return "sin p = sin q asks for p - q or p + q to be a multiple of pi, and pi is no fraction"
    return (
        "the first wave turns by one radian a position, and a whole number of radians is no whole number of turns, "
        "since pi is no fraction"
    )


def _usual(rational: int, pairs: int) -> str:
    """What becomes of the usual proof."""
    if not pairs:
        return f"{NOTES} proves it from the ratio of two frequencies, and here there is one."
    of = "the one pair" if pairs == 1 else f"all {pairs:,} pairs"
    of = f"{rational} of {pairs:,} pairs" if 0 < rational < pairs else of
    return (
        f"{NOTES} proves it by taking the ratio of two frequencies to be irrational, which is "
        f"{'false for' if rational else 'true of'} {of} of waves."
    )


def _counted(waves: Waves, rational: int, pairs: int) -> str:
    """In how many pairs the ratio is rational: the end of a sentence, and what follows from it."""
    if not pairs:
        return "; here there is no pair."
    if pairs == 1:
        return f", as it is {'' if rational else 'not '}in the one pair here." + " The step fails there." * rational
    if not rational:
        return f", as it is in none of {pairs:,} pairs here."
    of = f"all {pairs:,} pairs" if rational == pairs else f"{rational:,} of {pairs:,} pairs"
    return f": in {of} here{_by_distance(waves)}. For those the step has no contradiction."


def _by_distance(waves: Waves) -> str:
    """How the pairs with a rational ratio are counted, where a few distances between waves have them all."""
    apart = Counter(pair.slow - pair.fast for pair in rational_pairs(waves))
    count = len(exponents(waves))
    if len(apart) > 4 or any(of != count - steps for steps, of in apart.items()):
        return ""
    steps, sums = (" + ".join(map(str, many)) for many in (sorted(apart), [apart[k] for k in sorted(apart)]))
    return f" (waves {steps.replace(' + ', ', ')} apart, of which there are {sums})"


def exponents_told(waves: Waves) -> str:
    """What e_m is."""
    known = exponents(waves)
    if len(known) < 2:
        return "e_0 = 0"
    step = known[1] - known[0]
    top, below = (step.numerator, step.denominator)
    return f"e_m = {'' if top == 1 else top}m/{below}"


def _dims(waves: Waves, m: int) -> str:
    """The dimensions that a wave has."""
    held = [str(i) for i, (_, wave) in enumerate(dimensions(waves)) if wave == m]
    return f"wave {m} (dim {', '.join(held)})" if waves.columns else f"pair {m}"


def _gap(waves: Waves, r: Ratio) -> Fraction:
    return exponents(waves)[r.slow] - exponents(waves)[r.fast]


def _why(waves: Waves, thing: str) -> str:
    if 0 not in waves.whole_pairs:
        return (
            "Why it holds. The only column is sin p. If sin p = sin q, then p - q = 2 pi n or p + q = pi (2n + 1) for "
            "a whole n. Were n, or 2n + 1, not 0, pi would be a fraction of whole numbers, and it is not (Lambert "
            "1761). 2n + 1 is never 0. So n = 0 and p = q."
        )
    return (
        f"Why it holds. Look at the first wave only, whose frequency is 1. If the {thing}s are equal, sin p = sin q "
        "and cos p = cos q: the two hands of a clock point the same way, so p - q = 2 pi n for a whole n. If n were "
        "not 0, pi = (p - q) / (2n) would be a fraction of whole numbers, and pi is not (Lambert 1761). So n = 0 and p "
        "= q. No other wave is needed."
    )


def _repair(waves: Waves, rational: int, pairs: int, all_rational: bool) -> str:
    if not pairs:
        return "The argument needs two waves, and here there is one: the proof of D1 says nothing. The theorem holds."
    if all_rational:
        have = f"all {pairs} pairs have rational ratios" if pairs > 1 else "the one pair has a rational ratio"
        return (
            f"Here it cannot be repaired: {have}, so there is no contradiction to find. The theorem holds "
            "nevertheless, by the first wave."
        )
    i, j = (group[0] for group in classes(waves)[:2])
    if j not in waves.whole_pairs:
        return (
            f"Wave {j} has a sine only, so it may also be met by its mirror image: w (p + q) = pi (2n + 1). At whole "
            "positions that is impossible, as pi is no root of an equation with whole coefficients (Lindemann 1882) "
            f"and w is one. With this added, waves {i} and {j} repair the proof."
        )
    return (
        f"It can be repaired here: equal {'vectors' if waves.columns else 'rotations'} agree in every pair of waves, "
        f"so one pair with an irrational ratio is enough, and waves {i} and {j} are one."
        + (
            f" {pairs - rational:,} of {pairs:,} would do."
            if rational
            else " Every other would do."
            if pairs > 1
            else ""
        )
    )


def _real(waves: Waves, found: Repeat | None) -> str:
    if found is None:
        groups = classes(waves)
        return (
            f"Over the real numbers (time stamps) it holds as well: waves {groups[0][0]} and {groups[1][0]} have an "
            "irrational ratio, so no shift but 0 is whole turns of both."
        )
    if found.mirror is not None:
        return (
            "Over the real numbers it fails: the last wave has a sine but no cosine, and cannot tell the two sides of "
            "its crest apart."
        )
    count = "there is one wave" if len(exponents(waves)) == 1 else "all ratios of frequencies are rational"
    return (
        f"Over the real numbers it fails: {count}, and everything repeats after 2 pi * {found.period} = "
        f"{2 * math.pi * float(found.period):.6g} positions."
    )


def _witness(waves: Waves, found: Repeat | None) -> str:
    if found is None:
        return ""
    with precision(BITS):
        here, there = (float(place.mid()) for place in places(waves, found))
    return (
        f" Witness: positions {here:.10g} and {there:.10g}, {'shifted by the period' if found.mirror is None else ''}"
        f"{'' if found.mirror is None else 'on both sides of that crest, whole turns of every other wave apart'}. In "
        f"balls of {BITS} bits no column differs by more than {at_most(difference(waves, found), 1)}."
    )


def _listed(waves: Waves, pairs: tuple[Ratio, ...]) -> Table:
    """At most nine of the pairs: of each ratio the first ones, the smallest ratios first."""
    by_ratio: dict[Fraction, list[Ratio]] = {}
    for pair in pairs:
        by_ratio.setdefault(pair.ratio, []).append(pair)
    each = max(1, 9 // len(by_ratio))
    shown = [pair for ratio in sorted(by_ratio) for pair in by_ratio[ratio][:each]][:9]
    rows = tuple(
        (_dims(waves, r.fast), _dims(waves, r.slow), f"{waves.base:.17g}^({_gap(waves, r)})", str(r.ratio))
        for r in shown
    )
    note = f"{len(rows)} of {len(pairs)}." if len(rows) < len(pairs) else ""
    return Table("Pairs with a rational ratio", ("fast", "slow", "w / w'", "exactly"), rows, note)


def _nearest(waves: Waves, thing: str) -> tuple[Table, str, list]:
    """How near two positions come in the first wave: as a table, as a paragraph, as numbers."""
    numbers = []
    for last in RANGES:
        turn = nearest_turn(waves, 0, last)
        with precision(BITS):
            chord = bounds(2 * (arb(turn.miss[0]) / 2).sin())[0]
        numbers.append([last, turn.shift, turn.turns, turn.miss[0], chord])
    table = Table(
        f"How near two whole positions can come in the first wave (2 pi = {2 * math.pi:.9f}...)",
        ("shifts up to", "nearest k", "turns n", "|k w - 2 pi n|", f"{thing}s apart"),
        tuple(
            (f"{last:,}", f"{k:,}", f"{n:,}", at_least(miss, 6), at_least(chord, 3))
            for last, k, n, miss, chord in numbers
        ),
        f"The last two columns are proved lower bounds, rounded down. {thing}s apart: no two {thing}s of positions at "
        "most that far apart are nearer to each other, since the first wave alone keeps them so far apart.",
    )
    last, k, n, miss, _ = numbers[1]
    return (
        table,
        f"Certificate. Up to any given length no irrational number is needed. The shift up to {last:,} that comes "
        f"nearest to whole turns of the first wave is k = {k}: {n} turns are {2 * math.pi * n:.6f} radians, which "
        f"misses it by at least {at_least(miss, 6)}. That no shift comes nearer follows from the continued fraction of "
        "w / 2 pi (its convergents are the nearest; not proved here: Khinchin 1964, section 6), whose quotients are "
        f"computed between proved bounds. Up to {RANGES[-1]:,} every shift misses by at "
        f"least {at_least(numbers[-1][3], 3)}, so any two {thing}s that far apart or nearer differ.",
        numbers,
    )


def _by_width(waves: Waves, convention: Convention) -> Table:
    """The count for other widths of the same base and convention."""
    mine = len(waves.columns)
    rows = []
    for width in sorted({2, 4, 6, 8, 12, 16, 64, 128, 512, 768, mine}):
        other = waves_of(Sinusoidal(width, waves.base, convention))
        rational, pairs = count_rational(other)
        found = repeat(other)
        over = "unique" if found is None else f"repeat: 2 pi * {found.period}"
        rows.append((width, pairs, rational, pairs - rational, over))
    return Table(
        f"Pairs of waves by width, base {waves.base:g}, {convention}",
        ("width", "pairs", "rational ratio", "irrational", "real positions"),
        tuple(rows),
        "Where no pair is irrational the proof of D1 finds no contradiction.",
    )

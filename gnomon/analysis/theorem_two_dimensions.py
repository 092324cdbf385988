"""Theorem 3: two dimensions share a value at two positions. Exactly only if a ratio of frequencies is rational."""

from dataclasses import dataclass
from decimal import Decimal

from gnomon.analysis.certified import LAST, at_least, at_most, bounds, precision
from gnomon.analysis.columns import value
from gnomon.analysis.forms import Waves
from gnomon.analysis.near_values import SLOWEST, Match, match, worst_nearest
from gnomon.analysis.ratios import classes, count_rational, exponents, rational_pairs, root
from gnomon.analysis.theorem_vectors import exponents_told
from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.section import Line, Lines, Section, Table

EPS = tuple(10.0**-k for k in range(2, 13, 2))
PLAIN = 10**15
"""Above it a position is told in four digits."""


@dataclass(frozen=True)
class Shared:
    """The same value exactly: column `fast` at position p, column `slow` at position q; also at t p, t q for all t."""

    fast: int
    slow: int
    p: int
    q: int


@checked
def shared_values(waves: Waves) -> tuple[Shared, ...]:
    """All pairs of columns that share a value at positions above 0, each with its least positions. Exact, and complete.

    Both are sines or both cosines, of waves with a rational ratio w_fast / w_slow = a / c in lowest terms: then
    w_fast p = w_slow q at (p, q) = (c t, a t), and at no other whole positions from 0 on are the values equal.
    """
    at = {(kind, m): i for i, (kind, m) in enumerate(waves.columns)}
    found = []
    for pair in rational_pairs(waves):
        for kind in ("sin", "cos"):
            if (kind, pair.fast) in at and (kind, pair.slow) in at:
                a, c = pair.ratio.numerator, pair.ratio.denominator
                found.append(Shared(at[kind, pair.fast], at[kind, pair.slow], c, a))
    return tuple(sorted(found, key=lambda s: (max(s.p, s.q), s.fast, s.slow)))


@checked
def count_shared(waves: Waves, last: int) -> int:
    """How many equal values two different columns have at two different positions in 1 ... last; last: 0 or more."""
    if last < 0:
        raise OptionError("positions end somewhere", given=last, allowed="0 or more")
    return sum(last // max(s.p, s.q) for s in shared_values(waves) if s.p != s.q)


@checked
def section(waves: Waves, name: str, last: int) -> Section:
    """What is true of Theorem 3 for these waves, over positions 0 to `last`."""
    key, title, question = texts()
    found, (rational, pairs) = shared_values(waves), count_rational(waves)
    columns = _shown(waves)
    tables = []
    numbers = {
        "holds_exactly": bool(found),
        "pairs_of_dimensions": len(found),
        "shared_up_to_last": count_shared(waves, last),
        "last": last,
    }
    if found:
        rows = tuple(
            (s.fast, s.slow, waves.columns[s.fast][0], _times(s.p), _times(s.q), f"{_same(waves, s):.9f}")
            for s in _some(waves, found)
        )
        tables.append(
            Table(
                "Dimensions that share values exactly",
                ("dim", "dim'", "wave", "p", "p'", "value, t = 1"),
                rows,
                f"{len(rows)} of {len(found)} pairs of dimensions; " * (len(rows) < len(found)) + "t = 1, 2, 3, ...",
            )
        )
        first = found[0]
        numbers["witness"] = [first.fast, first.p, first.slow, first.q]
        told = (
            "TRUE, but not by the step of D1, section 5. Statement: two positions can have the same value in two "
            f"different dimensions. Why: dimension {first.fast} at position {first.p} and dimension {first.slow} at "
            f"position "
            f"{first.q} are the same {_same(waves, first):.6f}. {_dimensions(len(found))} "
            f"{_rational(rational, pairs)}: {numbers['shared_up_to_last']:,} times at positions up to {last:,}, and "
            "never otherwise."
        )
    else:
        told = (
            "FALSE as it stands, TRUE of values as near as one likes. Statement: two positions can have the same value "
            "in two different dimensions. Why not: no pair of waves has a rational ratio, and without one no two "
            "dimensions ever share a value at whole positions from 0 on."
        )
    worst = [(column, *_worst(waves, column, last)) for column in columns]
    numbers["nearest_integer"] = [[c, t, p, m.position, *m.error] for c, t, p, m in worst]
    tables.append(
        Table(
            "The step of D1 at its worst: the nearest whole number",
            ("dim", "target dim", "at p", "step gives", "off by", "bound w/2"),
            tuple(
                (c, t, p, _told(m.position), at_least(m.error[0]), at_most(_speed(waves, c) / 2))
                for c, t, p, m in worst
            ),
            f"Over all targets at p = 0 ... {last:,}. off by: a proved lower bound, rounded down."
            + " In the slowest waves p is a place like any other: float64 cannot tell where the step leads there."
            * any(_speed(waves, c) < SLOWEST for c in columns),
        )
    )
    fast = columns[0]
    aims = {c: _target(waves, c) for c in (fast, columns[-1])}
    matches = {c: [match(waves, aims[c], 1, c, eps) for eps in EPS] for c in aims}
    rows = []
    for i, eps in enumerate(EPS):
        # Rounded up it may pass eps, below which it is proved to be.
        cells = [
            (_told(m.position), f"{min(float(at_most(m.error[1], 3)), eps):.3g}") for m in (matches[c][i] for c in aims)
        ]
        rows.append((f"{eps:.0e}", *(cell for pair in cells for cell in pair)))
    heads = ("within", *(head for c in aims for head in (f"dim {c}: p'", "off by")))
    words = " and ".join(f"dimension {aims[c]} at position 1 in dimension {c}" for c in aims)
    tables.append(
        Table(
            "The first position that is near enough",
            heads,
            tuple(rows),
            f"Searched: the value of {words}. off by: a proved upper bound, rounded up.",
        )
    )
    lines = tuple(Line(f"dimension {c}", EPS, [_mark(m.position) for m in matches[c]]) for c in aims)
    figure = Lines(
        "How far one must go for a value", "within", "first position", lines, x_log=True, y_log=True,
        note="One over the tolerance, up to a factor: multiples of a turn fill the circle evenly.",
    )  # fmt: skip
    numbers["matches"] = [[c, aims[c], 1, e, m.position, *m.error] for c in aims for e, m in zip(EPS, matches[c])]
    off = worst[0]
    answer = (
        f"{told} As near as one likes: yes, in every dimension, but not by the nearest whole number, as D1 has it. "
        f"In dimension {off[0]} that one misses a value by at least {at_least(off[3].error[0], 2)}; a search "
        f"over all periods comes within {EPS[-1]:.0e} at position {_told(matches[fast][-1].position)}. "
        "The argument: docs/theorems/3.md."
    )
    proof = _proof(waves, name, found, (rational, pairs), off, matches[fast][-1], aims[fast], fast)
    return Section(key, title, question, answer, tuple(tables), (figure,), proof, numbers)


def texts() -> tuple[str, str, str]:
    """Key, title and question."""
    return (
        "theorem3",
        "Theorem 3: two dimensions can share a value",
        "Can two positions have the same value in two different dimensions?",
    )


def _proof(
    waves: Waves,
    name: str,
    found: tuple[Shared, ...],
    counts: tuple[int, int],
    off: tuple[int, int, int, Match],
    near: Match,
    aim: int,
    fast: int,
) -> tuple[str, ...]:
    base, (c, g), (rational, pairs) = f"{waves.base:.17g}", root(waves.base), counts
    if found:
        s = found[0]
        kind, m = waves.columns[s.fast]
        n, known = waves.columns[s.slow][1], exponents(waves)
        with precision(LAST):
            gap = bounds(abs(value(waves, s.fast, s.p) - value(waves, s.slow, s.q)))[1]
        witness = (
            f"Exact witness. Dimension {s.fast} is {kind}(p / {base}^({known[m]})) and dimension {s.slow} is {kind}(p' "
            f"/ {base}^({known[n]})). Since {base} = {c}^{g}, the ratio of the two frequencies is "
            f"{base}^({known[n] - known[m]}) = {c}^{int((known[n] - known[m]) * g)}. So position {s.p} in the first "
            f"and {s.q} in the second are the same angle, and so are {_times(s.p)} and {_times(s.q)} for every whole "
            f"t. Checked in balls of {LAST} bits: the two values differ by less than {at_most(max(gap, 5e-324), 1)}. "
            "That they are equal is the arithmetic of the exponents."
        )
    else:
        witness = (
            f"There is no exact witness here: {base} = {c}^{g}, and in no pair of waves is {g} times "
            "the difference of the exponents a whole number, so no ratio is rational (see Theorem 1). For these waves "
            "the statement is false as it stands, and true only as 'nearly the same'."
        )
    return (
        "Statement. There are different dimensions j and k and different positions p and q with PE(p, j) = PE(q, k). "
        f"({name}. Wave m turns by w_m = {base}^(-e_m) radians a position, {exponents_told(waves)}; each "
        "dimension is a sine or cosine of one.)",
        witness,
        "There are no others. Let x = w_j p and y = w_k q be two angles. Both are algebraic numbers, and so are their "
        "sum and difference (sums, differences, products and quotients of algebraic numbers are algebraic; not proved "
        "here). pi times a fraction other than 0 is not (Lindemann 1882; see Theorem 2). sin x = sin y says x - y = 2 "
        "pi n or x + y = pi (2n + 1): only x = y is left. cos x = cos y says x - y = 2 pi n or x + y = 2 pi n: only x "
        "= y or x = -y is left, and from 0 on that is x = y. sin x = cos y says x - y or x + y is an odd multiple of "
        "pi/2: impossible, so a sine never equals a cosine. And x = y with p, q > 0 says that w_j / w_k = q / p is "
        "rational. At position 0 every sine is 0 and every cosine 1, but that is one position, not two, and no other "
        f"position has these values. {_sharing(rational, pairs, len(classes(waves)))}",
        "The step of D1, section 5, and its gap. It takes the value C of one dimension, finds a real y with sin(w_k y) "
        "= C, and rounds y to a whole number, which is 'very near'. Rounding moves the angle by up to w_k / 2, so the "
        "value is off by up to w_k / 2. That is little where the wave is slow. The fastest wave has w = 1. There the "
        f"step misses: the value of dimension {off[1]} at position {off[2]:,} has no equal near the rounded position "
        f"{_told(off[3].position)} in dimension {off[0]}; floor and ceiling are both off by at least "
        f"{at_least(off[3].error[0])}. And 'near' is not 'equal': the step proves no equality in any dimension.",
        "Repair. Near, as near as one likes, in every dimension. One period is not enough, so use many: q may be near "
        "any of the numbers y + 2 pi n / w. Mark the angles of positions 0, 1, ..., N on a circle cut into N equal "
        "arcs. Two of the N + 1 marks lie in one arc, so some shift s turns the wave by less than 1/N of the circle, "
        "and not by 0, as w / 2 pi is irrational. Steps of s walk around the circle and step over no arc of that "
        "length. So every arc is met, however short, and with it every value within any eps.",
        "Certificate. Which position is first in an arc follows by Euclid's algorithm (applied to arcs; not "
        f"proved here) from w / 2 pi, known to many more digits than the position has. For the value of dimension "
        f"{aim} at position 1 in dimension {fast} and eps = {EPS[-1]:.0e} it gives position {_told(near.position)}, "
        f"and in interval arithmetic the difference is "
        f"at most {at_most(near.error[1])}, below eps. No earlier position is within eps: arcs a little larger give "
        "none.",
    )


def _dimensions(count: int) -> str:
    return f"{count} pairs of dimensions do so, those of" if count > 1 else "One pair of dimensions does so, that of"


def _rational(rational: int, pairs: int) -> str:
    """Which pairs of waves have a rational ratio; at least one has."""
    if rational == pairs:
        return "the one pair of waves" if pairs == 1 else f"all {pairs:,} pairs of waves, whose ratios are rational"
    which = f"the {rational:,} of {pairs:,} pairs of waves with a rational ratio"
    return which if rational > 1 else f"the one of {pairs} pairs of waves whose ratio is rational"


def _sharing(rational: int, pairs: int, groups: int) -> str:
    """The end of the argument that there are no other shared values."""
    if not rational:
        return "Here no ratio is rational, so no two dimensions share a value."
    if rational == pairs:
        return f"Here it is rational in {'the one pair' if pairs == 1 else f'all {pairs} pairs'} of waves."
    return (
        f"So exactly {_rational(rational, pairs)} share{'s' * (rational == 1)} values; the waves fall into {groups} "
        "groups, and only members of one group ever meet."
    )


def _shown(waves: Waves) -> tuple[int, ...]:
    """The sines of waves from the fastest to the slowest, six at most, other than what they are aimed at."""
    count = len(waves.frequencies)
    chosen = sorted({round(i * (count - 1) / 5) for i in range(6)})
    return tuple(waves.columns.index(("sin", m)) for m in chosen)


def _target(waves: Waves, column: int) -> int:
    """Another dimension to take values from: the sine of the fastest wave, or of the next; else a cosine."""
    first = waves.columns.index(("sin", 0))
    if column != first:
        return first
    return waves.columns.index(("sin", 1)) if len(waves.frequencies) > 1 else waves.columns.index(("cos", 0))


def _worst(waves: Waves, column: int, last: int) -> tuple[int, int, Match]:
    target = _target(waves, column)
    return target, *worst_nearest(waves, target, column, last)


def _speed(waves: Waves, column: int) -> float:
    """The frequency of a dimension's wave."""
    return waves.frequencies[waves.columns[column][1]]


def _told(position: int) -> str:
    return f"{position:,}" if position < PLAIN else f"{Decimal(position):.3e}"


def _mark(position: int) -> float | None:
    """A place on a logarithmic axis."""
    return float(max(1, position)) if position < 10**300 else None


def _some(waves: Waves, found: tuple[Shared, ...]) -> list[Shared]:
    """Ten at most, of pairs of waves evenly among all; of each all of its columns, the sines and the cosines."""
    of: dict[tuple[int, int], list[Shared]] = {}
    for s in found:
        of.setdefault((waves.columns[s.fast][1], waves.columns[s.slow][1]), []).append(s)
    pairs = [*of.values()]
    return [s for at in dict.fromkeys(round(i * (len(pairs) - 1) / 4) for i in range(5)) for s in pairs[at]]


def _times(step: int) -> str:
    return "t" if step == 1 else f"{step} t"


def _same(waves: Waves, shared: Shared) -> float:
    with precision(128):
        return float(value(waves, shared.fast, shared.p).mid())

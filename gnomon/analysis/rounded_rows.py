"""What floating point keeps of the rows of waves: which become equal, which come nearest, where the first is off."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_held, whole
from gnomon.analysis.duplicates import BLOCK, PAIRWISE, Duplicates, Nearest, duplicates, nearest, nearest_at
from gnomon.analysis.forms import Waves
from gnomon.analysis.lags import check_whole
from gnomon.analysis.stored import FARTHEST, Precision, angles, dtype, exact, reference, unit, waved, width_of
from gnomon.analysis.theorem_one_dimension import closest_pair
from gnomon.checked import checked

_WALKED = 2**16
_SLACK = 1e-9


@dataclass(frozen=True)
class Kept:
    """What is left of the first n positions when their angles are formed in one precision and stored in another.

    way:        the precision of positions, frequencies and angles; None where nothing is computed from angles.
    stored:     the precision of the rows.
    first_off:  the first position of whose row a number is off by more than one unit in its last place; None: none.
    looked:     how many positions were looked at for it.
    """

    way: Precision | None
    stored: Precision
    duplicates: Duplicates
    nearest: Nearest
    first_off: int | None
    looked: int


@checked
def lag_distances(found: Waves, lags: Tensor) -> Float[Tensor, " n"]:
    """The distance of rows p and p + k over the reals, for lags k `[n]`: it depends on k alone.

    sqrt(sum_m 2 (1 - cos w_m k)). OptionError for waves that are not whole pairs (an odd width), whose distances
    depend on p as well: `nearest_reals`.
    """
    check_whole(found)
    return _of_pairs(found, whole(lags, "lags", -FARTHEST, FARTHEST))


@checked
def nearest_reals(found: Waves, n: int) -> Nearest:
    """The two of places 0 .. n - 1 whose rows are nearest over the reals, and their distance, float64.

    Of whole pairs it depends on the lag alone, and p is 0. A sine without its cosine (the last of an odd width) adds
    2 |cos(w (p + k / 2)) sin(w k / 2)|, so lags are gone through from the nearest on by their pairs alone, each at
    every place, until those alone are farther apart. Of one dimension the pair is certified (`closest_pair`).
    """
    check_held(n, width_of(found))
    if len(found.columns) == 1 and found.exponents is not None:
        pair = closest_pair(found, 0, n - 1)
        return Nearest(sum(pair.difference) / 2, (pair.first, pair.second))
    lags = torch.arange(1, n)
    apart, order = _of_pairs(found, lags).sort(stable=True)
    if set(found.whole_pairs) == set(range(len(found.frequencies))):
        return Nearest(float(apart[0]), (0, int(lags[order[0]])))
    alone = [(kind, found.frequencies[m]) for kind, m in found.columns if m not in found.whole_pairs]
    best = Nearest(float("inf"), (0, 1))
    for near, k in zip(apart.tolist(), lags[order].tolist()):
        if near > best.distance:
            break
        middle, rest = torch.arange(n - k, dtype=torch.float64) + k / 2, torch.zeros(n - k, dtype=torch.float64)
        for kind, w in alone:
            turned = (middle * w).cos() if kind == "sin" else (middle * w).sin()
            rest += (2 * turned * math.sin(w * k / 2)).square()
        least, p = rest.min(dim=0)
        distance = math.hypot(near, math.sqrt(float(least)))
        if distance < best.distance:
            best = Nearest(distance, (int(p), int(p) + k))
    return best


def _of_pairs(found: Waves, lags: Tensor) -> Tensor:
    """`lag_distances` by the whole pairs alone: no two rows are nearer than that."""
    w = torch.tensor([found.frequencies[m] for m in found.whole_pairs], dtype=torch.float64)
    parts = [(part.to(torch.float64)[:, None] * w / 2).sin().square().sum(dim=1) for part in lags.split(BLOCK)]
    return 2 * torch.cat(parts).sqrt() if parts else lags.to(torch.float64)


@checked
def kept(found: Waves, n: int, way: Precision, stored: Precision) -> Kept:
    """What floating point keeps of positions 0 .. n - 1. OptionError for a precision that has no number n - 1."""
    return kept_each(found, n, (way,), (stored,))[0]


@checked
def kept_each(
    found: Waves,
    n: int,
    ways: tuple[Precision, ...],
    storeds: tuple[Precision, ...],
    progress: Callable[[float], None] | None = None,
) -> list[Kept]:
    """As `kept`, for each way with each stored precision: what they share is made once.

    progress: called with the share that is done, from 0 to 1.
    """
    check_held(n, width_of(found))
    found = _sorted(found)
    cells = [(way, name) for way in ways for name in storeds]
    tables = {cell: torch.empty(n, width_of(found), dtype=dtype(cell[1])) for cell in cells}
    off: dict[tuple[Precision, Precision], int | None] = dict.fromkeys(cells)
    strayed = dict.fromkeys(cells, 0.0)
    for start in range(0, n, BLOCK):
        places = torch.arange(start, min(start + BLOCK, n))
        right = reference(found, places)
        units = {name: unit(right, name) for name in storeds}
        for way in ways:
            values = waved(found, angles(found, places, way))
            for name in storeds:
                part = tables[way, name][start : start + len(places)]
                error = (part.copy_(values).to(torch.float64) - right).abs_()
                if name != "float64" and off[way, name] is None:
                    wrong = (error > units[name]).any(dim=1).nonzero()
                    off[way, name] = start + int(wrong[0]) if len(wrong) else None
                strayed[way, name] = max(strayed[way, name], float(error.square_().sum(dim=1).max()) ** 0.5)
    made = []
    for done, (way, name) in enumerate(cells):
        table, looked = tables.pop((way, name)), n
        again = duplicates(table)
        if name == "float64":
            off[way, name], looked = _walked(found, table)
        close = _nearest(found, table, again, strayed[way, name])
        made.append(Kept(way, name, again, close, off[way, name], looked))
        if progress is not None:
            progress((done + 1) / len(cells))
    return made


def _sorted(found: Waves) -> Waves:
    """The same waves, all sines first: rows in whose order nobody is interested are made without moving numbers."""
    return replace(found, columns=tuple(sorted(found.columns, key=lambda column: (column[0] == "cos", column[1]))))


def _walked(found: Waves, table: Tensor) -> tuple[int | None, int]:
    """The first row of float64 that is off by more than one unit, and how many were looked at.

    The truth has to be finer than float64: interval arithmetic, place after place.
    """
    most = min(len(table), max(_WALKED // width_of(found), 2))
    for start in range(0, most, 8):
        high, low = exact(found, torch.arange(start, min(start + 8, most)))
        off = ((table[start : start + len(high)] - high) - low).abs() > unit(high, "float64")
        wrong = off.any(dim=1).nonzero()
        if len(wrong):
            return start + int(wrong[0]), start + int(wrong[0]) + 1
    return None, most


def _nearest(found: Waves, table: Tensor, again: Duplicates, strayed: float) -> Nearest:
    """The nearest pair among rows that lie within `strayed` of where they belong.

    Where they belong, rows at one lag have one distance, so lags are gone through from the nearest on, until none can
    hold a nearer pair. Angles that are far off would let in most lags: there, all pairs are compared.
    """
    if again.count:
        return Nearest(0.0, (int(again.first[0]), int(again.rows[0])))
    if table.shape[1] == 1:
        values, places = table[:, 0].to(torch.float64).sort()
        gap, at = values.diff().min(dim=0)
        a, b = sorted(places[int(at) : int(at) + 2].tolist())
        return Nearest(float(gap), (a, b))
    lags = torch.arange(1, len(table))
    apart, order = _of_pairs(found, lags).sort()
    best = nearest_at(table, int(lags[order[0]]))
    candidates = int((apart <= best.distance + 2 * strayed + _SLACK).sum())
    if candidates > len(table) // 8 and len(table) <= PAIRWISE and table.shape[1] > 8:
        return nearest(table)
    for at in range(1, len(lags)):
        if float(apart[at]) > best.distance + 2 * strayed + _SLACK:
            break
        other = nearest_at(table, int(lags[order[at]]))
        best = other if other.distance < best.distance else best
    return best

"""The lag at which positions look most alike, and the first at which they do more than neighbours: searched, proved."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gnomon.analysis import certified
from gnomon.analysis.arguments import FARTHEST
from gnomon.analysis.forms import Waves
from gnomon.analysis.lag_lattice import HARDEST, Lattice, radius
from gnomon.analysis.lag_scan import survivors
from gnomon.analysis.lags import Lags, check_whole
from gnomon.checked import checked
from gnomon.errors import OptionError

Method = Literal["auto", "scan", "lattice"]
Progress = Callable[[float], None]

FEW = 1 << 23
"""Lags that are simply read."""

MOST_READ = 10**11
"""The most lags that are read one after another."""

MOST_WAVES = 24
"""The most waves whose lattice is tried."""

MOST_COMPARED = 2**20
"""The most lags that float64 cannot tell apart: each is compared in balls."""

_READ_MEANWHILE = 1000
"""Lags that a scan reads while a lattice lists one partial vector, with room."""

_EASY = 10**4
"""Partial vectors that cost less than another basis."""


@dataclass(frozen=True)
class Closest:
    """The lag of `first` .. `last` at which PE(p) and PE(p + k) are most alike."""

    first: int
    last: int
    lag: int
    similarity: tuple[float, float]
    """Mean cosine of the waves, between proved bounds."""
    distance: tuple[float, float]
    """|PE(p) - PE(p + k)| of sinusoidal positions, between proved bounds."""
    tied: tuple[int, ...]
    """Other lags that could not be told apart from it."""
    method: Literal["scan", "lattice"]
    """How the other lags were ruled out: each bounded from above, or by a list of all that could be as close."""
    compared: int
    """How many lags were too close for float64, or listed, and were compared in balls."""


@checked
def similarity(waves: Waves, lags: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Mean cosine of the waves at whole lags `[n]`, float64, within 1e-13 up to d = 512: PE(p) . PE(p + k) / (d / 2).

    For a rotation it is the similarity of two turns: the trace of R(k) over d. Lags: 0 to 10^15 in size. OptionError
    for waves that are not whole pairs and for larger lags.
    """
    known = _pairs(waves)
    return known.sums(lags) / known.pairs


@checked
def closest(
    waves: Waves,
    first: int,
    last: int,
    progress: Callable[[float], None] | None = None,
    method: Method = "auto",
) -> Closest:
    """The lag k of first .. last of the largest similarity. Every other lag of the range is proved not to exceed it.

    "scan" bounds each lag from above (`lag_scan`); "lattice" lists the lags that can be as close (`lag_lattice`):
    for few waves and far lags. "auto" takes what is faster. OptionError for an empty range, or one too long to read.
    """
    _check_range(first, last)
    return _closest(_pairs(waves), first, last, progress, method)


@checked
def pieces(
    waves: Waves, firsts: Sequence[int], last: int, progress: Callable[[float], None] | None = None
) -> list[Closest]:
    """`closest` of each range that begins at one of `firsts`, ascending, and ends before the next, or at `last`.

    OptionError where one cannot be searched: before any is read.
    """
    if not firsts:
        raise OptionError("ranges of lags begin somewhere", given="no first lag", allowed="one or more")
    for first in firsts:
        _check_range(first, last)
    begins = sorted(set(firsts))
    check_readable(waves, begins[0], last)
    lags, ranges = _pairs(waves), [*zip(begins, [*(begin - 1 for begin in begins[1:]), last])]
    total, done, found = last - begins[0] + 1, 0, {}
    # What is too long to read takes a lattice or is refused: either is known soon, so it comes first.
    for first, end in sorted(ranges, key=lambda one: (one[1] - one[0] < MOST_READ, one)):
        share = None if progress is None else _share(progress, done / total, (end - first + 1) / total)
        found[first] = _closest(lags, first, end, share, "auto")
        done += end - first + 1
    return [found[first] for first in begins]


@checked
def check_readable(waves: Waves, first: int, last: int) -> None:
    """OptionError where the lags first .. last are too many to read and no other way is tried: more than 24 waves."""
    lags = _pairs(waves)
    if lags.pairs > MOST_WAVES and not lags.falls(last):
        _check_readable(lags, first, last)


@checked
def joined(waves: Waves, found: Sequence[Closest]) -> list[Closest]:
    """`closest` from the beginning of each of the `pieces` to the end of the last: no lag is looked at again."""
    if not found:
        raise OptionError("ranges are joined", given="none", allowed="one or more, of `pieces`")
    lags, best = _pairs(waves), [found[-1]]
    for here in reversed(found[:-1]):
        beyond = best[-1]
        lag, tied = _largest(lags, [here.lag, *here.tied, beyond.lag, *beyond.tied])
        method = here.method if lag <= here.last else beyond.method
        best.append(_result(lags, here.first, beyond.last, lag, tied, method, here.compared + beyond.compared))
    return best[::-1]


@checked
def first_closer_than_neighbour(
    waves: Waves,
    last: int,
    progress: Callable[[float], None] | None = None,
    method: Method = "auto",
) -> int | None:
    """The first lag k >= 2 up to `last` with a larger similarity than lag 1, or None where it is proved that none is.

    OptionError for a range that is too long to read, and where a lag before the first cannot be told apart from lag 1.
    """
    if last < 2:
        return None
    _check_range(2, last)
    lags = _pairs(waves)
    if method == "auto":
        if lags.falls(last):
            return None
        check_readable(waves, 2, last)
    neighbour = float(lags.sums(torch.tensor([1])))
    read_to = last if method == "scan" else min(last, FEW)

    def first_of(found: Tensor) -> int | None:
        near = found[lags.sums(found) >= neighbour - 2 * lags.error].tolist()
        _check_compared(len(near), 2, last)
        return next((k for k in near if _proved_closer(lags, k, 1)), None)

    def read(low: int, high: int) -> int | None:
        _check_readable(lags, low, high)
        for part in survivors(lags, low, high, lambda: neighbour - lags.error, progress):
            if (closer := first_of(part)) is not None:
                return closer
        return None

    if method != "lattice" and (closer := read(2, read_to)) is not None:
        return closer
    low = 2 if method == "lattice" else read_to + 1
    with certified.precision(512):
        within = radius(certified.bounds(lags.deficit(1))[1])
    while low <= last:
        high = min(last, max(4 * low, FEW))
        lattice = Lattice(lags, high, within) if lags.pairs <= MOST_WAVES or method == "lattice" else None
        if lattice is None or (lattice.work() > HARDEST and method == "auto"):
            return read(low, last)
        found = lattice.found()
        if (closer := first_of(found[found >= low])) is not None:
            return closer
        low = high + 1
    return None


def _pairs(waves: Waves) -> Lags:
    """The lags of waves that are whole pairs. OptionError for others."""
    check_whole(waves)
    return Lags(waves)


def _share(progress: Progress, begin: float, share: float) -> Progress:
    return lambda done: progress(begin + share * done)


def _closest(lags: Lags, first: int, last: int, progress: Progress | None, method: Method) -> Closest:
    if method == "auto" and lags.falls(last):
        if progress is not None:
            progress(1.0)
        return _result(lags, first, last, first, (), "scan", 1)
    if method == "lattice" or (method == "auto" and last - first >= FEW and lags.pairs <= MOST_WAVES):
        found = _listed(lags, first, last, min(HARDEST, (last - first) / _READ_MEANWHILE) if method == "auto" else None)
        if found is not None:
            lag, tied = _largest(lags, found.tolist())
            return _result(lags, first, last, lag, tied, "lattice", len(found))
    _check_readable(lags, first, last)
    found = _read(lags, first, last, progress)
    lag, tied = _largest(lags, found.tolist())
    return _result(lags, first, last, lag, tied, "scan", len(found))


def _read(lags: Lags, first: int, last: int, progress: Progress | None) -> Int[Tensor, " n"]:
    """Every lag of first .. last that may have the largest similarity, by reading all."""
    kept = torch.arange(first, min(first + 4096, last + 1))
    sums = lags.sums(kept)
    best = [float(sums.max())]
    for part in survivors(lags, first + len(kept), last, lambda: best[0] - lags.error, progress):
        part_sums = lags.sums(part)
        best[0] = max(best[0], float(part_sums.max()))
        kept, sums = torch.cat([kept, part]), torch.cat([sums, part_sums])
        near = sums >= best[0] - 2 * lags.error
        kept, sums = kept[near], sums[near]
        _check_compared(len(kept), first, last)
    return kept[sums >= best[0] - 2 * lags.error]


def _listed(lags: Lags, first: int, last: int, hardest: float | None) -> Int[Tensor, " n"] | None:
    """Every lag of first .. last that may have the largest similarity, by a lattice; None where that is too hard."""
    within, factor = 1 / last, 8.0
    while True:
        lattice = Lattice(lags, last, within)
        if lattice.work() > _EASY and factor > 1.5:  # grown too fast
            within, factor = within / factor, math.sqrt(factor)
        elif hardest is not None and lattice.work() > hardest:
            return None
        else:
            found = lattice.found()
            found = found[found >= first]
            if len(found):
                break
        within *= factor
    # The best so far need not be the best: all that could be as good are listed.
    lag, _ = _largest(lags, found.tolist())
    with certified.precision(512):
        within = radius(certified.bounds(lags.deficit(lag))[1])
    lattice = Lattice(lags, last, within)
    if hardest is not None and lattice.work() > hardest:
        return None
    found = lattice.found()
    found = found[found >= first]
    sums = lags.sums(found)
    return found[sums >= sums.max() - 2 * lags.error]


def _largest(lags: Lags, candidates: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """The candidate of the largest similarity, and those that cannot be told apart from it."""
    best, tied = candidates[0], []
    for k in candidates[1:]:
        if k == best:
            continue
        if _less(lags, best, k):
            # What was not told apart from the last best may still be from this one.
            best, tied = k, [other for other in [best, *tied] if not _less(lags, other, k)]
        elif not _less(lags, k, best):
            tied.append(k)
    return best, tuple(sorted(set(tied)))


def _less(lags: Lags, a: int, b: int) -> bool | None:
    """Whether S(a) < S(b), proved; None where that is undecided."""
    return certified.decided(lambda: certified.below(lags.ball(a), lags.ball(b)))


def _proved_closer(lags: Lags, k: int, than: int) -> bool:
    """Whether S(k) > S(than). OptionError where balls of all precisions meet, so that neither is proved."""
    closer = _less(lags, than, k)
    if closer is None:
        raise OptionError(
            "two lags cannot be told apart, so which is closer is undecided",
            given=f"lags {k} and {than}, in balls of {certified.LAST} bits",
            do="ask of waves that turn faster",
        )
    return closer


def _result(
    lags: Lags,
    first: int,
    last: int,
    lag: int,
    tied: tuple[int, ...],
    method: Literal["scan", "lattice"],
    compared: int,
) -> Closest:
    # Of what is missing to the most alike, which no cancellation makes less certain however little it is.
    with certified.precision(512):
        missing = lags.deficit(lag)
        low, high = certified.bounds(1 - missing / lags.pairs)
        near, far = certified.bounds((2 * missing).sqrt())
    similar, apart = (max(low, -1.0), min(high, 1.0)), (max(near, 0.0), far)
    return Closest(first, last, lag, similar, apart, tied, method, compared)


def _check_range(first: int, last: int) -> None:
    if not 1 <= first <= last <= FARTHEST:
        raise OptionError(
            "a range of lags begins at 1 or later and does not end before it begins",
            given=f"{first} to {last}",
            allowed=f"1 to {FARTHEST}",
        )


def _check_compared(count: int, first: int, last: int) -> None:
    if count > MOST_COMPARED:
        raise OptionError(
            "so many lags look alike to float64 that to compare them in balls would take hours",
            given=f"{count} of the lags {first} to {last}",
            allowed=f"up to {MOST_COMPARED}",
            do="choose a smaller last lag, or waves that turn faster",
        )


def _check_readable(lags: Lags, first: int, last: int) -> None:
    if last - first >= MOST_READ:
        raise OptionError(
            f"so many lags of {lags.pairs} waves would take hours",
            given=f"lags {first} to {last}",
            allowed=f"{MOST_READ} lags; more for up to {MOST_WAVES} waves, where few are close",
            do="choose a smaller last lag",
        )

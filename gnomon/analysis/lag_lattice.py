"""Lags at which every wave has come back to its beginning, found without reading the others: a lattice's short vectors.

A lag k and whole numbers of turns n_m leave the angles psi_m = w_m k - 2 pi n_m. The vectors

    (k R / N, psi_1, ..., psi_M),    k and n_m whole,

are a lattice of M + 1 dimensions. A lag up to N whose angles have squares that add up to at most R^2 is one of its
vectors not longer than sqrt(2) R. A reduced basis (Lenstra, Lenstra, Lovasz 1982) makes those few countable: its
coefficients are bounded one after another, the last first (Fincke and Pohst 1985), and all of them are listed.

Nothing is lost to rounding: the lattice is of whole numbers, 2^t times those above, t so large that their rounding is
below 2^-40 R; its orthogonal basis is known in balls; and of a partial length a number is kept that is proved not to
exceed it. Vectors that are a little too long may be listed too.
"""

import math
from collections.abc import Iterator

import torch
from flint import arb, fmpz_mat
from jaxtyping import Int
from torch import Tensor

from gnomon.analysis.arguments import FARTHEST, check_size
from gnomon.analysis.certified import frequencies, precision, whole_beside
from gnomon.analysis.lags import Lags, check_whole
from gnomon.checked import checked
from gnomon.errors import OptionError

HARDEST = 2**25
"""The most partial vectors, by estimate, that are worth listing."""

LEAST = 1e-120
"""The least deficit that has a radius of its own."""

STEEP = 1.9
"""The deficit from which on the radius is not that of an arc sine."""

_PART = 1 << 18
"""Partial vectors that are extended at a time."""

_SLACK = 2.0**-40
"""Above n 2^-53 for any n here: what rounding does to a sum of n products of float64, as a share of their sizes."""


@checked
def radius(deficit: float) -> float:
    """R for which sum_m (1 - cos psi_m) <= deficit implies sum_m psi_m^2 <= R^2, |psi_m| <= pi.

    (1 - cos psi) / psi^2 falls as |psi| grows to pi. No psi exceeds the R with 1 - cos R = deficit, hence each
    psi^2 <= (1 - cos psi) R^2 / deficit. R^2 = deficit pi^2 / 2 is enough for every deficit, since the quotient is
    2 / pi^2 at least; it is taken near deficit 2 as well, where an arc sine loses half of its digits. Of a deficit
    below LEAST, whose square root may be none of float64, it is that of LEAST. OptionError for what is no deficit.
    """
    if deficit < 0:
        raise OptionError("what is missing to the most alike", given=deficit, allowed="0 or more")
    deficit = max(deficit, LEAST)
    exact = 2 * math.asin(math.sqrt(deficit / 2)) if deficit < STEEP else math.pi * math.sqrt(deficit / 2)
    return exact * (1 + 1e-9)


@checked
class Lattice:
    """The lags up to `last` whose angles have squares that add up to at most `radius`^2; all pairs are whole."""

    def __init__(self, lags: Lags, last: int, radius: float):
        check_whole(lags.waves)
        check_size(last, "the largest lag of a lattice", 1, FARTHEST)
        if radius < LEAST**0.5:
            raise OptionError("angles within a radius", given=radius, allowed=f"{LEAST**0.5:g} or more")
        pairs = lags.pairs
        bits = last.bit_length() + 64 + max(0, math.ceil(-math.log2(radius)))
        with precision(2 * bits + 256):
            scale = arb(2) ** bits
            rows = [[whole_beside(scale * radius / last), *(whole_beside(scale * f) for f in frequencies(lags.waves))]]
            turn = whole_beside(scale * 2 * arb.pi())
            rows += [[turn if column == m else 0 for column in range(pairs + 1)] for m in range(1, pairs + 1)]
            reduced = [[int(x) for x in row] for row in fmpz_mat(rows).lll().tolist()]
            shares, sizes = _orthogonal([[arb(x) / scale for x in row] for row in reduced])
        # k of each vector, modulo 2^64: so are sums of them, and no k that is listed is near 2^63.
        self._lags = torch.tensor([_signed(row[0] // rows[0][0]) for row in reduced])
        self._shares, self._sizes = torch.tensor(shares, dtype=torch.float64), sizes
        # Rounded entries move an angle by at most k + n_m of the units 2^-t.
        moved = (last + 1) * (2 + max(lags.waves.frequencies)) * math.sqrt(pairs) / 2.0**bits
        self._most = (radius**2 + (radius + moved) ** 2) * (1 + 1e-9)
        self.last, self.dimensions = last, pairs + 1

    def work(self) -> float:
        """How many partial vectors are to be expected: volumes of balls over those of cells."""
        logs, total = 0.0, 0.0
        for count, size in enumerate(reversed(self._sizes), start=1):
            logs += 0.5 * math.log(size)
            ball = count / 2 * math.log(math.pi * self._most) - math.lgamma(count / 2 + 1)
            total += math.exp(min(ball - logs, 700))
        return total

    def found(self) -> Int[Tensor, " n"]:
        """Lags of 1 .. last, ascending, among them every one within the radius."""
        start = torch.zeros(1, self.dimensions, dtype=torch.int64)
        parts = [torch.empty(0, dtype=torch.int64)]
        for whole in self._extend(self.dimensions - 1, start, torch.zeros(1, dtype=torch.float64)):
            k = (whole * self._lags).sum(-1).abs()
            parts.append(k[(k >= 1) & (k <= self.last)].unique())
        return torch.cat(parts).unique()

    def _extend(self, level: int, chosen: Tensor, length: Tensor) -> Iterator[Tensor]:
        """Coefficients of vectors, those above `level` chosen; `length`: at most the square of what these make."""
        if level < 0:
            yield chosen
            return
        terms = chosen[:, level + 1 :].double() * self._shares[level + 1 :, level]
        centre, slack = -terms.sum(-1), _SLACK * (1 + terms.abs().sum(-1))
        reach = ((self._most - length).clamp(min=0) / self._sizes[level]).sqrt() * (1 + 1e-12) + slack
        low, high = (centre - reach).ceil(), (centre + reach).floor()
        counts = (high - low + 1).clamp(min=0).long()
        ends = counts.cumsum(0)
        begin = 0
        while begin < len(counts):
            done = int(ends[begin - 1]) if begin else 0
            end = max(int(torch.searchsorted(ends, done + _PART, right=True)), begin + 1)
            count = counts[begin:end]
            of = torch.repeat_interleave(torch.arange(begin, end), count)
            value = low[of] + (torch.arange(len(of)) - (ends - counts)[of] + done)
            distance = ((value - centre[of]).abs() - slack[of]).clamp(min=0)
            further = chosen[of]
            further[:, level] = value.long()
            reached = length[of] + distance.square() * (self._sizes[level] * (1 - 1e-12))
            if len(of):
                yield from self._extend(level - 1, further, reached)
            begin = end


def _signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _orthogonal(basis: list[list[arb]]) -> tuple[list[list[float]], list[float]]:
    """Gram-Schmidt: the share of each earlier direction in each vector, and a lower bound of each square length."""
    count = len(basis)
    shares = [[0.0] * count for _ in range(count)]
    directions: list[list[arb]] = []
    squares: list[arb] = []
    for i, vector in enumerate(basis):
        rest = vector
        for j, (direction, square) in enumerate(zip(directions, squares)):
            share = sum(x * y for x, y in zip(vector, direction)) / square
            shares[i][j] = float(share)
            rest = [x - share * y for x, y in zip(rest, direction)]
        directions.append(rest)
        squares.append(sum(x * x for x in rest))
    return shares, [float(square.lower()) * (1 - 1e-15) for square in squares]

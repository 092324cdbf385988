"""Rows of a table that are equal, the two that are nearest, and the values that come twice in a column: exact."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.analysis.arguments import largest, real
from gnomon.checked import checked
from gnomon.errors import OptionError

BLOCK = 256
"""Rows that are looked at together."""
PAIRWISE = 8192
"""Rows of which all pairs are compared, at most."""
SMALL = 1e-140
"""Distances below it are worked out in a larger unit."""
_COLUMNS = 16
_AT_ONCE = 2**22


@dataclass(frozen=True)
class Duplicates:
    """Rows that are equal to an earlier one.

    rows:  their places, in order, `[m]` int64.
    first: of each, the first row that it is equal to, `[m]` int64.
    """

    rows: Tensor
    first: Tensor

    @property
    def count(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Nearest:
    """The pair of rows with the least Euclidean distance; of equals, one."""

    distance: float
    pair: tuple[int, int]


@checked
def duplicates(rows: Tensor) -> Duplicates:
    """Which rows of `[n, w]` are equal to an earlier one, compared as numbers: exact, in time and memory of n w.

    OptionError for what is not a table, here and below, and for values that are no finite numbers of a float dtype.
    """
    real(rows, "rows of a table", 2)
    generator = torch.Generator().manual_seed(0)
    while True:
        first = _representatives(_fingerprints(rows, generator))
        again = (first != torch.arange(len(rows))).nonzero()[:, 0]
        if all((rows[part] == rows[first[part]]).all() for part in again.split(BLOCK)):
            return Duplicates(again, first[again])


@checked
def nearest(rows: Tensor) -> Nearest:
    """The two rows of `[n, w]`, n from 2 to 8192, that are nearest to each other: all pairs, in float64.

    Products of matrices find who may be nearest, differences decide. OptionError for other n.
    """
    if real(rows, "rows of a table", 2).shape[0] not in range(2, PAIRWISE + 1):
        raise OptionError("pairs of rows", given=list(rows.shape), allowed=f"[n, w], n from 2 to {PAIRWISE}")
    rows, unit = _sized(rows)
    square = rows.square().sum(dim=1)
    slack = 4 * rows.shape[1] * torch.finfo(torch.float64).eps * float(square.max())
    best = _nearest_at(rows, 1)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        apart = square[start : start + BLOCK, None] + square[start:] - 2 * (block @ rows[start:].T)
        # Of a block and what follows it: each pair once, the earlier row first.
        apart.masked_fill_(torch.ones_like(apart, dtype=torch.bool).tril(), torch.inf)
        if best.distance == 0 or float(apart.min()) > best.distance**2 + slack:
            continue
        a, b = (apart <= best.distance**2 + slack).nonzero().unbind(1)
        # The most promising first; of many, the others by parts.
        order = apart[a, b].argsort(stable=True)
        for some in order.split(max(_AT_ONCE // max(rows.shape[1], 1), 1)):
            far = (block[a[some]] - rows[start + b[some]]).square_().sum(dim=1)
            least = int(some[far.argmin()])
            distance = float((block[a[least]] - rows[start + b[least]]).norm())
            if distance < best.distance:
                best = Nearest(distance, (start + int(a[least]), start + int(b[least])))
    return Nearest(best.distance / unit, best.pair)


@checked
def nearest_at(rows: Tensor, lag: int) -> Nearest:
    """The nearest pair of rows of `[n, w]` that are `lag` apart, 1 .. n - 1. OptionError for another lag."""
    if not 1 <= lag < len(real(rows, "rows of a table", 2)):
        raise OptionError("rows that are apart", given=f"{list(rows.shape)}, {lag} apart", allowed="[n, w], 1 to n - 1")
    found = _nearest_at(rows, lag)
    if SMALL < found.distance < torch.inf:
        return found
    # The square of the distance is none of float64, or too short of digits.
    rows, unit = _sized(rows)
    found = _nearest_at(rows, lag)
    return Nearest(found.distance / unit, found.pair)


def _nearest_at(rows: Tensor, lag: int) -> Nearest:
    best = Nearest(float("inf"), (0, lag))
    block = max(BLOCK, BLOCK * 512 // max(rows.shape[1], 1))
    for start in range(0, len(rows) - lag, block):
        stop = min(start + block, len(rows) - lag)
        apart = rows[start + lag : stop + lag].to(torch.float64) - rows[start:stop].to(torch.float64)
        least, at = apart.square_().sum(dim=1).min(dim=0)
        if float(least) ** 0.5 < best.distance:
            best = Nearest(float(least) ** 0.5, (start + int(at), start + int(at) + lag))
    return best


@checked
def collisions(stored: Tensor) -> Tensor:
    """How many places of `stored` `[n, w]` have, in each dimension, the value of an earlier place: `[w]` int64."""
    real(stored, "values of a table", 2)
    if stored.element_size() == 2:
        return torch.cat([_collisions_of_16_bits(columns) for columns in stored.T.split(_COLUMNS)])
    ordered = stored.T.contiguous().sort(dim=1).values
    return (ordered[:, 1:] == ordered[:, :-1]).sum(dim=1)


def _sized(rows: Tensor) -> tuple[Tensor, float]:
    """Rows in float64 times a power of two, the second, that brings the largest near 1: squares are finite there."""
    most = largest(rows, "rows of a table")
    unit = 2.0 ** min(max(-math.frexp(most)[1], -1000), 1000)
    return rows.to(torch.float64) * unit, unit


def _fingerprints(rows: Tensor, generator: torch.Generator) -> Tensor:
    """A number of 64 bits for each row, `[n]` int64: equal for equal rows, and hardly ever for others."""
    kind = {8: torch.int64, 4: torch.int32, 2: torch.int16}[rows.element_size()]
    by = torch.randint(-(2**62), 2**62, (rows.shape[1],), generator=generator) * 2 + 1
    # Adding zero makes +0 of -0, which are equal numbers.
    parts = [((part + 0.0).view(kind) * by).sum(dim=1) for part in rows.split(BLOCK)]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.int64)


def _collisions_of_16_bits(columns: Tensor) -> Tensor:
    """`collisions` of columns `[w, n]`, by marking which of 65536 values occur."""
    values = (columns + 0.0).view(torch.int16).to(torch.int64) + 2**15
    occurs = torch.zeros(len(values), 2**16, dtype=torch.bool).scatter_(1, values, True)
    return columns.shape[1] - occurs.sum(dim=1)


def _representatives(keys: Tensor) -> Tensor:
    """Of each place the first that has the same key, `[n]` int64."""
    _, which = keys.unique(return_inverse=True)
    first = torch.full((len(keys),), len(keys))
    first.scatter_reduce_(0, which, torch.arange(len(keys)), reduce="amin")
    return first[which]

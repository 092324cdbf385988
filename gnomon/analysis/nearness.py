"""How distances of the patches of a picture, read row by row, agree with those on the picture: ranks and neighbours."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import real
from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.positions import grid

SAME = 1e-9
"""Distances that differ by less than this share of the largest are equal."""
NEIGHBOURS = 8
MOST = 4096
"""Patches: all pairs of them are compared."""


@dataclass(frozen=True)
class Nearness:
    """How the distances of an encoding on a grid agree with those on the picture.

    correlation: Spearman's, of the distances of all pairs of patches with their Euclidean distances, -1 to 1.
    right, below: the mean distance of a patch from its right and from its lower neighbour.
    seam: the mean distance of a row's last patch from the first of the next row, which is read after it.
    found: the share of a patch's 8 neighbours that are among its 8 nearest in the encoding, over patches that have 8;
        of equally near ones the share that chance would take. None where no patch has 8.
    """

    correlation: float
    right: float
    below: float
    seam: float
    found: float | None


@checked
def check_patches(rows: int, columns: int) -> None:
    """OptionError for a grid of fewer than 2 patches or more than MOST."""
    if min(rows, columns) < 1 or not 2 <= rows * columns <= MOST:
        raise OptionError("all pairs of patches are compared", given=f"{rows} x {columns}", allowed=f"2 to {MOST}")


@checked
def euclidean(rows: int, columns: int) -> Float[Tensor, "n n"]:
    """The distance of every two patches on the picture, `[n, n]` float64, n = rows x columns, read row by row."""
    check_patches(rows, columns)
    place = grid(rows, columns).coords[0]
    return torch.cdist(place, place, compute_mode="donot_use_mm_for_euclid_dist")


@checked
def ranks(values: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The rank of each value, 1 for the least, equal values sharing the mean of theirs: `[n]` float64."""
    real(values, "values", 1)
    _, which, counts = values.unique(sorted=True, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts.double() - 1) / 2)[which]


@checked
def spearman(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """Spearman's rank correlation, -1 to 1, ties averaged; 0 where either is constant. Source: Spearman 1904."""
    real(a, "values", 1)
    real(b, "values", 1)
    if a.shape != b.shape:
        raise OptionError("ranks are compared pair by pair", given=f"{a.shape[0]} and {b.shape[0]} values")
    a, b = (one - one.mean() for one in (ranks(a), ranks(b)))
    size = a.norm() * b.norm()
    return (a @ b / size).item() if size > 0 else 0.0


@checked
def nearness(found: Float[Tensor, "n n"], rows: int, columns: int) -> Nearness:
    """How the distances `[n, n]` of patches read row by row agree with those on the picture."""
    check_patches(rows, columns)
    real(found, "distances", 2)
    n = rows * columns
    if found.shape != (n, n):
        raise OptionError("every two patches have a distance", given=list(found.shape), allowed=f"[{n}, {n}]")
    true, level = euclidean(rows, columns), _rounded(found)
    upper = torch.triu_indices(n, n, 1)
    correlation = spearman(level[upper[0], upper[1]], _rounded(true)[upper[0], upper[1]])
    number = torch.arange(n).reshape(rows, columns)
    return Nearness(
        correlation,
        right=_mean(found, number[:, :-1], number[:, 1:]),
        below=_mean(found, number[:-1], number[1:]),
        seam=_mean(found, number[:-1, -1], number[1:, 0]),
        found=_neighbours(level, true, number),
    )


def _rounded(values: Tensor) -> Tensor:
    """Values whose ties are exact: what differs by rounding alone is one number."""
    step = SAME * values.abs().max().clamp(min=1e-300)
    return (values / step).round() * step


def _mean(found: Tensor, a: Tensor, b: Tensor) -> float:
    # A grid of one row or one column has no such neighbours.
    return found[a.flatten(), b.flatten()].mean().item() if a.numel() else 0.0


def _neighbours(found: Tensor, true: Tensor, number: Tensor) -> float | None:
    inner = number[1:-1, 1:-1].flatten()
    if not inner.numel():
        return None
    own = torch.nn.functional.one_hot(inner, found.shape[0]).bool()
    # Not itself, however near it is.
    far = found[inner].masked_fill(own, torch.inf)
    neighbour = (true[inner] < 1.5) & ~own
    limit = far.kthvalue(NEIGHBOURS, dim=1, keepdim=True).values
    nearer, level = far < limit, far == limit
    chance = (NEIGHBOURS - nearer.sum(1)) / level.sum(1)
    taken = (nearer & neighbour).sum(1) + chance * (level & neighbour).sum(1)
    return (taken / NEIGHBOURS).mean().item()

"""Rounding of biases: how far off one is at a distance, and at a position, in a precision, and from where on."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_size
from gnomon.analysis.first_place import first_place
from gnomon.analysis.forms import biases
from gnomon.analysis.stored import Precision, dtype, holds, rounded
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.errors import OptionError
from gnomon.positions import FURTHEST

POWERS = tuple(10**e for e in range(9))
"""1, 10, ..., 10^8."""
NEAR = 64
"""Keys that are near a query: 0 to 63 apart."""
LIMIT = 0.01
"""Of a logit."""


@checked
def bias_errors(
    encoding: Encoding, name: Precision, positions: Sequence[int] = POWERS, heads: int = 1
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Two errors of the bias in a precision, the worst over heads, in units of the logit, at each of whole `positions`.

    far:  of a pair that is so far apart, when the distance and the bias are rounded.
    late: of pairs 0 to 63 apart whose query is there, when their positions are rounded before they are subtracted.
    None where the precision has no number so large. OptionError for an encoding that is not a bias, or no positions.
    """
    check_size(heads, "heads of the attention")
    if not positions or not all(0 <= p < FURTHEST for p in positions):
        raise OptionError("errors are measured at whole positions", given=list(positions), allowed="0 to 2^53 - 1")
    held = [holds(name, p) for p in positions]
    p = torch.tensor([place for place, fits in zip(positions, held) if fits], dtype=torch.float64)
    return tuple(_spread(of(encoding, name, p, heads).tolist(), held) for of in (_far, _late))


@checked
def first_far(encoding: Encoding, name: Precision, limit: float = LIMIT, heads: int = 1) -> int | None:
    """The first distance, up to 10^8, at which the bias is off by more than `limit` (`far` of `bias_errors`).

    Found by `first_place`: every distance below 2^17 is looked at. None where none is off, or has a number.
    """
    check_size(heads, "heads of the attention")
    return first_place(lambda p: _far(encoding, name, p.to(torch.float64), heads) > limit, _last(name))


@checked
def first_late(encoding: Encoding, name: Precision, limit: float = LIMIT, heads: int = 1) -> int | None:
    """The first position, up to 10^8, from which near pairs are off by more than `limit` (`late` of `bias_errors`).

    Up to 2 / eps positions are exact, and from 63 on all near distances occur: beyond 127 nothing changes up to there.
    From there on it is found by `first_place`. None where none is off, or has a number.
    """
    check_size(heads, "heads of the attention")

    def late(p: Tensor) -> Tensor:
        return _late(encoding, name, p.to(torch.float64), heads) > limit

    soon = first_place(late, 2 * NEAR - 1)
    exact_to = int(2 / torch.finfo(dtype(name)).eps)
    return first_place(late, _last(name), 2 * NEAR, exact_to) if soon is None else soon


def _last(name: Precision) -> int:
    return min(POWERS[-1], int(torch.finfo(dtype(name)).max))


def _far(encoding: Encoding, name: Precision, p: Tensor, heads: int) -> Tensor:
    """Of pairs `p` `[n]` apart, the worst error over heads, `[n]`, where distance and bias are rounded."""
    if not len(p):
        return p
    given = rounded(biases(encoding, rounded(p, name), heads), name)
    return (given - biases(encoding, p, heads)).abs().amax(dim=0)


def _late(encoding: Encoding, name: Precision, p: Tensor, heads: int) -> Tensor:
    """Of near pairs whose query is at `p` `[n]`, the worst error over heads, `[n]`, where positions are rounded."""
    if not len(p):
        return p
    # A position below 64 has no key 64 before it: there, the pairs are fewer.
    key = (p[:, None] - torch.arange(NEAR, dtype=torch.float64)).clamp(min=0)
    apart = p[:, None] - key
    # Of a causal pair the key is not later than the query, which rounding keeps so.
    late = rounded(p, name)[:, None] - rounded(key, name)
    # Of many pairs few distances are different.
    lags, which = torch.stack([late, apart]).unique(return_inverse=True)
    exactly = biases(encoding, lags, heads)
    return (rounded(exactly, name)[:, which[0]] - exactly[:, which[1]]).abs().amax(dim=(0, 2))


def _spread(values: list[float], held: list[bool]) -> tuple[float | None, ...]:
    left = iter(values)
    return tuple(next(left) if fits else None for fits in held)

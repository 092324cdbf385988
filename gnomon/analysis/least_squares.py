"""The nearest function of distance that an encoding can make: least squares in its family, and what it is beyond."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import real
from gnomon.analysis.families import basis
from gnomon.analysis.forms import biases
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.kerple import LEAST, Kerple
from gnomon.encodings.learned import Learned
from gnomon.encodings.sandwich import Sandwich
from gnomon.errors import OptionError

RESOLVED = 2.0**-23
"""Combinations of waves that are smaller than this share of the largest are left out: float32 numbers that are trained
cannot keep them apart, so a fit that needs them is none that a model could hold."""
KERPLE = 200
"""Values of a or p that are tried before the best is refined."""


@dataclass(frozen=True)
class Fit:
    """The nearest function of distance that an encoding can make.

    values: at every lag of the target and beyond, `[n + further]`; nan where nothing that was fitted says a value.
    error: root mean square of what is left over the target's standard deviation: 0 is exact, 1 is a constant. R^2 is
        1 - error^2.
    beyond: the same over the lags past n, in the same unit; None where none were asked for, or there is no value.
    free: how many numbers were free, the constant among them.
    largest: the most that a single term of the sum has in logits; far above the target, terms cancel.
    """

    values: Float[Tensor, " lags"]
    error: float
    beyond: float | None
    free: int
    largest: float


@checked
def fit(encoding: Encoding, target: Float[Tensor, " n"], further: Float[Tensor, " m"] | None = None) -> Fit:
    """The nearest function to `target` at the lags 0 .. n - 1 that an encoding can make, and what it is beyond.

    further: the target at the lags n .. n + m - 1, which are not fitted, to tell how far off the fit is there.
    The family is that of `family`, with a free constant. Exact least squares; of kerple's two numbers one is searched.
    OptionError for an encoding without a family, or a target without two values.
    """
    real(target, "values of a target", 1)
    further = target.new_zeros(0) if further is None else real(further, "values of a target", 1)
    return fits(encoding, target.to(torch.float64)[:, None], further.to(torch.float64)[:, None])[0]


@checked
def fits(encoding: Encoding, target: Tensor, further: Tensor) -> list[Fit]:
    """`fit` of each column of `target` `[n, c]`, with `further` `[m, c]`: what they share is worked out once."""
    real(target, "values of a target", 2)
    if real(further, "values of a target", 2).shape[1] != target.shape[1]:
        raise OptionError("each target goes on", given=list(further.shape), allowed=f"[m, {target.shape[1]}]")
    target, further = target.to(torch.float64), further.to(torch.float64)
    n, m = target.shape[0], further.shape[0]
    if n < 2:
        raise OptionError("a function of distance has values", given=f"{n} lags", allowed="2 or more")
    lags = torch.arange(n + m, dtype=torch.float64)
    columns = basis(encoding, lags)
    if columns is not None:
        if isinstance(encoding, Learned) and n > encoding.width:
            raise OptionError(
                "a table makes any matrix of logits for as many places as it is wide",
                given=f"{n} places, width {encoding.width}",
                allowed=f"up to {encoding.width}",
                do="fit a shorter target",
            )
        return _made(*_linear(columns, target), target, further)
    if isinstance(encoding, Kerple):
        return _made(_kerple(encoding.kernel, lags, target), 3, None, target, further)
    return _made(_fixed(biases(encoding, lags, encoding.heads or 1).T, target), 1, None, target, further)


@checked
def fits_of_any_slope(encoding: Alibi | Sandwich, target: Float[Tensor, "n c"]) -> list[Fit]:
    """The fit of each column of `target` by -a f(k) + c, f minus the bias of the first head and a from 0 on."""
    if real(target, "values of a target", 2).shape[0] < 2:
        raise OptionError("a function of distance has values", given=f"{target.shape[0]} lags", allowed="2 or more")
    target = target.to(torch.float64)
    curve = -biases(encoding, torch.arange(target.shape[0], dtype=torch.float64), encoding.heads).T[:, :1]
    a, _ = _scaled(curve, target, 0.0)
    values = -curve * a
    return _made(values + (target - values).mean(0), 2, None, target, target[:0])


def _made(values: Tensor, free: int, largest: Tensor | None, target: Tensor, further: Tensor) -> list[Fit]:
    """The fits of each column; of a single term the largest is what it makes itself."""
    n, found = target.shape[0], []
    largest = (values[:n] - values[:n].mean(0)).abs().amax(0) if largest is None else largest
    for fitted, aim, rest, most in zip(values.T, target.T, further.T, largest.tolist()):
        unit = (aim - aim.mean()).square().mean().sqrt()
        unit = unit if unit > 0 else torch.ones_like(unit)
        error = ((fitted[:n] - aim).square().mean().sqrt() / unit).item()
        off = (fitted[n:] - rest).square().mean().sqrt() / unit if rest.numel() else None
        found.append(Fit(fitted, error, None if off is None or not off.isfinite() else off.item(), free, most))
    return found


def _linear(columns: Tensor, target: Tensor) -> tuple[Tensor, int, Tensor]:
    """The nearest sums of columns, how many numbers are free (those that float32 can tell apart), the largest terms."""
    n = target.shape[0]
    known = columns[:n].isfinite().all(1)
    used = (columns[:n][known] != 0).any(0)
    if not bool(known.all()):
        raise OptionError(
            "this encoding ends before the target does",
            given=f"{n} lags",
            allowed=f"up to {int(known.sum())}",
            do="fit a shorter target, or build the encoding for longer texts",
        )
    left, sizes, right = torch.linalg.svd(columns[:n][:, used], full_matrices=False)
    kept = sizes > RESOLVED * sizes[0]
    numbers = right[kept].T @ ((left[:, kept].T @ target) / sizes[kept, None])
    values = columns[:, used] @ numbers
    # Where a column is needed that no fitted lag has, nothing says what its number is.
    unsaid = (columns[:, ~used] != 0).any(1)
    largest = (numbers.abs() * columns[:n][:, used].abs().amax(0)[:, None]).amax(0)
    return values.masked_fill(unsaid[:, None], math.nan), int(kept.sum()), largest


def _fixed(heads: Tensor, target: Tensor) -> Tensor:
    """The best of some fixed functions `[n + m, h]` for each target, but for a constant."""
    n = target.shape[0]
    constant = (target[:, None] - heads[:n, :, None]).mean(0)
    left = (target[:, None] - heads[:n, :, None] - constant).square().mean(0)
    best = left.argmin(0)
    return heads[:, best] + constant[best, torch.arange(target.shape[1])]


def _scaled(columns: Tensor, target: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """Of each `-a f(k) + c`, a >= least and f a column `[n, r]`: a `[r, c]` and the mean square left."""
    f, aim = columns - columns.mean(0), target - target.mean(0)
    a = (-(f.T @ aim) / f.square().sum(0)[:, None].clamp(min=1e-300)).clamp(min=least)
    left = (aim[:, None] + a * f[:, :, None]).square().mean(0)
    return a, left


def _kerple(kind: str, lags: Tensor, target: Tensor) -> Tensor:
    """Of each target the best pair of KERPLE's numbers: one in closed form, the other by a grid refined three times."""
    n = target.shape[0]

    def curves(shape: Tensor) -> Tensor:
        """The shape of the penalty: `[n + m, r]` for r values of its inner number."""
        k = lags[:, None]
        return torch.log1p(shape * k) if kind == "log" else torch.where(k > 0, k, 0.0) ** shape

    # The log kernel's inner number has no upper bound; at 10^6 it has its limit, a step at lag 1 and ln k.
    low, high = (math.log(LEAST), math.log(1e6)) if kind == "log" else (math.log(LEAST), math.log(2.0))
    fitted = []
    for column in range(target.shape[1]):
        aim, begin, end = target[:, column : column + 1], low, high
        for _ in range(4):
            shapes = torch.linspace(begin, end, KERPLE, dtype=torch.float64).exp()
            a, left = _scaled(curves(shapes)[:n], aim, LEAST)
            best = int(left[:, 0].argmin())
            step = (end - begin) / (KERPLE - 1)
            middle = begin + best * step
            begin, end = max(low, middle - step), min(high, middle + step)
        values = -a[best, 0] * curves(shapes[best : best + 1])[:, 0]
        fitted.append(values + (aim[:, 0] - values[:n]).mean())
    return torch.stack(fitted, dim=1)

"""Sums of cosines K(k) = sum_m a_m cos(w_m k): which steps are proved to rise, how near it comes to K(0) again."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from flint import arb
from jaxtyping import Bool, Float
from torch import Tensor

from gnomon.analysis import certified
from gnomon.analysis.forms import Waves
from gnomon.checked import checked
from gnomon.errors import OptionError

FURTHEST = 10**6 - 1
"""How far a sum is followed to see it come back."""
ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Rising:
    """Which steps of a sum of cosines rise.

    rises: whether K(k + 1) > K(k), k = 0 .. n - 2; each is proved but for those in `undecided`, which count as falling.
    first: the first k whose step rises, every earlier step proved to fall; None where none rises, or one is undecided.
    """

    rises: Bool[Tensor, " steps"]
    first: int | None
    undecided: tuple[int, ...]

    @property
    def share(self) -> float:
        """The share of all steps that rise."""
        return self.rises.double().mean().item()


@dataclass(frozen=True)
class Return:
    """The extremes of K(k) / K(0) over the lags from `begin` to `end`, both included."""

    begin: int
    end: int
    largest: float
    at: int
    smallest: float
    mean: float


@checked
def amplitudes(found: Waves) -> Float[Tensor, " m"]:
    """How often cos(w_m k) counts in the kernel, `[m]`: once for a pair, a half for a sine that has no cosine.

    sin(w p) sin(w (p + k)) = cos(w k) / 2 - cos(w (2 p + k)) / 2, and over all p the second term averages to 0.
    """
    if not found.columns:
        return torch.ones(len(found.frequencies), dtype=torch.float64)
    counts = [sum(m == wave for _, wave in found.columns) for m in range(len(found.frequencies))]
    return torch.tensor(counts, dtype=torch.float64) / 2


@checked
def cosine_sum(found: Waves, lags: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """K(k) = sum_m a_m cos(w_m k) at each of `lags` k, `[n]` float64, a_m being `amplitudes`."""
    w, weight = torch.tensor(found.frequencies, dtype=torch.float64), amplitudes(found)
    return torch.cat([((some[:, None] * w).cos() * weight).sum(1) for some in lags.split(_at_once(len(w)))])


@checked
def rising(found: Waves, n: int) -> Rising:
    """Which steps of K(k) = sum_m a_m cos(w_m k) rise, over the lags 0 .. n - 1, proved.

    A step is proved in float64 where it exceeds a bound of all rounding errors, and otherwise between balls.
    """
    if n < 2:
        raise OptionError("a step lies between two lags", given=f"n={n}", allowed="2 or more")
    lags = torch.arange(n, dtype=torch.float64)
    values, errors = cosine_sum(found, lags), _errors(found, lags)
    steps, doubt = values.diff(), errors[1:] + errors[:-1]
    rises, undecided = steps > 0, []
    for k in (steps.abs() <= doubt).nonzero()[:, 0].tolist():
        answer = certified.decided(lambda k=k: certified.below(_ball(found, k), _ball(found, k + 1)))
        rises[k] = bool(answer)
        if answer is None:
            undecided.append(k)
    first = int(rises.to(torch.uint8).argmax()) if bool(rises.any()) else None
    if first is not None and undecided and undecided[0] < first:
        first = None
    return Rising(rises, first, tuple(undecided))


@checked
def returns(
    found: Waves, furthest: int = FURTHEST, progress: Callable[[float], None] | None = None
) -> tuple[Return, ...]:
    """How near K(k) comes to K(0) again in each decade of lags, 1 .. 9, 10 .. 99, ..., up to `furthest`.

    By angle addition: cos(w (a s + b)) is a product of what belongs to a with what belongs to b.
    """
    if furthest < 1:
        raise OptionError("lags begin at 1", given=f"furthest={furthest}", allowed="1 or more")
    w, weight = torch.tensor(found.frequencies, dtype=torch.float64), amplitudes(found)
    size = min(furthest + 1, 1024)
    angle = torch.arange(size, dtype=torch.float64)[:, None] * w
    near = torch.cat([weight * angle.cos(), -weight * angle.sin()], dim=1).T
    ends = [min(10**e, furthest + 1) for e in range(len(str(furthest)) + 1)]
    decades = [(begin, end) for begin, end in zip(ends, ends[1:]) if begin < end]
    zero, found_in = weight.sum().item(), []
    for begin, end in decades:
        largest, at, smallest, total = -math.inf, begin, math.inf, 0.0
        # Blocks of rows of a, as many as make some millions of lags.
        for start in range(begin, end, size * 2048):
            rows = torch.arange(start, min(end, start + size * 2048), size, dtype=torch.float64)
            turned = rows[:, None] * w
            block = (torch.cat([turned.cos(), turned.sin()], dim=1) @ near).flatten()[: end - start]
            best, place = block.max(0)
            if best > largest:
                largest, at = best.item(), start + int(place)
            smallest, total = min(smallest, block.min().item()), total + block.sum().item()
            if progress is not None:
                progress(min(end, start + size * 2048) / (furthest + 1))
        mean = total / (end - begin) / zero
        found_in.append(Return(begin, end - 1, largest / zero, at, smallest / zero, mean))
    return tuple(found_in)


@checked
def decay_bound(frequencies: Float[Tensor, " m"], lags: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """mean_j |S_j(k)|, S_j(k) = sum_{m < j} e^{i w_m k}, j = 1 .. m: what RoFormer bounds a logit by, up to a factor.

    Source: Su et al. 2021, section 3.4.3, and its figure 2.
    """
    w, parts = frequencies.to(torch.float64), []
    for some in lags.to(torch.float64).split(_at_once(len(frequencies))):
        angle = some[:, None] * w
        parts.append(torch.hypot(angle.cos().cumsum(1), angle.sin().cumsum(1)).mean(1))
    return torch.cat(parts)


def _at_once(waves: int) -> int:
    """How many lags are worked out together: as many as make some millions of angles."""
    return max(1, 2**22 // max(1, waves))


def _errors(found: Waves, lags: Tensor) -> Tensor:
    """More than what float64 may have got wrong in `cosine_sum`, `[n]`.

    A frequency is off by 2 roundings of the power and one of the exponent, which the power multiplies by e ln(base);
    the angle by one more; a cosine by less than 4, and each addition by one of a sum of at most m.
    """
    w, m = torch.tensor(found.frequencies, dtype=torch.float64), len(found.frequencies)
    if found.exponents is None:
        of_angle = w
    else:
        exponents = torch.tensor([float(e) for e in found.exponents], dtype=torch.float64)
        of_angle = w * (3 + exponents * math.log(found.base))
    return 1.1 * ROUNDING * (lags * of_angle.sum() + m * (m + 4))


def _ball(found: Waves, k: int) -> arb:
    if found.exponents is None:
        terms = [arb(w) for w in found.frequencies]
    else:
        terms = [certified.frequency(found.base, e) for e in found.exponents]
    return sum((arb(a) * (w * k).cos() for a, w in zip(amplitudes(found).tolist(), terms, strict=True)), arb(0))

"""Sums of cosines K(k) = sum_m a_m cos(w_m k): which steps are proved to rise, how near it comes to K(0) again."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gnomon.analysis import certified
from gnomon.analysis.arguments import check_size, real
from gnomon.analysis.closest import pieces
from gnomon.analysis.forms import Waves
from gnomon.analysis.lags import Lags, amplitudes
from gnomon.checked import checked
from gnomon.errors import OptionError

FURTHEST = 10**6 - 1
"""How far a sum is followed to see it come back."""


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
    """The extremes of K(k) / K(0) over the lags from `begin` to `end`, both included.

    proved: whether `largest` is that of all these lags for certain (`closest`): where all pairs are whole.
    """

    begin: int
    end: int
    largest: float
    at: int
    smallest: float
    mean: float
    proved: bool


@checked
def cosine_sum(found: Waves, lags: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """K(k) = sum_m a_m cos(w_m k) at each of `lags` k, `[n]` float64, a_m being `amplitudes`."""
    lags = real(lags, "lags", 1).to(torch.float64)
    w, weight = torch.tensor(found.frequencies, dtype=torch.float64), amplitudes(found)
    return torch.cat([((some[:, None] * w).cos() * weight).sum(1) for some in lags.split(_at_once(len(w)))])


@checked
def rising(found: Waves, n: int) -> Rising:
    """Which steps of K(k) = sum_m a_m cos(w_m k) rise, over the lags 0 .. n - 1, proved.

    A step is proved in float64 where it exceeds a bound of all rounding errors (`Lags.error`), and otherwise between
    balls.
    """
    check_size(n, "a step lies between two lags", 2)
    lags = Lags(found)
    # Rounding keeps order: a difference that exceeds the bound when it is rounded exceeds it.
    steps = lags.sums(torch.arange(n)).diff()
    rises, undecided = steps > 0, []
    for k in (steps.abs() <= 2 * lags.error).nonzero()[:, 0].tolist():
        answer = certified.decided(lambda k=k: certified.below(lags.ball(k), lags.ball(k + 1)))
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

    The largest is certified where all pairs are whole (`closest.pieces`). The rest is float64, by angle addition:
    cos(w (a s + b)) is a product of what belongs to a with what belongs to b.
    """
    check_size(furthest, "lags begin at 1, and each is read", 1, 10**9)
    if not found.frequencies:
        raise OptionError("what comes back is a wave", given="no waves", do="take a width with a sine and a cosine")
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
                progress(min(end, start + size * 2048) / (furthest + 1) / 2)
        mean = total / (end - begin) / zero
        found_in.append(Return(begin, end - 1, largest / zero, at, smallest / zero, mean, False))
    if not found.is_whole:
        return tuple(found_in)
    second = None if progress is None else lambda share: progress((1 + share) / 2)
    best = pieces(found, [one.begin for one in found_in], furthest, second)
    return tuple(
        replace(one, largest=sum(known.similarity) / 2, at=known.lag, proved=True)
        for one, known in zip(found_in, best, strict=True)
    )


@checked
def decay_bound(frequencies: Float[Tensor, " m"], lags: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """mean_j |S_j(k)|, S_j(k) = sum_{m < j} e^{i w_m k}, j = 1 .. m: what RoFormer bounds a logit by, up to a factor.

    Source: Su et al. 2021, section 3.4.3, and its figure 2.
    """
    real(lags, "lags", 1)
    if not real(frequencies, "frequencies", 1).numel():
        raise OptionError("a mean over partial sums", given="no frequencies", allowed="one or more")
    w, parts = frequencies.to(torch.float64), []
    for some in lags.to(torch.float64).split(_at_once(len(frequencies))):
        angle = some[:, None] * w
        parts.append(torch.hypot(angle.cos().cumsum(1), angle.sin().cumsum(1)).mean(1))
    return torch.cat(parts)


def _at_once(waves: int) -> int:
    """How many lags are worked out together: as many as make some millions of angles."""
    return max(1, 2**22 // max(1, waves))

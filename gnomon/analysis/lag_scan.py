"""Reading every lag, fast: which lags of a range may have a similarity of at least so much; none is left out.

Two things make it fast. Angle addition makes the sums of many lags one matrix product:

    cos(w (a + b)) = cos(w a) cos(w b) - sin(w a) sin(w b),    a: a row, b: a column.

And slow waves need not be read at every lag. On a straight line between the lags g and g + s, e^{iwk} is missed by at
most w^2 s^2 / 8, so a wave that is read at every s-th lag only is known in between up to that; a wave for which this
exceeds 1 is not read at all, since no cosine exceeds 1. Hence, T being the sum of the waves that are read,

    S(k) <= max(T(g), T(g + s)) + G,    G = sum_m min(1, w_m^2 s^2 / 8),    g <= k <= g + s,

and a lag beside no reading of at least `floor - G` has S(k) < floor. The step s is the one that promises the least
work; whatever it is, what is left out is proved to be too low.

The product is in float32. Its n = 2 m terms are |cos a cos b| + |sin a sin b| <= 1 for each of m waves, each factor
rounded once, so by the standard bound for a sum of products in any order (Higham, "Accuracy and Stability of
Numerical Algorithms", 3.1) it is off by at most

    gamma_{n + 3} m,    gamma_n = n u / (1 - n u),    u = 2^-24:    0.0079 of 256 at d = 512.
"""

import math
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gnomon.analysis.arguments import FARTHEST, PLACES, check_size
from gnomon.analysis.lags import Lags, check_whole
from gnomon.checked import checked
from gnomon.errors import OptionError

_ROWS, _COLUMNS = 256, 8192
"""Readings of one product."""

_STEPS = sorted({round(2 ** (j / 2)) for j in range(25)})

# Nanoseconds on one core, for the choice of a step only: a multiplication, the rest of a reading, a cosine of float64.
_TERM, _READING, _COSINE = 0.03, 1.0, 20.0


@checked
def missed(lags: Lags, step: int) -> Float[Tensor, " m"]:
    """By how much a wave can exceed the larger of its readings at both sides, if it is read at every `step`-th lag."""
    check_size(step, "lags from one reading to the next", 1, FARTHEST)
    if step == 1:
        return torch.zeros(lags.pairs, dtype=torch.float64)
    frequencies = torch.tensor(lags.waves.frequencies, dtype=torch.float64)
    return (frequencies.square() * (step**2 / 8) * (1 + 1e-12)).clamp(max=1)


@checked
def rounding(count: int) -> float:
    """The most by which a float32 product is off from the sum of `count` cosines."""
    check_size(count, "cosines of a sum", 0, PLACES)
    unit = (2 * count + 3) * 2.0**-24
    return count * unit / (1 - unit)


@checked
def survivors(
    lags: Lags, first: int, last: int, floor: Callable[[], float], progress: Callable[[float], None] | None = None
) -> Iterator[Int[Tensor, " n"]]:
    """Lags of first .. last, ascending, among them every one whose S(k) is at least `floor()`.

    `floor` is asked anew for each part of the range, so that it may rise with what the caller has found. OptionError
    for waves that are not whole pairs.
    """
    check_whole(lags.waves)
    low, most, rows, reader = first, 1, 4, None
    while low <= last:
        level = floor()
        step = _step(lags, level, min(most, max((last - low) // _COLUMNS, 1)))
        if reader is None or reader.step != step:
            reader = _Reader(lags, step)
        high, found = reader.read(low, last, level, rows)
        if len(found):
            yield found
        # Gaussian guesses are wrong where the waves are few or the lags small: then shorter steps.
        crowded = len(found) * 16 > high - low + 1
        most = max(step // 2, 1) if crowded else max(2 * step, 4)
        low, rows = high + 1, min(4 * rows, _ROWS)
        if progress is not None:
            progress((low - first) / (last - first + 1))


class _Reader:
    """Readings at every `step`-th lag."""

    def __init__(self, lags: Lags, step: int):
        misses = missed(lags, step)
        self.lags, self.step, self.read_waves = lags, step, (misses < 1).nonzero()[:, 0]
        count = len(self.read_waves)
        self.gap = float(misses.sum()) * (1 + 1e-12) + rounding(count)
        columns = self._angles(step * torch.arange(_COLUMNS))
        self.columns = torch.cat([columns.cos(), -columns.sin()], 1).float().T.contiguous()
        rows = self._angles(step * _COLUMNS * torch.arange(_ROWS))
        self.rows = torch.polar(torch.ones_like(rows), rows)
        self.out = torch.empty(_ROWS, _COLUMNS)

    def read(self, low: int, last: int, floor: float, rows: int = _ROWS) -> tuple[int, Int[Tensor, " n"]]:
        """The last lag that one product answers for, and the lags from `low` to it that may reach `floor`."""
        start, step = low // self.step, self.step
        needed = -(-last // step) - start + 1
        rows = min(-(-needed // _COLUMNS), rows)
        high = min(last, step * (start + rows * _COLUMNS - 1))
        turned = self.rows[:rows] * torch.polar(
            torch.ones(1, dtype=torch.float64), self._angles(torch.tensor([step * start]))
        )
        parts = torch.view_as_real(turned).float().transpose(1, 2).flatten(1)
        out = _product(parts, self.columns, self.out[:rows])
        # Every reading is off by less than the gap; a float32 comparison with a level rounded down loses none.
        level = math.nextafter(floor - self.gap, -math.inf)
        level = float(torch.tensor(level, dtype=torch.float64).float()) - 2.0**-22 * (1 + abs(level))
        if float(out.amax()) < level:
            return high, torch.empty(0, dtype=torch.int64)
        marked = (out >= level).flatten().nonzero()[:, 0] + start
        if step == 1:
            return high, marked[(marked >= low) & (marked <= high)]
        around = (marked[:, None] * step + torch.arange(1 - step, step)).flatten()
        return high, around[(around >= low) & (around <= high)].unique()

    def _angles(self, k: Tensor) -> Tensor:
        return self.lags.angles(k)[:, self.read_waves]


def _step(lags: Lags, floor: float, most: int) -> int:
    """The step of least work if sums were Gaussian, which they nearly are for many waves and large lags."""

    def cost(step: int) -> float:
        misses = missed(lags, step)
        count = int((misses < 1).sum())
        spare = floor - float(misses.sum()) - rounding(count)
        share = 0.5 * math.erfc(spare / math.sqrt(count)) if count and math.isfinite(spare) else float(spare <= 0)
        return (2 * count * _TERM + _READING) / step + min(2 * share, 1) * lags.pairs * _COSINE

    return min((step for step in _STEPS if step <= most), key=cost)


def _product(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    """A product of float32 in float32, whatever precision the caller has chosen for theirs, which is left as it was."""
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError as error:
        raise OptionError(
            "a search over lags multiplies in full float32 and puts the precision of products back, which torch cannot "
            "tell here",
            given=f"fp32_precision={torch.backends.mkldnn.matmul.fp32_precision!r} of torch.backends.mkldnn.matmul",
            do="choose the precision by torch.set_float32_matmul_precision alone",
        ) from error
    torch.set_float32_matmul_precision("highest")
    try:
        return torch.mm(a, b, out=out)
    finally:
        torch.set_float32_matmul_precision(before)

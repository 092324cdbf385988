"""The similarity of positions a lag apart: a sum of cosines, in float64 with exact angles and in balls."""

import math

import torch
from flint import arb
from jaxtyping import Float, Int
from torch import Tensor

from gnomon.analysis.certified import frequency, precision
from gnomon.analysis.forms import Waves
from gnomon.checked import checked
from gnomon.errors import OptionError

FARTHEST = 10**15
"""The largest lag: angles are exact up to here."""

_PART = 1 << 20
"""How many cosines are held at a time."""


@checked
def whole(waves: Waves) -> bool:
    """Whether every sine has its cosine, so that the similarity of p and p + k depends on k alone."""
    sines, cosines = (sorted(m for kind, m in waves.columns if kind == wave) for wave in ("sin", "cos"))
    return bool(waves.frequencies) and sines == cosines


@checked
class Lags:
    """S(k) = sum_m cos(w_m k), the similarity of PE(p) and PE(p + k) times the number of pairs, at whole lags k.

    An angle is formed as a share of a turn in 128 bits after the point: f = w / 2 pi = high 2^-64 + low, so that
    k high modulo 2^64 is exact in whole numbers, and k low, below 2^-14 turns, is exact to 2^-67. What is left is
    the rounding of one number below half a turn to float64.
    """

    def __init__(self, waves: Waves):
        if not whole(waves):
            raise OptionError(
                "similarity depends on the lag alone where every sine has its cosine",
                given=f"{len(waves.columns)} columns",
                do="take an even width",
            )
        self.waves, self.pairs = waves, len(waves.frequencies)
        with precision(512):
            turns = [int((f / (2 * arb.pi()) * arb(2) ** 128).floor().unique_fmpz()) for f in self.frequencies()]
        high = [(turn >> 64) % 2**64 for turn in turns]
        self._high = torch.tensor([h - 2**64 if h >= 2**63 else h for h in high])
        self._low = torch.tensor([(turn % 2**64) * 2.0**-128 for turn in turns], dtype=torch.float64)
        # An angle is off by at most 2 pi 2^-53 from its share of a turn and 2 pi 2^-53 from its product with 2 pi; a
        # cosine by a unit in the last place; a sum of n numbers below 1 by n^2 2^-53, whatever its order.
        self.error = self.pairs * 2e-15 + self.pairs**2 * 2.0**-53
        """No sum of `sums` is farther than this from S(k)."""

    def frequencies(self) -> list[arb]:
        """w_m as balls of the precision at hand."""
        if self.waves.exponents is None:
            return [arb(f) for f in self.waves.frequencies]
        return [frequency(self.waves.base, e) for e in self.waves.exponents]

    def angles(self, k: Int[Tensor, " n"]) -> Float[Tensor, "n m"]:
        """w_m k modulo 2 pi, between -pi and pi, float64."""
        whole = (k[:, None] * self._high).to(torch.float64) * 2.0**-64
        return (whole + k[:, None].to(torch.float64) * self._low) * (2 * math.pi)

    def sums(self, k: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        """S(k), float64, each within `error`."""
        parts = k.to(torch.int64).split(max(_PART // self.pairs, 1))
        return torch.cat([self.angles(part).cos_().sum(-1) for part in parts])

    def ball(self, k: int) -> arb:
        """S(k), proved, at the precision at hand."""
        return sum((f * k).cos() for f in self.frequencies())

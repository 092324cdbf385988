"""The similarity of positions a lag apart: a sum of cosines, in float64 with exact angles and in balls."""

import math

import torch
from flint import arb
from jaxtyping import Float, Int
from torch import Tensor

from gnomon.analysis.arguments import FARTHEST, whole
from gnomon.analysis.certified import TRUSTED, frequencies, precision
from gnomon.analysis.forms import Waves
from gnomon.checked import checked
from gnomon.errors import OptionError

_PART = 1 << 20
"""How many cosines are held at a time."""


@checked
def check_whole(waves: Waves) -> None:
    """OptionError for waves whose similarity depends on more than the lag, since a sine has no cosine."""
    if not waves.is_whole:
        raise OptionError(
            "similarity depends on the lag alone where every sine has its cosine",
            given=f"{len(waves.columns)} columns",
            do="take an even width",
        )


@checked
def amplitudes(waves: Waves) -> Float[Tensor, " m"]:
    """How often cos(w_m k) counts in S(k), `[m]`: once for a whole pair, a half for a sine that has no cosine.

    sin(w p) sin(w (p + k)) = cos(w k) / 2 - cos(w (2 p + k)) / 2, and over all p the second term averages to 0.
    """
    counted = torch.full((len(waves.frequencies),), 0.5, dtype=torch.float64)
    counted[list(waves.whole_pairs)] = 1.0
    return counted


@checked
class Lags:
    """S(k) = sum_m a_m cos(w_m k) at whole lags k: the mean of PE(p) . PE(p + k) over p, a_m being `amplitudes`.

    Where all pairs are whole it is the same at every p: the similarity of two positions times the number of pairs.

    An angle is formed as a share of a turn in 128 bits after the point: f = w / 2 pi = high 2^-64 + low, so that
    k high modulo 2^64 is exact in whole numbers, and k low, below 2^-14 turns, is exact to 2^-67. What is left is
    the rounding of one number below half a turn to float64.
    """

    def __init__(self, waves: Waves):
        self.waves, self.pairs, self.amplitudes = waves, len(waves.frequencies), amplitudes(waves)
        with precision(512):
            turns = [int((f / (2 * arb.pi()) * arb(2) ** 128).floor().unique_fmpz()) for f in frequencies(waves)]
        high = [(turn >> 64) % 2**64 for turn in turns]
        self._high = torch.tensor([h - 2**64 if h >= 2**63 else h for h in high])
        self._low = torch.tensor([(turn % 2**64) * 2.0**-128 for turn in turns], dtype=torch.float64)

    @property
    def error(self) -> float:
        """No sum of `sums` is farther than this from S(k).

        An angle is off by at most 2 pi 2^-53 from its share of a turn and 2 pi 2^-53 from its product with 2 pi; a
        cosine by what it is trusted to be within; a sum of n numbers up to 1 by n^2 2^-53, whatever its order.
        """
        return self.pairs * (1.5e-15 + TRUSTED) + self.pairs**2 * 2.0**-53

    def angles(self, k: Int[Tensor, " n"]) -> Float[Tensor, "n m"]:
        """w_m k modulo 2 pi, between -pi and pi, float64."""
        k = whole(k, "lags", -FARTHEST, FARTHEST)
        turned = (k[:, None] * self._high).to(torch.float64) * 2.0**-64
        return (turned + k[:, None].to(torch.float64) * self._low) * (2 * math.pi)

    def sums(self, k: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        """S(k), float64, each within `error`."""
        parts = whole(k, "lags", -FARTHEST, FARTHEST).split(max(_PART // max(self.pairs, 1), 1))
        return torch.cat([self.angles(part).cos_().mul_(self.amplitudes).sum(-1) for part in parts])

    def ball(self, k: int) -> arb:
        """S(k), proved, at the precision at hand."""
        counted = zip(self.amplitudes.tolist(), frequencies(self.waves), strict=True)
        return sum((arb(a) * (f * k).cos() for a, f in counted), arb(0))

    def deficit(self, k: int) -> arb:
        """S(0) - S(k) = 2 sum_m a_m sin^2(w_m k / 2), proved: however small it is, its ball is smaller."""
        counted = zip(self.amplitudes.tolist(), frequencies(self.waves), strict=True)
        return sum((arb(2 * a) * (f * k / 2).sin() ** 2 for a, f in counted), arb(0)).nonnegative_part()

    def falls(self, last: int) -> bool:
        """Whether it is proved that S falls with every step from 0 to `last`: no wave has half a turn by then."""
        turns = frequencies(self.waves)
        return all(f * last < arb.pi() for f in turns) and any(f > 0 for f in turns)

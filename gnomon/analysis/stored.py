"""Waves as floating point keeps them: an angle formed in one precision, its sine and cosine stored in another."""

import math
from typing import Literal, get_args

import torch
from flint import arb
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import real, whole
from gnomon.analysis.certified import frequencies, precision
from gnomon.analysis.forms import Form, Waves, form, name_of, scaled
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError

Precision = Literal["float64", "float32", "float16", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
FURTHEST = 2**26
"""`reference` is exact below it."""
FARTHEST = 2**53
"""The largest position of all: float64 has every whole number up to it."""
_BITS = 192


@checked
def dtype(name: Precision) -> torch.dtype:
    """The type of torch that has this name."""
    return getattr(torch, name)


@checked
def holds(name: Precision, largest: int) -> bool:
    """Whether a precision has numbers as large as `largest`; it need not have each whole number up to it."""
    return bool(torch.isfinite(torch.tensor(largest, dtype=torch.float64).to(dtype(name))))


@checked
def angles(waves: Waves, positions: Tensor, way: Precision) -> Float[Tensor, "n m"]:
    """`p w_m` of whole positions `[n]`, formed in the precision `way`, as float64.

    Position and frequency are rounded to that precision, then their product is: what a library does whose positions
    and frequencies were cast to it. OptionError for positions that it has no numbers for.
    """
    positions = whole(positions, "positions", -FARTHEST, FARTHEST)
    largest = int(positions.abs().max()) if len(positions) else 0
    if not holds(way, largest):
        raise OptionError(
            f"{way} has no number as large as the last position",
            given=largest,
            allowed=f"up to {int(torch.finfo(dtype(way)).max)}",
            do="form the angle in float32 or float64, or ask for fewer positions",
        )
    w = torch.tensor(waves.frequencies, dtype=torch.float64).to(dtype(way))
    return (positions.to(torch.float64).to(dtype(way))[:, None] * w).to(torch.float64)


@checked
def waved(waves: Waves, angle: Float[Tensor, "n m"]) -> Float[Tensor, "n w"]:
    """Sines and cosines of `angle`, float64, in the order of the dimensions; of a rotation all cosines, then all sines.

    A dimension without a wave (the last of an odd width) is left out.
    """
    if real(angle, "angles", 2).shape[1] != len(waves.frequencies):
        raise OptionError("a wave has an angle", given=list(angle.shape), allowed=f"[n, {len(waves.frequencies)}]")
    return _ordered(waves, angle.sin(), angle.cos())


@checked
def reference(waves: Waves, positions: Tensor) -> Float[Tensor, "n w"]:
    """The exact rows of whole positions `[n]`, 0 .. 2^26 - 1: each number within 2 units in float64's last place.

    The frequency is a sum of two floats, whose first is cut in halves: their products with p are exact.
    """
    p = whole(positions, "positions of exact rows", 0, FURTHEST - 1).to(torch.float64)[:, None]
    high, low = _frequencies(waves)
    first = (high.view(torch.int64) & ~(2**27 - 1)).view(torch.float64)
    a, b = p * first, p * (high - first)
    angle = a + b
    left = b - (angle - a) + p * low
    sine, cosine = angle.sin(), angle.cos()
    return _ordered(waves, sine + left * cosine, cosine - left * sine)


@checked
def exact(waves: Waves, positions: Tensor) -> tuple[Float[Tensor, "n w"], Float[Tensor, "n w"]]:
    """The exact rows of whole positions `[n]` as sums of two floats: the nearest float64, and what is missing.

    By interval arithmetic of 192 bits; for a few positions, as far as 2^53.
    """
    positions = whole(positions, "positions of exact rows", -FARTHEST, FARTHEST)
    with precision(_BITS):
        pairs = frequencies(waves)
        parts = [[_sine_cosine(w * int(p)) for w in pairs] for p in positions]
    shape = (len(positions), len(pairs), 2, 2)
    both = torch.tensor(parts, dtype=torch.float64).reshape(shape)
    high, low = (_ordered(waves, both[:, :, 0, part], both[:, :, 1, part]) for part in (0, 1))
    return high, low


@checked
def unit(values: Tensor, name: Precision) -> Tensor:
    """One unit in the last place of a precision at each of `values`, float64: the distance between neighbours there."""
    real(values, "values")
    info = torch.finfo(dtype(name))
    power = (values.to(torch.float64).view(torch.int64) & 0x7FF0000000000000).view(torch.float64)
    return power.clamp_(min=info.tiny) * info.eps


@checked
def width_of(waves: Waves) -> int:
    """How many numbers a row has: of a rotation a cosine and a sine of each angle."""
    return len(waves.columns) or 2 * len(waves.frequencies)


@checked
def without_waves(encoding: Encoding) -> str:
    """Why `forms.waves` knows no waves of an encoding, in a sentence or two."""
    name = name_of(encoding)
    kind: Form = form(encoding)
    if isinstance(encoding, Sinusoidal | Rope) and encoding.axes > 1:
        return f"{name} on {encoding.axes} axes has waves of its own on each. Ask of one axis: axes=1."
    if (why := scaled(encoding)) is not None:
        return why
    if isinstance(encoding, Rope):
        return f"The frequencies of {name} depend on the length of the text here. Ask of a scheme that is fixed."
    if kind == "vector":
        return f"The vectors of {name} are trained, not computed from a wave: before training they are noise."
    if kind == "bias":
        return f"{name} adds one number to the logit of each distance: a position has no dimensions, and no waves."
    return f"{name}: a position gets neither a vector of waves nor a turn at fixed frequencies."


def _ordered(waves: Waves, sine: Tensor, cosine: Tensor) -> Tensor:
    both = torch.cat([sine, cosine], dim=1) if waves.columns else torch.cat([cosine, sine], dim=1)
    if not waves.columns:
        return both
    at = [m + (wave == "cos") * sine.shape[1] for wave, m in waves.columns]
    return both[:, : len(at)] if at == list(range(len(at))) else both[:, at]


def _frequencies(waves: Waves) -> tuple[Tensor, Tensor]:
    with precision(_BITS):
        two = [_two(w) for w in frequencies(waves)]
    high, low = torch.tensor(two, dtype=torch.float64).reshape(-1, 2).unbind(1)
    return high.contiguous(), low


def _sine_cosine(angle: arb) -> tuple[tuple[float, float], tuple[float, float]]:
    return _two(angle.sin()), _two(angle.cos())


def _two(ball: arb) -> tuple[float, float]:
    """A ball as the float nearest to its middle, and the rest."""
    middle = ball.mid()
    high = float(middle)
    return high, 0.0 if math.isinf(high) else float(middle - arb(high))


def rounded(values: Tensor, name: Precision) -> Tensor:
    """As they are stored in a precision, in float64."""
    return values.to(dtype(name)).to(torch.float64)

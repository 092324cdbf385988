"""The form of an encoding, as mathematics asks about it: waves, vectors of positions, numbers of distances."""

import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.encoding import Encoding, Property, Site
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.positions import Positions

Form = Literal["vector", "rotation", "bias", "other"]
"""What a position is to attention: a vector added at the input, a turn of queries and keys, a number added to the logit
of a pair that depends on its distance, or something that reads content."""


@dataclass(frozen=True)
class Waves:
    """Frequencies w_m = base^(-e_m) on one axis, in radians a position, fastest first.

    exponents: e_m exactly, `pairs` of them; None where a scheme has changed the frequencies, which are floats then.
    columns:   ("sin" or "cos", m) of each dimension of the vector; empty for a rotation, which turns a pair by w_m p.
    """

    base: float
    exponents: tuple[Fraction, ...] | None
    frequencies: tuple[float, ...]
    columns: tuple[tuple[Literal["sin", "cos"], int], ...] = ()

    @property
    def whole_pairs(self) -> tuple[int, ...]:
        """The waves of which both sine and cosine are told: all but a last sine, where the width is odd."""
        told = set(self.columns)
        return tuple(m for m in range(len(self.frequencies)) if not told or {("sin", m), ("cos", m)} <= told)

    @property
    def is_whole(self) -> bool:
        """Whether there are waves and all are whole pairs: then how alike two vectors are depends on the lag alone."""
        return 0 < len(self.frequencies) == len(self.whole_pairs)


@checked
def form(encoding: Encoding) -> Form:
    """Which form an encoding has; one that does several things has the first that holds."""
    if Site.EMBEDDINGS in encoding.sites:
        return "vector"
    if isinstance(encoding, Rope):
        return "rotation"
    fixed = Property.TRANSLATION_INVARIANT | Property.CONTENT_FREE
    if Site.LOGITS in encoding.sites and fixed in encoding.properties and Site.VALUES not in encoding.sites:
        return "bias"
    return "other"


@checked
def waves(encoding: Encoding) -> Waves | None:
    """The waves that sinusoidal positions or RoPE on one axis are made of; None for what is not made of waves."""
    if isinstance(encoding, Sinusoidal) and encoding.axes == 1:
        width = encoding.width
        if encoding.convention == "paper":
            exponents = tuple(Fraction(2 * m, width) for m in range((width + 1) // 2))
            columns = tuple(("cos" if column % 2 else "sin", column // 2) for column in range(width))
        else:
            half = width // 2
            exponents = tuple(Fraction(m, max(half - 1, 1)) for m in range(half))
            columns = tuple((wave, m) for wave in ("sin", "cos") for m in range(half))
        return Waves(encoding.base, exponents, _floats(encoding.base, exponents), columns)
    if isinstance(encoding, Rope) and encoding.axes == 1 and not encoding.scaling.measured:
        if encoding.scaling.scheme is None:
            exponents = tuple(Fraction(2 * m, encoding.rotary) for m in range(encoding.rotary // 2))
            return Waves(encoding.theta, exponents, _floats(encoding.theta, exponents))
        return Waves(encoding.theta, None, tuple(encoding.frequencies()[0].tolist()))
    return None


@checked
def vectors(encoding: Encoding, coords: Tensor) -> Float[Tensor, "n w"]:
    """PE of places `[n]` or `[n, axes]`, float64: the definition, `Encoding.absolute`. OptionError for another form."""
    if form(encoding) != "vector":
        raise OptionError(
            "only an encoding that is added at the input has a vector for each position",
            given=type(encoding).__name__.lower(),
            allowed="sinusoidal, learned, seqpe in its additive form",
        )
    coords = coords[:, None] if coords.dim() == 1 else coords
    pos = Positions(coords.to(torch.float64)[None])
    encoding.check_positions(pos)
    with torch.no_grad():
        return copy.deepcopy(encoding).double().absolute(pos)[0]


@checked
def biases(encoding: Encoding, distances: Tensor, heads: int) -> Float[Tensor, "h n"]:
    """What is added to the logit of a query at each of `distances` p_i - p_j from its key, float64, by the definition.

    Of a causal pair the distance is not negative. OptionError for an encoding of another form.
    """
    if form(encoding) != "bias":
        raise OptionError(
            "only a bias without content is a number for each distance",
            given=type(encoding).__name__.lower(),
            allowed="alibi, t5, kerple, fire, sandwich, relative_bias",
        )
    q_pos = Positions(distances.to(torch.float64)[None, :, None])
    k_pos = Positions(torch.zeros(1, 1, 1, dtype=torch.float64))
    nothing = torch.zeros(1, heads, distances.shape[0], 1, dtype=torch.float64)
    with torch.no_grad():
        return copy.deepcopy(encoding).double().score(nothing, nothing[:, :, :1], q_pos, k_pos)[0, :, :, 0]


def _floats(base: float, exponents: tuple[Fraction, ...]) -> tuple[float, ...]:
    return tuple(base ** -float(e) for e in exponents)

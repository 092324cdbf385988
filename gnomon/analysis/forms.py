"""The form of an encoding, as mathematics asks about it: waves, vectors of positions, numbers of distances."""

import copy
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_size, coordinates
from gnomon.checked import checked
from gnomon.encoding import Encoding, Property, Site
from gnomon.encodings import ENCODINGS
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.positions import Positions

Form = Literal["vector", "rotation", "bias", "other"]
"""What a position is to attention: a vector added at the input, a turn of queries and keys, a number added to the logit
of a pair that depends on its distance, or something that reads content."""


FASTEST = 2.0**64
"""Radians a position: angles of faster waves are not formed exactly."""


@checked
@dataclass(frozen=True)
class Waves:
    """Frequencies w_m = base^(-e_m) on one axis, in radians a position, fastest first.

    exponents: e_m exactly, `pairs` of them; None where a scheme has changed the frequencies, which are floats then.
    columns:   ("sin" or "cos", m) of each dimension of the vector; empty for a rotation, which turns a pair by w_m p.
    OptionError where these do not belong together, or a frequency is no number from 0 to 2^64.
    """

    base: float
    exponents: tuple[Fraction, ...] | None
    frequencies: tuple[float, ...]
    columns: tuple[tuple[Literal["sin", "cos"], int], ...] = ()

    def __post_init__(self):
        for w in self.frequencies:
            if not 0 <= w <= FASTEST:
                raise OptionError("a frequency is in radians a position", given=w, allowed=f"0 to {FASTEST:g}")
        if self.exponents is not None and not _belong(self.base, self.exponents, self.frequencies):
            raise OptionError(
                "frequencies are the base to the exponents",
                given=f"base {self.base}, {len(self.exponents)} exponents, {len(self.frequencies)} frequencies",
                allowed="w_m = base^(-e_m) for each m",
                do="give no exponents (None) for frequencies that are floats",
            )
        if any(not 0 <= m < len(self.frequencies) for _, m in self.columns):
            raise OptionError("a dimension is of a wave", given=list(self.columns), allowed="waves that are there")

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
def name_of(encoding: Encoding) -> str:
    """What gnomon calls the encoding; the name of the class for one that does not come with it."""
    return next((name for name, kind in ENCODINGS.items() if type(encoding) is kind), type(encoding).__name__)


@checked
def waves(encoding: Encoding) -> Waves | None:
    """The waves that sinusoidal positions or RoPE on one axis are made of; None for what is not made of waves.

    None too for sinusoidal positions of another scale than 1, whose values are no sines: `scaled` says so.
    """
    if isinstance(encoding, Sinusoidal) and encoding.axes == 1 and scaled(encoding) is None:
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
def scaled(encoding: Encoding) -> str | None:
    """Why sinusoidal positions of another scale than 1 are not asked as waves, in a sentence; None of all others."""
    if not isinstance(encoding, Sinusoidal) or encoding.amplitude == 1:
        return None
    return f"Its values are {encoding.amplitude:g} times sines and cosines. Ask with scale=1: the waves are the same."


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
    coords = coordinates(coords, "places", 2)
    pos = Positions(coords[None])
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
    distances = coordinates(distances, "distances", 1)
    if not distances.numel():
        raise OptionError("a bias is asked at distances", given="none", allowed="one or more")
    check_size(heads, "heads of the attention")
    q_pos = Positions(distances[None, :, None])
    k_pos = Positions(torch.zeros(1, 1, 1, dtype=torch.float64))
    nothing = torch.zeros(1, heads, distances.shape[0], 1, dtype=torch.float64)
    with torch.no_grad():
        return copy.deepcopy(encoding).double().score(nothing, nothing[:, :, :1], q_pos, k_pos)[0, :, :, 0]


def _belong(base: float, exponents: tuple[Fraction, ...], frequencies: tuple[float, ...]) -> bool:
    if len(exponents) != len(frequencies) or base <= 0:
        return False
    pairs = zip(_floats(base, exponents), frequencies, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-300) for a, b in pairs)


def _floats(base: float, exponents: tuple[Fraction, ...]) -> tuple[float, ...]:
    return tuple(base ** -float(e) for e in exponents)

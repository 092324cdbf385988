"""How RoPE's frequencies change so that a model reads longer texts than it was trained on, and how logits grow."""

import math
from dataclasses import dataclass, fields
from typing import Literal

import torch
from torch import Tensor

from gnomon.encodings.frequencies import geometric
from gnomon.errors import OptionError
from gnomon.positions import Positions

Scheme = Literal["linear", "ntk", "dynamic", "yarn", "llama3", "longrope", "proportional"]

NEEDS: dict[str | None, tuple[str, ...]] = {
    None: (),
    "linear": ("factor",),
    "ntk": ("factor",),
    "dynamic": ("factor", "original_length"),
    "yarn": ("factor", "original_length"),
    "llama3": ("factor", "original_length"),
    "longrope": ("original_length", "short_factor", "long_factor"),
    "proportional": (),
}
"""What has to be said under each scheme."""

TAKES: dict[str | None, tuple[str, ...]] = {
    "dynamic": ("length",),
    "yarn": ("attention_factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow", "truncate"),
    "llama3": ("low_freq_factor", "high_freq_factor"),
    "longrope": ("factor", "attention_factor", "length"),
    "proportional": ("factor",),
}
"""What may be said besides."""


@dataclass(frozen=True)
class Scaling:
    """A scheme with its parameters; all of them are numbers, names or tuples of numbers.

    factor s: how many times longer texts are to be; original_length L: the length of those in training.
    length: the length that `dynamic` and `longrope` are to assume; None: they measure each document's own.
    """

    scheme: Scheme | None = None
    factor: float | None = None
    original_length: float | None = None
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    short_factor: tuple[float, ...] | None = None
    long_factor: tuple[float, ...] | None = None
    length: float | None = None

    def __post_init__(self):
        if self.scheme not in NEEDS:
            known = ", ".join(filter(None, NEEDS))
            raise OptionError("rope's frequencies are scaled by a scheme", given=self.scheme, allowed=known)
        self._is_said_in_full()
        for name in ("factor", "original_length", "beta_fast", "beta_slow", "attention_factor", "length"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise OptionError(f"{self.scheme}: `{name}` is a positive number", given=value)
        if self.original_length is not None and self.original_length < 2:
            raise OptionError(
                "training saw texts of two tokens or more", given=f"original_length={self.original_length}"
            )
        # Below 1 the ramps turn around, and dynamic's base falls under that of training.
        if self.factor is not None and self.factor < 1:
            raise OptionError(
                "scaling stretches: `factor` says how many times longer texts become",
                given=f"factor={self.factor}",
                allowed="1 or more",
            )
        if self.scheme == "yarn" and not self.beta_fast > self.beta_slow:
            raise OptionError(
                "yarn: fast pairs turn more often than slow ones",
                given=f"beta_fast={self.beta_fast}, beta_slow={self.beta_slow}",
                allowed="beta_fast above beta_slow",
            )
        if self.scheme == "yarn" and self.original_length <= 2 * math.pi * self.beta_slow:
            raise OptionError(
                f"yarn: within the original length no pair turns {self.beta_slow:g} times",
                given=f"original_length={self.original_length:g}",
                allowed=f"above {2 * math.pi * self.beta_slow:.4g}",
            )
        if self.scheme == "llama3" and not self.high_freq_factor > self.low_freq_factor > 0:
            raise OptionError(
                "llama3: high frequencies lie above low ones",
                given=f"low_freq_factor={self.low_freq_factor}, high_freq_factor={self.high_freq_factor}",
                allowed="0 < low_freq_factor < high_freq_factor",
            )
        if self.scheme == "longrope" and self.factor is None and self.attention_factor is None:
            raise OptionError(
                "longrope: how much logits grow follows from one of two numbers",
                given="neither factor nor attention_factor",
                do="give factor = longest length / original_length (131072 / 4096 in Phi-3), or attention_factor",
            )

    def _is_said_in_full(self) -> None:
        """OptionError for a parameter that is missing, or that this scheme has no use for."""
        needs, takes = NEEDS[self.scheme], TAKES.get(self.scheme, ())
        missing = [name for name in needs if getattr(self, name) is None]
        if missing:
            raise OptionError(
                f"scaling={self.scheme!r} needs more options",
                given="without " + ", ".join(missing),
                allowed=", ".join(needs),
            )
        for field in fields(self)[1:]:
            if field.name not in (*needs, *takes) and getattr(self, field.name) != field.default:
                users = [s for s in NEEDS if s and field.name in (*NEEDS[s], *TAKES.get(s, ()))]
                raise OptionError(
                    f"`{field.name}` has no meaning under scaling={self.scheme!r}",
                    given=f"{field.name}={getattr(self, field.name)}",
                    allowed=f"with scaling={', '.join(users)}",
                    do="leave it out, or say which scheme it belongs to",
                )

    def check_width(self, width: int) -> None:
        """OptionError unless the scheme can scale the width / 2 frequencies of one axis."""
        if self.scheme in ("ntk", "dynamic") and width < 4:
            raise OptionError(
                f"{self.scheme} leaves the fastest pair alone and slows the slowest: it needs two",
                given=f"{width} rotated dimensions on each axis",
                allowed="4 or more",
            )
        for name in ("short_factor", "long_factor"):
            value = getattr(self, name)
            if value is not None and (len(value) != width // 2 or min(value) <= 0):
                raise OptionError(
                    f"longrope: `{name}` has one positive number for each pair of an axis",
                    given=f"{len(value)} numbers from {min(value, default=0):g}",
                    allowed=f"{width // 2} numbers",
                )

    @property
    def measured(self) -> bool:
        """Whether frequencies depend on how long a document is found to be."""
        return self.scheme in ("dynamic", "longrope") and self.length is None

    @property
    def attention(self) -> float:
        """What multiplies rotated queries and keys, each: logits of the rotated part grow by its square."""
        if self.attention_factor is not None:
            return self.attention_factor
        s = 1.0 if self.factor is None else self.factor
        if self.scheme == "yarn":
            if self.mscale and self.mscale_all_dim:
                return _mscale(s, self.mscale) / _mscale(s, self.mscale_all_dim)
            return _mscale(s, 1.0)
        if self.scheme == "longrope":
            return math.sqrt(1 + math.log(s) / math.log(self.original_length))
        return 1.0

    def row(self, width: int, theta: float, length: Tensor | None, device: torch.device | None = None) -> Tensor:
        """The frequencies of `width` / 2 pairs, `[width/2]` float64, or `[*length.shape, width/2]` where measured."""
        pairs = width // 2
        plain = geometric(pairs, theta, 1 / pairs, device)
        if self.scheme == "ntk":
            return geometric(pairs, theta * self.factor ** (width / (width - 2)), 1 / pairs, device)
        if self.scheme == "yarn":
            low, high = self.correction(width, theta)
            slow = ((torch.arange(pairs, dtype=torch.float64, device=device) - low) / (high - low)).clamp(0, 1)
            return plain * (1 - slow) + plain / self.factor * slow
        if self.scheme == "llama3":
            return self._llama3(plain)
        if self.scheme in ("dynamic", "longrope"):
            if length is None:
                length = torch.tensor(self.length or 1.0, dtype=torch.float64, device=device)
            return (
                self._dynamic(pairs, theta, length[..., None])
                if self.scheme == "dynamic"
                else self._long(plain, length)
            )
        return plain if self.factor is None else plain / self.factor

    def correction(self, width: int, theta: float) -> tuple[float, float]:
        """YaRN's ramp runs between these two indices of pairs: from those that keep their frequency to those slowed."""
        low, high = (
            width * math.log(self.original_length / (2 * math.pi * turns)) / (2 * math.log(theta))
            for turns in (self.beta_fast, self.beta_slow)
        )
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        # As released: the upper end is clamped to the width, though pairs end at half of it.
        low, high = max(low, 0), min(high, width - 1)
        return low, high + 1e-3 if low == high else high

    def _llama3(self, plain: Tensor) -> Tensor:
        wavelength, length = 2 * math.pi / plain, self.original_length
        part = (length / wavelength - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)
        between = torch.lerp(plain / self.factor, plain, part)
        kept = torch.where(wavelength < length / self.high_freq_factor, plain, between)
        return torch.where(wavelength > length / self.low_freq_factor, plain / self.factor, kept)

    def _dynamic(self, pairs: int, theta: float, length: Tensor) -> Tensor:
        times = self.factor * length.clamp(min=self.original_length) / self.original_length - (self.factor - 1)
        exponent = torch.arange(pairs, dtype=torch.float64, device=length.device) / pairs
        return (theta * times ** (pairs / (pairs - 1))) ** -exponent

    def _long(self, plain: Tensor, length: Tensor) -> Tensor:
        short, long = (plain / plain.new_tensor(factor) for factor in (self.short_factor, self.long_factor))
        return torch.where((length > self.original_length)[..., None], long, short)

    def regime(self, length: Tensor) -> Tensor:
        """Lengths of one regime have the same frequencies."""
        return length.clamp(min=self.original_length) if self.scheme == "dynamic" else length > self.original_length


def _mscale(s: float, a: float) -> float:
    return 1.0 if s <= 1 else 0.1 * a * math.log(s) + 1.0


def document_length(pos: Positions, context: Positions) -> Tensor:
    """1 + the farthest position, on any axis, of `context` in each token's document: `[rows, n or 1]` float64."""
    place = context.anchored().amax(-1)
    if context.segment is None and pos.segment is None:
        return (
            torch.cat([torch.zeros_like(place[:, :1]), place], 1).amax(1, keepdim=True) + 1
            if place.shape[1]
            else (place.new_ones(place.shape[0], 1))
        )
    rows = max(pos.rows, context.rows)
    segment, wanted = (p.segments().expand(rows, -1) for p in (context, pos))
    if not place.shape[1]:
        return place.new_ones(wanted.shape)
    # In order of documents, and of places within each: the last token of a document is its farthest.
    place, order = place.expand(rows, -1).sort(dim=1)
    segment, order = segment.gather(1, order).sort(dim=1, stable=True)
    place = place.gather(1, order)
    last = (torch.searchsorted(segment, wanted.contiguous(), right=True) - 1).clamp(min=0)
    return torch.where(segment.gather(1, last) == wanted, place.gather(1, last).clamp(min=0.0), 0.0) + 1

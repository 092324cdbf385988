"""Families: which functions of the distance alone an encoding can make, in words and as columns whose sums they are."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import real
from gnomon.analysis.forms import form, scaled, waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings import ENCODINGS
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.buckets import deberta_bucket, t5_bucket
from gnomon.encodings.chain import Chain
from gnomon.encodings.cope import Cope
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.fire import Fire
from gnomon.encodings.kerple import LEAST, Kerple
from gnomon.encodings.learned import Learned
from gnomon.encodings.none import NoPE
from gnomon.encodings.relative_bias import RelativeBias
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.sandwich import Sandwich
from gnomon.encodings.seqpe import SeqPE
from gnomon.encodings.shaw import Shaw
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.encodings.transformer_xl import BASE, TransformerXL
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError

FITTED = (
    "none", "learned", "sinusoidal", "shaw", "transformer_xl", "t5", "deberta", "rope", "rope_mixed", "alibi",
    "kerple", "sandwich", "xpos", "relative_bias",
)  # fmt: skip
"""Encodings whose families are known, those of several axes on a line."""


@checked
def family(encoding: Encoding) -> str | None:
    """What functions of the distance k an encoding can add to a logit whatever the content, in words; None: not asked.

    A constant is always free, since a softmax does not see it.
    """
    if isinstance(encoding, RopeMixed) and encoding.axes == 1:
        return "sum_m a_m cos(w_m k) + b_m sin(w_m k), q and k constant vectors, w_m as they stand"
    if isinstance(encoding, Rope) and waves(encoding) is not None:
        return "sum_m a_m cos(w_m k) + b_m sin(w_m k), q and k constant vectors: any a_m, b_m"
    if isinstance(encoding, XPos):
        return "sum_m zeta_m^(k/S) (a_m cos(w_m k) + b_m sin(w_m k)), q and k constant vectors"
    if isinstance(encoding, Sinusoidal) and waves(encoding) is not None:
        return (
            "PE_i^T M PE_j where it depends on i - j alone: sum_m a_m cos(w_m k) + b_m sin(w_m k); a head of width d "
            "has d/2 of these pairs at once, all heads together have them all"
        )
    if isinstance(encoding, TransformerXL):
        return "v^T W r(k) = sum_m a_m cos(w_m k) + b_m sin(w_m k), in every head"
    if isinstance(encoding, Learned) and encoding.axes == 1 and encoding.beyond != "interpolate":
        return (
            "PE_i^T M PE_j, a matrix of any numbers for as many rows as the width, each of which has to be trained; a "
            "head of width d has a part of rank d, all heads together have it all"
        )
    if isinstance(encoding, T5):
        return "one number a bucket of distances"
    if isinstance(encoding, RelativeBias) and encoding.axes == 1:
        return f"one number a distance, one for all from {encoding.limits[0]} on"
    if isinstance(encoding, Shaw):
        last = "one for all from there on" if encoding.form == "shaw" else "none beyond"
        return f"q constant: one number a distance up to {encoding.left}, {last}"
    if isinstance(encoding, Deberta):
        return f"q and k constant: one number a row of {encoding.size} distances or buckets, one for all beyond"
    if isinstance(encoding, Kerple):
        return (
            f"-p ln(1 + a k), a and p from {LEAST} on"
            if encoding.kernel == "log"
            else f"-a k^p, a from {LEAST}, p to 2"
        )
    if isinstance(encoding, NoPE):
        return "a constant"
    if isinstance(encoding, Alibi):
        return "-m k, m the slope of one of its heads"
    if isinstance(encoding, Sandwich):
        return "the bias of one of its heads"
    if not isinstance(encoding, tuple(ENCODINGS.values())) and form(encoding) == "bias":
        return "the bias of one of its heads, as it stands"
    return None


@checked
def basis(encoding: Encoding, lags: Float[Tensor, " n"]) -> Float[Tensor, "n r"] | None:
    """Functions of distance whose sums are what an encoding can make, the constant among these sums: `[n, r]` float64.

    None where its family is not linear (kerple, and those whose heads have no free number); nan at a lag that the
    encoding does not have. OptionError for an encoding whose family is not asked for.
    """
    real(lags, "lags", 1)
    if family(encoding) is None:
        raise OptionError(
            "this encoding has no family of functions of the distance alone that could be fitted",
            given=type(encoding).__name__.lower(),
            allowed=", ".join(FITTED),
            do=why_none(encoding),
        )
    k = lags.to(torch.float64)
    one = torch.ones_like(k)[:, None]
    if isinstance(encoding, NoPE):
        return one
    if isinstance(encoding, Sinusoidal | Rope):
        found = waves(encoding)
        # A sine without its cosine makes no function of the distance alone.
        w = torch.tensor([found.frequencies[m] for m in found.whole_pairs], dtype=torch.float64)
        return torch.cat([one, *_pairs(k, w)], dim=1)
    if isinstance(encoding, RopeMixed):
        w = encoding.weight.detach().double()[:, 0]
        return torch.cat([one, *_pairs(k, w.flatten().unique())], dim=1)
    if isinstance(encoding, TransformerXL):
        if encoding.clamp_len is not None:
            k = k.clamp(-encoding.clamp_len, encoding.clamp_len)
        exponents = torch.arange(encoding.width // 2, dtype=torch.float64) * (2 / encoding.width)
        return torch.cat([one, *_pairs(k, BASE**-exponents)], dim=1)
    if isinstance(encoding, XPos):
        m = torch.arange(encoding.head_dim // 2, dtype=torch.float64) * (2 / encoding.head_dim)
        fade = ((m + encoding.gamma) / (1 + encoding.gamma)) ** (k[:, None] / encoding.scale_base)
        within = (k < encoding.longest)[:, None]
        waved = [torch.where(within, fade * part, math.nan) for part in _pairs(k, encoding.theta**-m)]
        return torch.cat([one, *waved], dim=1)
    rows = _rows(encoding, k)
    if rows is None:
        return None
    ends = (k >= reach(encoding))[:, None]
    return _indicators(rows).masked_fill(ends, math.nan)


@checked
def reach(encoding: Encoding) -> float:
    """How many lags an encoding has, from 0 on; infinity where it has no end."""
    if isinstance(encoding, Learned):
        return min(encoding.max_positions, encoding.width)
    return encoding.domain.highest + 1


@checked
def why_none(encoding: Encoding) -> str:
    """Why `family` knows none of an encoding, in a sentence."""
    if (encoding.domain.axes or 1) > 1:
        return "On several axes there is no one distance: ask for its form on a line."
    if (why := scaled(encoding)) is not None:
        return why
    if isinstance(encoding, Fire | SeqPE | Chain):
        return "A network stands between distance and logit: large enough it makes any function, so a fit says nothing."
    if isinstance(encoding, Cope):
        return "Its distances are counted by content, so no function of the distance is its own."
    if isinstance(encoding, Learned):
        return "Between the rows of a stretched table positions are mixed, so a logit is no function of the distance."
    if isinstance(encoding, Rope):
        return f"Under {encoding.scaling.scheme} scaling its waves depend on how long each text is: fix `length`."
    return "What it can make of a distance alone is not known."


def _pairs(k: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    angle = k[:, None] * w
    return angle.cos(), angle.sin()


def _rows(encoding: Encoding, k: Tensor) -> Tensor | None:
    """The row of a table that each distance has, `[n]` int64, or None."""
    if isinstance(encoding, T5):
        return t5_bucket(-k, causal=encoding.causal, buckets=encoding.buckets, max_distance=encoding.max_distance)
    if isinstance(encoding, RelativeBias):
        return k.clamp(max=encoding.limits[0]).to(torch.int64)
    if isinstance(encoding, Shaw):
        return (k.clamp(max=encoding.left) if encoding.form == "shaw" else k).to(torch.int64)
    if isinstance(encoding, Deberta):
        steps = k.to(torch.int64)
        if encoding.buckets is not None:
            steps = deberta_bucket(steps, buckets=encoding.buckets, max_distance=encoding.span)
        return steps.clamp(max=encoding.size - 1)
    if isinstance(encoding, Learned):
        return k.to(torch.int64)
    return None


def _indicators(rows: Tensor) -> Tensor:
    """A column for each row that occurs. They add up to the constant, which needs no column of its own."""
    return torch.nn.functional.one_hot(rows.unique(return_inverse=True)[1]).to(torch.float64)

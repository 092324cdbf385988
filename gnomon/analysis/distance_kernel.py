"""What two tokens k apart are to each other by position alone: PE_p . PE_{p+k}, rope's expected logit, the bias."""

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_size, real
from gnomon.analysis.cosine_sums import cosine_sum
from gnomon.analysis.forms import biases, form, waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError
from gnomon.positions import Positions


@checked
def kernel(encoding: Encoding, lags: Float[Tensor, " n"], heads: int = 1) -> Float[Tensor, "h n"]:
    """What position alone gives a pair at each of `lags` k = p_i - p_j >= 0, `[h, n]` float64, a row for each head.

    sinusoidal: the mean over p of PE_p . PE_{p+k} = sum_m cos(w_m k); it is the same at every p where pairs are whole.
    rope, xpos, rope_mixed on a line: E <R(p) q, R(p + k) q> / |q|^2 over directions of q, the share of a logit that is
    left where query and key agree. Where they are independent it is 0 at every k.
    A bias: itself, of which `heads` rows are read where the encoding does not know its own number of heads.
    OptionError for an encoding of another kind.
    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.4.3.
    """
    if not real(lags, "lags", 1).numel():
        raise OptionError("a kernel is asked at lags", given="none", allowed="one or more")
    check_size(heads, "heads of the attention")
    lags, found = lags.to(torch.float64), waves(encoding)
    if found is not None:
        return _scaled(encoding, cosine_sum(found, lags))[None]
    if form(encoding) == "bias" and encoding.domain.axes in (None, 1):
        return biases(encoding, lags, encoding.heads or heads)
    if isinstance(encoding, XPos | RopeMixed) and encoding.domain.axes in (None, 1):
        encoding.check_positions(Positions(lags[None, :, None]))
        # Of q = k = (1, 1, ..., 1) every pair has the same length, as the pairs of all directions have on average.
        d = encoding.head_dim
        return logits(encoding, lags[:, None], torch.ones(d, dtype=torch.float64)) / (encoding.scale(d) * d)
    raise OptionError(
        "an encoding has a kernel of distance if it is made of waves on a line, or adds a bias without content",
        given=type(encoding).__name__.lower(),
        allowed="sinusoidal, rope, xpos, rope_mixed on one axis; alibi, t5, kerple, sandwich, relative_bias",
        do="for a table of vectors use gnomon.analysis.distance_kernel.gram",
    )


@checked
def logits(encoding: Encoding, apart: Float[Tensor, "n a"], q: Float[Tensor, " d"]) -> Float[Tensor, "h n"]:
    """Logits of the definition, `[h, n]`, of a query q `[d]` at each of `apart` `[n, a]` from a key that equals it."""
    if not real(apart, "places", 2).numel() or not real(q, "a query", 1).numel():
        raise OptionError(
            "logits of a query at places", given=[list(apart.shape), list(q.shape)], allowed="[n, a], [d]"
        )
    heads, n = encoding.heads or 1, apart.shape[0]
    q_pos, k_pos = Positions(apart[None]), Positions(torch.zeros(1, 1, apart.shape[1], dtype=torch.float64))
    wide = q.expand(1, heads, n, q.shape[0])
    with torch.no_grad():
        return encoding.score(wide, wide[:, :, :1], q_pos, k_pos)[0, :, :, 0]


@checked
def envelope(values: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The largest of all values from each lag on, `[n]`: the running maximum from the right."""
    real(values, "values", 1)
    return values.flip(0).cummax(0).values.flip(0)


@checked
def gram(vectors: Float[Tensor, "n w"]) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """The mean and the standard deviation over p of PE_p . PE_{p+k}, k = 0 .. n - 1: `[n]` each, from `[n, w]`."""
    real(vectors, "vectors", 2)
    vectors = vectors.to(torch.float64)
    n = vectors.shape[0]
    if not 1 <= n <= 16384:
        raise OptionError("a table of positions has rows", given=list(vectors.shape), allowed="[n, w], n 1 to 16384")
    products, counts = vectors @ vectors.T, torch.arange(n, 0, -1, dtype=torch.float64)
    # Row p shifted left by p: its column k is the product of p with p + k.
    lag = torch.arange(n)
    place = lag[:, None] + lag
    inside = place < n
    shifted = products.gather(1, place.clamp(max=n - 1)).where(inside, 0.0)
    mean = shifted.sum(0) / counts
    spread = ((shifted - mean).where(inside, 0.0).square().sum(0) / counts).sqrt()
    return mean, spread


def _scaled(encoding: Encoding, cosines: Tensor) -> Tensor:
    """The sum of cosines as a sinusoid's product, or as the mean over all pairs of a head, turned or not."""
    if not isinstance(encoding, Rope):
        return cosines
    still = (encoding.head_dim - encoding.rotary) / 2
    return (encoding.scaling.attention**2 * cosines + still) / (encoding.head_dim / 2)

"""Sandwich: the inner product of two sinusoidal encodings as a bias, without parameters."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, both_placed, difference, dot
from gnomon.encodings.frequencies import among, geometric
from gnomon.errors import OptionError
from gnomon.pairs import Dense, PairFunction, at
from gnomon.per_head import PerHead
from gnomon.positions import Positions
from gnomon.room import Room

BASE = 10000.0


@checked
class Sandwich(Encoding):
    """Sandwich: the position part of sinusoidal encodings' inner product, squeezed by head.

    logit_ij = <q_i, k_j> / sqrt(d) + ( sum_{n=1}^{w/2} cos((p_i - p_j) 10000^{-2n/w}) - w/2 ) / (8 h / H),  h = 1 .. H

    with w = `size` (the paper's d-bar), 128. The sum is <s(p_i), s(p_j)> of sinusoids of width w, so the bias falls as
    a logarithm does and wavers far off; it is 0 at distance 0 and nowhere above, which keeps it safe in 16 bits.
    Without a causal mask it is the same: the cosine is even.

    Shapes: no tables. Positions: any real numbers on one axis. Cost: no parameters; w/2 sines for each difference
    where positions are evenly spaced (i + j - 1 of them, once per forward pass), for each pair elsewhere.
    Differs: frequencies begin at n = 1, as in the paper and in NeMo; a sinusoidal encoding begins at n = 0,
    which `first=0` gives. The paper adds no constant; like NeMo we take w/2 off, which no softmax sees.
    Errors: OptionError for a size that is not even and positive, or another first exponent than 0 or 1.
    Use: as a bias without parameters that is smooth near by and levels off far away.
    Fails: it levels off: beyond some hundred tokens all distances look alike, and its waves let some far tokens
    count more than nearer ones.
    Source: Chi et al. 2023, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis",
    section 6; the division by 8 h / H as NeMo has it.
    """

    bibtex = """@inproceedings{chi2023dissecting,
  title = {Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis},
  author = {Chi, Ta-Chung and Fan, Ting-Han and Rudnicky, Alexander I. and Ramadge, Peter J.},
  booktitle = {Annual Meeting of the Association for Computational Linguistics},
  year = {2023},
  eprint = {2212.10356},
  archivePrefix = {arXiv}
}"""

    variants = ({"size": 6, "first": 0},)
    domain = Domain()

    def __init__(self, heads: int, size: int = 128, first: int = 1):
        super().__init__()
        if heads < 1:
            raise OptionError("Sandwich needs heads", given=heads, allowed="1 or more")
        if size < 2 or size % 2:
            raise OptionError(
                "Sandwich sums cosines of an even width", given=f"size={size}", allowed="2, 4, 6, ...", do="try 128"
            )
        if first not in (0, 1):
            raise OptionError(
                "Sandwich's exponents begin at one of two numbers", given=f"first={first}", allowed="1 (paper), 0"
            )
        self.heads, self.size, self.first = heads, size, first

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        p_i_minus_p_j = difference(q_pos, k_pos)[..., 0]
        total = torch.zeros_like(p_i_minus_p_j)
        for n in range(self.first, self.first + self.size // 2):
            total = total + torch.cos(p_i_minus_p_j * BASE ** (-2 * n / self.size))
        heads = torch.arange(1, self.heads + 1, dtype=torch.float64, device=total.device)[:, None, None]
        bias = torch.where(both_placed(q_pos, k_pos), (total - self.size / 2) / (8 * heads / self.heads), 0.0)
        return self.scale(q.shape[-1]) * dot(q, k) + bias.to(q.dtype)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        first = BASE ** (-2 * self.first / self.size)
        frequencies = first * geometric(self.size // 2, BASE, 2 / self.size, q_pos.coords.device)
        waves = _Waves(among(q_pos), among(k_pos), frequencies, q.dtype)
        return PerHead(waves, lambda x, h: x * (self.heads / 8) / (h + 1), self.heads, frequencies.device)


@dataclass(frozen=True)
class _Waves(Dense):
    """The sum of cosines, less as many ones: for pairs one by one, and as a product of all with all."""

    q_at: Float[Tensor, "rows i"]
    k_at: Float[Tensor, "rows j"]
    frequencies: Float[Tensor, " n"]
    dtype: torch.dtype

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        # cos x - 1 = -2 sin^2(x / 2): nothing cancels where tokens are close.
        half = (at(self.q_at, b, i) - at(self.k_at, b, j)) / 2
        squares = torch.sin(half * self.frequencies[0]) ** 2
        for n in range(1, self.frequencies.shape[0]):
            squares = squares + torch.sin(half * self.frequencies[n]) ** 2
        return -2 * squares.to(self.dtype)

    def pointwise(self) -> PairFunction:
        return self.__call__

    def part(self, queries: slice, keys: slice) -> "_Waves":
        return replace(self, q_at=self.q_at[:, queries], k_at=self.k_at[:, keys])

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        # cos(w (x - y)) = <(cos wx, sin wx), (cos wy, sin wy)>, x and y counted from one place, so that w x is small.
        origin = self.q_at[:, :1] if queries else 0.0
        q, k = (self._waves(places - origin) for places in (self.q_at, self.k_at))
        # In float64 up to here: where tokens are close, the sum is nearly the number of its terms.
        return (q @ k.mT - self.frequencies.shape[0]).to(self.dtype)[:, None]

    def of_heads(self, heads: slice) -> "_Waves":
        return self

    def _waves(self, places: Tensor) -> Tensor:
        angle = places[..., None] * self.frequencies
        return torch.cat([angle.cos(), angle.sin()], dim=-1)

"""xPos: rotary positions whose product also fades with the distance, faster in pairs that turn faster."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, difference
from gnomon.encodings.frequencies import angles, block_diagonal, geometric
from gnomon.encodings.rotation import Pairing, check_pairing, turn
from gnomon.errors import OptionError
from gnomon.positions import FURTHEST, Positions

FLOAT32, FLOAT16 = 80.0, 8.0
"""The largest exponents of e that a factor may have: float32 ends at 88, float16 at 11, and queries exceed 1."""


@checked
class XPos(Encoding):
    """Extrapolatable position embedding (xPos): RoPE with an exponential decay of each pair.

    logit_ij = Re sum_m q_im conj(k_jm) zeta_m^{(p_i - p_j) / S} e^{i w_m (p_i - p_j)} / sqrt(d)

    with w_m = theta^{-2m/d}, zeta_m = (2m/d + gamma) / (1 + gamma) and S = `scale_base`. A pair is (x_2m, x_{2m+1})
    under `interleaved` (as published) and (x_m, x_{m + d/2}) under `half`.

    Shapes: cos and sin `[rows, 1, n, d/2]`, one pair of tables for queries and one for keys. Positions: real numbers
    from 0 to `longest` - 1 on one axis; a token without a place is left alone. Cost: as RoPE.
    Range: queries are multiplied by zeta_m^{(p - c) / S} and keys by zeta_m^{-(p - c) / S}, c = (longest - 1) / 2: one
    constant for all that ever meet, cached or not. With gamma 0.4 and S 512 that is refused past a `longest` of 6500 in
    float16, where factors end at 9064, and past 65,000 in any precision.
    It takes a causal mask alone, since to the right of the diagonal the factor explodes.
    Errors: PositionError outside 0 .. longest - 1; OptionError for a mask that shows later tokens, or a range that
    float16 cannot hold.
    Differs: published code takes c as half the current length, which is right only where all keys are made anew at
    each step. Fractional distances are as good as whole ones.
    Use: where rope should forget: far pairs are damped by a factor for each frequency, which softens what happens
    past the training length.
    Fails: only with a causal mask, and only inside its range: queries shrink as keys grow, and beyond it they leave
    the numbers of a float. Damping does not bring distances into range that training has never had.
    Source: Sun et al. 2022, "A Length-Extrapolatable Transformer", section 2.
    """

    bibtex = """@inproceedings{sun2023xpos,
  title = {A Length-Extrapolatable Transformer},
  author = {Sun, Yutao and Dong, Li and Patra, Barun and Ma, Shuming and Huang, Shaohan and Benhaim, Alon and
            Chaudhary, Vishrav and Song, Xia and Wei, Furu},
  booktitle = {ACL},
  year = {2023},
  eprint = {2212.10554},
  archivePrefix = {arXiv}
}"""

    causal = True
    variants = ({"pairing": "half"}, {"scale_base": 64.0, "gamma": 0.3, "theta": 100.0, "longest": 512})

    def __init__(
        self,
        head_dim: int,
        theta: float = 10000.0,
        pairing: Pairing = "interleaved",
        scale_base: float = 512.0,
        gamma: float = 0.4,
        longest: int = 4096,
    ):
        super().__init__()
        check_pairing(pairing, "xpos")
        if head_dim < 2 or head_dim % 2:
            raise OptionError("xpos turns pairs of dimensions", given=f"head_dim={head_dim}", allowed="an even number")
        if not (1 < theta < math.inf and 0 < scale_base < math.inf and 0 < gamma < math.inf):
            raise OptionError(
                "xpos needs a base above 1, and a positive decay",
                given=f"theta={theta}, scale_base={scale_base}, gamma={gamma}",
                allowed="theta > 1, scale_base > 0, gamma > 0",
            )
        furthest = _furthest(FLOAT32, scale_base, gamma)
        if not 1 <= longest <= furthest:
            raise OptionError(
                "xpos multiplies by powers that float32 has to hold",
                given=f"longest={longest}",
                allowed=f"1 to {furthest} with scale_base={scale_base:g} and gamma={gamma:g}",
                do="raise scale_base for a slower decay, or use rope or alibi, which have no end",
            )
        self.head_dim, self.pairing, self.theta = head_dim, pairing, float(theta)
        self.scale_base, self.gamma, self.longest = float(scale_base), float(gamma), longest

    @property
    def domain(self) -> Domain:
        return Domain(0, self.longest - 1)

    @property
    def beyond_domain(self) -> str:
        return "give a larger `longest`, or an encoding without bounds: rope, alibi"

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        d, apart, logit = q.shape[-1], difference(q_pos, k_pos)[..., 0], 0.0
        # A token without a place stands at the middle, where nothing grows or fades.
        placed_q, placed_k = q_pos.has_place()[:, None, :, None], k_pos.has_place()[:, None, None, :]
        middle = (self.longest - 1) / 2
        fade = (
            torch.where(placed_q, q_pos.anchored()[:, None, :, None, 0] - middle, 0.0)
            - torch.where(placed_k, k_pos.anchored()[:, None, None, :, 0] - middle, 0.0)
        )  # fmt: skip
        for m in range(d // 2):
            first, second = (m, m + d // 2) if self.pairing == "half" else (2 * m, 2 * m + 1)
            zeta = (2 * m / d + self.gamma) / (1 + self.gamma)
            turn = torch.polar(zeta ** (fade / self.scale_base), self.theta ** (-2 * m / d) * apart)
            q_m = torch.complex(q[..., first], q[..., second])[..., :, None]
            k_m = torch.complex(k[..., first], k[..., second])[..., None, :]
            logit = logit + (q_m * k_m.conj() * turn).real.to(q.dtype)
        return self.scale(d) * logit

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """cos and sin for queries, then for keys."""
        pairs, device = self.head_dim // 2, pos.coords.device
        angle = angles(pos.anchored(), block_diagonal([geometric(pairs, self.theta, 1 / pairs, device)]))
        share = torch.arange(pairs, dtype=torch.float64, device=device) / pairs
        decay = torch.log1p((share - 1) / (1 + self.gamma)) / self.scale_base
        power = pos.only_placed((pos.anchored() - (self.longest - 1) / 2) * decay)
        cos, sin, grown = angle.cos(), angle.sin(), power.exp()
        return tuple(table[:, None].to(dtype) for table in (cos * grown, sin * grown, cos / grown, sin / grown))

    def query(self, q: Float[Tensor, "b h i d"], prepared: tuple[Tensor, ...]) -> Float[Tensor, "b h i wide"]:
        self._holds(q.dtype)
        return turn(q, *prepared[:2], self.pairing)

    def key(self, k: Float[Tensor, "b g j d"], prepared: tuple[Tensor, ...]) -> Float[Tensor, "b g j wide"]:
        self._holds(k.dtype)
        return turn(k, *prepared[2:], self.pairing)

    def _holds(self, dtype: torch.dtype) -> None:
        """OptionError where keys at the end of the range would be infinite in float16."""
        furthest = _furthest(FLOAT16, self.scale_base, self.gamma)
        if dtype == torch.float16 and self.longest > furthest:
            raise OptionError(
                "xpos multiplies by powers that float16 has to hold",
                given=f"longest={self.longest}",
                allowed=f"1 to {furthest} with scale_base={self.scale_base:g} and gamma={self.gamma:g}",
                do="use bfloat16 or float32, or raise scale_base for a slower decay",
            )


def _furthest(exponent: float, scale_base: float, gamma: float) -> int:
    """The largest range whose factors, at either end of it, are at most `e^exponent`."""
    return math.floor(min(1 + 2 * exponent * scale_base / math.log1p(1 / gamma), FURTHEST))

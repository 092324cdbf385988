"""Rotary positions: queries and keys are turned by their position, so their product sees the difference."""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.encoding import Domain, Encoding, difference, dot
from gnomon.encodings.frequencies import angles, block_diagonal, geometric
from gnomon.errors import OptionError
from gnomon.positions import Positions

Pairing = Literal["half", "interleaved"]


class Rope(Encoding):
    """Rotary position embedding (RoPE).

    logit_ij = <R(p_i) q_i, R(p_j) k_j> / sqrt(d) = Re sum_m q_im conj(k_jm) e^{i w_m (p_i - p_j)} / sqrt(d)

    with w_m = theta^{-2m/r} for the pairs m = 0 .. r/2 - 1 of the first r = `fraction` d dimensions. A pair is
    (x_m, x_{m + r/2}) under `half` (NeoX, Llama in transformers) and (x_2m, x_{2m+1}) under `interleaved` (RoFormer,
    GPT-J, Meta's Llama); a permutation of the projections' rows turns one into the other. On several axes the pairs
    are shared out in equal blocks, one for each coordinate, each with frequencies theta^{-2m axes/r} (axial).

    Shapes: cos and sin `[rows, 1, n, r/2]`. Positions: any real numbers, `axes` of them; a token without a place is
    not rotated. Cost: no parameters; four multiplications for each pair of dimensions and token, in every layer.
    Precision: angles are formed in float64 and only their sines and cosines are cast, so that a shift of 10^7 moves a
    float32 logit by rounding alone; 16-bit queries and keys are multiplied in float32.
    Errors: OptionError where r is not a whole number of pairs on each axis.
    Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.
    """

    bibtex = """@article{su2021roformer,
  title = {RoFormer: Enhanced Transformer with Rotary Position Embedding},
  author = {Su, Jianlin and Lu, Yu and Pan, Shengfeng and Murtadha, Ahmed and Wen, Bo and Liu, Yunfeng},
  journal = {Neurocomputing},
  volume = {568},
  year = {2024},
  eprint = {2104.09864},
  archivePrefix = {arXiv}
}"""

    variants = (
        {"pairing": "interleaved"},
        {"fraction": 0.5, "theta": 100.0},
        {"axes": 2},
        {"axes": 2, "pairing": "interleaved", "fraction": 0.5},
    )

    def __init__(
        self, head_dim: int, theta: float = 10000.0, pairing: Pairing = "half", fraction: float = 1.0, axes: int = 1
    ):
        super().__init__()
        if pairing not in get_args(Pairing):
            raise OptionError(
                "rope pairs dimensions in one of two ways", given=pairing, allowed=", ".join(get_args(Pairing))
            )
        if not 1 < theta < math.inf:
            raise OptionError("rope's base must exceed 1", given=f"theta={theta}", allowed="above 1", do="try 10000")
        if axes < 1 or not 0 < fraction <= 1:
            raise OptionError(
                "rope rotates a fraction of the head on one axis or more",
                given=f"fraction={fraction}, axes={axes}",
                allowed="0 < fraction <= 1, axes >= 1",
            )
        rotary = math.floor(head_dim * fraction + 1e-9)
        if rotary < 2 * axes or rotary % (2 * axes):
            raise OptionError(
                "rope rotates pairs of dimensions, as many on each axis",
                given=f"{rotary} of {head_dim} dimensions, {axes} axes",
                allowed=f"a multiple of {2 * axes}",
                do=f"choose head_dim * fraction = {math.ceil(max(rotary, 1) / (2 * axes)) * 2 * axes}",
            )
        self.head_dim = head_dim
        self.rotary, self.theta, self.pairing, self.axes = rotary, float(theta), pairing, axes

    @property
    def domain(self) -> Domain:
        return Domain(axes=self.axes)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        r, apart = self.rotary, difference(q_pos, k_pos)
        each = r // (2 * self.axes)
        logit = dot(q[..., r:], k[..., r:])
        for m in range(r // 2):
            first, second = (m, m + r // 2) if self.pairing == "half" else (2 * m, 2 * m + 1)
            frequency = self.theta ** (-(m % each) / each)
            angle = frequency * apart[..., m // each]
            q_m = torch.complex(q[..., first], q[..., second])[..., :, None]
            k_m = torch.complex(k[..., first], k[..., second])[..., None, :]
            logit = logit + (q_m * k_m.conj() * torch.polar(torch.ones_like(angle), angle)).real.to(q.dtype)
        return self.scale(q.shape[-1]) * logit

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        angle = angles(pos.anchored(), self.frequencies(pos.coords.device))[:, None]
        return angle.cos().to(dtype), angle.sin().to(dtype)

    def frequencies(self, device: torch.device | None = None) -> Tensor:
        """W `[axes, r/2]` float64: the angle of a token is its coordinates times W."""
        each = self.rotary // (2 * self.axes)
        return block_diagonal([geometric(each, self.theta, 1 / each, device)] * self.axes)

    def query(self, q: Float[Tensor, "b h i d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b h i wide"]:
        return self._rotate(q, *prepared)

    def key(self, k: Float[Tensor, "b g j d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b g j wide"]:
        return self._rotate(k, *prepared)

    def _rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        turned, rest = x[..., : self.rotary], x[..., self.rotary :]
        if self.pairing == "half":
            u, v = turned.chunk(2, dim=-1)
            turned = torch.cat([u * cos - v * sin, v * cos + u * sin], dim=-1)
        else:
            u, v = turned.unflatten(-1, (-1, 2)).unbind(-1)
            turned = torch.stack([u * cos - v * sin, v * cos + u * sin], dim=-1).flatten(-2)
        return torch.cat([turned.to(x.dtype), rest], dim=-1)

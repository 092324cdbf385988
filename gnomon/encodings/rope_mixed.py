"""RoPE-Mixed: rotary positions on a grid whose frequencies are learned, for each head in any direction."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, difference
from gnomon.encodings.frequencies import geometric
from gnomon.encodings.rotation import Pairing, check_pairing, turn
from gnomon.errors import OptionError
from gnomon.positions import Positions


@checked
class RopeMixed(Encoding):
    """Rotary positions with mixed learnable frequencies (RoPE-Mixed).

    logit_ij = Re sum_m q_im conj(k_jm) e^{i sum_a W_ham (p_ia - p_ja)} / sqrt(d)

    with a matrix W of its own for each head and layer: on a grid a pair may turn along any direction, where axial RoPE
    turns along one axis alone. A pair is (x_2m, x_{2m+1}) under `interleaved` (as published), (x_m, x_{m + d/2}) under
    `half`. The paper is about grids, `axes=2`; on one axis this is RoPE that learns its frequencies.

    Shapes: W `[h, axes, d/2]`; cos and sin `[rows, h, n, d/2]`. Positions: real numbers, row and column on a grid.
    Where key heads are shared, a key is turned for each query head, so the cache holds one for each.
    Initial values: on a grid each head draws an angle a; of d/2 pairs the first half points along a, the second across
    it, with magnitudes theta^{-4j/d} for j = 0 .. d/4 - 1. On a line all heads begin at theta^{-2m/d}; try 10000 for
    text. Keep W out of weight decay.
    Cost: h d axes / 2 parameters in each layer; sines and cosines for each head.
    Errors: OptionError where d is not a multiple of 2 axes, or there are more than two axes.
    Differs: the paper's coordinates are (column, row); here they are (row, column), and so is W.
    Use: on images, where neighbours in any direction should be near: each head learns its own directions and
    frequencies.
    Fails: learned frequencies fit the resolutions of training; on others they are angles that no head has seen.
    Angles are another set in each layer, so nothing is shared.
    Source: Heo et al. 2024, "Rotary Position Embedding for Vision Transformer", section 3.2.
    """

    bibtex = """@inproceedings{heo2024ropevit,
  title = {Rotary Position Embedding for Vision Transformer},
  author = {Heo, Byeongho and Park, Song and Han, Dongyoon and Yun, Sangdoo},
  booktitle = {ECCV},
  year = {2024},
  eprint = {2403.13298},
  archivePrefix = {arXiv}
}"""

    per_layer = True
    variants = ({"axes": 2}, {"axes": 2, "pairing": "half", "theta": 100.0})

    def __init__(self, heads: int, head_dim: int, theta: float = 10.0, pairing: Pairing = "interleaved", axes: int = 1):
        super().__init__()
        check_pairing(pairing, "rope_mixed")
        if axes not in (1, 2):
            raise OptionError("rope_mixed is for lines and grids", given=f"axes={axes}", allowed="1 or 2")
        if head_dim < 2 * axes or head_dim % (2 * axes):
            raise OptionError(
                "rope_mixed turns pairs; on a grid, as many begin along a direction as across it",
                given=f"head_dim={head_dim}, axes={axes}",
                allowed=f"a multiple of {2 * axes}",
            )
        if not 1 < theta < math.inf:
            raise OptionError("frequencies begin as powers of a base", given=f"theta={theta}", allowed="above 1")
        self.heads, self.head_dim, self.axes = heads, head_dim, axes
        self.theta, self.pairing = float(theta), pairing
        self.weight = nn.Parameter(torch.empty(heads, axes, head_dim // 2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        each, device = self.head_dim // (2 * self.axes), self.weight.device
        size = geometric(each, self.theta, 1 / each, device)
        along = 2 * math.pi * torch.rand(self.heads, 1, dtype=torch.float64, device=device)
        across = along + math.pi / 2
        column = torch.cat([size * along.cos(), size * across.cos()], dim=-1)
        row = torch.cat([size * along.sin(), size * across.sin()], dim=-1)
        with torch.no_grad():
            self.weight.copy_(size if self.axes == 1 else torch.stack([row, column], dim=1))

    @property
    def domain(self) -> Domain:
        return Domain(axes=self.axes)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        d, apart, logit = q.shape[-1], difference(q_pos, k_pos), 0.0
        for m in range(d // 2):
            first, second = (m, m + d // 2) if self.pairing == "half" else (2 * m, 2 * m + 1)
            w = self.weight[:, :, m, None, None].to(apart.dtype)
            angle = sum(w[:, a] * apart[..., a] for a in range(self.axes))
            q_m = torch.complex(q[..., first], q[..., second])[..., :, None]
            k_m = torch.complex(k[..., first], k[..., second])[..., None, :]
            logit = logit + (q_m * k_m.conj() * torch.polar(torch.ones_like(angle), angle)).real.to(q.dtype)
        return self.scale(d) * logit

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        place, w = pos.anchored()[:, None, :, :, None], self.weight.to(torch.float64)[:, None]
        angle = (place * w).sum(dim=-2)
        return angle.cos().to(dtype), angle.sin().to(dtype)

    def query(self, q: Float[Tensor, "b h i d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b h i wide"]:
        return turn(q, *prepared, self.pairing)

    def key(self, k: Float[Tensor, "b g j d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b h j wide"]:
        return turn(k.repeat_interleave(self.heads // k.shape[1], dim=1), *prepared, self.pairing)

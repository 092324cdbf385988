"""RoPE-Mixed: rotary positions on a grid whose frequencies are learned, for each head in any direction."""

import copy
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.encoding import Domain, Encoding, difference
from gnomon.encodings.rotation import Pairing, is_pairing, turn
from gnomon.errors import OptionError
from gnomon.positions import Positions


class RopeMixed(Encoding):
    """Two-dimensional rotary positions with mixed learnable frequencies (RoPE-Mixed).

    logit_ij = Re sum_m q_im conj(k_jm) e^{i (W_h0m (y_i - y_j) + W_h1m (x_i - x_j))} / sqrt(d)

    with a matrix W of its own for each head and layer: a pair may turn along any direction, where axial RoPE turns
    along one axis alone. A pair is (x_2m, x_{2m+1}) under `interleaved` (as published), (x_m, x_{m + d/2}) under
    `half`.

    Shapes: W `[h, 2, d/2]`; cos and sin `[rows, h, n, d/2]`. Positions: real numbers on two axes, row y and column x.
    Where key heads are shared, a key is turned for each query head, so the cache holds one for each.
    Initial values: each head draws an angle a; of d/2 pairs the first half points along a, the second across it, with
    magnitudes theta^{-4j/d} for j = 0 .. d/4 - 1. Keep W out of weight decay.
    Cost: h d parameters in each layer; sines and cosines for each head.
    Errors: OptionError where d is not a multiple of 4.
    Differs: the paper turns coordinates (column, row); here they are (row, column), and so is W.
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

    domain = Domain(axes=2)
    variants = ({"pairing": "half", "theta": 100.0},)

    def __init__(self, heads: int, head_dim: int, theta: float = 10.0, pairing: Pairing = "interleaved"):
        super().__init__()
        is_pairing(pairing, "rope_mixed")
        if head_dim < 4 or head_dim % 4:
            raise OptionError(
                "rope_mixed begins with as many pairs along a direction as across it",
                given=f"head_dim={head_dim}",
                allowed="a multiple of 4",
            )
        if not 1 < theta < math.inf:
            raise OptionError("frequencies begin as powers of a base", given=f"theta={theta}", allowed="above 1")
        self.heads, self.head_dim, self.theta, self.pairing = heads, head_dim, float(theta), pairing
        self.weight = nn.Parameter(torch.empty(heads, 2, head_dim // 2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        quarter, device = self.head_dim // 4, self.weight.device
        size = self.theta ** -(torch.arange(quarter, dtype=torch.float64, device=device) / quarter)
        along = 2 * math.pi * torch.rand(self.heads, 1, dtype=torch.float64, device=device)
        across = along + math.pi / 2
        column = torch.cat([size * along.cos(), size * across.cos()], dim=-1)
        row = torch.cat([size * along.sin(), size * across.sin()], dim=-1)
        with torch.no_grad():
            self.weight.copy_(torch.stack([row, column], dim=1))

    def layers(self, count: int) -> list[Encoding]:
        """Frequencies of its own in each layer."""
        others = [copy.deepcopy(self) for _ in range(count - 1)]
        for other in others:
            other.reset_parameters()
        return [self, *others][:count]

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        d, apart, logit = q.shape[-1], difference(q_pos, k_pos), 0.0
        for m in range(d // 2):
            first, second = (m, m + d // 2) if self.pairing == "half" else (2 * m, 2 * m + 1)
            w = self.weight[:, :, m, None, None].to(apart.dtype)
            angle = w[:, 0] * apart[..., 0] + w[:, 1] * apart[..., 1]
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

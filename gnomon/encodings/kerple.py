"""KERPLE: a penalty that grows with distance by a kernel, its shape learned by each head."""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, both_placed, difference, dot
from gnomon.encodings.distance import distance
from gnomon.errors import OptionError
from gnomon.pairs import PairFunction
from gnomon.per_head import PerHead
from gnomon.positions import Positions

Kernel = Literal["log", "power"]

LEAST = 0.01
"""The least value of either number, as in the released code."""

INSIDE = 1e-4
"""How far inside its bounds a stored number lies at least: at a bound itself no gradient would move it."""


@checked
class Kerple(Encoding):
    """Kernelised relative positions (KERPLE): conditionally positive definite kernels of the distance.

    log:    logit_ij = <q_i, k_j> / sqrt(d) - p_h ln(1 + a_h |p_i - p_j|)
    power:  logit_ij = <q_i, k_j> / sqrt(d) - a_h |p_i - p_j|^{p_h},     p_h <= 2

    Under a causal mask |p_i - p_j| is the paper's i - j; without one, and on several axes, it is the distance, of which
    the kernels are functions anyway (on several axes the Euclidean one). `log` is the paper's best.

    Shapes: a and p `[h]`, both positive, drawn from U(0, 1) and U(0, 2) as released. Positions: any real numbers on any
    number of axes; a token without a place has no penalty. Shared by all layers, as released, unless `per_layer`.
    Cost: 2 h parameters; a logarithm or a power for each difference where positions are evenly spaced, for each pair
    elsewhere.
    Precision: distances are taken in float64; what follows is in the precision of the logits, float32 at least.
    Differs: the released code clamps the parameters themselves at each forward, to 0.01 and above (and p of
    `power` to 2): a write that a compiled or a sharded model cannot make, and no gradient comes back from the bound.
    Here what is stored is real: a = 0.01 + softplus(raw_a), p likewise, and p = 2 sigmoid(raw_p) under `power`, which
    takes a value to either end smoothly. `assign` stores released numbers; one at a bound is stored 1e-4 inside it
    (0.0101, or 1.9998 of 2), where its slope is as small: such a head learns slowly. The released code takes
    distances in the precision of the model, where bfloat16 merges 257 with 256.
    Errors: OptionError for another kernel.
    Use: where ALiBi's single slope a head is too rigid: the rate at which distance counts is learned, and grows
    like a logarithm.
    Fails: like every bias that only falls with distance, it cannot prefer a far token but by content; a head that
    learns a flat curve has no positions.
    Source: Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation", section 4.
    """

    bibtex = """@inproceedings{chi2022kerple,
  title = {KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation},
  author = {Chi, Ta-Chung and Fan, Ting-Han and Ramadge, Peter J. and Rudnicky, Alexander I.},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {35},
  year = {2022},
  eprint = {2205.09921},
  archivePrefix = {arXiv}
}"""

    variants = ({"kernel": "power", "per_layer": True},)
    properties = Property.TRANSLATION_INVARIANT | Property.CONTINUOUS | Property.CACHEABLE | Property.CONTENT_FREE
    domain = Domain(axes=None)

    def __init__(self, heads: int, kernel: Kernel = "log", per_layer: bool = False):
        super().__init__()
        if heads < 1:
            raise OptionError("KERPLE needs heads", given=heads, allowed="1 or more")
        if kernel not in get_args(Kernel):
            raise OptionError("KERPLE has two kernels", given=kernel, allowed=", ".join(get_args(Kernel)))
        self.heads, self.kernel, self.per_layer = heads, kernel, per_layer
        self.raw_a, self.raw_p = nn.Parameter(torch.empty(heads)), nn.Parameter(torch.empty(heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        a, p = torch.empty_like(self.raw_a).uniform_(0, 1), torch.empty_like(self.raw_p).uniform_(0, 2)
        self._store(a, p)

    def assign(self, a: Float[Tensor, " h"], p: Float[Tensor, " h"]) -> None:
        """Store the numbers of a trained model, `[h]` each; what the released code would clamp is clamped."""
        for name, given in (("a", a), ("p", p)):
            if given.shape != (self.heads,):
                raise OptionError(
                    f"KERPLE takes one number `{name}` for each head",
                    given=f"shape {list(given.shape)}",
                    allowed=f"[{self.heads}]",
                )
            if not bool(((given >= 0) & given.isfinite()).all()):
                raise OptionError(
                    f"KERPLE's `{name}` is no negative number, and finite",
                    given=f"{name}={given.tolist()}",
                    allowed=f"0 or more; below {LEAST} it is stored as {LEAST}",
                )
        self._store(a, p)

    def _store(self, a: Tensor, p: Tensor) -> None:
        a, p = (t.detach().to(self.raw_a.device, torch.float64) for t in (a, p))
        with torch.no_grad():
            self.raw_a.copy_(_inverse_softplus(a))
            half = (p / 2).clamp(LEAST / 2, 1 - INSIDE)
            self.raw_p.copy_(half.logit() if self.kernel == "power" else _inverse_softplus(p))

    def numbers(self) -> tuple[Float[Tensor, " h"], Float[Tensor, " h"]]:
        """a and p of each head as the lowering has them, `[h]` float64."""
        a = LEAST + nn.functional.softplus(self.raw_a.to(torch.float64))
        raw_p = self.raw_p.to(torch.float64)
        return a, 2 * raw_p.sigmoid() if self.kernel == "power" else LEAST + nn.functional.softplus(raw_p)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        distance = difference(q_pos, k_pos).square().sum(-1).sqrt()[:, 0]
        penalties = []
        for raw_a, raw_p in zip(self.raw_a.to(torch.float64), self.raw_p.to(torch.float64), strict=True):
            # softplus(x) = ln(1 + e^x) and sigmoid(x) = 1 / (1 + e^-x), written out apart from the lowering's.
            zero = torch.zeros_like(raw_a)
            a = 0.01 + torch.logaddexp(raw_a, zero)
            p = 2 / (1 + torch.exp(-raw_p)) if self.kernel == "power" else 0.01 + torch.logaddexp(raw_p, zero)
            if self.kernel == "log":
                penalties.append(p * torch.log(1 + a * distance))
            else:
                # 0^p = 0, without the logarithm of 0.
                apart = distance > 0
                grown = (p * torch.where(apart, distance, 1.0).log()).exp()
                penalties.append(a * torch.where(apart, grown, 0.0))
        penalty = torch.where(both_placed(q_pos, k_pos), torch.stack(penalties, dim=1), 0.0)
        return self.scale(q.shape[-1]) * dot(q, k) - penalty.to(q.dtype)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        a, p = (number.to(q.dtype) for number in self.numbers())
        if self.kernel == "log":

            def penalty(x: Tensor, h: Tensor) -> Tensor:
                return -p[h] * torch.log1p(a[h] * x)
        else:

            def penalty(x: Tensor, h: Tensor) -> Tensor:
                # 0^p = 0: its derivatives by p have a logarithm.
                return torch.where(x > 0, -a[h] * torch.where(x > 0, x, 1.0) ** p[h], 0.0)

        return PerHead(distance(q_pos, k_pos, q.dtype), penalty, self.heads, a.device)


def _inverse_softplus(value: Tensor) -> Tensor:
    """The number whose softplus is `value` less the least one, or the least that is stored above it."""
    rest = (value - LEAST).clamp(min=INSIDE)
    return rest + torch.log(-torch.expm1(-rest))

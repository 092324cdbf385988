"""ALiBi: a penalty that grows linearly with distance, steeper in some heads than in others."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, both_placed, difference, dot
from gnomon.encodings.distance import distance
from gnomon.errors import OptionError
from gnomon.pairs import PairFunction
from gnomon.per_head import PerHead, Slope
from gnomon.positions import Positions


@checked
class Alibi(Encoding):
    """Attention with linear biases (ALiBi).

    logit_ij = <q_i, k_j> / sqrt(d) - m_h |p_i - p_j|

    Under a causal mask this is the paper's -m_h (i - j); without one it is the symmetric form. On several axes the
    distance is Euclidean (Fuller et al. 2023, CROMA, on images). The slopes are those of the released code: for a
    power of two heads 2^{-8/h}, 2^{-16/h}, ...; otherwise those of the power of two below, then every other one of the
    next power of two, unsorted. (The paper's text suggests one geometric sequence for any h; released models do not.)

    Shapes: slopes `[h]`. Positions: any real numbers on any number of axes; a token without a place has no penalty.
    Cost: no parameters; one multiplication and addition for each pair.
    Use: where texts are longer than those of training, and what is near matters most: it held to eight times the
    training length in `gnomon compare`.
    Fails: it cannot prefer a far token over a near one but by content, so what it gains from a longer past is
    small; steep heads see a few tokens only.
    Source: Press et al. 2022, "Train Short, Test Long: Attention with Linear Biases Enables Input Length
    Extrapolation", section 3.
    """

    bibtex = """@inproceedings{press2022train,
  title = {Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation},
  author = {Press, Ofir and Smith, Noah A. and Lewis, Mike},
  booktitle = {International Conference on Learning Representations},
  year = {2022},
  eprint = {2108.12409},
  archivePrefix = {arXiv}
}"""

    domain = Domain(axes=None)

    def __init__(self, heads: int):
        super().__init__()
        if heads < 1:
            raise OptionError("ALiBi needs heads", given=heads, allowed="1 or more")
        self.heads, self.slopes = heads, slopes(heads)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        distance = difference(q_pos, k_pos).square().sum(-1).sqrt()
        penalty = torch.stack([-slope * distance[:, 0] for slope in self.slopes], dim=1)
        penalty = torch.where(both_placed(q_pos, k_pos), penalty, 0.0)
        return self.scale(q.shape[-1]) * dot(q, k) + penalty.to(q.dtype)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        rise = torch.tensor([-slope for slope in self.slopes], dtype=q.dtype, device=q_pos.coords.device)
        if q_pos.axes == 1:
            return Slope(q_pos.anchored()[..., 0], k_pos.anchored()[..., 0], rise)
        return PerHead(distance(q_pos, k_pos, q.dtype), lambda x, h: rise[h] * x, self.heads, rise.device)


def slopes(heads: int) -> list[float]:
    """The slope of each head, as the released code gives them for any number of heads."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2 ** (-8 * (2 * h + 1) / (2 * power)) for h in range(heads - power)]
    return first + between

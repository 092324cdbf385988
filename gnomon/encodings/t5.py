"""T5's relative bias: one learned number for each bucket of distance and each head."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, both_placed, difference, dot
from gnomon.encodings.buckets import EDGE, t5_bucket, t5_last_edge
from gnomon.errors import OptionError
from gnomon.pairs import PairFunction
from gnomon.per_head import Entry
from gnomon.positions import Positions
from gnomon.rows import Apart


@checked
class T5(Encoding):
    """T5's relative position bias.

    logit_ij = <q_i, k_j> + B[bucket(p_j - p_i), h]

    There is no 1 / sqrt(d): the scale is folded into the initial values of the query projection, which `Attention`
    does for any encoding from its `scale`. With n buckets (half of them for the past without `causal`) and E = n / 2,
    a distance x has bucket floor(x) below E and min(E + floor(log(x / E) / log(D / E) (n - E)), n - 1) from there on:
    exact near by, logarithmic up to D = `max_distance`, one bucket for all that is farther.

    Shapes: B `[buckets, h]`, initialised N(0, 0.05). Positions: real numbers on one axis; between whole distances the
    bias is constant, so it is not continuous. Shared by all layers, as released; with `per_layer` each has its own, as
    in UMT5. Cost: buckets x h parameters; a gather for each pair. Cross-attention has no bias: give it no encoding.
    Errors: OptionError where the buckets leave nothing to be exact or logarithmic.
    Use: as a default for encoders and decoders of moderate length: cheap, content-free, and distances past
    `max_distance` are all one bucket.
    Fails: inside the last bucket order is lost, and a bucket that training hardly saw has a number that means
    little. Without a scale of 1 / sqrt(d) it needs the initial values that go with it.
    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
    section 2.1.
    """

    bibtex = """@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael
            and Zhou, Yanqi and Li, Wei and Liu, Peter J.},
  journal = {Journal of Machine Learning Research},
  volume = {21},
  number = {140},
  year = {2020},
  eprint = {1910.10683},
  archivePrefix = {arXiv}
}"""

    variants = ({"buckets": 8, "max_distance": 20, "per_layer": True},)
    properties = Property.TRANSLATION_INVARIANT | Property.CACHEABLE | Property.CONTENT_FREE
    domain = Domain()

    def __init__(
        self, heads: int, causal: bool = True, buckets: int = 32, max_distance: int = 128, per_layer: bool = False
    ):
        super().__init__()
        side = buckets if causal else buckets // 2
        if side < 2 or (not causal and buckets % 2):
            raise OptionError(
                "T5 needs buckets for near and far",
                given=buckets,
                allowed="2 or more; 4 or more and even if not causal",
            )
        if max_distance <= side // 2:
            raise OptionError(
                "max_distance lies inside the exact buckets", given=max_distance, allowed=f"more than {side // 2}"
            )
        self.heads, self.per_layer = heads, per_layer
        self.causal, self.buckets, self.max_distance = causal, buckets, max_distance
        self.weight = nn.Parameter(torch.empty(buckets, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.05)

    def scale(self, head_dim: int) -> float:
        return 1.0

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        p_i_minus_p_j = difference(q_pos, k_pos)[..., 0]
        side = self.buckets if self.causal else self.buckets // 2
        exact = side // 2
        # The bucket of x is the number of buckets that begin at or before x, the first not counted.
        begins = [m if m <= exact else exact * (self.max_distance / exact) ** ((m - exact) / (side - exact))
                  for m in range(1, side)]  # fmt: skip
        x = p_i_minus_p_j.clamp(min=0) if self.causal else p_i_minus_p_j.abs()
        bucket = sum((x >= begin - EDGE).to(torch.int64) for begin in begins)
        if not self.causal:
            bucket = bucket + side * (p_i_minus_p_j < -EDGE)
        bias = self.weight[bucket].squeeze(1).movedim(-1, 1)
        return dot(q, k) + torch.where(both_placed(q_pos, k_pos), bias, 0.0)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        options = dict(causal=self.causal, buckets=self.buckets, max_distance=self.max_distance)
        last = t5_last_edge(**options)
        ends = (0.0 if self.causal else -last), last

        def bucket(apart: Tensor) -> Tensor:
            return t5_bucket(-apart, **options)

        return Entry(Apart(q_pos.anchored()[..., 0], k_pos.anchored()[..., 0], bucket, ends), self.weight.T)

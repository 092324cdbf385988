"""Relative position representations (Shaw): a learned vector for each clipped distance, added to keys and values."""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.content import query_lookup
from gnomon.encoding import Domain, Encoding, Mix, Property, both_placed, difference, dot
from gnomon.encodings.diagonals import rows_by_distance
from gnomon.encodings.key_rows import lookups
from gnomon.errors import OptionError
from gnomon.once import once
from gnomon.pairs import PairFunction
from gnomon.positions import Positions
from gnomon.rows import Rows

Form = Literal["shaw", "relative_key", "relative_key_query"]


@checked
class Shaw(Encoding):
    """Relative position representations of Shaw et al.

    logit_ij = <q_i, k_j + a^K_ij> / sqrt(d)        out_i = sum_j dropout(softmax_ij) (v_j + a^V_ij)
    a^K_ij = w^K[clip(p_j - p_i, -left, right)],    a^V_ij = w^V[clip(p_j - p_i, -left, right)]

    The paper clips at the same distance k on both sides: `clip`. `left` and `right` differ in SeamlessM4T v2 and
    W2v-BERT 2.0 (64 and 8, without a^V: `values=False`). Two older forms of BERT have one table E, read the other way
    round and not clipped, for positions 0 .. M - 1 with M = `max_positions` (512 unless given), and no values:

    relative_key:        logit_ij = <q_i, k_j + E[p_i - p_j]> / sqrt(d)
    relative_key_query:  logit_ij = (<q_i, k_j + E[p_i - p_j]> + <k_j, E[p_i - p_j]>) / sqrt(d)

    Shapes: w^K, w^V `[1 or h, left + right + 1, d]`, row 0 the farthest past; E `[1 or h, 2M - 1, d]`, row 0 the
    farthest future. One table serves all heads unless `per_head`; each layer has its own unless not `per_layer`.
    Initial values N(0, 1/d), so that a vector has length 1 (the paper names none); E N(0, 0.02) as in BERT.
    Positions: whole numbers on one axis, of any size; there is no vector between two distances. The BERT forms take
    0 .. M - 1. Under a causal mask the rows of the future are never trained.
    Cost: 2 (left + right + 1) d parameters a layer. Keys take a product with the table and a gather for each pair.
    Values need the weights themselves: O(n) memory on a CPU, by parts; with gradients elsewhere O(n^2); flex refuses.
    Cross-attention has no distances: give it no encoding.
    Errors: OptionError for options of another form; PositionError between whole numbers, or outside 0 .. M - 1.
    Use: where near distances matter one by one, in both directions, and values should know them as well:
    translation, music, tagging.
    Fails: beyond the clip all distances are one, so far order is lost, though nothing breaks there. No fused kernel
    takes the value term, and only whole positions are defined.
    Source: Shaw et al. 2018, "Self-Attention with Relative Position Representations", sections 3.1 to 3.3; Huang et
    al. 2020, "Improve Transformer Models with Better Relative Position Embeddings", for the BERT forms.
    """

    bibtex = """@inproceedings{shaw2018self,
  title = {Self-Attention with Relative Position Representations},
  author = {Shaw, Peter and Uszkoreit, Jakob and Vaswani, Ashish},
  booktitle = {Conference of the North American Chapter of the Association for Computational Linguistics},
  year = {2018},
  eprint = {1803.02155},
  archivePrefix = {arXiv}
}"""

    variants = (
        {"clip": 3, "per_head": True},
        {"left": 6, "right": 2, "values": False, "per_layer": False},
        {"form": "relative_key", "max_positions": 40},
        {"form": "relative_key_query", "max_positions": 40, "per_head": True},
        {"form": "relative_key_query", "max_positions": 40},
    )
    properties = Property.TRANSLATION_INVARIANT | Property.CACHEABLE

    def __init__(
        self,
        heads: int,
        head_dim: int,
        form: Form = "shaw",
        clip: int = 16,
        left: int | None = None,
        right: int | None = None,
        values: bool = True,
        per_layer: bool = True,
        per_head: bool = False,
        max_positions: int | None = None,
    ):
        super().__init__()
        if form not in get_args(Form):
            raise OptionError("one of Shaw's forms", given=form, allowed=", ".join(get_args(Form)))
        self.form, self.per_layer, self.head_dim = form, per_layer, head_dim
        self.heads = heads if per_head else None
        if form == "shaw":
            self.left, self.right = clip if left is None else left, clip if right is None else right
            if max_positions is not None:
                raise OptionError(
                    "`max_positions` belongs to the forms of BERT",
                    given=f"form='shaw', max_positions={max_positions}",
                    do="say from which distance on all are alike: clip=16; or choose form='relative_key'",
                )
            if self.left < 0 or self.right < 0 or not self.left + self.right:
                raise OptionError(
                    "Shaw tells distances apart up to a limit on each side",
                    given=f"left={self.left}, right={self.right}",
                    allowed="0 or more, and one of them 1 or more",
                )
        else:
            if clip != 16 or left is not None or right is not None:
                raise OptionError(
                    f"{form} does not clip: it has a vector for every distance in its table",
                    given=f"clip={clip}, left={left}, right={right}",
                    do="give max_positions; or choose form='shaw'",
                )
            longest = 512 if max_positions is None else max_positions
            if longest < 2:
                raise OptionError("a table of distances needs two positions", given=longest, allowed="2 or more")
            self.left = self.right = longest - 1
            values = False
        self.values = values
        shape = (heads if per_head else 1, self.left + self.right + 1, head_dim)
        self.key_table = nn.Parameter(torch.empty(shape))
        self.value_table = nn.Parameter(torch.empty(shape)) if values else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for table in self.parameters():
            nn.init.normal_(table, std=self.head_dim**-0.5 if self.form == "shaw" else 0.02)

    @property
    def domain(self) -> Domain:
        return Domain(whole=True) if self.form == "shaw" else Domain(0, self.right, whole=True)

    @property
    def beyond_domain(self) -> str:
        if self.form == "shaw":
            return "give whole positions (count in a smaller unit), or choose a continuous encoding: rope, alibi"
        return "give a larger max_positions, or choose form='shaw', which clips"

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        a = self._vectors(self.key_table, q_pos, k_pos).to(q.dtype)
        logit = dot(q, k) + (q[:, :, :, None] * a).sum(-1)
        if self.form == "relative_key_query":
            logit = logit + (k[:, :, None] * a).sum(-1)
        return self.scale(q.shape[-1]) * logit

    def value(self, v: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions) -> Float[Tensor, "b h #i j d"]:
        if self.value_table is None:
            return v[:, :, None]
        if v.shape[-1] != self.head_dim:
            raise OptionError(
                "values have the width of the vectors added to them",
                given=f"values of width {v.shape[-1]}",
                allowed=f"{self.head_dim}",
                do="choose values=False",
            )
        return v[:, :, None] + self._vectors(self.value_table, q_pos, k_pos).to(v.dtype)

    def _vectors(self, table: Tensor, q_pos: Positions, k_pos: Positions) -> Float[Tensor, "rows heads i j d"]:
        """a_ij of every pair, zero for a pair with a token without a place."""
        p_i_minus_p_j = difference(q_pos, k_pos)[:, 0, :, :, 0]
        if self.form == "shaw":
            apart = -p_i_minus_p_j
            apart = torch.where(apart < -self.left, -self.left, torch.where(apart > self.right, self.right, apart))
            row = apart + self.left
        else:
            row = p_i_minus_p_j + (table.shape[1] - 1) / 2
        a = table[:, row.to(torch.int64)].transpose(0, 1)
        return torch.where(both_placed(q_pos, k_pos)[..., None], a, 0.0)

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        scale, row = self.scale(q.shape[-1]), self._row(q_pos, k_pos)
        of_query = query_lookup(scale * q, self.key_table, row)
        if self.form != "relative_key_query":
            return of_query
        # A row of the table for every query head: heads of a group share their keys.
        return lookups(of_query, scale * k, self.key_table.expand(q.shape[1], -1, -1), row, q_pos, k_pos)

    def mix(self, q_pos: Positions, k_pos: Positions) -> Mix | None:
        return None if self.value_table is None else Mix(self.value_table, self._row(q_pos, k_pos))

    def _row(self, q_pos: Positions, k_pos: Positions) -> Rows:
        ends = -self.right, self.left
        which = Shaw, self.form, *ends
        return once(q_pos, k_pos, which, lambda: rows_by_distance(q_pos, k_pos, self._row_of, ends))

    def _row_of(self, apart: Tensor) -> Tensor:
        """The row of a distance `p_i - p_j`."""
        steps = -apart if self.form == "shaw" else apart
        return steps.clamp(-self.left, self.right).to(torch.int64) + self.left

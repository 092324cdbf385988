"""DeBERTa's disentangled attention: content looks at relative positions, and relative positions look at content."""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from gnomon.checked import checked
from gnomon.content import FEW, Lookup, few, query_lookup
from gnomon.encoding import Domain, Encoding, Property, both_placed, difference, dot
from gnomon.encodings.buckets import EDGE, deberta_bucket
from gnomon.encodings.diagonals import differences, rows_by_distance
from gnomon.encodings.key_rows import lookups
from gnomon.errors import OptionError
from gnomon.lasting import lasts, of_weights
from gnomon.once import once
from gnomon.pairs import PairFunction
from gnomon.positions import Positions
from gnomon.rows import Rows

Terms = Literal["both", "c2p", "p2c"]
EPSILON = 1e-7
"""What the LayerNorm adds to a variance."""


class _Table(nn.Module):
    """What all layers share: P `[2 s, w]`, read through a LayerNorm where there is one."""

    def __init__(self, rows: int, width: int, norm: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, width))
        self.norm = nn.LayerNorm(width, eps=EPSILON) if norm else None

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.02)
        if self.norm is not None:
            self.norm.reset_parameters()

    def forward(self, rows: slice = slice(None)) -> Tensor:
        some = self.weight[rows]
        return some if self.norm is None else self.norm(some)


@checked
class Deberta(Encoding):
    """DeBERTa's disentangled attention.

    logit_ij = [ <q_i, k_j> + <q_i, K P[r]> + <k_j, Q P[r]> ] / sqrt(3 d),    r = clamp(beta(p_i - p_j) + s, 0, 2 s - 1)

    Content to content, to position (c2p), and position to content (p2c); with one of the last two alone the scale is
    1 / sqrt(2 d). beta is the distance, of which whole steps count; with `buckets` it is exact up to buckets / 2 and
    logarithmic from there to `span`. s is `span`, or `buckets` where there are some. Both terms read the same row r, as
    every released model does; the paper writes p_j - p_i in the last. Beyond the span a distance has the outermost row:
    0 in the future, 2 s - 1 in the past, which distances s - 1 and s share.

    Of the released versions 1 is the default; 2 and 3 are `buckets=256, norm=True, shared=True`: a LayerNorm of P, and
    no projections but those of the layer's queries and keys, which `Attention` hands over; they stay parameters of the
    layer, so K and Q are there only until then, as for `attend`, unless `serves` is given a model's. To load weights
    of a layer without sharing, give them to `position_query` and `position_key`. Absolute positions at the last layer,
    the enhanced mask decoder, are `Transformer(mask_decoder=...)`.

    Shapes: P `[2 s, w]`, N(0, 0.02), one for all layers; Q and K `[h d, w]` in each layer, drawn as the model's other
    projections are: N(0, 1 / w); Q has a bias, initially 0 (K's would add the same to all logits of a query).
    Positions: real numbers on one axis; between whole distances nothing changes. Cost: 2 s w parameters, and w (2 d h)
    a layer unless `shared`. In each layer the rows of P that some pair has are projected, twice w d h operations a row,
    and each query and each key is multiplied with rows of its distances, of which each pair reads one. A Cache keeps
    all projected rows for the tokens to come.
    Errors: OptionError for a span or buckets that hold no distance; under `shared`, for a layer of grouped keys, and
    for a second layer.
    Use: in encoders, where what a token means and where it stands should act apart: masked language models,
    tagging.
    Fails: it is among the dearest, two products with a table of distances besides that of content; distances beyond
    the span are one; nothing tells absolute place unless a mask decoder adds it.
    Source: He et al. 2021, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", section 3.
    """

    bibtex = """@inproceedings{he2021deberta,
  title = {{DeBERTa}: Decoding-enhanced {BERT} with Disentangled Attention},
  author = {He, Pengcheng and Liu, Xiaodong and Gao, Jianfeng and Chen, Weizhu},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  eprint = {2006.03654},
  archivePrefix = {arXiv}
}"""

    properties = Property.TRANSLATION_INVARIANT | Property.CACHEABLE
    domain = Domain()
    per_layer = True
    variants = (
        {"span": 20, "buckets": 8, "norm": True, "shared": True},
        {"span": 9, "terms": "c2p"},
        {"span": 300, "buckets": 6, "terms": "p2c"},
    )

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        span: int = 512,
        buckets: int | None = None,
        terms: Terms = "both",
        norm: bool = False,
        shared: bool = False,
    ):
        super().__init__()
        if terms not in get_args(Terms):
            raise OptionError("deberta has two terms of position", given=terms, allowed=", ".join(get_args(Terms)))
        if span < 1:
            raise OptionError("a table of distances needs a span", given=f"span={span}", allowed="1 or more")
        if buckets is not None and (buckets < 4 or buckets % 2 or span - 1 <= buckets // 2):
            raise OptionError(
                "half of the buckets are exact, the others reach out to the span",
                given=f"buckets={buckets}, span={span}",
                allowed="an even number from 4 on, and a span of more than buckets / 2 + 1",
            )
        self.width, self.heads, self.head_dim = width, heads, head_dim
        self.span, self.buckets, self.terms = span, buckets, terms
        self.size = span if buckets is None else buckets
        self.shared, self.kv_heads = shared, heads if shared else None
        # The layer's own projections of queries and keys: a tuple, so that they are no parameters of the encoding.
        self._lent: tuple[nn.Linear, ...] = ()
        self.table = _Table(2 * self.size, width, norm)
        self.position_key = None if terms == "p2c" else nn.Linear(width, heads * head_dim, bias=False)
        self.position_query = None if terms == "c2p" else nn.Linear(width, heads * head_dim)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.table.reset_parameters()
        self.reset_layer()

    def reset_layer(self) -> None:
        """Initial values of the encoding's own projections; shared ones belong to the layer."""
        for linear in (self.position_key, self.position_query):
            if linear is not None:
                nn.init.normal_(linear.weight, std=self.width**-0.5)
                if linear.bias is not None:
                    nn.init.zeros_(linear.bias)

    def common(self) -> tuple[nn.Module, ...]:
        return (self.table,)

    def serves(self, query: nn.Linear, key: nn.Linear, instead_of: tuple[nn.Linear, nn.Linear] | None = None) -> None:
        """Under `shared`, project positions with these from now on."""
        if not self.shared:
            return
        known = ((query, key), () if instead_of is None else instead_of)
        if self._lent and not any(_same(self._lent, pair) for pair in known):
            raise OptionError(
                "positions have the projections of one layer",
                given="another layer under the same encoding",
                do="build an encoding for each layer and model; Transformer does so for its layers",
            )
        size = self.heads * self.head_dim, self.width
        for linear in (query, key):
            if linear.weight.shape != size:
                raise OptionError(
                    "positions have the projections of every query head",
                    given=f"a projection to {linear.out_features} from {linear.in_features}",
                    allowed=f"{size[0]} from {size[1]}: as many key heads as query heads",
                )
        self._lent = query, key
        self.position_key = self.position_query = None

    def _projections(self) -> tuple[nn.Linear | None, nn.Linear | None]:
        """K, read by queries, and Q, read by keys; None for a term that is left out."""
        if not self._lent:
            return self.position_key, self.position_query
        query, key = self._lent
        return None if self.terms == "p2c" else key, None if self.terms == "c2p" else query

    def scale(self, head_dim: int) -> float:
        return ((3 if self.terms == "both" else 2) * head_dim) ** -0.5

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        apart, s = difference(q_pos, k_pos)[..., 0], self.size
        steps = (apart.abs() + EDGE).floor()
        if self.buckets is not None:
            middle = self.buckets // 2
            ratio = (self.span - 1) / middle
            # Past the middle, a bucket for each of these limits that the distance exceeds.
            limits = [middle * ratio ** (t / (middle - 1)) for t in range(middle)]
            steps = steps.clamp(max=middle) + sum((steps > limit + EDGE).to(steps.dtype) for limit in limits)
        row = torch.where(apart < 0, -steps, steps) + s
        row = torch.minimum(torch.maximum(row, row.new_zeros(())), row.new_tensor(2 * s - 1)).to(torch.int64)
        p, position = self.table.weight.to(q.dtype), 0.0
        if self.table.norm is not None:
            centred = p - p.mean(dim=-1, keepdim=True)
            spread = (centred.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt()
            p = centred / spread * self.table.norm.weight.to(q.dtype) + self.table.norm.bias.to(q.dtype)
        for linear, content in zip(self._projections(), (q[..., :, None, :], k[..., None, :, :]), strict=True):
            if linear is not None:
                offset = 0.0 if linear.bias is None else linear.bias.to(q.dtype)
                of_row = p @ linear.weight.to(q.dtype).T + offset
                of_pair = of_row.unflatten(-1, (self.heads, -1))[row[:, 0]].movedim(3, 1)
                position = position + (content * of_pair).sum(-1)
        return self.scale(q.shape[-1]) * (dot(q, k) + torch.where(both_placed(q_pos, k_pos), position, 0.0))

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        kept = self._kept() if lasts() and q_pos.length <= FEW else None
        which = Deberta, self.span, self.buckets, kept is None
        met, row = once(q_pos, k_pos, which, lambda: self._row(q_pos, k_pos, whole=kept is not None))
        to_position, to_content = self._projections()
        if kept is not None:
            of_query = None if to_position is None else query_lookup(q, kept[0], row)
            return of_query if to_content is None else lookups(of_query, k, kept[1], row, q_pos, k_pos)
        table = self.table(met)
        of_query = None if to_position is None else self._to_position(to_position, q, table, row)
        if to_content is None:
            return of_query
        return lookups(of_query, k, self._projected(to_content, table), row, q_pos, k_pos)

    def _kept(self) -> list[Tensor | None] | None:
        """The whole table, projected for queries and for keys, where it lasts."""
        linears = self._projections()
        read = [self.table, *(linear for linear in linears if linear is not None)]
        if not all(_plain(linear) for linear in read[1:]):
            return None
        weights = [weight for module in read for weight in module.parameters()]

        def make() -> list[Tensor | None]:
            return [
                None if linear is None else self._projected(linear, self.table()).contiguous() for linear in linears
            ]

        return of_weights(Deberta, weights, make)

    def _row(self, q_pos: Positions, k_pos: Positions, whole: bool = False) -> tuple[slice, Rows]:
        """Rows of the table among which are those of all pairs, or the whole, and which of these each pair has."""
        rows, span = self._rows(q_pos.coords.device), self.span
        met = slice(0, 2 * self.size) if whole else self._met(q_pos, k_pos, rows)
        rows = rows - met.start
        return met, rows_by_distance(q_pos, k_pos, lambda apart: rows[_steps(apart, span) + span], (-span, span))

    def _met(self, q_pos: Positions, k_pos: Positions, rows: Tensor) -> slice:
        """Rows of the table among which are those of all pairs.

        As many as a power of two: a kernel that is compiled for so many serves other positions.
        """
        ends, all_rows = differences(q_pos, k_pos), 2 * self.size
        if ends is None:
            return slice(0, all_rows)
        first, last = rows[_steps(rows.new_tensor(ends, dtype=torch.float64), self.span) + self.span].tolist()
        count = min(1 << (last - first).bit_length(), all_rows)
        first = min(first, all_rows - count)
        return slice(first, first + count)

    def _to_position(self, linear: nn.Linear, q: Tensor, table: Tensor, row: PairFunction) -> Lookup:
        """`<q_i, K P[r]>`, scaled."""
        if not few(q.shape[0] * q.shape[2], self.heads, self.width):
            return query_lookup(q, self._projected(linear, table), row)
        q = self.scale(self.head_dim) * q
        raised, rows = q @ linear.weight.to(q.dtype).unflatten(0, (self.heads, -1)), table
        if linear.bias is not None:
            offset = q @ linear.bias.to(q.dtype).unflatten(0, (self.heads, -1))[..., None]
            raised, rows = torch.cat([raised, offset], dim=-1), pad(table, (0, 1), value=1.0)
        return query_lookup(raised, rows[None], row)

    def _projected(self, linear: nn.Linear, table: Tensor) -> Tensor:
        """Rows of the table as scaled keys or queries of each head, `[h, rows, d]`."""
        return self.scale(self.head_dim) * linear(table).unflatten(-1, (self.heads, -1)).transpose(0, 1)

    def _rows(self, device: torch.device) -> Tensor:
        """The row of every whole distance from -span to span; beyond, it is that of the nearest."""
        each = torch.arange(-self.span, self.span + 1, device=device)
        if self.buckets is not None:
            each = deberta_bucket(each, buckets=self.buckets, max_distance=self.span)
        return (each + self.size).clamp(0, 2 * self.size - 1)


def _plain(linear: nn.Module) -> bool:
    """Whether it reads nothing but its parameters: nothing has taken its place, or was hung on it."""
    return type(linear) is nn.Linear and not linear._forward_hooks and not linear._forward_pre_hooks


def _same(some: tuple[nn.Linear, ...], others: tuple[nn.Linear, ...]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others))


def _steps(apart: Tensor, span: int) -> Tensor:
    """The whole steps of each distance, at most `span` to either side."""
    return (apart.sign() * (apart.abs() + EDGE).floor()).clamp(-span, span).to(torch.int64)

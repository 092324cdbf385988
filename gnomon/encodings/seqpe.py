"""SeqPE: a position is read digit by digit by a small Transformer, and what is read meets in the logits."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, Site, dot
from gnomon.encodings.digit_lessons import (
    Draws,
    contrastive,
    distillation,
    pivots_and_candidates,
    unshifted,
    windows,
)
from gnomon.encodings.digit_reader import DigitReader, initial
from gnomon.errors import OptionError
from gnomon.positions import Positions
from gnomon.precision import uncast

Form = Literal["scalar", "additive", "multiplicative", "input"]
Projection = Literal["single", "layer", "none"]
PAPER_LONGEST, PAPER_HEAD, PAPER_SPAN, GRID_SPAN = 20000, 64, 256, 14


@dataclass(frozen=True)
class _Prepared:
    """What queries and keys take of the tokens' positions: by head, or, where each layer projects, as it was read."""

    query: Tensor
    key: Tensor
    placed: Tensor | None


@checked
class SeqPE(Encoding):
    """SeqPE: sequential position encoding.

    e_p = E(digits of p),     [u_p; w_p] = P e_p in R^{2 x h x d}
    scalar:          logit_ij = (<q_i, k_j> + g <u_i, w_j>) / sqrt(d)
    additive:        logit_ij = <q_i + u_i, k_j + w_j> / sqrt(d)
    multiplicative:  logit_ij = <q_i * u_i, k_j * w_j> / sqrt(d)
    input:           x_i <- x_i + e_i

    "Sequential" are the digits, not the positions: each position is read alone. E is a small Transformer over base 10,
    most significant digit first, zeros in front up to `digits`, the axes one after another, then a class token. P is
    one for all layers (`single`), one a layer (`layer`), or the identity for both (`none`). E runs once a forward pass.
    Training adds `contrastive` (of some places the nearest to a pivot is to be told from <e, e>) and `distillation`
    (similarities of e, by head, in a window far away are to be those in the window at the origin), and shifts the
    window at random with probability `shift_rate`, `windows` different shifts a batch; then nothing is distilled.

    Shapes: e `[rows, n, w]`, u and w `[rows, h, n, d]`; E of width w / 2 and 2 blocks by default. Initial values
    N(0, 0.02) at the paper's width 768, as much larger elsewhere as the root of the fan-in is smaller; biases 0.
    Positions: whole, 0 to 10^digits - 1, on `axes` axes. Not translation invariant; with P = 1 and a mask that shows
    everything, scalar logits cannot tell left from right. A token without a place has u = w = 0, or 1 in a product.
    Cost: n (axes digits + 1) tokens through E; scalar doubles the head. With grouped keys the cache holds keys for
    every query head, as w has as many heads as u. The losses read about pivots (candidates + 1) + 2 sampled positions.
    Errors: PositionError for positions that are negative, fractional, or have more than `digits` digits; OptionError
    where `dropout` is due in training on the reference backend, which has none.
    Use: where positions may be very large, or lie on several axes, and one small encoder should learn them all.
    Fails: a position whose digits never met in training is read by an encoder that has not seen the like; without
    its two auxiliary losses nothing ties neighbours such as 199 and 200 together. Past 10^digits - 1 there is
    nothing.
    Source: Li et al. 2025, "SeqPE: Transformer with Sequential Position Encoding", and the released code, which it
    follows where they differ (slots counted on over the axes, both directions of KL); but cached keys keep their w.
    The paper's sizes: width 768, encoder_width 768, dropout 0.1, pivots 16, candidates 32, sampled 32. Shifts and
    pivots are drawn anew at each step rather than from a pool; the window is unshifted if it begins at the origin.
    """

    bibtex = """@article{li2025seqpe,
  title = {SeqPE: Transformer with Sequential Position Encoding},
  author = {Li, Huayang and Liu, Yahui and Sun, Hongyu and Cai, Deng and Cui, Leyang and Bi, Wei and Zhao, Peilin and
            Watanabe, Taro},
  year = {2025},
  eprint = {2506.13277},
  archivePrefix = {arXiv}
}"""

    variants = (
        {"form": "additive", "projection": "layer"},
        {"form": "multiplicative", "projection": "none", "digits": 3, "bidirectional": True},
        {"form": "input"},
        {"axes": 2},
    )
    properties = Property.CACHEABLE | Property.CONTENT_FREE
    beyond_domain = "give more digits (a model trained with fewer does not fit), or choose rope, alibi or sinusoidal"

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        form: Form = "scalar",
        projection: Projection | None = None,
        digits: int = 5,
        axes: int = 1,
        encoder_width: int | None = None,
        encoder_heads: int | None = None,
        encoder_depth: int = 2,
        bidirectional: bool = False,
        dropout: float = 0.0,
        gain: float = 1.0,
        longest: int | None = None,
        shift_rate: float = 0.1,
        windows: int = 16,
        contrastive: float = 0.1,
        distillation: float = 0.1,
        pivots: int = 8,
        candidates: int = 16,
        sampled: int = 16,
    ):
        super().__init__()
        self.width, self.heads, self.head_dim = width, heads, head_dim
        self.form, self.digits, self.axes, self.gain = form, digits, axes, gain
        self.projection = projection or ("none" if form == "input" else "single")
        self.per_layer = self.projection == "layer"
        self._check_form(projection)
        self.longest = min(10**digits, PAPER_LONGEST) if longest is None else longest
        self.shift_rate, self.windows = shift_rate, windows
        self.contrastive, self.distillation = contrastive, distillation
        self.pivots, self.candidates, self.sampled = pivots, candidates, sampled
        encoder_width = max(8, width // 2) if encoder_width is None else encoder_width
        if encoder_heads is None:
            encoder_heads = encoder_width // PAPER_HEAD if encoder_width % PAPER_HEAD == 0 else 1
        self._check(encoder_width, encoder_heads, encoder_depth, dropout)
        self.reader = DigitReader(
            width, digits, axes, encoder_width, encoder_heads, encoder_depth, bidirectional, dropout
        )
        self.project = None if self.projection == "none" else nn.Linear(width, 2 * width)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.reader.reset_parameters()
        self.reset_layer()

    def reset_layer(self) -> None:
        if self.project is not None:
            initial(self.project)

    @property
    def domain(self) -> Domain:
        return Domain(0, 10**self.digits - 1, whole=True, axes=self.axes)

    @property
    def sites(self) -> list[Site]:
        return [Site.EMBEDDINGS if self.form == "input" else Site.QUERIES_AND_KEYS]

    def common(self) -> tuple[nn.Module, ...]:
        return (self.reader,)

    # The definition.

    def absolute(self, pos: Positions) -> Float[Tensor, "rows n w"] | float:
        if self.form != "input":
            return 0.0
        return pos.only_placed(self.reader.plainly(pos.anchored(), self.reader.token.dtype))

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        root = q.shape[-1] ** 0.5
        if self.form == "input":
            return dot(q, k) / root
        u, w = self._defined(q_pos, 0, q), self._defined(k_pos, 1, k)
        if self.form == "additive":
            return (dot(q, k) + dot(q, w) + dot(u, k) + dot(u, w)) / root
        if self.form == "multiplicative":
            return torch.einsum("bhid,bhid,bhjd,bhjd->bhij", q, u, k, w) / root
        return (dot(q, k) + self.gain * dot(u, w)) / root

    def _defined(self, pos: Positions, half: int, like: Float[Tensor, "b h n d"]) -> Float[Tensor, "b h n d"]:
        dtype = like.dtype
        e, parts = self.reader.plainly(pos.anchored(), dtype), []
        for head in range(self.heads):
            of = slice(head * self.head_dim, (head + 1) * self.head_dim)
            if self.project is None:
                parts.append(e[..., of])
            else:
                matrix = self.project.weight[half * self.width :][of].to(dtype)
                parts.append(e @ matrix.T + self.project.bias[half * self.width :][of].to(dtype))
        absent = 1.0 if self.form == "multiplicative" else 0.0
        return torch.where(pos.has_place()[:, None, :, None], torch.stack(parts, dim=1), absent).expand(like.shape)

    # The lowering.

    def embed(self, x: Float[Tensor, "b n w"], pos: Positions) -> Float[Tensor, "b n w"]:
        if self.form != "input":
            return x
        self.check_positions(pos)
        e = self.reader(pos.anchored(), torch.promote_types(self.reader.token.dtype, torch.float32))
        return x + pos.only_placed(e).to(x.dtype)

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> _Prepared | None:
        if self.form == "input":
            return None
        e = self.reader(pos.anchored(), dtype)
        placed = None if pos.placed is None else pos.placed[:, None, :, None]
        if self.projection == "layer":
            return _Prepared(e, e, placed)
        return _Prepared(self._part(e, 0), self._part(e, 1), placed)

    def query(self, q: Float[Tensor, "b h i d"], prepared: _Prepared | None) -> Float[Tensor, "b h i wide"]:
        if prepared is None:
            return q
        u = self._part(prepared.query, 0) if self.projection == "layer" else prepared.query
        return self._joined(q, u * self.gain if self.form == "scalar" else u, prepared.placed)

    def key(self, k: Float[Tensor, "b g j d"], prepared: _Prepared | None) -> Float[Tensor, "b g_or_h j wide"]:
        if prepared is None:
            return k
        w = self._part(prepared.key, 1) if self.projection == "layer" else prepared.key
        return self._joined(k.repeat_interleave(self.heads // k.shape[1], dim=1), w, prepared.placed)

    def _part(self, e: Float[Tensor, "rows n w"], half: int) -> Float[Tensor, "rows h n d"]:
        """The part of queries (half 0) or keys (half 1), by head."""
        if self.project is not None:
            weight, bias = (t.chunk(2)[half].to(e.dtype) for t in (self.project.weight, self.project.bias))
            with uncast(e.device):
                e = nn.functional.linear(e, weight, bias)
        return e.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)

    def _joined(self, x: Tensor, part: Tensor, placed: Tensor | None) -> Tensor:
        if placed is not None:
            part = torch.where(placed, part, 1.0 if self.form == "multiplicative" else 0.0)
        if self.form == "scalar":
            return torch.cat([x, part.to(x.dtype).expand(x.shape)], dim=-1)
        return (x + part if self.form == "additive" else x * part).to(x.dtype)

    # Training.

    def draw(self, pos: Positions, generator: torch.Generator, rows: int = 1) -> Positions:
        draws = Draws(generator)
        if float(draws.uniform()) >= self.shift_rate:
            return pos
        room = (self.longest - 1 - pos.anchored().amax(dim=(0, 1))).clamp(min=0)
        rows = max(rows, pos.rows)
        by = draws.uniform(min(self.windows, rows), self.axes).to(room.device) * room
        by = torch.minimum(by.floor() + 1, room)
        row = torch.arange(rows, device=room.device) % by.shape[0]
        return replace(pos, coords=pos.coords + by[row][:, None])

    def auxiliary(self, pos: Positions, generator: torch.Generator) -> Tensor | float:
        if not self.contrastive and not self.distillation:
            return 0.0
        draws, device = Draws(generator), self.reader.token.device
        span = PAPER_SPAN if self.axes == 1 else GRID_SPAN
        pivot, candidate = (
            places.to(device)
            for places in pivots_and_candidates(self.pivots, self.candidates, self.longest, self.axes, span, draws)
        )
        teacher, student = windows(pos, self.sampled, self.longest, 10**self.digits, draws)
        several = (pivot, candidate.flatten(0, 1), teacher.to(device), student.to(device))
        dtype = torch.promote_types(self.reader.token.dtype, torch.float32)
        e = self.reader(torch.cat(several)[None], dtype, generator)[0]
        e_pivot, e_candidate, e_teacher, e_student = e.split([len(places) for places in several])
        told = contrastive(e_pivot, e_candidate.unflatten(0, candidate.shape[:2]), pivot, candidate)
        by_head = (t.unflatten(-1, (self.heads, -1)).transpose(0, 1) for t in (e_teacher, e_student))
        return self.contrastive * told + self.distillation * unshifted(pos).to(e) * distillation(*by_head)

    # What an option may be.

    def _check_form(self, projection: str | None) -> None:
        for name, kinds in (("form", Form), ("projection", Projection)):
            if getattr(self, name) not in get_args(kinds):
                raise OptionError(
                    f"SeqPE has no such {name}", given=getattr(self, name), allowed=", ".join(get_args(kinds))
                )
        if self.form == "input" and projection not in (None, "none"):
            raise OptionError(
                "positions at the input are not projected", given=f"projection={projection!r}", do="leave it out"
            )
        if self.width != self.heads * self.head_dim:
            raise OptionError(
                "SeqPE gives each head its part of one vector",
                given=f"width {self.width}, {self.heads} heads of {self.head_dim}",
                allowed=f"width {self.heads * self.head_dim}",
            )

    def _check(self, encoder_width: int, encoder_heads: int, encoder_depth: int, dropout: float) -> None:
        if not 1 <= self.digits <= 15 or self.axes < 1:
            raise OptionError(
                "SeqPE reads digits on axes",
                given=f"digits={self.digits}, axes={self.axes}",
                allowed="1 to 15 digits, which float64 tells apart, on 1 axis or more",
            )
        if encoder_heads < 1 or encoder_depth < 1 or encoder_width % encoder_heads or encoder_width < 1:
            raise OptionError(
                "the encoder's heads share its width",
                given=f"encoder_width={encoder_width}, encoder_heads={encoder_heads}, encoder_depth={encoder_depth}",
                allowed="a width that the heads divide, a depth of 1 or more",
            )
        if not 2 <= self.longest <= 10**self.digits:
            raise OptionError(
                "training samples positions below `longest`",
                given=f"longest={self.longest}",
                allowed=f"2 to {10**self.digits}",
            )
        rates = dict(shift_rate=self.shift_rate, dropout=dropout)
        if not (0 <= self.shift_rate <= 1 and 0 <= dropout < 1):
            raise OptionError("a rate is a probability", given=rates, allowed="0 to 1; dropout below 1")
        counts = dict(windows=self.windows, pivots=self.pivots, candidates=self.candidates, sampled=self.sampled)
        if min(counts.values()) < 1 or self.candidates < 2 or min(self.contrastive, self.distillation) < 0:
            weights = dict(contrastive=self.contrastive, distillation=self.distillation)
            raise OptionError(
                "the losses compare positions",
                given=counts | weights,
                allowed="1 or more of each, 2 candidates or more, weights of 0 or more",
            )

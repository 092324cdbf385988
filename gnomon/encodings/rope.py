"""Rotary positions: queries and keys are turned by their position, so their product sees the difference."""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, difference, dot
from gnomon.encodings.frequencies import angles, block_diagonal
from gnomon.encodings.rope_definition import axis, frequency, growth, turns
from gnomon.encodings.rope_scaling import Scaling, Scheme, document_length
from gnomon.encodings.rotation import Pairing, check_pairing, turn
from gnomon.errors import OptionError, PositionError
from gnomon.positions import Positions

Layout = Literal["chunked", "interleaved"]


@checked
class Rope(Encoding):
    """Rotary position embedding (RoPE), its context extensions, and its forms on several axes.

    logit_ij = <R(p_i) q_i, R(p_j) k_j> / sqrt(d) = Re sum_m q_im conj(k_jm) e^{i w_m (p_i - p_j)} / sqrt(d)

    with w_m = theta^{-2m/r} for the pairs m = 0 .. r/2 - 1 of the first r = `fraction` d dimensions. A pair is
    (x_m, x_{m + r/2}) under `half` (NeoX, Llama in transformers) and (x_2m, x_{2m+1}) under `interleaved` (RoFormer,
    GPT-J, Meta's Llama); a permutation of the projections' rows turns one into the other (gnomon.convert).

    Axes: the pairs are shared out in equal blocks, one for each coordinate, each with frequencies theta^{-2m axes/r}
    (axial). With `sections` (M-RoPE: time, row, column) pair m keeps theta^{-2m/r}, and sections say how many pairs
    each coordinate turns: in bands (`chunked`, Qwen2-VL) or one after the other (`interleaved`, Qwen3-VL).
    Scaling: `linear`, `ntk`, `dynamic`, `yarn` (as released), `llama3`, `longrope` change w_m for texts `factor` times
    as long as `original_length` (rope_definition has the formulas); `yarn` and `longrope` also multiply rotated
    queries and keys by `attention_factor`, found from the factor where it is not given. `proportional` keeps the
    fastest floor(fraction d / 2) of the frequencies theta^{-2m/d} and stops the others, of all d dimensions.
    Length: `dynamic` and `longrope` measure each document: 1 + its farthest position. Documents and batch rows do not
    touch each other. A cache whose tokens would be other at the new length is refused; `length` fixes it in advance.

    Shapes: cos and sin `[rows, 1, n, r/2]`. Positions: any real numbers, `axes` of them; a token without a place is
    not rotated. Cost: no parameters; four multiplications for each pair of dimensions and token, in every layer.
    Precision: angles are formed in float64 and only their sines and cosines are cast, so that a shift of 10^7 moves a
    float32 logit by rounding alone; 16-bit queries and keys are multiplied in float32.
    Errors: OptionError where r is not a whole number of pairs on each axis, or a scheme lacks a parameter or has one
    too many; PositionError where a cache outgrows the length that its tokens were computed for.
    Differs: transformers takes the longest row of a batch for the length of all, and mixes keys of several lengths in
    a cache. DeepSeek multiplies the softmax scale by mscale(factor, mscale_all_dim)^2 besides; that is its attention's.
    Use: as the default of today's decoders: no parameters, exact with a cache, relative in every head; scaled, when
    a checkpoint must read longer texts than it was trained on.
    Fails: past the training length slow pairs reach angles they never had, and in `gnomon compare` the loss leaps:
    interpolate (`linear`, `ntk`, `yarn`) and train on, or expect that. 16-bit angles would merge neighbours, which
    is why angles here are never cast.
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
        {"axes": 3, "sections": (2, 1, 1)},
        {"axes": 3, "sections": (2, 1, 1), "layout": "interleaved", "theta": 100.0},
        {"scaling": "linear", "factor": 4.0},
        {"scaling": "ntk", "factor": 4.0, "pairing": "interleaved"},
        {"scaling": "dynamic", "factor": 2.0, "original_length": 100.0},
        {"scaling": "yarn", "factor": 4.0, "original_length": 256.0},
        {"scaling": "yarn", "factor": 4.0, "original_length": 256.0, "truncate": False, "axes": 2},
        {"scaling": "llama3", "factor": 8.0, "original_length": 64.0, "theta": 100.0},
        {"scaling": "longrope", "original_length": 160.0, "factor": 4.0,
         "short_factor": (1.0, 1.1, 1.2, 1.5), "long_factor": (1.0, 1.5, 3.0, 4.0)},
        {"scaling": "longrope", "original_length": 100.0, "factor": 4.0, "length": 400.0,
         "short_factor": (1.0, 1.1, 1.2, 1.5), "long_factor": (1.0, 1.5, 3.0, 4.0)},
        {"scaling": "proportional", "fraction": 0.5, "theta": 100.0},
    )  # fmt: skip

    def __init__(
        self,
        head_dim: int,
        theta: float = 10000.0,
        pairing: Pairing = "half",
        fraction: float = 1.0,
        axes: int = 1,
        sections: tuple[int, ...] | None = None,
        layout: Layout = "chunked",
        scaling: Scheme | None = None,
        factor: float | None = None,
        original_length: float | None = None,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        truncate: bool = True,
        attention_factor: float | None = None,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
        low_freq_factor: float = 1.0,
        high_freq_factor: float = 4.0,
        short_factor: tuple[float, ...] | None = None,
        long_factor: tuple[float, ...] | None = None,
        length: float | None = None,
    ):
        super().__init__()
        check_pairing(pairing, "rope")
        if not 1 < theta < math.inf:
            raise OptionError(
                "rope's base must exceed 1", given=f"theta={theta}", allowed="above 1", do="try theta=10000"
            )
        if axes < 1 or not 0 < fraction <= 1:
            raise OptionError(
                "rope rotates a fraction of the head on one axis or more",
                given=f"fraction={fraction}, axes={axes}",
                allowed="0 < fraction <= 1, axes >= 1",
            )
        self.scaling = Scaling(
            scaling, factor, original_length, beta_fast, beta_slow, truncate, attention_factor, mscale, mscale_all_dim,
            low_freq_factor, high_freq_factor, short_factor, long_factor, length,
        )  # fmt: skip
        part = math.floor(head_dim * fraction + 1e-9)
        rotary = head_dim if scaling == "proportional" else part
        blocks = axes if sections is None else 1
        if rotary < 2 * blocks or rotary % (2 * blocks):
            raise OptionError(
                "rope rotates pairs of dimensions, as many on each axis",
                given=f"{rotary} of {head_dim} dimensions, {blocks} axes",
                allowed=f"a multiple of {2 * blocks}",
                do="choose a width and a number of heads with width / heads * fraction = "
                f"{math.ceil(max(rotary, 1) / (2 * blocks)) * 2 * blocks}",
            )
        if scaling == "proportional" and (part < 2 or axes > 1):
            raise OptionError(
                "proportional keeps some of the frequencies of a single axis",
                given=f"{part // 2} frequencies kept, {axes} axes",
                allowed="one kept or more, axes=1",
            )
        self.scaling.check_width(rotary // blocks)
        _sections_fit(sections, layout, axes, rotary // 2)
        self.head_dim, self.rotary, self.fraction = head_dim, rotary, fraction
        self.theta, self.pairing = float(theta), pairing
        self.axes, self.sections, self.layout = axes, sections, layout
        self.turning = part // 2 if scaling == "proportional" else rotary // 2
        """How many pairs turn; those after them have frequency 0."""

    @property
    def domain(self) -> Domain:
        return Domain(axes=self.axes)

    @property
    def properties(self) -> Property:
        if not self.scaling.measured:
            return Encoding.properties
        return Property.CONTENT_FREE | (Property.CONTINUOUS if self.scaling.scheme == "dynamic" else Property(0))

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        r, apart, length = self.rotary, difference(q_pos, k_pos), _length_of_each_query(q_pos, k_pos)
        pairs = r // 2
        of_axis = pairs if self.sections is not None else pairs // self.axes
        turned = torch.zeros_like(apart[..., 0]).to(q.dtype)
        for m in range(pairs):
            first, second = (m, m + pairs) if self.pairing == "half" else (2 * m, 2 * m + 1)
            w = frequency(m % of_axis, of_axis, self.theta, self.scaling, length)
            w = w if turns(m, self.head_dim, self.fraction, self.scaling) else 0.0
            angle = w * apart[..., axis(m, pairs, self.axes, self.sections, self.layout)]
            q_m = torch.complex(q[..., first], q[..., second])[..., :, None]
            k_m = torch.complex(k[..., first], k[..., second])[..., None, :]
            turned = turned + (q_m * k_m.conj() * torch.polar(torch.ones_like(angle), angle)).real.to(q.dtype)
        placed = [pos.has_place().to(q.dtype) for pos in (q_pos, k_pos)]
        grown = growth(self.scaling) ** ((placed[0][:, None, :, None] + placed[1][:, None, None, :]) / 2)
        return self.scale(q.shape[-1]) * (turned * grown + dot(q[..., r:], k[..., r:]))

    def check_continues(self, held: Positions, keys: Positions) -> None:
        if not self.scaling.measured:
            return
        before, now = (self.scaling.regime(document_length(held, context)) for context in (held, keys))
        same = (before == now).all()
        if torch.compiler.is_compiling():
            torch._assert_async(same, "the text has outgrown the length that its cached tokens were computed for")
        elif not same.is_meta and not same:
            raise PositionError(
                f"under {self.scaling.scheme} scaling every token depends on the length, and the cache holds tokens of "
                "a shorter text",
                given=f"length {document_length(keys, keys).max():g} after {document_length(held, held).max():g}",
                allowed=f"up to {self.scaling.original_length:g}"
                + ", or beyond it from the first call on" * (self.scaling.scheme == "longrope"),
                do="build rope with length=<the longest that the text will be>, or read the whole text anew",
            )

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        length = document_length(pos, context) if self.scaling.measured else None
        angle = angles(pos.anchored(), self.frequencies(pos.coords.device, length))[:, None]
        cos, sin = angle.cos(), angle.sin()
        if self.scaling.attention != 1:
            grown = torch.full_like(cos[..., :1], self.scaling.attention)
            if pos.placed is not None:
                grown = torch.where(pos.placed[:, None, :, None], grown, 1.0)
            cos, sin = cos * grown, sin * grown
        return cos.to(dtype), sin.to(dtype)

    def frequencies(self, device: torch.device | None = None, length: Tensor | None = None) -> Tensor:
        """W `[axes, r/2]` float64: the angle of a token is its coordinates times W; `[*length.shape, axes, r/2]` of

        documents of some length where the scheme measures it.
        """
        pairs = self.rotary // 2
        if self.sections is None:
            row = self.scaling.row(self.rotary // self.axes, self.theta, length, device).tile(self.axes)
            ones = torch.ones(pairs // self.axes, dtype=torch.float64, device=device)
            return self._until_turning(block_diagonal([ones] * self.axes) * row[..., None, :])
        row, m = self.scaling.row(self.rotary, self.theta, length, device), torch.arange(pairs, device=device)
        counts = torch.tensor(self.sections, device=device)
        if self.layout == "chunked":
            owner = torch.repeat_interleave(torch.arange(self.axes, device=device), counts, output_size=pairs)
        else:
            owner = torch.where(m < self.axes * counts[m % self.axes], m % self.axes, 0)
        mine = owner == torch.arange(self.axes, device=device)[:, None]
        return mine * row[..., None, :]

    def _until_turning(self, w: Tensor) -> Tensor:
        return torch.cat([w[..., : self.turning], torch.zeros_like(w[..., self.turning :])], dim=-1)

    def query(self, q: Float[Tensor, "b h i d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b h i wide"]:
        return self._rotate(q, *prepared)

    def key(self, k: Float[Tensor, "b g j d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b g j wide"]:
        return self._rotate(k, *prepared)

    def _rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return turn(x, cos, sin, self.pairing)


def _length_of_each_query(q_pos: Positions, k_pos: Positions) -> Tensor:
    """1 + the farthest position in each query's document, `[rows, 1, i, 1]`; a text has a token at least."""
    together = q_pos.segments()[:, :, None] == k_pos.segments()[:, None, :]
    place = torch.where(together, k_pos.anchored().max(dim=-1).values[:, None, :], 0.0)
    place = torch.nn.functional.pad(place, (0, 1))
    return (place.max(dim=-1).values + 1)[:, None, :, None]


def _sections_fit(sections: tuple[int, ...] | None, layout: str, axes: int, pairs: int) -> None:
    """OptionError unless sections share out all pairs among the axes, in the layout."""
    if layout not in get_args(Layout) or (sections is None and layout != "chunked"):
        raise OptionError(
            "sections are laid out in one of two ways",
            given=f"layout={layout!r}, sections={sections}",
            allowed=", ".join(get_args(Layout)) + "; with sections",
        )
    if sections is None:
        return
    taken = (
        [sum(axis(m, pairs, axes, sections, layout) == a for m in range(pairs)) for a in range(axes)]
        if (len(sections) == axes and sum(sections) == pairs)
        else None
    )
    if taken != [*sections]:
        raise OptionError(
            "sections say how many pairs each axis turns",
            given=f"sections={sections} for {axes} axes and {pairs} pairs, {layout}",
            allowed=f"{axes} numbers whose sum is {pairs}"
            + f"; those after the first up to {pairs // axes}" * (layout == "interleaved"),
        )

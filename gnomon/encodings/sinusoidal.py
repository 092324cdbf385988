"""Sinusoidal absolute positions: every pair of dimensions is a clock hand that turns at its own speed."""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property
from gnomon.encodings.frequencies import angles, block_diagonal, geometric
from gnomon.errors import OptionError
from gnomon.positions import Positions
from gnomon.traced import traced

AT_ONCE = 2**18
"""Numbers of the table that are in float64 at a time."""

Convention = Literal["paper", "tensor2tensor"]


@checked
class Sinusoidal(Encoding):
    """Sinusoidal absolute positions.

    x_i <- x_i + s PE(p_i),    PE(p)_{2m} = sin(p / 10000^{2m/w}),   PE(p)_{2m+1} = cos(p / 10000^{2m/w})

    `tensor2tensor` is the convention of the released code (also fairseq, Whisper, M2M100): sines first, then cosines,
    and frequencies 10000^{-m/(w/2 - 1)}, so that the last wavelength is exactly 2 pi 10000. The two differ in their
    frequencies, not only in order: no permutation turns one into the other.

    An odd width has one sine more than cosines under `paper`, and a last column of zeros under `tensor2tensor`.
    On several axes the width is shared out: the first block encodes the first coordinate, and so on.

    `scale` s, 1 in the paper, is how large positions are beside the content: s PE has the root mean square s / sqrt(2),
    where sines and cosines come in pairs.

    Shapes: PE `[rows, n, w]`. Positions: any real numbers, `axes` of them.
    Cost: no parameters; one addition a token, once. Whether token embeddings are scaled by sqrt(w) before the sum, as
    in the paper, is an option of the model.
    Use: where positions must exist everywhere without parameters, also between whole numbers (time stamps), and
    lengths stay those of training.
    Fails: values exist at any position, but models read past the training length what they have never seen: in
    `gnomon compare` the loss rises as sharply as with a learned table. Which distance a logit sees depends on the
    projections.
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
    """

    bibtex = """@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and
            Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017},
  eprint = {1706.03762},
  archivePrefix = {arXiv}
}"""

    variants = (
        {"convention": "tensor2tensor"},
        {"axes": 2},
        {"axes": 3, "convention": "tensor2tensor"},
        {"scale": 0.3},
    )
    properties = Property.CONTINUOUS | Property.CACHEABLE | Property.CONTENT_FREE

    def __init__(
        self,
        width: int,
        base: float = 10000.0,
        convention: Convention = "paper",
        axes: int = 1,
        scale: float = 1.0,
    ):
        super().__init__()
        if convention not in get_args(Convention):
            raise OptionError(
                "sinusoidal positions come in two conventions",
                given=convention,
                allowed=", ".join(get_args(Convention)),
            )
        if not 1 < base < math.inf:
            raise OptionError(
                "the base of the wavelengths must exceed 1", given=base, allowed="above 1", do="try base=10000"
            )
        if axes < 1 or width < axes:
            raise OptionError("every axis needs a dimension at least", given=f"width {width}, {axes} axes")
        if not 0 < scale < math.inf:
            raise OptionError(
                "positions are added times a scale",
                given=scale,
                allowed="above 0, finite",
                do="for no positions at all take the encoding 'none'",
            )
        self.width, self.base, self.convention, self.axes = width, float(base), convention, axes
        self.amplitude = float(scale)

    @property
    def domain(self) -> Domain:
        return Domain(axes=self.axes)

    def blocks(self) -> list[int]:
        """The width of the block of each axis; they add up to the whole width."""
        return [(self.width + a) // self.axes for a in reversed(range(self.axes))]

    def absolute(self, pos: Positions) -> Float[Tensor, "rows n w"]:
        columns = []
        for axis, width in enumerate(self.blocks()):
            p = pos.anchored()[..., axis]
            if self.convention == "paper":
                for column in range(width):
                    m, wave = column // 2, torch.cos if column % 2 else torch.sin
                    columns.append(wave(p / self.base ** (2 * m / width)))
            else:
                half = width // 2
                for wave in (torch.sin, torch.cos):
                    columns += [wave(p / self.base ** (m / max(half - 1, 1))) for m in range(half)]
                columns += [torch.zeros_like(p)] * (width % 2)
        return pos.only_placed(self.amplitude * torch.stack(columns, dim=-1))

    def embed(self, x: Float[Tensor, "b n w"], pos: Positions) -> Float[Tensor, "b n w"]:
        self.check_positions(pos)
        return x + pos.only_placed(self._added(pos.anchored(), x.dtype))

    def _added(self, coords: Tensor, dtype: torch.dtype) -> Tensor:
        """s PE of coordinates, of which some at a time are in float64."""
        tokens = coords.shape[1]
        at_once = tokens if traced() else max(1, AT_ONCE // max(1, self.width * coords.shape[0]))
        if tokens <= at_once:
            return (self.amplitude * self.table(coords)).to(dtype)
        added = torch.empty(*coords.shape[:2], self.width, dtype=dtype, device=coords.device)
        for first in range(0, tokens, at_once):
            some = slice(first, first + at_once)
            added[:, some] = self.amplitude * self.table(coords[:, some])
        return added

    def table(self, coords: Tensor) -> Tensor:
        """PE of coordinates `[rows, n, axes]`, without its scale: `[rows, n, w]` float64."""
        widths = self.blocks()
        counts = [(width + 1) // 2 if self.convention == "paper" else width // 2 for width in widths]
        angle = angles(coords, block_diagonal([self._row(w, c, coords.device) for w, c in zip(widths, counts)]))
        parts = []
        for width, sine, cosine in zip(widths, angle.sin().split(counts, -1), angle.cos().split(counts, -1)):
            if self.convention == "paper":
                parts.append(torch.stack([sine, cosine], dim=-1).flatten(-2)[..., :width])
            else:
                parts += [sine, cosine, sine.new_zeros(*sine.shape[:-1], width % 2)]
        return torch.cat(parts, dim=-1)

    def _row(self, width: int, count: int, device: torch.device) -> Tensor:
        step = 2 / width if self.convention == "paper" else 1 / max(count - 1, 1)
        return geometric(count, self.base, step, device)

"""Learned absolute positions: one trained vector for each place in a table."""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property
from gnomon.encodings.resize import resize_line
from gnomon.errors import OptionError
from gnomon.positions import Positions

Beyond = Literal["raise", "clamp", "wrap", "interpolate"]


@checked
class Learned(Encoding):
    """Learned absolute positions.

    x_i <- x_i + s E[p_i],     E in R^{M x w}
    x_i <- x_i + s sum_a E_a[p_ia]     on several axes

    E is defined at the whole numbers 0 .. M - 1 and nowhere else. What to do beyond is the caller's choice:
    `raise` (default) an error; `clamp` the nearest row; `wrap` p mod M; `interpolate` stretch the table over
    0 .. longest - 1 and read between its rows: E at x = p (M - 1) / (longest - 1), linear in x, so that positions
    between whole numbers have a meaning too. The stretch is fixed by `longest`, not by the sequence at hand: a cached
    key stays right.

    On several axes each has a table of M rows and their rows are added, so that a grid need not be square nor known
    beforehand (DETR's, which lays halves side by side, are tables with zeros in the other's half). A table with a row
    for each place of one grid, as ViT has, is one axis: give the places numbers, row by row.

    `scale` s is how large positions are beside the content, at first and in training: a step of an optimiser whose
    steps have one size, such as Adam, moves what is added s times as far. BERT has none, and draws contents from
    N(0, 0.02) too; beside contents of size 1, as `Transformer(scale_embeddings=True)` makes them, fill `weight` anew.

    Shapes: E `[axes M, w]`, axis after axis, initialised N(0, 0.02) as in BERT. Positions: `axes` of them; a token
    without a place has nothing added.
    Cost: axes M w parameters; one addition a token, once. Rows past the training length are never trained.
    A trained table becomes another length's by `resized`, an image grid's by `encodings.resize.resize_grid`.
    Errors: PositionError for a position outside the table under `raise` and `interpolate`, or one that is not whole.
    Use: at a fixed length that training covers, such as a fixed grid of image patches.
    Fails: there is nothing beyond the table, and rows that training never reached are noise: in `gnomon compare`
    the loss rises at once past the training length. Nothing it learns at one place carries to another.
    Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1; Devlin et al. 2019.
    """

    bibtex = """@inproceedings{gehring2017convolutional,
  title = {Convolutional Sequence to Sequence Learning},
  author = {Gehring, Jonas and Auli, Michael and Grangier, David and Yarats, Denis and Dauphin, Yann N.},
  booktitle = {International Conference on Machine Learning},
  year = {2017},
  eprint = {1705.03122},
  archivePrefix = {arXiv}
}"""

    variants = (
        {"max_positions": 40, "beyond": "clamp"},
        {"max_positions": 40, "beyond": "wrap"},
        {"max_positions": 40, "beyond": "interpolate", "longest": 90},
        {"axes": 2},
        {"axes": 2, "max_positions": 40, "beyond": "interpolate", "longest": 90},
        {"scale": 3.0},
    )

    def __init__(
        self,
        width: int,
        max_positions: int = 1024,
        beyond: Beyond = "raise",
        longest: int | None = None,
        axes: int = 1,
        scale: float = 1.0,
    ):
        super().__init__()
        if max_positions < 1 or axes < 1:
            raise OptionError(
                "a table of positions needs rows, and an axis",
                given=f"max_positions={max_positions}, axes={axes}",
                allowed="1 or more",
            )
        if beyond not in get_args(Beyond):
            raise OptionError(
                "learned positions need a policy beyond the table", given=beyond, allowed=", ".join(get_args(Beyond))
            )
        if (beyond == "interpolate") != (longest is not None):
            raise OptionError(
                "`longest` belongs to beyond='interpolate' and only there",
                given=f"beyond={beyond!r}, longest={longest}",
                do="say over how many positions the table is to be stretched: beyond='interpolate', longest=4096",
            )
        if longest is not None and longest < max(max_positions, 2):
            raise OptionError(
                "a table cannot shrink", given=f"longest={longest}", allowed=f"{max(max_positions, 2)} up"
            )
        if not 0 < scale < math.inf:
            raise OptionError(
                "positions are added times a scale",
                given=scale,
                allowed="above 0, finite",
                do="for no positions at all take the encoding 'none'",
            )
        self.width, self.amplitude = width, float(scale)
        self.max_positions, self.beyond, self.longest, self.axes = max_positions, beyond, longest, axes
        self.weight = nn.Parameter(torch.empty(axes * max_positions, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.02)

    @property
    def beyond_domain(self) -> str:
        if self.beyond == "interpolate":
            return "give a larger `longest`, or an encoding that is continuous everywhere: sinusoidal, rope, alibi"
        return (
            "give a larger max_positions, or choose beyond='clamp', 'wrap' (whole numbers) or 'interpolate' (real ones)"
        )

    @property
    def properties(self) -> Property:
        between = Property.CONTINUOUS if self.beyond == "interpolate" else Property(0)
        return between | Property.CACHEABLE | Property.CONTENT_FREE

    @property
    def domain(self) -> Domain:
        if self.beyond == "interpolate":
            return Domain(0, self.longest - 1, axes=self.axes)
        if self.beyond == "raise":
            return Domain(0, self.max_positions - 1, whole=True, axes=self.axes)
        return Domain(whole=True, axes=self.axes)

    def resized(self, max_positions: int, *, align_corners: bool = True) -> "Learned":
        """Another encoding, its table this one resized to `max_positions` rows, linear between the rows it has.

        For training on at that length; what corners mean is said in `resize_line`. A position outside it is an error.
        """
        tables = self.weight.detach().unflatten(0, (self.axes, -1))
        resized = Learned(self.width, max_positions, axes=self.axes, scale=self.amplitude).to(tables)
        with torch.no_grad():
            for table, rows in zip(tables, resized.weight.split(max_positions), strict=True):
                rows.copy_(resize_line(table, max_positions, align_corners=align_corners))
        return resized

    def absolute(self, pos: Positions) -> Float[Tensor, "rows n w"]:
        p, rows = pos.anchored(), torch.arange(self.max_positions, device=pos.coords.device)
        if self.beyond == "clamp":
            p = torch.minimum(torch.maximum(p, rows[0]), rows[-1])
        elif self.beyond == "wrap":
            p = p - self.max_positions * torch.floor(p / self.max_positions)
        elif self.beyond == "interpolate":
            p = p * (self.max_positions - 1) / (self.longest - 1)
        hat = (1 - (p[..., None] - rows).abs()).clamp(min=0)
        tables = self.weight.unflatten(0, (self.axes, -1))
        return pos.only_placed(self.amplitude * torch.einsum("rnam,amw->rnw", hat.to(self.weight.dtype), tables))

    def embed(self, x: Float[Tensor, "b n w"], pos: Positions) -> Float[Tensor, "b n w"]:
        self.check_positions(pos)
        table = sum(self._read(place, axis) for axis, place in enumerate(pos.anchored().unbind(-1)))
        return x + pos.only_placed(self.amplitude * table).to(x.dtype)

    def _read(self, place: Float[Tensor, "rows n"], axis: int) -> Float[Tensor, "rows n w"]:
        """The row, or what is between two rows, of the table of one axis."""
        first = axis * self.max_positions
        if self.beyond == "interpolate":
            place = place * (self.max_positions - 1) / (self.longest - 1)
            below = place.floor().clamp(max=max(self.max_positions - 2, 0))
            part = (place - below)[..., None].to(self.weight.dtype)
            below = below.to(torch.int64)
            above = (below + 1).clamp(max=self.max_positions - 1)
            return torch.lerp(self._rows(first + below), self._rows(first + above), part)
        row = place.to(torch.int64)
        if self.beyond == "clamp":
            row = row.clamp(0, self.max_positions - 1)
        elif self.beyond == "wrap":
            row = row % self.max_positions
        return self._rows(first + row)

    def _rows(self, row: Tensor) -> Tensor:
        return nn.functional.embedding(row, self.weight)

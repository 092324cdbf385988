"""Learned absolute positions: one trained vector for each place in a table."""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.encoding import Domain, Encoding, Property
from gnomon.encodings.resize import resize_line
from gnomon.errors import OptionError
from gnomon.positions import Positions

Beyond = Literal["raise", "clamp", "wrap", "interpolate"]


class Learned(Encoding):
    """Learned absolute positions.

    x_i <- x_i + E[p_i],     E in R^{M x w}

    E is defined at the whole numbers 0 .. M - 1 and nowhere else. What to do beyond is the caller's choice:
    `raise` (default) an error; `clamp` the nearest row; `wrap` p mod M; `interpolate` stretch the table over
    0 .. longest - 1 and read between its rows: E at x = p (M - 1) / (longest - 1), linear in x, so that positions
    between whole numbers have a meaning too. The stretch is fixed by `longest`, not by the sequence at hand: a cached
    key stays right.

    Shapes: E `[M, w]`, initialised N(0, 0.02) as in BERT. Positions: one axis.
    Cost: M w parameters; one addition a token, once. Rows past the training length are never trained.
    A trained table becomes another length's by `resized`, an image grid's by `encodings.resize.resize_grid`.
    Errors: PositionError for a position outside the table under `raise` and `interpolate`, or one that is not whole.
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
    )

    def __init__(self, width: int, max_positions: int = 1024, beyond: Beyond = "raise", longest: int | None = None):
        super().__init__()
        if max_positions < 1:
            raise OptionError("a table of positions needs rows", given=max_positions, allowed="1 or more")
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
        self.width = width
        self.max_positions, self.beyond, self.longest = max_positions, beyond, longest
        self.weight = nn.Parameter(torch.empty(max_positions, width))
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
            return Domain(0, self.longest - 1)
        if self.beyond == "raise":
            return Domain(0, self.max_positions - 1, whole=True)
        return Domain(whole=True)

    def resized(self, max_positions: int, *, align_corners: bool = True) -> "Learned":
        """Another encoding, its table this one resized to `max_positions` rows, linear between the rows it has.

        For training on at that length; what corners mean is said in `resize_line`. A position outside it is an error.
        """
        table = resize_line(self.weight.detach(), max_positions, align_corners=align_corners)
        resized = Learned(self.width, max_positions).to(table)
        with torch.no_grad():
            resized.weight.copy_(table)
        return resized

    def absolute(self, pos: Positions) -> Float[Tensor, "rows n w"]:
        p, rows = pos.anchored(), torch.arange(self.max_positions, device=pos.coords.device)
        if self.beyond == "clamp":
            p = torch.minimum(torch.maximum(p, rows[0]), rows[-1])
        elif self.beyond == "wrap":
            p = p - self.max_positions * torch.floor(p / self.max_positions)
        elif self.beyond == "interpolate":
            p = p * (self.max_positions - 1) / (self.longest - 1)
        hat = (1 - (p - rows).abs()).clamp(min=0)
        return pos.only_placed(hat.to(self.weight.dtype) @ self.weight)

    def embed(self, x: Float[Tensor, "b n w"], pos: Positions) -> Float[Tensor, "b n w"]:
        self.takes(pos)
        place = pos.anchored()[..., 0]
        if self.beyond == "interpolate":
            place = place * (self.max_positions - 1) / (self.longest - 1)
            below = place.floor().clamp(max=max(self.max_positions - 2, 0))
            part = (place - below)[..., None].to(self.weight.dtype)
            below = below.to(torch.int64)
            above = (below + 1).clamp(max=self.max_positions - 1)
            table = torch.lerp(self._rows(below), self._rows(above), part)
        else:
            row = place.to(torch.int64)
            if self.beyond == "clamp":
                row = row.clamp(0, self.max_positions - 1)
            elif self.beyond == "wrap":
                row = row % self.max_positions
            table = self._rows(row)
        return x + pos.only_placed(table).to(x.dtype)

    def _rows(self, row: Tensor) -> Tensor:
        return nn.functional.embedding(row, self.weight)

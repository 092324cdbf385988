"""A learned relative bias: one number for each clipped difference of place and each head, on a line or on a grid."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, both_placed, difference, dot
from gnomon.errors import OptionError
from gnomon.pairs import PairFunction, at
from gnomon.per_head import Entry
from gnomon.positions import Positions
from gnomon.rows import Apart


@checked
class RelativeBias(Encoding):
    """Learned relative position bias, as in Swin and BEiT.

    logit_ij = <q_i, k_j> / sqrt(d) + B[h, clip(p_i - p_j)]

    On a grid p is (row, column), and B has an entry for each difference of rows with each difference of columns.
    `window=(rows, columns)` is the grid that is told apart in full: `window=(7, 7)` is Swin's window of 7 x 7 patches,
    whose rows and columns differ by 6 at most, so that B has 13 x 13 entries. Without a window, on a line or on a grid
    (`axes=2`), differences are clipped at `clip`, 16 unless it is given. Swin and BEiT fail outside their window; here
    what is farther away reads the last row or column.

    Shapes: B `[h, 2 clip + 1]`, or `[h, (2 rows - 1) (2 columns - 1)]` with rows before columns, the most negative
    differences first: the transpose of Swin's `relative_position_bias_table`. Initialised N(0, 0.02) as in Swin.
    Positions: whole numbers of any size on one axis or two; a token without a place (a class token) has no bias, where
    BEiT has three numbers of its own. Shared by all layers, as `use_shared_relative_position_bias` does in BEiT; with
    `per_layer` each layer has a table of its own, as in Swin.
    Cost: (2 rows - 1) (2 columns - 1) h parameters; a gather for each difference where positions are evenly spaced, for
    each pair elsewhere.
    Errors: OptionError for a window on a line, or one beside `clip`; PositionError between whole numbers or for other
    axes.
    Use: on image windows of one size, or short lines: one number for each difference of row and column.
    Fails: differences that training never had share the number of the last row or column; other window sizes need
    the table resized.
    Source: Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows", section 3.2;
    Bao et al. 2022, "BEiT: BERT Pre-Training of Image Transformers".
    """

    bibtex = """@inproceedings{liu2021swin,
  title = {Swin Transformer: Hierarchical Vision Transformer using Shifted Windows},
  author = {Liu, Ze and Lin, Yutong and Cao, Yue and Hu, Han and Wei, Yixuan and Zhang, Zheng and Lin, Stephen and Guo,
            Baining},
  booktitle = {IEEE/CVF International Conference on Computer Vision},
  year = {2021},
  eprint = {2103.14030},
  archivePrefix = {arXiv}
}"""

    variants = ({"clip": 4, "per_layer": True}, {"axes": 2, "clip": 3}, {"axes": 2, "window": (3, 6)})
    properties = Property.TRANSLATION_INVARIANT | Property.CACHEABLE | Property.CONTENT_FREE
    beyond_domain = "give whole positions (count in a smaller unit), or choose a continuous encoding: rope, alibi"

    def __init__(
        self,
        heads: int,
        axes: int | None = None,
        clip: int | None = None,
        window: tuple[int, int] | None = None,
        per_layer: bool = False,
    ):
        super().__init__()
        on_a_grid = window is not None
        axes = axes if axes is not None else 2 if on_a_grid else 1
        if axes not in (1, 2) or (on_a_grid and axes == 1):
            raise OptionError(
                "a window is rows and columns of a grid" if on_a_grid else "a relative bias lies on a line or a grid",
                given=f"axes={axes}" + f", window={window}" * on_a_grid,
                allowed="2" if on_a_grid else "1, 2",
                do="give window=(7, 7) alone for 7 x 7 patches, or clip=16 for a line",
            )
        if on_a_grid and clip is not None:
            raise OptionError(
                "a window says which differences are told apart, and so does clip",
                given=f"window={window}, clip={clip}",
                do="give one of the two",
            )
        limits = tuple(size - 1 for size in window) if on_a_grid else (16 if clip is None else clip,) * axes
        if min(limits) < 0 or not max(limits):
            raise OptionError(
                "a relative bias tells differences apart up to a limit",
                given=f"window={window}" if on_a_grid else f"clip={clip}",
                allowed="window=(rows, columns), 1 or more each and not 1 x 1" if on_a_grid else "1 or more",
            )
        self.heads, self.axes, self.limits, self.per_layer = heads, axes, limits, per_layer
        self.weight = nn.Parameter(torch.empty(heads, math.prod(2 * limit + 1 for limit in limits)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.02)

    @property
    def domain(self) -> Domain:
        return Domain(whole=True, axes=self.axes)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        p_i_minus_p_j = difference(q_pos, k_pos)
        # Each axis picks one of its entries: products of ones and zeros with the table laid out as a box.
        box, picked = self.weight.unflatten(1, [2 * limit + 1 for limit in self.limits]).to(torch.float64), []
        for axis, limit in enumerate(self.limits):
            apart, entry = p_i_minus_p_j[:, 0, ..., axis, None], torch.arange(-limit, limit + 1, device=q.device)
            beyond = ((apart < -limit) & (entry == -limit)) | ((apart > limit) & (entry == limit))
            picked.append(((apart == entry) | beyond).to(torch.float64))
        equation = "hc,nijc->nhij" if self.axes == 1 else "hrc,nijr,nijc->nhij"
        bias = torch.einsum(equation, box, *picked)
        bias = torch.where(both_placed(q_pos, k_pos), bias, 0.0).to(q.dtype)
        return self.scale(q.shape[-1]) * dot(q, k) + bias

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        # Copies: flex on CPU (torch 2.13) takes no two views of one tensor.
        q_axes, k_axes = ([axis.contiguous() for axis in pos.anchored().unbind(-1)] for pos in (q_pos, k_pos))
        limits = self.limits
        if len(limits) == 1:
            (limit,) = limits

            def of(apart: Tensor) -> Tensor:
                return apart.clamp(-limit, limit).to(torch.int64) + limit

            return Entry(Apart(q_axes[0], k_axes[0], of, (-limit, limit)), self.weight)

        def entry(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            number = 0
            for q_at, k_at, limit in zip(q_axes, k_axes, limits, strict=True):
                apart = (at(q_at, b, i) - at(k_at, b, j)).clamp(-limit, limit).to(torch.int64)
                number = number * (2 * limit + 1) + apart + limit
            return number

        return Entry(entry, self.weight)

"""FIRE: a small network of the relative distance, progressively interpolated to any length."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, both_placed, difference, dot
from gnomon.errors import OptionError
from gnomon.pairs import Dense, PairFunction, Values, at, dense, part
from gnomon.positions import Positions
from gnomon.room import Room, empty
from gnomon.traced import traced

EPSILON = 1e-6
"""What keeps the ratio finite where the normaliser is zero."""
TILE = 256
"""Queries, and keys, whose ratios are close enough together that few units of the network bend between them."""


@checked
class Fire(Encoding):
    """Functional interpolation for relative position encoding (FIRE).

    logit_ij = <q_i, k_j> / sqrt(d) + f_h( psi(|p_i - p_j|) / (psi(max(p_i, |mu| L_0)) + eps) )
    psi(x) = ln(1 + |c| x),     f = a network of one hidden layer with ReLU, from one number to one for each head

    The distance is measured against the query's own position, so the ratio of a causal pair lies in [0, 1] at any
    length; |mu| L_0 is the position before which it is not stretched. The normaliser holds the query's absolute
    position: FIRE is not translation invariant, and positions count from the start of the sequence (packed documents
    restart). A decoded token's ratio depends on nothing that comes later, so cached decoding is exact.

    Shapes: hidden `[m, 1]` and `[m]`, out `[h, m]` and `[h]`, initialised as torch's Linear, c = 0.1 and mu = 1 as
    released, L_0 = `start` = 512. Positions: real numbers on one axis, negative ones too. Each layer has a network of
    its own; not `per_layer` they share one, the paper's FIRE-S.
    Cost: m (h + 2) + h + 2 parameters a layer; m h multiplications for each pair and layer, or once for all layers that
    share the network where there are few pairs or gradients. Without gradients, on a CPU, units that do not bend
    between the ratios of 256 by 256 pairs are one line, which leaves a few of the m. No table of distances holds the
    bias: past |mu| L_0 it depends on both positions.
    Precision: distances are taken in float64; psi, the ratio and the network are in the precision of the logits,
    float32 at least.
    Differs: without a causal mask the paper says nothing; there the normaliser is max(p_i, p_j, |mu| L_0), the later
    of both ends, with which the ratio stays in [0, 1] and the bias symmetric.
    Errors: OptionError for a network without units, or a start that is not positive.
    Use: where lengths differ much between training and use: distances are read relative to how long the text is so
    far.
    Fails: the same pair has another bias as its query stands later, so nothing is translation invariant; the
    network is evaluated for every pair and head, which is dear without a table.
    Source: Li et al. 2024, "Functional Interpolation for Relative Positions Improves Long Context Transformers",
    section 3; eps and initial values from a public implementation (McLeish et al. 2024).
    """

    bibtex = """@inproceedings{li2024functional,
  title = {Functional Interpolation for Relative Positions Improves Long Context Transformers},
  author = {Li, Shanda and You, Chong and Guruganesh, Guru and Ainslie, Joshua and Ontanon, Santiago and Zaheer, Manzil
            and Sanghai, Sumit and Yang, Yiming and Kumar, Sanjiv and Bhojanapalli, Srinadh},
  booktitle = {International Conference on Learning Representations},
  year = {2024},
  eprint = {2310.04418},
  archivePrefix = {arXiv}
}"""

    variants = ({"per_layer": False, "start": 16.0, "units": 5},)
    properties = Property.CONTINUOUS | Property.CACHEABLE | Property.CONTENT_FREE
    domain = Domain()

    def __init__(self, heads: int, causal: bool = True, units: int = 32, start: float = 512.0, per_layer: bool = True):
        super().__init__()
        if heads < 1 or units < 1:
            raise OptionError(
                "FIRE is a network of hidden units", given=f"{units} for {heads} heads", allowed="1 or more"
            )
        if not 0 < start < float("inf"):
            raise OptionError("FIRE stretches from a position on", given=f"start={start}", allowed="above 0")
        self.heads, self.causal, self.per_layer = heads, causal, per_layer
        self.units, self.start = units, float(start)
        self.hidden, self.out = nn.Linear(1, units), nn.Linear(units, heads)
        self.c, self.mu = nn.Parameter(torch.empty(())), nn.Parameter(torch.empty(()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.hidden.reset_parameters()
        self.out.reset_parameters()
        nn.init.constant_(self.c, 0.1)
        nn.init.constant_(self.mu, 1.0)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        bias = self._network(self.ratio(q_pos, k_pos))
        return self.scale(q.shape[-1]) * dot(q, k) + torch.where(both_placed(q_pos, k_pos), bias, 0.0).to(q.dtype)

    def ratio(self, q_pos: Positions, k_pos: Positions) -> Float[Tensor, "rows i j"]:
        """psi of the distance over psi of the normaliser for every pair, `[rows, i, j]` float64."""
        c, mu = self.c.to(torch.float64), self.mu.to(torch.float64)
        distance = difference(q_pos, k_pos)[:, 0, :, :, 0].abs()
        end = q_pos.anchored()[..., 0][:, :, None].expand_as(distance)
        if not self.causal:
            end = torch.maximum(end, k_pos.anchored()[..., 0][:, None])
        length = torch.maximum(end, (mu * self.start).abs())
        return torch.log((c * distance).abs() + 1) / (torch.log((c * length).abs() + 1) + EPSILON)

    def _network(self, ratio: Float[Tensor, "rows i j"]) -> Float[Tensor, "rows h i j"]:
        w, b, w_out, b_out = self._weights()
        hidden = torch.relu(torch.einsum("rij,m->rijm", ratio.to(w.dtype), w) + b)
        return torch.einsum("rijm,hm->rhij", hidden, w_out) + b_out[:, None, None]

    def _weights(self) -> tuple[Tensor, ...]:
        """`[m]`, `[m]`, `[h, m]`, `[h]`, in float32 at least: the bias is rounded once, when it meets the logits."""
        wide = torch.promote_types(self.c.dtype, torch.float32)
        return tuple(t.to(wide) for t in (self.hidden.weight[:, 0], self.hidden.bias, self.out.weight, self.out.bias))

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        causal, wide, c = self.causal, q.dtype, self.c.to(q.dtype).abs()
        least = self.start * self.mu.to(torch.float64).abs()
        q_at, k_at = q_pos.anchored()[..., 0], k_pos.anchored()[..., 0]
        # psi rises, so that of the later end is the larger of both, and each token's is worked out once.
        q_end, k_end = (torch.log1p(torch.maximum(t, least).to(wide) * c) + EPSILON for t in (q_at, k_at))

        def ratio(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            grown = torch.log1p((at(q_at, b, i) - at(k_at, b, j)).to(wide).abs() * c)
            end = at(q_end, b, i)
            return grown / (end if causal else torch.maximum(end, at(k_end, b, j)))

        return _Network(ratio, *(weight.to(wide) for weight in self._weights()))


@dataclass(frozen=True)
class _Network(Dense):
    """The network of a number for every pair: one hidden layer of rectified units, linear between its kinks."""

    ratio: PairFunction
    w: Float[Tensor, " m"]
    b_in: Float[Tensor, " m"]
    w_out: Float[Tensor, "h m"]
    b_out: Float[Tensor, " h"]
    by_head = False

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        # Unit by unit, so that no tensor is wider than the pairs themselves, and flex can inline it.
        ratio, value = self.ratio(b, h, i, j), self.b_out[h]
        for unit in range(self.w.shape[0]):
            value = value + self.w_out[h, unit] * (self.w[unit] * ratio + self.b_in[unit]).relu()
        return value

    def pointwise(self) -> PairFunction:
        return self.__call__

    def part(self, queries: slice, keys: slice) -> "_Network":
        return replace(self, ratio=part(self.ratio, queries, keys))

    def of_heads(self, heads: slice) -> "_Network":
        return replace(self, w_out=self.w_out[heads], b_out=self.b_out[heads])

    def made(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Dense:
        # All heads read the same hidden units.
        return Values(self.dense(rows, queries, keys, room))

    def dense(self, rows: int, queries: int, keys: int, room: Room | None = None) -> Tensor:
        ratio = dense(self.ratio, rows, 1, queries, keys, self.w.device, room)
        # On a GPU the host would wait for the least and the largest ratio of each tile; few pairs are not worth it.
        if torch.is_grad_enabled() or traced() or ratio.device.type != "cpu" or ratio.numel() <= TILE**2:
            hidden = (ratio[..., None] * self.w + self.b_in).relu()
            return (hidden @ self.w_out.mT + self.b_out)[:, 0].movedim(-1, 1)
        value = empty(room, (ratio.shape[0], self.w_out.shape[0], queries, keys), ratio.dtype, ratio.device)
        own = Room()
        for of_row, numbers in zip(value, ratio[:, 0], strict=True):
            for i in range(0, queries, TILE):
                for j in range(0, keys, TILE):
                    tile = slice(i, i + TILE), slice(j, j + TILE)
                    of_row[:, *tile] = self._of_tile(numbers[tile], own.again())
        return value

    def _of_tile(self, ratio: Float[Tensor, "i j"], room: Room) -> Float[Tensor, "h i j"]:
        """The network of some pairs: a line in the ratio, and besides only the units whose kink lies between them."""
        low, high = (self.w * end + self.b_in for end in ratio.aminmax())
        on, off = (low >= 0) & (high >= 0), (low <= 0) & (high <= 0)
        bend = (~(on | off)).nonzero()[:, 0]
        # Rows that the heads add up: the ratio, 1, and the units that bend.
        rows = room.empty((2 + len(bend), ratio.numel()), ratio.dtype, ratio.device)
        rows[0].view(ratio.shape).copy_(ratio)
        rows[1] = 1
        torch.mul(self.w[bend, None], rows[0], out=rows[2:]).add_(self.b_in[bend, None]).relu_()
        line = self.w_out @ torch.where(on, torch.stack([self.w, self.b_in]), 0.0).T
        line[:, 1] += self.b_out
        value = room.empty((len(line), ratio.numel()), ratio.dtype, ratio.device)
        return torch.mm(torch.cat([line, self.w_out[:, bend]], dim=1), rows, out=value).unflatten(1, ratio.shape)

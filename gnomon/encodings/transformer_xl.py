"""Transformer-XL's relative positions: a sinusoid of each distance, two vectors in place of the query's position."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.content import FEW, Chosen, Product, few, query_lookup
from gnomon.encoding import Domain, Encoding, Property, difference, dot
from gnomon.encodings.diagonals import diagonals
from gnomon.encodings.frequencies import among, angles, geometric
from gnomon.errors import OptionError
from gnomon.lasting import lasts, of_weights
from gnomon.once import once
from gnomon.pairs import PairFunction, at
from gnomon.positions import Positions
from gnomon.rows import Diagonal

BASE = 10000.0


class _Biases(nn.Module):
    """What all layers share: u and v, `[h, d]`."""

    def __init__(self, heads: int, head_dim: int):
        super().__init__()
        self.u, self.v = (nn.Parameter(torch.empty(heads, head_dim)) for _ in range(2))

    def reset_parameters(self) -> None:
        nn.init.normal_(self.u, std=0.02)
        nn.init.normal_(self.v, std=0.02)


@checked
class TransformerXL(Encoding):
    """Transformer-XL's relative positions.

    logit_ij = [ <q_i + u, k_j> + <q_i + v, W r(p_i - p_j)> ] / sqrt(d)
    r(x) = [sin(w_0 x), sin(w_1 x), ..., cos(w_0 x), cos(w_1 x), ...],     w_n = 10000^{-2n/w}

    The four terms are content, content to position, u for content at large and v for position at large. u stands for
    the query's own position, so a query without a place has none. `clamp_len` C takes distances beyond C for C, on
    either side (the original clamps the past alone, XLNet both; under a causal mask they are the same). `mem_len` is
    how many tokens of earlier segments a model reads besides its own: `Memory` holds their layer inputs, and keys are
    projected anew.

    Shapes: u, v `[h, d]`, N(0, 0.02), one pair for all layers or one for each (`untied`, XLNet); W `[h d, w]` in each
    layer, without bias, drawn as the model's other projections are: N(0, 1 / w). Positions: any real numbers, one axis.
    Cost: w h d parameters a layer. Over evenly spaced positions W r is a table of the i + j - 1 distances, which each
    query reads, and which a Cache keeps for the tokens to come; elsewhere <a, r(x - y)> is a product of width w by the
    addition theorem, x and y counted from a token.
    Differs: r is not dropped out in training, which would draw other positions at each step.
    Errors: OptionError for an odd width, a negative mem_len, or a clamp_len that is not positive.
    Use: for text that is longer than a segment: with `mem_len` each segment reads the one before, at distances that
    stay right.
    Fails: distances past training plus memory are sinusoids that W has never read. It costs a second product of
    queries with every distance.
    Source: Dai et al. 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context", section 3.3.
    """

    bibtex = """@inproceedings{dai2019transformer,
  title = {{Transformer-XL}: Attentive Language Models Beyond a Fixed-Length Context},
  author = {Dai, Zihang and Yang, Zhilin and Yang, Yiming and Carbonell, Jaime and Le, Quoc V. and Salakhutdinov, Ruslan},
  booktitle = {Annual Meeting of the Association for Computational Linguistics},
  year = {2019},
  eprint = {1901.02860},
  archivePrefix = {arXiv}
}"""  # noqa: E501

    properties = Property.TRANSLATION_INVARIANT | Property.CONTINUOUS | Property.CACHEABLE
    domain = Domain()
    per_layer = True
    variants = ({"untied": True, "mem_len": 4}, {"clamp_len": 6.5})

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        mem_len: int = 0,
        clamp_len: float | None = None,
        untied: bool = False,
    ):
        super().__init__()
        if width % 2:
            raise OptionError("a sine and a cosine for each frequency", given=f"width {width}", allowed="an even width")
        if mem_len < 0 or (clamp_len is not None and not clamp_len > 0):
            raise OptionError(
                "Transformer-XL remembers tokens and clamps distances",
                given=f"mem_len={mem_len}, clamp_len={clamp_len}",
                allowed="mem_len 0 or more; clamp_len above 0, or None for no clamp",
            )
        self.width, self.heads, self.head_dim = width, heads, head_dim
        self.memory, self.clamp_len, self.untied = mem_len, clamp_len, untied
        self.biases = _Biases(heads, head_dim)
        self.weight = nn.Parameter(torch.empty(heads * head_dim, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.biases.reset_parameters()
        nn.init.normal_(self.weight, std=self.width**-0.5)

    def reset_layer(self) -> None:
        if self.untied:
            self.biases.reset_parameters()
        nn.init.normal_(self.weight, std=self.width**-0.5)

    def common(self) -> tuple[nn.Module, ...]:
        return () if self.untied else (self.biases,)

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        u, v, w = (p.to(q.dtype) for p in (self.biases.u, self.biases.v, self.weight))
        apart = difference(q_pos, k_pos)[..., 0]
        if self.clamp_len is not None:
            apart = apart.clamp(-self.clamp_len, self.clamp_len)
        waves = [apart * BASE ** (-2 * n / self.width) for n in range(self.width // 2)]
        r = torch.stack([*(x.sin() for x in waves), *(x.cos() for x in waves)], dim=-1).to(q.dtype)
        w_r = torch.einsum("hdw,rxijw->rhijd", w.unflatten(0, (self.heads, -1)), r)
        position = ((q + v[:, None])[..., None, :] * w_r).sum(-1)
        q_placed, k_placed = q_pos.has_place()[:, None, :, None], k_pos.has_place()[:, None, None, :]
        content = dot(q + torch.where(q_placed, u[:, None], 0.0), k)
        return self.scale(q.shape[-1]) * (content + torch.where(q_placed & k_placed, position, 0.0))

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> Tensor | None:
        return pos.placed

    def query(self, q: Float[Tensor, "b h i d"], prepared: Tensor | None) -> Float[Tensor, "b h i wide"]:
        u = self.biases.u.to(q.dtype)[:, None]
        return q + (u if prepared is None else torch.where(prepared[:, None, :, None], u, 0.0))

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        narrow, wide = q.dtype, torch.promote_types(q.dtype, torch.float32)
        q = self.scale(q.shape[-1]) * (q.to(wide) + self.biases.v.to(wide)[:, None])
        apart = diagonals(q_pos, k_pos)
        if apart is not None:
            kept = self._kept(q_pos, k_pos)
            if kept is not None:
                table, first = kept
                return query_lookup(q.to(narrow), table, Diagonal(q_pos.length, k_pos.length, first=first))
            row = Diagonal(q_pos.length, k_pos.length)
            if few(q.shape[0] * q_pos.length, self.heads, self.width):
                which = TransformerXL, self.width, self.clamp_len, self.weight.dtype
                waves = once(q_pos, k_pos, which, lambda: self._distances(apart))
                return query_lookup(q.to(narrow) @ self._projections().to(narrow), waves, row)
            return query_lookup(q.to(narrow), self._table(apart), row)
        # <A, sin w(x - y)> + <B, cos w(x - y)> = <A sin wx + B cos wx, cos wy> + <B sin wx - A cos wx, sin wy>,
        # with x and y counted from one place, so that w x is small.
        a, b = (q.to(narrow) @ self._projections().to(narrow)).to(wide).chunk(2, dim=-1)
        q_at, k_at = among(q_pos), among(k_pos)
        origin = q_at[:, :1] if q_pos.length else 0.0
        (q_sin, q_cos), (k_sin, k_cos) = (self._waves((places - origin)[..., None], wide) for places in (q_at, k_at))
        left = torch.cat([a * q_sin + b * q_cos, b * q_sin - a * q_cos], dim=-1).to(narrow)
        near = Product(left, torch.cat([k_cos, k_sin], dim=-1).to(narrow))
        if self.clamp_len is None:
            return near
        end = self.clamp_len
        ends = torch.tensor([-end, end], dtype=torch.float64, device=q.device)

        def apart(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return at(q_at, b, i) - at(k_at, b, j)

        far = query_lookup(q.to(narrow), self._table(ends), lambda *pair: (apart(*pair) > 0).to(torch.int64))
        return Chosen(lambda *pair: apart(*pair).abs() < end, near, far, q.device)

    def _kept(self, q_pos: Positions, k_pos: Positions) -> tuple[Tensor, int] | None:
        """W r of falling distances, `[h, rows, d]`, and the row of the first pair's diagonal, for a few new tokens.

        None where nothing lasts, or where queries do not follow the keys so that the same distances come again.
        """
        ahead, step, queries, keys = q_pos.ahead_of(k_pos), q_pos.step, q_pos.length, k_pos.length
        if not lasts() or queries > FEW or ahead is None or not step or not (ahead / step).is_integer():
            return None
        largest = int(ahead / step) + queries - 1
        if largest >= 2 * keys + FEW or largest - (queries + keys - 2) < -FEW:
            return None
        most = 1 << max(largest, 1).bit_length()

        def make() -> Tensor:
            steps = torch.arange(most, -FEW - 1, -1, dtype=torch.float64, device=self.weight.device)
            return self._table(step * steps).contiguous()

        table = of_weights(TransformerXL, (self.weight,), make, besides=(step, most, self.clamp_len))
        return None if table is None else (table, most - largest)

    def _projections(self) -> Tensor:
        """W of each head, `[h, d, w]`."""
        return self.weight.unflatten(0, (self.heads, self.head_dim))

    def _waves(self, coords: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Sines and cosines of places `[rows, n, 1]`: `[rows, 1, n, w/2]` each."""
        frequencies = geometric(self.width // 2, BASE, 2 / self.width, coords.device)[None]
        angle = angles(coords, frequencies)[:, None]
        return angle.sin().to(dtype), angle.cos().to(dtype)

    def _table(self, apart: Tensor) -> Tensor:
        """W r of the distances `[rows]`: `[h, rows, d]`."""
        return self._distances(apart) @ self._projections().mT

    def _distances(self, apart: Tensor) -> Tensor:
        """r of the distances `[rows]`, for all heads: `[1, rows, w]`."""
        if self.clamp_len is not None:
            apart = apart.clamp(-self.clamp_len, self.clamp_len)
        return torch.cat(self._waves(apart[None, :, None], self.weight.dtype), dim=-1)[0]

"""Attention: queries, keys and values under an encoding, a mask and a backend; no branch on any of their names."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.backends import Backend, choose
from gnomon.checked import checked
from gnomon.encoding import Encoding, Property
from gnomon.errors import OptionError, PositionError
from gnomon.masks import CAUSAL, Mask
from gnomon.past import Extent, NoCache, Past
from gnomon.plan import Plan, attend_by, plan
from gnomon.positions import Positions, sequence
from gnomon.precision import as_cast, autocasts


@checked
def attend(
    q: Float[Tensor, "b h i d"],
    k: Float[Tensor, "b g j d"],
    v: Float[Tensor, "b g j d_v"],
    encoding: Encoding,
    q_pos: Positions | None = None,
    k_pos: Positions | None = None,
    *,
    mask: Mask = CAUSAL,
    backend: str | Backend = "auto",
    dropout: float = 0.0,
) -> Float[Tensor, "b h i d_v"]:
    """Attention under a position encoding, for people with a model of their own.

    q `[b, h, i, d]`, k `[b, g, j, d]`, v `[b, g, j, d_v]` as projected; h is a multiple of g. Returns `[b, h, i, d_v]`.
    Positions default to 0, 1, 2, ...; where there are more keys than queries, the queries are the last tokens.
    A query that sees no key (padding) receives zeros. Nothing is remembered between calls.
    An encoding that acts at the input (learned, sinusoidal) does nothing here: give your embeddings to its `embed`.
    """
    _check(q, k, v, dropout)
    encoding.check_sizes(heads=q.shape[1], head_dim=q.shape[3])
    q_pos, k_pos = _placed(q, k, q_pos, k_pos)
    check_one_each(q_pos, q, "q_pos", tokens_at=2)
    check_one_each(k_pos, k, "k_pos", tokens_at=2)
    # Queries may well see nothing but their past under a mask that is not causal.
    encoding.check_sizes(causal=mask.causal or mask.past_only(q_pos, k_pos))
    if mask.causal:
        _check_turns(q_pos, k_pos)
    # As the projections of a layer give them.
    q, k, v = as_cast(q, k, v)
    made = plan(encoding, k_pos, q_pos=q_pos, heads=q.shape[1], dtype=q.dtype, mask=mask, backend=backend)
    return attend_by(made, q, k, v, dropout=dropout)


@checked
class Attention(nn.Module):
    """Multi-head attention under a position encoding.

    width w is shared by `heads` h queries of width d = w / h; `kv_heads` g keys and values serve h / g queries each.
    The query projection starts scaled so that logits begin alike whatever scale the encoding has (T5's is 1).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        encoding: Encoding,
        *,
        kv_heads: int | None = None,
        mask: Mask = CAUSAL,
        dropout: float = 0.0,
        backend: str | Backend = "auto",
    ):
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        if width < 1 or heads < 1 or width % heads:
            raise OptionError(
                "heads share the width equally",
                given=f"width {width}, {heads} heads",
                do="choose a divisor of the width",
            )
        if kv_heads < 1 or heads % kv_heads:
            raise OptionError(
                "query heads share key heads equally",
                given=f"{heads} heads, {kv_heads} kv_heads",
                do="choose a divisor",
            )
        _probability(dropout)
        encoding.check_sizes(width=width, heads=heads, head_dim=width // heads, kv_heads=kv_heads, causal=mask.causal)
        choose(backend, encoding)
        self.width, self.heads, self.kv_heads, self.head_dim = width, heads, kv_heads, width // heads
        self.mask, self.dropout, self.backend = mask, dropout, backend
        self.encoding = encoding
        self.q = nn.Linear(width, heads * self.head_dim, bias=False)
        self.k = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.v = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.out = nn.Linear(heads * self.head_dim, width, bias=False)
        encoding.serves(self.q, self.k)
        self._lent = self.q, self.k
        self.reset_projections()

    def reset_parameters(self) -> None:
        """Initial values, those of the encoding too; building the module leaves the encoding as it was given."""
        self.reset_projections()
        self.encoding.reset_parameters()

    def reset_projections(self) -> None:
        for linear in (self.q, self.k, self.v, self.out):
            nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
        with torch.no_grad():
            self.q.weight *= self.head_dim**-0.5 / self.encoding.scale(self.head_dim)

    def plan(self, extent: Extent, dtype: torch.dtype, shared: list | None = None) -> Plan:
        """The plan of a forward pass through this layer, and any other of the same encoding, heads and mask."""
        if extent.forgotten and Property.RECURRENT in self.encoding.properties:
            raise OptionError(
                f"{type(self.encoding).__name__} makes a position from all those before it",
                given="a cache that has forgotten some",
                do="use Cache, which holds every token, or SinkCache, which counts anew",
            )
        held = extent.keys.length - extent.computed.length
        if held:
            self.encoding.check_continues(extent.keys.tokens(0, held), extent.keys)
        return plan(
            self.encoding,
            extent.computed,
            extent.keys,
            q_pos=extent.queries,
            heads=self.heads,
            dtype=dtype,
            mask=self.mask,
            backend=self.backend,
            shared=shared,
            renumbered=extent.renumbered,
        )

    @checked
    def forward(
        self,
        x: Float[Tensor, "b n w"],
        pos: Positions | None = None,
        *,
        keys: Float[Tensor, "b m w"] | None = None,
        key_pos: Positions | None = None,
        cache: Past | None = None,
        layer: int = 0,
        plan: Plan | None = None,
    ) -> Float[Tensor, "b n w"]:
        """x `[b, n, w]` attends to itself, or to `keys` `[b, m, w]` at `key_pos`; returns `[b, n, w]`.

        Positions default to 0, 1, 2, ..., with a cache to what follows; those of `keys` count from 0 as well.
        A model of several layers makes the plan once and passes it to each, with its cache; alone, the module makes its
        own plan, and a cache serves its one layer. An encoding that acts at the input (learned, sinusoidal) does
        nothing here: give the embeddings to its `embed`.
        """
        if plan is None and cache is not None and not torch.compiler.is_compiling():
            with cache.whole():
                cache.begin(self)
                return self._forward(x, pos, keys, key_pos, cache, layer, plan)
        return self._forward(x, pos, keys, key_pos, cache, layer, plan)

    def _forward(
        self,
        x: Tensor,
        pos: Positions | None,
        keys: Tensor | None,
        key_pos: Positions | None,
        cache: Past | None,
        layer: int,
        plan: Plan | None,
    ) -> Tensor:
        source = x if keys is None else keys
        self._check(x, source)
        if self._lent[0] is not self.q or self._lent[1] is not self.k:
            # Other projections were put in the place of those: an adapter, for one.
            self.encoding.serves(self.q, self.k, instead_of=self._lent)
            self._lent = self.q, self.k
        if plan is None:
            _alone(keys, key_pos, cache, layer)
        elif pos is not None or key_pos is not None:
            raise OptionError("a plan holds its positions", given="plan= and positions", do="give one or the other")
        if plan is None and keys is None and cache is not None:
            source = cache.recall(layer, x)
        q = self.q(x).unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)
        k = self.k(source).unflatten(-1, (self.kv_heads, self.head_dim)).transpose(1, 2)
        v = self.v(source).unflatten(-1, (self.kv_heads, self.head_dim)).transpose(1, 2)
        if plan is None:
            plan = self._plan_alone(q, k, pos, key_pos, keys is not None, NoCache() if cache is None else cache)
        dropout = self.dropout if self.training else 0.0
        out = attend_by(plan, q, k, v, cache=cache, layer=layer, dropout=dropout)
        return self.out(out.transpose(1, 2).flatten(2))

    def _plan_alone(
        self, q: Tensor, k: Tensor, pos: Positions | None, key_pos: Positions | None, apart: bool, cache: Past
    ) -> Plan:
        """The plan of a call that stands for itself; `apart`: its keys are other tokens than its queries."""
        if not apart:
            pos = cache.next(q.shape[2], q.device) if pos is None else pos
            check_one_each(pos, q, tokens_at=2)
            extent = cache.extend(pos)
            check_one_each(extent.keys, k, "those of all tokens", tokens_at=None)
            return self.plan(extent, q.dtype)
        if self.mask.causal and (pos is None or key_pos is None) and q.shape[2] != k.shape[2]:
            raise PositionError(
                "a causal mask compares turns, and which of other tokens came first is not known",
                given=f"{q.shape[2]} queries, {k.shape[2]} keys, without positions of both",
                do="give pos and key_pos of one sequence, as in key_pos.tokens(start, stop); or use BIDIRECTIONAL",
            )
        pos, key_pos = (
            sequence(t.shape[2], device=t.device) if given is None else given for t, given in ((q, pos), (k, key_pos))
        )
        check_one_each(pos, q, tokens_at=2)
        check_one_each(key_pos, k, "key_pos", tokens_at=2)
        if self.mask.causal:
            _check_turns(pos, key_pos)
        return self.plan(cache.extend(key_pos)._replace(queries=pos), q.dtype)

    def _check(self, x: Tensor, source: Tensor) -> None:
        weight = self.q.weight
        fits = all(t.dim() == 3 and t.shape[2] == self.width for t in (x, source)) and x.shape[0] == source.shape[0]
        alike = all(t.device == weight.device and (t.dtype == weight.dtype or autocasts(t.device)) for t in (x, source))
        if not fits or not alike:
            raise OptionError(
                "attention takes one batch of vectors of its width, in the precision and the place of its weights",
                given=", ".join(f"{list(t.shape)} {t.dtype} on {t.device}" for t in (x, source)),
                allowed=f"x [b, n, {self.width}] and keys [b, m, {self.width}], {weight.dtype} on {weight.device}",
            )


PRECISIONS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
"""What attention is computed in."""


def _alone(keys: Tensor | None, key_pos: Positions | None, cache: Past | None, layer: int) -> None:
    """OptionError for what only a model, which makes the plan, can mean."""
    if keys is None and key_pos is not None:
        raise OptionError("positions of keys that are not given", given="key_pos", do="give keys= as well, or pos only")
    if cache is not None and (keys is not None or layer):
        raise OptionError(
            "a module alone keeps one layer, of what attends to itself, in a cache",
            given=f"cache= with {'keys=' if keys is not None else f'layer={layer}'}",
            do="make one Cache for each module, or make the plan once: cache.extend, Attention.plan, forward(plan=)",
        )


def _check(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> None:
    shapes = f"q {list(q.shape)} {q.dtype}, k {list(k.shape)} {k.dtype}, v {list(v.shape)} {v.dtype}"
    if any(t.dim() != 4 for t in (q, k, v)):
        raise OptionError(
            "attend takes queries, keys and values of four dimensions",
            given=shapes,
            allowed="q [b, h, i, d], k [b, g, j, d], v [b, g, j, d_v]",
        )
    same = q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3] and k.shape[:3] == v.shape[:3]
    grouped = k.shape[1] > 0 and q.shape[1] > 0 and q.shape[1] % k.shape[1] == 0 and q.shape[3] > 0
    alike = q.dtype == k.dtype == v.dtype and q.device == k.device == v.device
    if not (same and grouped and alike and q.dtype in PRECISIONS):
        raise OptionError(
            "q, k and v do not belong together",
            given=shapes,
            allowed="the same b; h a multiple of g; the same d for q and k; the same g and j for k and v;"
            f" one device, and one of {', '.join(str(dtype).removeprefix('torch.') for dtype in PRECISIONS)}",
        )
    _probability(dropout)


def _probability(dropout: float) -> None:
    if not 0 <= dropout < 1:
        raise OptionError("dropout is the share of weights dropped", given=dropout, allowed="0 up to, not including, 1")


def _placed(q: Tensor, k: Tensor, q_pos: Positions | None, k_pos: Positions | None) -> tuple[Positions, Positions]:
    """Positions of queries and keys `[b, h, n, d]`: 0, 1, 2, ... by default, where the queries are the last tokens."""
    queries, keys = q.shape[2], k.shape[2]
    if q_pos is None and queries > keys:
        raise PositionError(
            "more queries than keys have no positions by default",
            given=f"{queries} queries, {keys} keys",
            do="give positions of both",
        )
    if k_pos is None:
        k_pos = sequence(keys, device=k.device) if q_pos is None or queries != keys else q_pos
    if q_pos is None:
        q_pos = k_pos if queries == keys else k_pos.tokens(keys - queries, keys)
    return q_pos, k_pos


def check_one_each(pos: Positions, tokens: Tensor, name: str = "pos", *, tokens_at: int | None = 1) -> None:
    """PositionError unless `pos` has a position for each token of every row; dimension `tokens_at` counts tokens.

    None: only the rows are to agree.
    """
    rows, n = tokens.shape[0], pos.length if tokens_at is None else tokens.shape[tokens_at]
    # A compiler takes sizes that it does not know for others where `in` compares them.
    if pos.length != n or (pos.rows != 1 and pos.rows != rows):
        raise PositionError(
            f"every token has one position: {name}",
            given=f"{pos.rows} x {pos.length} positions for {rows} x {n} tokens",
            allowed="as many positions as tokens, in one row or as many as the batch has",
        )


def _check_turns(q_pos: Positions, k_pos: Positions) -> None:
    """PositionError for queries whose turns were never counted: they would be taken for the first tokens."""
    first = q_pos.index is None and k_pos.index is None and q_pos.turn == k_pos.turn and q_pos.length < k_pos.length
    if not first or q_pos.coords.is_meta or torch.compiler.is_compiling():
        return
    if not (q_pos.coords == k_pos.coords[:, : q_pos.length]).all():
        raise PositionError(
            "a causal mask compares turns, and these queries have the turns of the first keys but other positions",
            given=f"{q_pos.length} queries, {k_pos.length} keys, both counted from turn {k_pos.turn}",
            do="take the queries from the keys: q_pos = k_pos.tokens(start, stop), or give Positions an index",
        )

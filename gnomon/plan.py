"""The plan of one forward pass, made once for all layers of an encoding, and the attention of a layer by it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gnomon.backends import Backend, choose
from gnomon.encoding import Encoding, Property, Site
from gnomon.errors import BackendError, OptionError, PositionError
from gnomon.lasting import lasting
from gnomon.masks import CAUSAL, Mask
from gnomon.past import NoCache, Past
from gnomon.positions import Positions
from gnomon.traced import traced


@dataclass(frozen=True)
class Plan:
    """Everything about one forward pass that no content changes: made once, shared by all layers of one encoding."""

    encoding: Encoding
    q_pos: Positions
    k_pos: Positions
    backend: Backend
    query: Any
    """What the encoding prepared for the queries."""
    key: Any
    """What it prepared for the keys that are to be lowered."""
    on_read: bool
    """Whether keys are lowered after they come out of the cache, or before they go in."""
    backend_plan: Any


def plan(
    encoding: Encoding,
    new: Positions,
    k_pos: Positions | None = None,
    *,
    q_pos: Positions | None = None,
    heads: int,
    dtype: torch.dtype,
    mask: Mask = CAUSAL,
    backend: str | Backend = "auto",
    shared: list | None = None,
    renumbered: bool = False,
) -> Plan:
    """The plan of one forward pass.

    new:    positions of the tokens whose keys are computed now.
    k_pos:  positions of all keys, cached ones first; `new` where nothing is cached.
    q_pos:  positions of the queries; `new` unless they are other tokens than the keys.
    dtype:  of the queries.
    shared: tables that encodings of one owner have prepared in this forward pass; taken from here, and put here.
    renumbered: keys have other positions than when they were cached, so they are lowered on read in any case.
    """
    k_pos = new if k_pos is None else k_pos
    q_pos = new if q_pos is None else q_pos
    for pos in (q_pos, k_pos):
        encoding.check_positions(pos)
    if q_pos.axes != k_pos.axes:
        raise PositionError(
            "queries and keys lie on the same axes",
            given=f"queries on {q_pos.axes} axes, keys on {k_pos.axes}",
            do="give both a line, or both a grid",
        )
    backend = choose(backend, encoding)
    if backend.lowers and Property.CONTEXTUAL in encoding.properties:
        raise BackendError(
            f"{type(encoding).__name__} looks at every key for each pair; a fused kernel cannot",
            given=type(backend).__name__.lower(),
            allowed="reference",
            do="use backend='reference'",
        )
    if renumbered and Site.EMBEDDINGS in encoding.sites:
        raise OptionError(
            "positions added at the model's input stay where they were added, and this cache moves its tokens",
            given=type(encoding).__name__,
            do="use Cache or WindowCache, or an encoding that acts in attention: rope, alibi, t5",
        )
    on_read = renumbered or Property.CACHEABLE not in encoding.properties
    query = key = None
    if backend.lowers:
        table = torch.promote_types(dtype, torch.float32)
        shared = [] if shared is None else shared
        query, key = (_prepare(encoding.owner, pos, k_pos, table, shared) for pos in (q_pos, k_pos if on_read else new))
    backend_plan = backend.plan(encoding, q_pos, k_pos, mask, heads, dtype)
    return Plan(encoding, q_pos, k_pos, backend, query, key, on_read, backend_plan)


def _prepare(owner: Encoding, pos: Positions, context: Positions, dtype: torch.dtype, shared: list) -> Any:
    """What `owner` prepares for `pos`, once for all that share it."""
    for other, other_pos, prepared in shared:
        if other is owner and other_pos is pos:
            return prepared
    shared.append((owner, pos, owner.prepare(pos, context, dtype)))
    return shared[-1][2]


def _check(pos: Positions, tokens: Tensor, what: str) -> None:
    if pos.length != tokens.shape[2]:
        raise PositionError(
            f"a plan is of as many {what} as it was made for",
            given=f"{tokens.shape[2]} {what}",
            allowed=f"{pos.length}",
            do="make a plan for each forward pass",
        )


def attend_by(
    plan: Plan, q: Tensor, k: Tensor, v: Tensor, *, cache: Past | None = None, layer: int = 0, dropout: float = 0.0
) -> Tensor:
    """Attention of one layer by the plan of the forward pass; k and v are those of the new tokens."""
    encoding, backend = plan.encoding, plan.backend
    _check(plan.q_pos, q, "queries")
    projected, scale = q, encoding.scale(q.shape[-1])
    if backend.lowers:
        q = encoding.query(q, plan.query)
        if not plan.on_read:
            k = encoding.key(k, plan.key)
    cache = NoCache() if cache is None else cache
    k, v = cache.store(layer, k, v)
    _check(plan.k_pos, k, "keys")
    raw = None if Property.CONTENT_FREE in encoding.properties else (projected, k)
    if backend.lowers and plan.on_read:
        k = encoding.key(k, plan.key)
    if k.shape[1] != v.shape[1]:
        # Keys that each query head turns in its own way are as many as the queries.
        v = v.repeat_interleave(k.shape[1] // v.shape[1], dim=1)
    place = None if raw is None or traced() else cache.lasting(layer)
    if place is None:
        return backend.attend(plan.backend_plan, q, k, v, raw, scale, dropout)
    with lasting(place):
        return backend.attend(plan.backend_plan, q, k, v, raw, scale, dropout)

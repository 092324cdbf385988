"""A logit of content plus position in a trained first layer, split into its four terms."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.encoding import Site
from gnomon.lab.probes.reading import Reader, placed
from gnomon.lab.task import Batch
from gnomon.pairs import dense

NAMES = ("content-content", "content-place", "place-content", "place-place")
"""The terms: what of the query meets what of the key."""


@dataclass(frozen=True)
class FourTerms:
    """Each `[b, h, i, j]`, content or place of the query with content or place of the key; their sum is the logit."""

    terms: Tensor
    """`[4, b, h, i, j]`, in the order of NAMES."""
    seen: Tensor
    """`[rows, 1, i, j]` bool."""


def added(reader: Reader, batch: Batch) -> Tensor | None:
    """What positions add at the input, `[rows, n, w]`; None where they act elsewhere too, or add nothing."""
    encoding = reader.encoding
    if encoding.sites != [Site.EMBEDDINGS]:
        return None
    with torch.no_grad():
        return encoding.owner.absolute(placed(batch)).to(reader.model.blocks[0].attention.q.weight.dtype)


@torch.no_grad()
def four_terms(reader: Reader, part: Batch, entered: Tensor, place: Tensor) -> FourTerms:
    """The terms of the first layer's logits, into which goes `entered` `[b, n, w]`, of it `place` `[rows, n, w]`.

    The layer's norm is affine once its root mean square is known, so it splits: content keeps its offset.
    """
    layer = reader.model.blocks[0]
    norm, attention = layer.norm_attention, layer.attention
    centred = entered - entered.mean(-1, keepdim=True)
    size = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    place = norm.weight * (place - place.mean(-1, keepdim=True)) / size
    parts = (norm.weight * centred / size + norm.bias - place, place)
    queries, keys = (
        [project(x).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2) for x in parts]
        for project in (attention.q, attention.k)
    )
    group, scale = attention.heads // attention.kv_heads, reader.encoding.scale(attention.head_dim)
    keys = [key.repeat_interleave(group, dim=1) for key in keys]
    pos, n = placed(part), entered.shape[1]
    pair = attention.mask.pair(pos, pos)
    every = torch.ones(1, 1, n, n, dtype=torch.bool)
    shown = every if pair is None else dense(pair, pos.rows, 1, n, n, pos.coords.device)
    return FourTerms(torch.stack([scale * q @ k.mT for q in queries for k in keys]), shown)


def shares_of(found: FourTerms) -> Tensor:
    """`[4, b, h]`: cov(term, logit) / var(logit) over the pairs that are seen; nan where the logit does not vary."""
    seen = found.seen.expand(found.terms.shape[1:]).double()
    count = seen.sum((-2, -1), keepdim=True)

    def off(x: Tensor) -> Tensor:
        return (x - (x * seen).sum((-2, -1), keepdim=True) / count) * seen

    logit = off(found.terms.sum(0))
    return torch.stack([(off(term) * logit).sum((-2, -1)) for term in found.terms]) / logit.square().sum((-2, -1))

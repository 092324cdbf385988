"""Mutants of the chain: where it begins, which tokens are links, and whether anyone reads it."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encoding import dot
from gnomon.encodings.chain import Chain
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _NeverBegins(Chain):
    """The chain runs on from one document into the next."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return super().prepare(_one_document(pos), _one_document(context), dtype)


class _LinksEverything(Chain):
    """Tokens without a place are links of the chain, and padding is."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        everything = replace(context, placed=None, segment=None)
        return super().prepare(pos if context.segment is not None else replace(pos, segment=None), everything, dtype)


class _Unread(Chain):
    """Nothing reads the state: the model has no positions at all."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return dot(q, k) * q.shape[-1] ** -0.5

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        read, e = super().prepare(pos, context, dtype)
        return torch.zeros_like(read), e


class _FromTheEnd(Chain):
    """The step is that to the token before, taken backwards; enough channels for it to be heard in 8 bits."""

    def __init__(self, heads: int):
        super().__init__(heads, channels=40)

    def _moves(self, step: Tensor) -> tuple[Tensor, Tensor]:
        return super()._moves(-step)


def _one_document(pos: Positions) -> Positions:
    return pos if pos.segment is None else replace(pos, segment=pos.segment.clamp(max=0))


LOWERED = "lowering", "flex", "precision", "half"

MUTANTS = [
    Mutant.of("chain: never begins anew", _NeverBegins, "lowering", "flex", "packed"),
    Mutant.of("chain: links what has no place", _LinksEverything, "lowering", "flex", "packed", "padded", "placeless"),
    Mutant.of("chain: steps backwards", _FromTheEnd, *LOWERED),
    Mutant.of("chain: never read", _Unread, "matters", "recurrent"),
]

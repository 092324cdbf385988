"""Mutants of the cache: what is kept, and at which positions."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encodings.alibi import Alibi
from gnomon.encodings.rope import Rope
from gnomon.kv_cache import Cache, Extent
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _CountsFromQuery(Cache):
    """Positions of a cached step are counted from the query, not from the start of the sequence."""

    def extend(self, pos: Positions) -> Extent:
        extent = super().extend(pos)
        held = extent.keys
        if held.length == pos.length:
            return extent
        late = held.coords[:, held.length - pos.length :]
        early = held.coords[:, : held.length - pos.length]
        return extent._replace(keys=replace(held, coords=torch.cat([early, late - late[:, :1]], dim=1)))


class _Overwriting(Cache):
    """Each chunk is written one place too early, over the last token before it."""

    def store(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self._begin, begin = max(self._begin - 1, 0), self._begin
        if self._begin < begin:
            self.length -= 1
        keys, values = super().store(layer, k, v)
        if self._begin < begin:
            self._begin, self.length = begin, self.length + 1
            keys, values = [t[:, :, : self.length] for t in self._layers[layer]]
        return keys, values


MUTANTS = [
    Mutant.of("cache: counts from the query", Alibi, "cached", cache=_CountsFromQuery),
    Mutant.of("cache: writes one early", Rope, "cached", cache=_Overwriting),
]

"""Mutants of the cache: what is kept, and at which positions."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encodings.alibi import Alibi
from gnomon.encodings.rope import Rope
from gnomon.encodings.t5 import T5
from gnomon.kv_cache import Cache, SinkCache
from gnomon.laws.mutant import Mutant
from gnomon.past import Extent
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


class _LoweredOnce(SinkCache):
    """Keys are kept as they were lowered when they came, though they have moved since."""

    def extend(self, pos: Positions) -> Extent:
        return super().extend(pos)._replace(renumbered=False)


class _CountsTokens(SinkCache):
    """A query's place is the number of tokens that ever came, not its place in the cache."""

    def __init__(self, sinks: int, size: int):
        super().__init__(sinks, size)
        self._came = 0

    def extend(self, pos: Positions) -> Extent:
        extent = super().extend(pos)
        self._came += pos.length
        far = extent.queries.shifted(float(self._came - extent.keys.length))
        return extent._replace(queries=far)


MUTANTS = [
    Mutant.of("cache: counts from the query", Alibi, "cached", cache=_CountsFromQuery),
    Mutant.of("cache: writes one early", Rope, "cached", cache=_Overwriting),
    Mutant.of("sinks: keys lowered once", Rope, "evicted", sinks=_LoweredOnce),
    Mutant.of("sinks: queries count tokens", T5, "evicted", sinks=_CountsTokens),
]

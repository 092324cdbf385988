"""What is kept of the tokens that came before: their keys and values, or the layer inputs, with their positions."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.positions import Positions


class Extent(NamedTuple):
    """The positions of one call."""

    queries: Positions
    computed: Positions
    """Of the keys that are computed in this call."""
    keys: Positions
    """Of all keys."""


class NoCache:
    """Nothing came before: every call stands for itself."""

    length = 0

    def extend(self, pos: Positions) -> Extent:
        """Queries and keys: those of the call."""
        return Extent(pos, pos, pos)

    def recall(self, layer: int, x: Float[Tensor, "b n w"]) -> Float[Tensor, "b m w"]:
        """The layer inputs from which keys are computed: those of the call."""
        return x

    def store(self, layer: int, k: Float[Tensor, "b g n d"], v: Float[Tensor, "b g n d_v"]) -> tuple[Tensor, Tensor]:
        """All keys and values of the layer: those of the call."""
        return k, v


FIELDS: dict[str, Callable[[Positions], Tensor]] = {
    "coords": lambda pos: pos.coords,
    "index": Positions.turns,
    "segment": Positions.segments,
    "placed": Positions.has_place,
}
"""What positions say of each token, said also where the field is absent."""


class Cache:
    """Room for `capacity` tokens in each layer, taken at the first call and written in place.

    Keys are kept as the encoding lowered them where it is CACHEABLE, as projected otherwise. For inference: no gradient
    flows through what is stored.
    """

    def __init__(self, capacity: int):
        if capacity < 1:
            raise OptionError("a cache needs room", given=f"capacity {capacity}", allowed="1 or more tokens")
        self.capacity = capacity
        self.length = 0
        """Tokens held before the current call; it moves on when the call's positions have been given to `extend`."""
        self._begin = 0
        self._fields: dict[str, Tensor] = {}
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}

    def extend(self, pos: Positions) -> Extent:
        """Take in the positions of new tokens, whose keys are computed now; all keys are the cached ones, then theirs.

        Turns are counted in the order in which tokens came: the new ones follow all that are held, wherever they are.
        """
        if self.length + pos.length > self.capacity:
            raise OptionError(
                "the cache is full",
                given=f"{self.length} tokens held, {pos.length} new",
                allowed=f"{self.capacity} in all",
                do="make a Cache of larger capacity",
            )
        held, begin = self._held(), self.length
        if held is not None:
            held.joins(pos)
        new = pos.first() if held is None else pos.after(held)
        self._begin, self.length = begin, begin + pos.length
        for name in FIELDS:
            self._write(name, new)
        return Extent(new, new, new if held is None else self._held())

    def _held(self) -> Positions | None:
        """The positions of all tokens that are held."""
        if not self.length:
            return None
        return Positions(**{name: room[:, : self.length] for name, room in self._fields.items()})

    def recall(self, layer: int, x: Float[Tensor, "b n w"]) -> Float[Tensor, "b m w"]:
        """The layer inputs from which keys are computed: those of the call."""
        return x

    def _write(self, name: str, new: Positions) -> None:
        """Write one field of the new tokens' positions in place, so that one compiled step serves every length."""
        if getattr(new, name) is None and name not in self._fields:
            return
        field, room = FIELDS[name](new), self._fields.get(name)
        if room is None:
            room = FIELDS[name](Positions(new.coords.new_zeros(1, self.capacity, new.axes))).clone()
        rows = max(room.shape[0], field.shape[0])
        if rows > room.shape[0]:
            room = room.expand(rows, *room.shape[1:]).clone()
        room[:, self._begin : self.length] = field
        self._fields[name] = room

    def store(self, layer: int, k: Float[Tensor, "b g n d"], v: Float[Tensor, "b g n d_v"]) -> tuple[Tensor, Tensor]:
        """Write the new tokens' keys `[b, g, n, d]` and values; all keys and values of the layer so far."""
        if layer in self._layers and self._layers[layer][0].shape[0] != k.shape[0]:
            raise OptionError(
                "a cache holds one batch",
                given=f"{k.shape[0]} rows",
                allowed=f"the {self._layers[layer][0].shape[0]} rows it was begun with",
                do="make another Cache for another batch",
            )
        if layer not in self._layers:
            k_room, v_room = (t.new_zeros(*t.shape[:2], self.capacity, t.shape[3]) for t in (k, v))
            self._layers[layer] = k_room, v_room
        for held, new in zip(self._layers[layer], (k, v), strict=True):
            held[:, :, self._begin : self.length] = new.detach()
        keys, values = self._layers[layer]
        return keys[:, :, : self.length], values[:, :, : self.length]


class Memory:
    """The layer inputs of the last `size` tokens, from which keys and values are computed anew: Transformer-XL's cache.

    For training on text in order: what is remembered carries no gradient, but the projections that read it do.
    Dai et al. 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context", section 3.2.
    """

    def __init__(self, size: int):
        if size < 1:
            raise OptionError("a memory needs room", given=f"size {size}", allowed="1 or more tokens")
        self.size = size
        self.length = 0
        """Tokens that came before the current call, remembered or not."""
        self.inputs: dict[int, Tensor] = {}
        """Of each layer, `[b, m, w]`."""
        self._positions: Positions | None = None

    def extend(self, pos: Positions) -> Extent:
        """Take in the positions of new tokens; keys are computed for those remembered, then for these."""
        new = pos.first() if self._positions is None else pos.after(self._positions)
        keys = new if self._positions is None else self._positions.append(new)
        self._positions = keys.tokens(max(0, keys.length - self.size), keys.length)
        self.length += pos.length
        return Extent(new, keys, keys)

    def recall(self, layer: int, x: Float[Tensor, "b n w"]) -> Float[Tensor, "b m w"]:
        """The inputs of the layer that are remembered, then `x`, which is remembered from now on."""
        held = self.inputs.get(layer)
        if held is not None and held.shape[0] != x.shape[0]:
            raise OptionError(
                "a memory holds one batch",
                given=f"{x.shape[0]} rows",
                allowed=f"the {held.shape[0]} rows it was begun with",
                do="make another Memory for another batch",
            )
        both = x if held is None else torch.cat([held.to(x.dtype), x], dim=1)
        self.inputs[layer] = both[:, -self.size :].detach()
        return both

    def store(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values of the layer: those of the call."""
        return k, v


Past = NoCache | Cache | Memory
"""What came before: nothing, keys and values, or layer inputs."""

"""The keys and values of the tokens that came before, with their positions."""

from collections.abc import Callable
from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from gnomon.errors import OptionError, PositionError
from gnomon.positions import Positions


class NoCache:
    """Nothing came before: every call stands for itself."""

    length = 0

    def extend(self, pos: Positions) -> tuple[Positions, Positions]:
        """The positions of the new tokens, and of all keys: both those of the call."""
        return pos, pos

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

    def extend(self, pos: Positions) -> tuple[Positions, Positions]:
        """Take in the positions of new tokens; returns them, and the positions of all keys, cached ones first.

        Turns are counted in the order in which tokens came: the new ones follow all that are held, wherever they are.
        """
        if self.length + pos.length > self.capacity:
            raise OptionError(
                "the cache is full",
                given=f"{self.length} tokens held, {pos.length} new",
                allowed=f"{self.capacity} in all",
                do="make a Cache of larger capacity",
            )
        held = self._fields.get("coords")
        if held is not None and (
            held.shape[2] != pos.axes or (held.shape[0] != pos.rows and 1 not in (held.shape[0], pos.rows))
        ):
            raise PositionError(
                "pieces of one sequence need the same axes, and the same rows or one for all",
                given=f"{held.shape[0]} rows on {held.shape[2]} axes, then {pos.rows} rows on {pos.axes} axes",
            )
        new, begin = _following(pos, self.length), self.length
        self._begin, self.length = begin, begin + pos.length
        for name in FIELDS:
            self._write(name, new)
        if begin == 0:
            return new, new
        return new, Positions(**{name: room[:, : self.length] for name, room in self._fields.items()})

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


def _following(pos: Positions, held: int) -> Positions:
    """The same positions, their turns moved behind those of the tokens held."""
    if pos.index is None or not pos.length:
        return replace(pos, turn=held, index=None)
    return replace(pos, index=pos.index - pos.index.amin(dim=1, keepdim=True) + held)

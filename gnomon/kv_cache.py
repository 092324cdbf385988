"""Caches of keys and values: of all tokens that came before, of the last ones, or of the first and the last."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.errors import OptionError, PositionError
from gnomon.lasting import Place
from gnomon.past import Extent, Past, check_goes_on
from gnomon.positions import Positions, sequence
from gnomon.ring import Held, joined, joined_and_kept, sample_of

FIELDS: dict[str, Callable[[Positions], Tensor]] = {
    "coords": lambda pos: pos.coords,
    "index": Positions.turns,
    "segment": Positions.segments,
    "placed": Positions.has_place,
}
"""What positions say of each token, said also where the field is absent."""


class _Keys(Past):
    """Keys by weights that stay as they are, and so does what those alone decide."""

    _lasting: dict[int, Place] | None = None

    def lasting(self, layer: int) -> Place:
        if self._lasting is None:
            self._lasting = {}
        return self._lasting.setdefault(layer, {})

    def __getstate__(self) -> dict[str, object]:
        """Without what lasts: it is made again of the weights."""
        return {name: value for name, value in super().__getstate__().items() if name != "_lasting"}


@checked
class Cache(_Keys):
    """Room for `capacity` tokens in each layer, taken at the first call and written in place.

    Keys are kept as the encoding lowered them where it is CACHEABLE, as projected otherwise. Some encodings keep
    more: see `lasting`. For inference: no gradient flows through what is stored, and weights are to stay as they are.
    What was begun under torch.inference_mode goes on outside of it.
    """

    def __init__(self, capacity: int):
        if capacity < 1:
            raise OptionError("a cache needs room", given=f"capacity {capacity}", allowed="1 or more tokens")
        self.capacity = capacity
        self._begin = 0
        self._start: float | None = None
        """Where the first token is, as long as all that followed count up from there."""
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
            held.check_joins(pos)
        new = pos.first() if held is None else pos.after(held)
        self.counted = self.counted and pos.counts_from(begin)
        start = _whole_start(pos) if held is None else self._start
        self._start = start if start is not None and pos.counts_from(start + begin) else None
        self._begin, self.length = begin, begin + pos.length
        with torch.inference_mode(False):
            for name in FIELDS:
                self._write(name, new)
        return Extent(new, new, new if held is None else self._held())

    def _held(self) -> Positions | None:
        """The positions of all tokens that are held."""
        if not self.length:
            return None
        held = Positions(**{name: room[:, : self.length] for name, room in self._fields.items()})
        return held if self._start is None else held.counting(self._start)

    def _write(self, name: str, new: Positions) -> None:
        """Write one field of the new tokens' positions in place, so that one compiled step serves every length."""
        if getattr(new, name) is None and name not in self._fields:
            return
        field, room = FIELDS[name](new), self._fields.get(name)
        if room is None:
            room = FIELDS[name](Positions(new.coords.new_zeros(1, self.capacity, new.axes))).clone()
        room, rows = _writable(room), max(room.shape[0], field.shape[0])
        if rows > room.shape[0]:
            room = room.expand(rows, *room.shape[1:]).clone()
        room[:, self._begin : self.length] = field
        self._fields[name] = room

    def store(self, layer: int, k: Float[Tensor, "b g_k n d"], v: Float[Tensor, "b g n d_v"]) -> tuple[Tensor, Tensor]:
        """Write the new tokens' keys `[b, g, n, d]` and values; all keys and values of the layer so far."""
        if layer in self._layers:
            _check_same(k, v, *self._layers[layer])
        if layer not in self._layers:
            with torch.inference_mode(False):
                k_room, v_room = (t.new_zeros(*t.shape[:2], self.capacity, t.shape[3]) for t in (k, v))
            self._layers[layer] = k_room, v_room
        self._layers[layer] = tuple(map(_writable, self._layers[layer]))
        for held, new in zip(self._layers[layer], (k, v), strict=True):
            held[:, :, self._begin : self.length] = new.detach()
        keys, values = self._layers[layer]
        return keys[:, :, : self.length], values[:, :, : self.length]


def _writable(room: Tensor) -> Tensor:
    """The same memory; a copy where a cache was copied in inference mode, whose tensors are written to nowhere else."""
    if torch.compiler.is_compiling() or not room.is_inference():
        return room
    with torch.inference_mode(False):
        return room.clone()


class _Some(_Keys):
    """Keys and values of some of the tokens that came before: the first and the last, or those of `_order`."""

    def __init__(self, first: int, last: int):
        self._first, self._last = first, last
        self._order: Tensor | None = None
        """The columns of a call that are held after it, `[rows, first + last]`, where rows hold different ones."""
        self._positions: Positions | None = None
        self._layers: dict[int, tuple[Held, Held]] = {}

    def store(self, layer: int, k: Float[Tensor, "b g_k n d"], v: Float[Tensor, "b g n d_v"]) -> tuple[Tensor, Tensor]:
        """The keys and values held, then those of the call, of which some are held from now on."""
        held = self._layers.get(layer, (None, None))
        if layer in self._layers:
            _check_same(k, v, *map(sample_of, held))
        found = [self._join(old, new.detach()) for old, new in zip(held, (k, v), strict=True)]
        self._layers[layer] = found[0][1], found[1][1]
        return found[0][0], found[1][0]

    def _join(self, held: Held | None, new: Tensor) -> tuple[Tensor, Held]:
        if self._order is None:
            return joined_and_kept(held, new, self._first, self._last)
        every = joined(held, new)
        return every, every.gather(2, self._order[:, None, :, None].expand(*every.shape[:2], -1, every.shape[3]))


@checked
class WindowCache(_Some):
    """The keys and values of the last `size` tokens, at the positions that they had; older ones are forgotten.

    A call sees what is held, then itself, under the mask of the model. Under Mask(window=w) a size of w - 1 or more
    gives what the whole sequence would, however it is split; without a window in the mask, how far a token sees back
    depends on where its call began. For inference: no gradient flows through what is stored.
    """

    def __init__(self, size: int):
        if size < 1:
            raise OptionError("a window of tokens needs room", given=f"size {size}", allowed="1 or more tokens")
        super().__init__(0, size)
        self.size, self.length = size, 0

    def extend(self, pos: Positions) -> Extent:
        """Take in the positions of new tokens, whose keys are computed now; all keys are those held, then theirs."""
        new = pos.first() if self._positions is None else pos.after(self._positions)
        keys = new if self._positions is None else self._positions.append(new)
        self._positions = keys.tokens(max(0, keys.length - self.size), keys.length)
        self.counted = self.counted and pos.counts_from(self.length)
        self.length += pos.length
        return Extent(new, new, keys, forgotten=self.length > keys.length)


@checked
class SinkCache(_Some):
    """The keys and values of the first `sinks` and the last `size` tokens, at their places in the cache.

    StreamingLLM: the tokens held and those of the call count 0, 1, 2, ... anew at each call, so a query is never
    farther from a key than the cache is long; padding and tokens without a place are not counted. The coordinates that
    a call is given play no part, and default positions count from what is held. Keys are kept as projected, under any
    encoding, and lowered when they are read: to keep them rotated would be to turn each back at every eviction.
    What a token sees depends on where its call began; the paper's decoding reads one token a call. In rows of unequal
    length the sinks of each are its own first tokens.
    What was added to a token at the model's input cannot be moved: encodings that act there are refused.
    Xiao et al. 2024, "Efficient Streaming Language Models with Attention Sinks", section 3.2.
    """

    def __init__(self, sinks: int, size: int):
        if sinks < 0 or size < 1:
            raise OptionError(
                "a cache of sinks holds the first tokens and the last",
                given=f"{sinks} sinks, size {size}",
                allowed="0 or more sinks, a size of 1 or more",
                do="try SinkCache(4, 1020)",
            )
        super().__init__(sinks, size)
        self.sinks, self.size = sinks, size

    @property
    def length(self) -> int:
        """Tokens held: the place of the next one."""
        return 0 if self._positions is None else self._positions.length

    def extend(self, pos: Positions) -> Extent:
        """Take in new tokens, whose keys are computed now; all keys are those held, then theirs, counted anew."""
        if pos.axes != 1:
            raise PositionError(
                "places in a cache count on one axis", given=f"{pos.axes} axes", do="use Cache or WindowCache"
            )
        held = self._positions
        keys = _counted(pos.first() if held is None else held.append(pos))
        begin = keys.length - pos.length
        self._order = None
        if keys.length <= self.sinks + self.size:
            self._positions = keys
        elif _all_real(keys):
            self._positions = _counted(_ends(keys, self.sinks, self.size))
        else:
            self._positions, self._order = _real_ends(keys, self.sinks, self.size)
        new = keys.tokens(begin, keys.length)
        return Extent(new, new, keys, renumbered=True)


def _whole_start(pos: Positions) -> float | None:
    """Where these tokens begin, if they are known to count up by one from a whole number."""
    ends = pos.ends()
    return None if ends is None or ends[0] != int(ends[0]) else ends[0]


def _counted(pos: Positions) -> Positions:
    """The same tokens at 0, 1, 2, ...; turns from 0; padding and tokens without a place are not counted."""
    if pos.segment is None and pos.placed is None and pos.index is None:
        return sequence(pos.length, device=pos.coords.device)
    count = ((pos.segments() >= 0) & pos.has_place()).to(torch.int64).cumsum(-1).sub(1).clamp(min=0)
    return Positions(count.to(torch.float64)[..., None], index=pos.index, segment=pos.segment, placed=pos.placed)


def _ends(pos: Positions, first: int, last: int) -> Positions:
    """The first tokens and the last ones."""
    late = pos.tokens(pos.length - last, pos.length)
    return pos.tokens(0, first).append(late) if first else late


def _all_real(pos: Positions) -> bool:
    """Whether none is padding, as far as that is known or can be looked at."""
    if pos.segment is None:
        return True
    return not (pos.segment.is_meta or torch.compiler.is_compiling()) and bool((pos.segment >= 0).all())


def _real_ends(pos: Positions, first: int, last: int) -> tuple[Positions, Tensor]:
    """Each row's first tokens and its last ones, padding left out; and their columns, `[rows, first + last]`.

    A row that has fewer is filled up with padding.
    """
    real = pos.segments() >= 0
    rank = real.to(torch.int64).cumsum(-1)
    kept = real & ((rank <= first) | (rank > rank[:, -1:] - last))
    order = (~kept).to(torch.int8).argsort(dim=-1, stable=True)[:, : first + last]

    def choose(field: Tensor | None) -> Tensor | None:
        return None if field is None else field.expand(order.shape[0], -1).gather(1, order)

    segment = torch.where(choose(kept), choose(pos.segments()), -1)
    chosen = Positions(
        order.new_zeros(*order.shape, 1, dtype=torch.float64),
        index=choose(pos.index),
        segment=segment,
        placed=choose(pos.placed),
    )
    return _counted(chosen), order


def _check_same(k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> None:
    check_goes_on(k, held_k, 2)
    check_goes_on(v, held_v, 2)

"""What a way to compute attention is: it can be cut to some queries, keys and heads, and attends by what is left."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.backends.backend import Raw
from gnomon.backends.fused import Received, summed
from gnomon.encoding import Mix
from gnomon.masks import Mask
from gnomon.pairs import dense
from gnomon.positions import Positions
from gnomon.room import Room


@dataclass(frozen=True)
class Seen:
    """Queries and keys of one attention, and the mask that says which see which."""

    q_pos: Positions
    k_pos: Positions
    mask: Mask
    known: tuple[int, Tensor | None] | None = None
    """What `visible` says, once it has been looked at."""

    @property
    def queries(self) -> int:
        return self.q_pos.length

    @property
    def keys(self) -> int:
        return self.k_pos.length

    @property
    def rows(self) -> int:
        return max(self.q_pos.rows, self.k_pos.rows)

    @property
    def device(self) -> torch.device:
        return self.q_pos.coords.device

    def part(self, queries: slice, keys: slice) -> "Seen":
        """Some of the queries and keys."""
        q_pos = self.q_pos.tokens(queries.start, queries.stop)
        return Seen(q_pos, self.k_pos.tokens(keys.start, keys.stop), self.mask)

    def span(self, queries: slice) -> slice:
        """The keys that some of the queries may see, as far as is known without looking at data."""
        return slice(*self.mask.span(self.q_pos.tokens(queries.start, queries.stop), self.k_pos))

    def allowed(self) -> Tensor | None:
        """Bools that broadcast to `[b, h, i, j]`; None where every query sees every key."""
        pair = self.mask.pair(self.q_pos, self.k_pos)
        return None if pair is None else dense(pair, self.rows, 1, self.queries, self.keys, self.device)

    def visible(self) -> tuple[int, Tensor | None]:
        """How many of the first keys every query sees, and which of the others each does: None for all of them."""
        if self.known is not None:
            return self.known
        first = self.mask.seen(self.q_pos, self.k_pos)
        return first, self.part(slice(0, self.queries), slice(first, self.keys)).allowed()

    def looked_at(self) -> "Seen":
        """The same, once for all heads."""
        return replace(self, known=self.visible())


class Planned(ABC):
    """What the layers of one encoding share: a way, or what makes one of the content of each layer."""

    seen: Seen

    @property
    @abstractmethod
    def words(self) -> str:
        """How attention is computed, in a few words."""

    @abstractmethod
    def of_layer(self, raw: Raw | None) -> "Way":
        """The way of one layer, whose queries and keys are `raw` where it reads them."""


class Part(ABC):
    """Attention of some queries: of all heads, or of some of them at a time."""

    def heads_at_once(self, rows: int, heads: int, width: int) -> int:
        """How many of the heads, for all of its queries and keys; at least one is taken."""
        return heads

    @abstractmethod
    def of_heads(self, heads: slice) -> "Part":
        """That of some heads: its tensors are views of those of all."""

    def made(self, rows: int, room: Room) -> "Part":
        """The same with what all heads share worked out, for `rows` of queries."""
        return self

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, room: Room | None = None) -> Tensor:
        """`[b, h, i, d_v]` of its queries, keys and heads; what has been made in the room is lost."""


class Way(Part, Planned):
    """How attention is computed: of all queries, or of some of them, over some keys and by some heads at a time."""

    by_head: bool = True
    """Whether heads are made apart as fast as together."""
    mix: Mix | None = None
    """What the weights gather besides the values."""

    def of_layer(self, raw: Raw | None) -> "Way":
        return self

    def queries_at_once(self, rows: int, usual: int) -> int:
        """How many queries of `rows` rows are worth a part of their own, where `usual` are by default."""
        return usual

    @abstractmethod
    def part(self, queries: slice, keys: slice) -> "Way":
        """The way of some of the queries and keys: its tensors are views of those of the whole."""

    def split(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Part:
        """The same, far keys apart, where it is known that queries do not tell some of them apart, and worth it."""
        return self

    @abstractmethod
    def added(self, rows: int, room: Room | None = None) -> Tensor | None:
        """What is added to the logits of every pair, what is masked at minus infinity; bools where nothing is.

        It broadcasts to `[b, h, i, j]`. None: every query sees every key.
        """

    @abstractmethod
    def value(self, rows: int, room: Room | None = None) -> Tensor | None:
        """What is added to the logits, and has a gradient where tensors of the way have one; None: nothing.

        It broadcasts to `[b, h, i, j]`. What is masked need not be told from it.
        """

    def onto(self, scores: Tensor, value: Tensor | None) -> Tensor:
        """`scores` `[b, h, i, j]` with the `value` added, and the mask put on it, in place."""
        return scores if value is None else scores.add_(value)

    def received(self, q: Tensor, k: Tensor, v: Tensor, scale: float, room: Room) -> Received:
        """What `attend` gives without dropout and a mix, and the logarithm of the sum of weights."""
        return summed(q, k, v, self.added(q.shape[0], room), scale)

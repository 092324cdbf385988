"""The first tokens of a sequence and its last ones, side by side in memory, and nothing moved for each that comes."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.traced import traced

SPARE = 64
"""Tokens that a call may bring to a ring: beside what attention of more of them costs, a copy is nothing."""


@dataclass(frozen=True)
class Ring:
    """Tokens `[b, g, n, d]` of which those between the first and the last are forgotten, at most `period` in all.

    Token t, counted without the `first`, is written twice: at t mod `period` in either half of the room. So neighbours
    lie side by side somewhere, and before them there is place for the first ones.
    New tokens are written over what was forgotten before them: the ring of before still holds all that it held.
    """

    first: Tensor
    """`[b, g, f, d]`."""
    room: Tensor
    """`[b, g, 2, period, d]`."""
    begin: int
    end: int
    """The oldest of the last tokens, and one past the newest."""

    @classmethod
    def of(cls, tokens: Tensor, first: int, period: int) -> "Ring":
        """A ring that holds `tokens`, the first of them for good."""
        # What is made in inference mode could not be written to outside of it.
        with torch.inference_mode(False):
            room = torch.empty(*tokens.shape[:2], 2, period, tokens.shape[3], dtype=tokens.dtype, device=tokens.device)
        return cls(tokens[:, :, :first].clone(), room, 0, 0).append(tokens[:, :, first:])

    @property
    def count(self) -> int:
        """How many it holds."""
        return self.first.shape[2] + self.end - self.begin

    @property
    def period(self) -> int:
        return self.room.shape[3]

    def append(self, new: Tensor) -> "Ring":
        """The ring with `new` tokens `[b, g, n, d]`, for which there has to be place: `count + n <= period`."""
        at, n = self.end % self.period, new.shape[2]
        until = min(n, self.period - at)
        twice = new.unsqueeze(2)
        self.room.narrow(3, at, until).copy_(twice.narrow(3, 0, until))
        if until < n:
            self.room.narrow(3, 0, n - until).copy_(twice.narrow(3, until, n - until))
        return Ring(self.first, self.room, self.begin, self.end + n)

    def keep(self, last: int) -> "Ring":
        """The ring when all but the first and so many of the last are forgotten."""
        return Ring(self.first, self.room, max(self.begin, self.end - last), self.end)

    def tokens(self) -> Tensor:
        """All that it holds, `[b, g, count, d]`: a view, right until the next tokens are written."""
        first, at, every = self.first.shape[2], self.begin % self.period, self.room.flatten(2, 3)
        if first:
            at += self.period if at < first else 0
            every.narrow(2, at - first, first).copy_(self.first)
        return every.narrow(2, at - first, self.count)


Held = Tensor | Ring
"""Tokens that are held: in a ring where few come at a time; as they are where calls are long, or have gradients."""


def tokens_of(held: Held) -> Tensor:
    """All of them, `[b, g, n, d]`; those of a ring are a view, right until the next tokens are written."""
    return held.tokens() if isinstance(held, Ring) else held


def sample_of(held: Held) -> Tensor:
    """A tensor that is as they are but for their number."""
    return held.first if isinstance(held, Ring) else held


def joined(held: Held | None, new: Tensor) -> Tensor:
    """The tokens held, then the `new` ones `[b, g, n, d]`."""
    return new if held is None else torch.cat([tokens_of(held), new], dim=2)


def joined_and_kept(held: Held | None, new: Tensor, first: int, last: int) -> tuple[Tensor, Held]:
    """The tokens held, then the `new` ones; and the first and the last of all of them, which are held from now on.

    Where a gradient is asked for, all are a copy, that later calls do not write to, and `new` keeps its gradient.
    """
    ring = _ring(held, new.shape[2], first, last)
    if ring is not None:
        ring = ring.append(new.detach())
        return ring.tokens(), ring.keep(last)
    tokens = joined(held, new)
    n, kept = tokens.shape[2], tokens.detach()
    # A copy: a slice would hold on to all that it was cut from.
    kept = kept.clone() if n <= first + last else torch.cat([kept[:, :, :first], kept[:, :, n - last :]], dim=2)
    return tokens, kept


def _ring(held: Held | None, n: int, first: int, last: int) -> Ring | None:
    """A ring of what is held with place for `n` more; None where it is no matter of a few tokens, or not yet."""
    # Where in a ring a token lies would be a condition of a compiled graph; what is written follows no transform.
    if held is None or n > SPARE or torch.is_grad_enabled() or traced():
        return None
    count = held.count if isinstance(held, Ring) else held.shape[2]
    if count < first:
        return None
    if isinstance(held, Ring) and count + n <= held.period:
        return held
    # Twice as many each time: a short text takes no room for a long one.
    return Ring.of(tokens_of(held), first, min(2 * (count + n + 1), first + last + SPARE))

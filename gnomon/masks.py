"""Masks: which keys a query sees, as pair functions and as what is known of them without looking at data."""

from dataclasses import dataclass

from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.pairs import PairFunction, at
from gnomon.positions import Positions


def causal(q_pos: Positions, k_pos: Positions) -> PairFunction:
    """A query sees the keys whose turn is not later than its own."""
    q_turn, k_turn = q_pos.turns(), k_pos.turns()
    return lambda b, h, i, j: at(q_turn, b, i) >= at(k_turn, b, j)


def window(q_pos: Positions, k_pos: Positions, size: int) -> PairFunction:
    """A query sees the keys fewer than `size` turns away, on either side."""
    q_turn, k_turn = q_pos.turns(), k_pos.turns()
    return lambda b, h, i, j: (at(q_turn, b, i) - at(k_turn, b, j)).abs() < size


def same_document(q_pos: Positions, k_pos: Positions) -> PairFunction:
    """A query sees the keys of its own document; padding neither sees nor is seen."""
    q_segment, k_segment = q_pos.segments(), k_pos.segments()
    return lambda b, h, i, j: (at(q_segment, b, i) == at(k_segment, b, j)) & (at(k_segment, b, j) >= 0)


def both(first: PairFunction | None, second: PairFunction | None) -> PairFunction | None:
    """What both masks allow; an absent mask allows everything."""
    if first is None or second is None:
        return second if first is None else first
    return lambda b, h, i, j: first(b, h, i, j) & second(b, h, i, j)


@checked
@dataclass(frozen=True)
class Mask:
    """Which keys a query sees. Documents and padding come from the positions and are always kept apart.

    causal: only keys whose turn is not later than the query's.
    window: only keys fewer than this many turns away.
    """

    causal: bool = True
    window: int | None = None

    def __post_init__(self):
        if self.window is not None and self.window < 1:
            raise OptionError("a window holds at least the token itself", given=self.window, allowed="1 or more")

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        """The mask as a function of four indices, or None where it is known that every query sees every key."""
        allowed = None
        if self.causal and not self.past_only(q_pos, k_pos):
            allowed = causal(q_pos, k_pos)
        if self.window is not None:
            allowed = both(allowed, window(q_pos, k_pos, self.window))
        if q_pos.segment is not None or k_pos.segment is not None:
            allowed = both(allowed, same_document(q_pos, k_pos))
        return allowed

    def square(self, q_pos: Positions, k_pos: Positions) -> bool:
        """Whether this is the plain lower triangle: turns in order, as many queries as keys, nothing else masked."""
        return (
            self.causal
            and self.window is None
            and q_pos.index is None
            and k_pos.index is None
            and q_pos.segment is None
            and k_pos.segment is None
            and q_pos.turn == k_pos.turn
            and q_pos.length == k_pos.length
        )

    def span(self, q_pos: Positions, k_pos: Positions) -> tuple[int, int]:
        """The first of the keys that some query may see, and one past the last, as far as is known without data."""
        first, last = 0, k_pos.length
        if q_pos.index is None and k_pos.index is None:
            begin = q_pos.turn - k_pos.turn
            end = begin + q_pos.length
            if self.causal:
                last = min(last, max(end, 1))
            if self.window is not None:
                first = max(0, min(begin - self.window + 1, last - 1))
                last = min(max(min(last, end + self.window - 1), first + 1), k_pos.length)
        return first, last

    def seen(self, q_pos: Positions, k_pos: Positions) -> int:
        """How many of the first keys every query is known to see, without looking at data."""
        plain = all(pos.index is None and pos.segment is None for pos in (q_pos, k_pos))
        if not plain or self.window is not None:
            return 0
        return min(max(q_pos.turn - k_pos.turn + 1, 0), k_pos.length) if self.causal else k_pos.length

    @staticmethod
    def past_only(q_pos: Positions, k_pos: Positions) -> bool:
        """Whether no key comes after any query, known without looking at data."""
        in_order = q_pos.index is None and k_pos.index is None
        return in_order and q_pos.turn >= k_pos.turn + k_pos.length - 1


CAUSAL = Mask()
BIDIRECTIONAL = Mask(causal=False)

"""What is made of positions alone is made once in a forward pass: all of its layers ask for the same."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from gnomon.positions import Positions
from gnomon.traced import traced

Made = TypeVar("Made")

_PASS: ContextVar[dict[Hashable, tuple[Positions, Positions, Any]] | None] = ContextVar("pass", default=None)
"""What has been made in the pass at work, by positions, which stay as long, and what it is; None: there is none."""


@contextmanager
def one_pass() -> Iterator[None]:
    """Inside, what `once` makes is kept, and forgotten at the end."""
    token = _PASS.set({})
    try:
        yield
    finally:
        _PASS.reset(token)


def once(q_pos: Positions, k_pos: Positions, what: Hashable, make: Callable[[], Made]) -> Made:
    """`make()`, once for these positions in a pass; outside of one, each time.

    what: says it among all that is made of positions, with everything besides them that `make` reads. What it gives
    must have no gradient.
    """
    # A graph that is compiled has no memory.
    if traced() or (made := _PASS.get()) is None:
        return make()
    key = id(q_pos), id(k_pos), what
    if key not in made:
        made[key] = q_pos, k_pos, make()
    return made[key][2]

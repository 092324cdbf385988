"""What is made of positions alone is made once: all layers of a forward pass ask for the same."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch

from gnomon.positions import Positions
from gnomon.traced import traced

Made = TypeVar("Made")

_MADE: WeakKeyDictionary[Positions, WeakKeyDictionary[Positions, dict[Hashable, Any]]] = WeakKeyDictionary()


def once(q_pos: Positions, k_pos: Positions, what: Hashable, make: Callable[[], Made]) -> Made:
    """`make()`, kept for as long as both positions are there.

    what: says it among all that is made of the two, with everything besides positions that `make` reads. What it gives
    must have no gradient, and must not hold the positions themselves.
    """
    if traced():
        return make()
    # A tensor that was made without a version cannot be saved for a gradient later.
    what = what, torch.is_inference_mode_enabled()
    made = _MADE.setdefault(k_pos, WeakKeyDictionary()).setdefault(q_pos, {})
    if what not in made:
        made[what] = make()
    return made[what]

"""What weights alone decide is made once for as long as a cache lasts: the keys that it holds come from them, too."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from gnomon.precision import autocasts
from gnomon.traced import differs, traced

Made = TypeVar("Made")


class Kept(NamedTuple):
    """What was made, and of what."""

    weights: tuple[Tensor, ...]
    state: Hashable
    made: Any


Place = dict[Hashable, Kept]
"""What lasts for one layer, by what it is."""

_PLACE: ContextVar[Place | None] = ContextVar("place", default=None)
"""Where what is made now may last; None: nowhere."""


@contextmanager
def lasting(place: Place | None) -> Iterator[None]:
    """Inside, what `of_weights` makes is put in the place, and taken from there."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def lasts() -> bool:
    """Whether there is a place. A compiled graph has no memory; ask before sizes, which it would keep as conditions."""
    return not traced() and _PLACE.get() is not None


def of_weights(
    what: Hashable, weights: Sequence[Tensor], make: Callable[[], Made], besides: Hashable = None
) -> Made | None:
    """`make()`, from the first call on for as long as the weights are those; None where nothing lasts.

    what: says it among all that is made of the weights of a layer. besides: everything else that `make` reads; what was
    made of another is forgotten.
    Weights that were written to in place since, as an optimizer and `load_state_dict` do, are others; a write past
    autograd (`weight.data`) is not seen, as the keys in the cache do not see it.
    """
    if not lasts() or differs(*weights):
        return None
    place = _PLACE.get()
    state, kept = (besides, _state(weights)), place.get(what)
    if kept is None or kept.state != state or any(a is not b for a, b in zip(kept.weights, weights, strict=True)):
        # It may be read where there is a gradient, of queries for one, later on.
        with torch.inference_mode(False), torch.no_grad():
            kept = place[what] = Kept(tuple(weights), state, make())
    return kept.made


def _state(weights: Sequence[Tensor]) -> Hashable:
    """How often each was written to, and the precision that products with it have now."""
    device = weights[0].device
    cast = torch.get_autocast_dtype(device.type) if autocasts(device) else None
    return cast, *(None if weight.is_inference() else weight._version for weight in weights)

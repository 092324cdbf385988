"""What came before a call: where its tokens are, and what of them is still there. Here: nothing at all."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.errors import OptionError, PositionError
from gnomon.lasting import Place
from gnomon.positions import Positions, sequence


class Extent(NamedTuple):
    """The positions of one call."""

    queries: Positions
    computed: Positions
    """Of the keys that are computed in this call."""
    keys: Positions
    """Of all keys."""
    renumbered: bool = False
    """Whether a key's position changes from call to call, so that keys are kept as projected and lowered on read."""
    forgotten: bool = False
    """Whether tokens that came before are no longer among the keys, though these are as they were lowered then."""


class Past(ABC):
    """What came before a call: nothing, keys and values of all tokens or of some, or layer inputs.

    A call asks for positions once (`extend`), then each layer for the inputs of its keys (`recall`) and for all keys
    and values (`store`). A call that raises inside `whole` leaves no trace.
    """

    length: int = 0
    """The place of the next token where nobody says otherwise: how many came before, as this one counts them."""
    _model: weakref.ref | None = None
    counted: bool = True
    """Whether their positions were 0, 1, 2, ..., so that those of the next tokens follow from how many came."""

    @abstractmethod
    def extend(self, pos: Positions) -> Extent:
        """Take in the positions of new tokens; returns those of the queries, of the keys computed now, of all keys."""

    def recall(self, layer: int, x: Float[Tensor, "b n w"]) -> Float[Tensor, "b m w"]:
        """The layer inputs from which keys are computed: those of the call."""
        return x

    def store(self, layer: int, k: Float[Tensor, "b g_k n d"], v: Float[Tensor, "b g n d_v"]) -> tuple[Tensor, Tensor]:
        """All keys and values of the layer, given those that were computed now."""
        return k, v

    def lasting(self, layer: int) -> Place | None:
        """Where what the weights of a layer alone decide may last from call to call; None: nowhere."""
        return None

    def next(self, n: int, device: torch.device) -> Positions:
        """The positions of the next `n` tokens. PositionError where they do not follow from how many came."""
        if not self.counted:
            raise PositionError(
                "where these tokens are does not follow from those before them, whose positions were given",
                given=f"{n} tokens without positions",
                do="give pos: one more than the last of each padded row; in packed rows with its document",
            )
        return sequence(n, self.length, device=device)

    def begin(self, model: object) -> None:
        """Told by each model that reads on here. OptionError for another model than the one that began."""
        first = None if self._model is None else self._model()
        if first is not None and first is not model:
            raise OptionError(
                "what came before belongs to the model that read it",
                given=f"another {type(model).__name__}",
                do="make another cache or memory for each model",
            )
        if first is None:
            self._model = weakref.ref(model)

    def __getstate__(self) -> dict[str, object]:
        """All but the model, which has its own file: who reads on begins anew."""
        return {name: value for name, value in vars(self).items() if name != "_model"}

    @contextmanager
    def whole(self) -> Iterator[None]:
        """A call inside leaves no trace where it raises."""
        before = {name: dict(value) if isinstance(value, dict) else value for name, value in vars(self).items()}
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise


class NoCache(Past):
    """Nothing came before: every call stands for itself, of whatever model."""

    def begin(self, model: object) -> None: ...

    def extend(self, pos: Positions) -> Extent:
        """Queries and keys: those of the call."""
        return Extent(pos, pos, pos)


def check_goes_on(new: Tensor, held: Tensor, tokens_at: int, *, dtype: bool = True) -> None:
    """OptionError unless `new` is as what is `held` but for dimension `tokens_at`, the number of tokens."""
    sizes, others = [*new.shape], [*held.shape]
    if len(sizes) == len(others):
        sizes[tokens_at] = others[tokens_at]
    if sizes == others and new.device == held.device and (new.dtype == held.dtype or not dtype):
        return
    shapes = [", ".join("n" if at == tokens_at else str(size) for at, size in enumerate(t.shape)) for t in (new, held)]
    given, allowed = (f"[{s}] {t.dtype} on {t.device}" for s, t in zip(shapes, (new, held), strict=True))
    raise OptionError(
        "what came before belongs to one batch of one model",
        given=given,
        allowed=f"{allowed}, as it was begun",
        do="make another cache or memory for another batch, model or precision",
    )

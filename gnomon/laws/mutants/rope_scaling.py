"""Mutants of RoPE for longer texts: lengths, ramps and factors taken from the wrong place."""

import math
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from gnomon.encoding import Property
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_scaling import Scaling
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions

DYNAMIC = dict(scaling="dynamic", factor=2.0, original_length=20.0)
YARN = dict(scaling="yarn", factor=4.0, original_length=256.0)
LONG = dict(scaling="longrope", factor=2.0, original_length=100.0, length=200.0,
            short_factor=(1.0, 1.1, 1.2, 1.5), long_factor=(1.0, 1.5, 3.0, 4.0))  # fmt: skip


class _Dynamic(Rope):
    def __init__(self, head_dim: int):
        super().__init__(head_dim, **DYNAMIC)


class _Yarn(Rope):
    def __init__(self, head_dim: int):
        super().__init__(head_dim, **YARN)


class _LongestRow(_Dynamic):
    """The longest row of a batch is the length of all of them."""

    def frequencies(self, device: torch.device | None = None, length: Tensor | None = None) -> Tensor:
        return super().frequencies(device, None if length is None else length.max().expand_as(length))


class _WholeRow(_Dynamic):
    """A row is as long as the longest document in it, in definition and lowering alike."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        alone = [Positions(pos.anchored(), placed=pos.placed) for pos in (q_pos, k_pos)]
        return super().score(q, k, *alone)

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> Any:
        alone = Positions(context.anchored(), placed=context.placed)
        return super().prepare(Positions(pos.anchored(), placed=pos.placed), alone, dtype)


class _GoesOn(_Dynamic):
    """A cache goes on past the length that its tokens were computed for, keys lowered for the length now."""

    def check_continues(self, held: Positions, keys: Positions) -> None:
        return None


class _KeepsKeys(_Dynamic):
    """Keys are cached as they were turned, each for the length of its time."""

    properties = Rope.properties.fget(Rope(8)) & ~Property.TRANSLATION_INVARIANT

    def check_continues(self, held: Positions, keys: Positions) -> None:
        return None


class _QueriesOnly(_Dynamic):
    """The length is that of the tokens at hand, not that of all keys: a late query has a length of its own."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> Any:
        return super().prepare(pos, pos if pos.length < context.length else context, dtype)


class _Once(_Yarn):
    """The attention factor is on the queries alone."""

    def key(self, k: Tensor, prepared: Any) -> Tensor:
        return super().key(k, tuple(table / self.scaling.attention for table in prepared))


class _EveryDimension(Rope):
    """The attention factor is on the dimensions that are not rotated too."""

    def __init__(self, head_dim: int):
        super().__init__(head_dim, fraction=0.5, **YARN)

    def query(self, q: Tensor, prepared: Any) -> Tensor:
        q = super().query(q, prepared)
        return torch.cat([q[..., : self.rotary], q[..., self.rotary :] * self.scaling.attention], dim=-1)


class _Slower(Scaling):
    """YaRN's logits grow by the factor 1 + 0.1 ln s once, not on each side."""

    @property
    def attention(self) -> float:
        return math.sqrt(super().attention)


class _GrowsOnce(_Yarn):
    __doc__ = _Slower.__doc__

    def __init__(self, head_dim: int):
        super().__init__(head_dim)
        self.scaling = _as(_Slower, self.scaling)


class _Rootless(Scaling):
    """LongRoPE's growth of logits is on queries and on keys, where each has its root."""

    @property
    def attention(self) -> float:
        return super().attention ** 2


class _GrowsTwice(Rope):
    __doc__ = _Rootless.__doc__

    def __init__(self, head_dim: int):
        super().__init__(head_dim, **LONG)
        self.scaling = _as(_Rootless, self.scaling)


class _Cut(Rope):
    """Proportional keeps as many pairs as it is to keep dimensions."""

    def __init__(self, head_dim: int):
        super().__init__(head_dim, scaling="proportional", fraction=0.5)
        self.turning = int(0.5 * head_dim)


def _as(kind: type[Scaling], scaling: Scaling) -> Scaling:
    return kind(**{field.name: getattr(scaling, field.name) for field in fields(scaling)})


class _Written(_Yarn):
    """YaRN's ramp is linear in the number of turns, as the text has it, not in its logarithm, as it was released."""

    def frequencies(self, device: torch.device | None = None, length: Tensor | None = None) -> Tensor:
        options = dict(scaling="llama3", factor=4.0, original_length=256.0, high_freq_factor=32.0)
        return Rope(self.head_dim, **options).frequencies(device, length)


class _Banded(Rope):
    """Axes that are to take turns have bands of pairs."""

    def __init__(self, head_dim: int):
        super().__init__(head_dim, axes=3, sections=(2, 1, 1), layout="interleaved")

    def frequencies(self, device: torch.device | None = None, length: Tensor | None = None) -> Tensor:
        return Rope(self.head_dim, axes=3, sections=self.sections).frequencies(device, length)


MUTANTS = [
    Mutant.of("rope: longest row of the batch", _LongestRow, "lowering", "flex", "batch", "packed", "padded"),
    Mutant.of("rope: longest document of the row", _WholeRow, "packed"),
    Mutant.of("rope: outgrown cache goes on", _GoesOn, "cached"),
    Mutant.of("rope: keys kept from a shorter text", _KeepsKeys, "cached", "cacheable", "window"),
    Mutant.of("rope: length of the tokens at hand", _QueriesOnly, "window", "cached"),
    Mutant.of("rope: factor on queries alone", _Once, "lowering", "flex", "placeless", "precision"),
    Mutant.of("rope: factor on every dimension", _EveryDimension, "lowering", "flex", "placeless", "precision"),
    Mutant.of("rope: yarn grows on one side", _GrowsOnce, "lowering", "flex", "precision"),
    Mutant.of("rope: longrope grows twice", _GrowsTwice, "lowering", "flex", "precision"),
    Mutant.of("rope: proportional counts dimensions", _Cut, "lowering", "flex", "precision"),
    Mutant.of("rope: yarn as written", _Written, "lowering", "flex", "precision"),
    Mutant.of("rope: bands for turns", _Banded, "lowering", "flex"),
]

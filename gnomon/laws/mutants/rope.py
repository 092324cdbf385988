"""Mutants of RoPE: angles and tables made in the wrong way."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.encodings.frequencies import angles
from gnomon.encodings.rope import Rope
from gnomon.laws.mutant import Mutant
from gnomon.positions import Positions


class _WrongWay(Rope):
    """The key is rotated against its position."""

    def key(self, k: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        cos, sin = prepared
        return super().key(k, (cos, -sin))


class _Float32Angles(Rope):
    """Angles are formed in float32, as in most libraries."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        angle = (pos.anchored().float() @ self.frequencies().float())[:, None]
        return angle.cos().to(dtype), angle.sin().to(dtype)


class _Buffer(Rope):
    """Inverse frequencies live in a buffer, and are cast with the module."""

    def __init__(self, head_dim: int):
        super().__init__(head_dim)
        self.register_buffer("inverse_frequency", super().frequencies(), persistent=False)

    def frequencies(self, device: torch.device | None = None, length: Tensor | None = None) -> Tensor:
        return self.inverse_frequency.to(torch.float64)


class _Remembering(Rope):
    """A table once made serves every later call at the same positions, whatever precision that call has."""

    def __init__(self, head_dim: int):
        super().__init__(head_dim)
        self.kept: dict = {}

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        key = tuple(pos.anchored().flatten().tolist())
        if key not in self.kept:
            self.kept[key] = super().prepare(pos, context, dtype)
        return self.kept[key]


class _Rotating(Rope):
    """Tokens without a place are rotated by their coordinates like all others."""

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        angle = angles(pos.coords, self.frequencies())[:, None]
        return angle.cos().to(dtype), angle.sin().to(dtype)


class _LengthDependent(Rope):
    """The base grows with the sequence (dynamic NTK), yet rotated keys are cached."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return self._stretched(k_pos).score(q, k, q_pos, k_pos)

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return self._stretched(context).prepare(pos, context, dtype)

    def _stretched(self, context: Positions) -> Rope:
        return Rope(self.rotary, self.theta * max(1.0, context.length / 8))


class _Rounded(Rope):
    """Positions are rounded to whole numbers, in definition and lowering alike, yet it is declared continuous."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return super().score(q, k, _floor(q_pos), _floor(k_pos))

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return super().prepare(_floor(pos), context, dtype)


class _Bent(Rope):
    """Positions are bent in definition and lowering alike, yet it is declared translation invariant."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return super().score(q, k, _bent(q_pos), _bent(k_pos))

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return super().prepare(_bent(pos), context, dtype)


MUTANTS = [
    Mutant.of("rope: key rotated the wrong way", _WrongWay, "lowering", "flex", "translation", "precision", "half"),
    Mutant.of("rope: angles in float32", _Float32Angles, "lowering", "flex", "translation", "precision"),
    Mutant.of("rope: frequencies in a buffer", _Buffer, "state"),
    Mutant.of("rope: tables kept from another precision", _Remembering, "state"),
    Mutant.of("rope: prefix rotated", _Rotating, "lowering", "flex", "placeless"),
    Mutant.of("rope: base grows with length", _LengthDependent, "cached", "cacheable", "packed", "padded", "window"),
    Mutant.of("rope: positions rounded", _Rounded, "continuity"),
    Mutant.of("rope: positions bent", _Bent, "translation"),
]


def _floor(pos: Positions) -> Positions:
    return replace(pos, coords=pos.coords.floor())


def _bent(pos: Positions) -> Positions:
    return replace(pos, coords=pos.coords + pos.coords**2 / 1000)

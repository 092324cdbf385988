"""Mutants: wrong variants, each of a kind that real libraries have shipped, and the laws that must catch it.

A mutant names the laws that it breaks; it must break each by the law's margin, a hundred times the tolerance, and no
other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon import pairs
from gnomon.backends import Sdpa
from gnomon.backends.sdpa import _Plan as SdpaPlan
from gnomon.encoding import Encoding, Shape
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.frequencies import angles
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.kv_cache import Cache
from gnomon.laws.case import Case
from gnomon.laws.suite import LAWS
from gnomon.pairs import Mask, PairFunction, at
from gnomon.positions import Positions


@dataclass(frozen=True)
class Mutant:
    """A case with one part replaced by a wrong one; `kills`: the laws it must break, and breaks alone."""

    name: str
    case: Case
    kills: frozenset[str]


@dataclass(frozen=True)
class Cell:
    """One law on one mutant. verdict: `killed`, `passes`, `not applicable`, or `WRONG` (missed, or broken unasked)."""

    mutant: str
    law: str
    verdict: str
    error: float
    tolerance: float


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


class _Bfloat16Positions(Sinusoidal):
    """Positions are cast to the dtype of the activations, where bfloat16 counts to 256."""

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return x + pos.only_placed(self.table(pos.anchored().to(x.dtype))).to(x.dtype)


class _Arange(Sinusoidal):
    """Positions are counted inside, whatever is asked for."""

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return super().embed(x, _counted(pos))


class _Buffer(Rope):
    """Inverse frequencies live in a buffer, and are cast with the module."""

    def __init__(self, head_dim: int):
        super().__init__(head_dim)
        self.register_buffer("inverse_frequency", super().frequencies(), persistent=False)

    def frequencies(self, device: torch.device | None = None) -> Tensor:
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


class _NextHead(Alibi):
    """Each head has the slope of the next."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair, heads = super().bias(q, k, q_pos, k_pos), len(self.slopes)
        return lambda b, h, i, j: pair(b, (h + 1) % heads, i, j)


class _Signed(Alibi):
    """The penalty is signed by the order of the two positions: right where positions ascend, under a causal mask."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        q_at, k_at = q_pos.coords[..., 0], k_pos.coords[..., 0]
        slope = torch.tensor(self.slopes, dtype=torch.float64)
        return lambda b, h, i, j: -slope[h] * (at(q_at, b, i) - at(k_at, b, j))


class _FirstRow(Alibi):
    """The positions of the first row serve the whole batch."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, replace(q_pos, coords=q_pos.coords[:1]), replace(k_pos, coords=k_pos.coords[:1]))


class _OffByOne(T5):
    """Every distance falls into the bucket of the distance one farther."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return super().bias(q, k, q_pos, k_pos.shifted(-1.0))


class _Detached(T5):
    """The bias table is read without its gradient."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair = super().bias(q, k, q_pos, k_pos)
        return lambda b, h, i, j: pair(b, h, i, j).detach()


class _ContentGated(T5):
    """The bias depends on the query, yet is declared content-free."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        pair, gate = super().bias(q, k, q_pos, k_pos), 1 + q[:1].sum()
        if not q.numel():
            return pair
        return lambda b, h, i, j: pair(b, h, i, j) * gate


class _Scaled(T5):
    """Logits are scaled by 1 / sqrt(d), though the initial values already hold that factor."""

    def scale(self, head_dim: int) -> float:
        return head_dim**-0.5


class _Zeroed(T5):
    """The table is never trained away from zero: the model has no positions at all."""

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return lambda b, h, i, j: self.weight[0, h] * 0 + 0 * (i + j)

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        return q @ k.transpose(-1, -2) + 0 * self.weight.sum()


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


class _Silent(Learned):
    """A position beyond the table is clamped without a word."""

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return super().embed(x, replace(pos, coords=pos.coords.clamp(0, self.max_positions - 1)))


class _CountsFromQuery(Cache):
    """Positions of a cached step are counted from the query, not from the start of the sequence."""

    def extend(self, pos: Positions) -> tuple[Positions, Positions]:
        new, held = super().extend(pos)
        if held.length == pos.length:
            return new, held
        late = held.coords[:, held.length - pos.length :]
        early = held.coords[:, : held.length - pos.length]
        return new, replace(held, coords=torch.cat([early, late - late[:, :1]], dim=1))


class _Overwriting(Cache):
    """Each chunk is written one place too early, over the last token before it."""

    def store(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self._begin, begin = max(self._begin - 1, 0), self._begin
        if self._begin < begin:
            self.length -= 1
        keys, values = super().store(layer, k, v)
        if self._begin < begin:
            self._begin, self.length = begin, self.length + 1
            keys, values = [t[:, :, : self.length] for t in self._layers[layer]]
        return keys, values


class _Drawn(Mask):
    """A mask that is always drawn, so that a wrong one is wrong everywhere."""

    def square(self, q_pos: Positions, k_pos: Positions) -> bool:
        return False


class _OneDocument(_Drawn):
    """Documents of one row see each other; padding is still hidden."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(_segments(q_pos, lambda s: s.clamp(max=0)), _segments(k_pos, lambda s: s.clamp(max=0)))


class _SeesPadding(_Drawn):
    """Padding is a document like any other: it sees itself."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(_segments(q_pos, lambda s: s + 1), _segments(k_pos, lambda s: s + 1))


class _IgnoresPadding(_Drawn):
    """Padding is seen like any token."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(_segments(q_pos, lambda s: s.clamp(min=0)), _segments(k_pos, lambda s: s.clamp(min=0)))


class _TopLeft(_Drawn):
    """The causal triangle starts at the first query whatever has been cached."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        return super().pair(replace(q_pos, turn=0, index=None), replace(k_pos, turn=0, index=None))


class _Ahead(_Drawn):
    """A token sees the one after it."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        ahead = replace(q_pos, index=q_pos.turns() + 1)
        return super().pair(ahead if self.causal else q_pos, k_pos)


class _WideWindow(Mask):
    """The window is one token wider than asked for."""

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        plain = super().pair(q_pos, k_pos)
        if self.window is None:
            return plain
        within = pairs.window(q_pos, k_pos, self.window + 1)
        return pairs.both(within, replace(self, window=None).pair(q_pos, k_pos))


class _Tiled(Sdpa):
    """Grouped key heads are tiled (0 1 2 0 1 2) where they should be repeated (0 0 1 1 2 2)."""

    def attend(
        self, plan: SdpaPlan, q: Tensor, k: Tensor, v: Tensor, bias: PairFunction | None, scale: float, dropout: float
    ) -> Tensor:
        group = q.shape[1] // k.shape[1]
        return super().attend(plan, q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), bias, scale, dropout)


class _MasksByNumber(Sdpa):
    """What is not allowed gets a large negative number, so a query that sees nothing averages everything."""

    def attend(
        self, plan: SdpaPlan, q: Tensor, k: Tensor, v: Tensor, bias: PairFunction | None, scale: float, dropout: float
    ) -> Tensor:
        if plan.allowed is not None:
            hidden = torch.where(plan.allowed, 0.0 if plan.bias is None else plan.bias, -1e9).to(q.dtype)
            plan = replace(plan, bias=hidden)
        return super().attend(plan, q, k, v, bias, scale, dropout)


def _make(kind: Callable, *sizes: str) -> Callable[[Shape], Encoding]:
    return lambda shape: kind(*(getattr(shape, size) for size in sizes))


def _mutants() -> list[Mutant]:
    rope, alibi, t5 = _make(Rope, "head_dim"), _make(Alibi, "heads"), _make(T5, "heads", "causal")

    def encoding(name: str, make: Callable, *kills: str, causal: bool = True) -> Mutant:
        return Mutant(name, Case(name, make, causal=causal), frozenset(kills))

    def around(name: str, *kills: str, causal: bool = True, make: Callable = rope, **part: Callable) -> Mutant:
        return Mutant(name, Case(name, make, causal=causal, **part), frozenset(kills))

    return [
        encoding(
            "rope: key rotated the wrong way",
            _make(_WrongWay, "head_dim"),
            "lowering",
            "flex",
            "translation",
            "precision",
            "half",
        ),
        encoding(
            "rope: angles in float32", _make(_Float32Angles, "head_dim"), "lowering", "flex", "translation", "precision"
        ),
        encoding("rope: frequencies in a buffer", _make(_Buffer, "head_dim"), "state"),
        encoding("rope: tables kept from another precision", _make(_Remembering, "head_dim"), "state"),
        encoding("rope: prefix rotated", _make(_Rotating, "head_dim"), "lowering", "flex", "placeless"),
        encoding(
            "rope: base grows with length",
            _make(_LengthDependent, "head_dim"),
            "cached",
            "cacheable",
            "packed",
            "padded",
            "window",
        ),
        encoding("rope: positions rounded", _make(_Rounded, "head_dim"), "continuity"),
        encoding("rope: positions bent", _make(_Bent, "head_dim"), "translation"),
        encoding("alibi: slope of the next head", _make(_NextHead, "heads"), "lowering", "flex", "precision", "half"),
        encoding("alibi: signed penalty", _make(_Signed, "heads"), "lowering", "flex"),
        encoding("alibi: positions of the first row", _make(_FirstRow, "heads"), "lowering", "flex", "batch", "padded"),
        encoding("t5: bucket off by one", _make(_OffByOne, "heads", "causal"), "lowering", "flex", "precision", "half"),
        encoding("t5: scaled", _make(_Scaled, "heads", "causal"), "lowering", "flex", "precision", "half"),
        encoding("t5: table detached", _make(_Detached, "heads", "causal"), "gradients"),
        encoding("t5: bias gated by content", _make(_ContentGated, "heads", "causal"), "content_free"),
        encoding("t5: table zeroed", _make(_Zeroed, "heads", "causal"), "matters"),
        encoding(
            "sinusoidal: arange inside",
            _make(_Arange, "width"),
            "lowering",
            "cached",
            "packed",
            "padded",
            "matters",
            "precision",
            "half",
        ),
        encoding("sinusoidal: positions in the dtype of x", _make(_Bfloat16Positions, "width"), "half"),
        encoding("learned: clamped silently", _make(_Silent, "width"), "domain"),
        around("cache: counts from the query", "cached", make=alibi, cache=_CountsFromQuery),
        around("cache: writes one early", "cached", cache=_Overwriting),
        around("mask: one document", "packed", masking=_OneDocument),
        around("mask: padding seen by padding", "blank", masking=_SeesPadding),
        around("mask: padding seen", "padded", "blank", masking=_IgnoresPadding),
        around("mask: top-left triangle", "cached", "matters", masking=_TopLeft),
        around("mask: one ahead", "causality", "cached", "window", masking=_Ahead),
        around("mask: window too wide", "window", masking=_WideWindow),
        around("sdpa: heads tiled", "grouped", "lowering", backend=_Tiled),
        around("sdpa: masked by a number", "blank", make=t5, backend=_MasksByNumber),
    ]


MUTANTS: list[Mutant] = _mutants()


def matrix(names: list[str] | None = None) -> list[Cell]:
    """Every law on every mutant."""
    chosen = [m for m in MUTANTS if names is None or m.name in names]
    return [_cell(mutant, name) for mutant in chosen for name in LAWS]


def _cell(mutant: Mutant, name: str) -> Cell:
    law = LAWS[name]
    if law.declares is not None and law.declares not in mutant.case.make().properties:
        return Cell(mutant.name, name, "WRONG" if name in mutant.kills else "not applicable", 0.0, 0.0)
    outcome = law.check(mutant.case)
    if outcome.reason is not None:
        verdict = "not applicable"
    elif law.broken(outcome):
        verdict = "killed"
    else:
        verdict = "passes" if outcome.holds else "WRONG"
    if (verdict == "killed") != (name in mutant.kills):
        verdict = "WRONG"
    return Cell(mutant.name, name, verdict, outcome.error, outcome.tolerance)


def _counted(pos: Positions) -> Positions:
    count = torch.arange(pos.length, dtype=torch.float64)[None, :, None]
    return replace(pos, coords=count.expand_as(pos.coords))


def _floor(pos: Positions) -> Positions:
    return replace(pos, coords=pos.coords.floor())


def _bent(pos: Positions) -> Positions:
    return replace(pos, coords=pos.coords + pos.coords**2 / 1000)


def _segments(pos: Positions, change: Callable[[Tensor], Tensor]) -> Positions:
    return pos if pos.segment is None else replace(pos, segment=change(pos.segment))

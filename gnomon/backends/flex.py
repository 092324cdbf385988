"""FlexAttention: bias and mask compiled into one fused kernel."""

import functools
import os
import shutil
import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon import pairs
from gnomon.backends.backend import Backend
from gnomon.encoding import Encoding, Property
from gnomon.errors import BackendError
from gnomon.pairs import Mask, PairFunction
from gnomon.positions import Positions


@dataclass(frozen=True)
class _Plan:
    q_pos: Positions
    k_pos: Positions
    bias: PairFunction | None
    block_mask: object


VECTOR = 16
"""Keys that the CPU kernel handles at once, in float32."""


class Flex(Backend):
    """`torch.nn.attention.flex_attention`, compiled; on CPU it needs a C++ compiler and has no backward pass.

    `compiled=False` runs its eager form, in O(n^2) memory and in any precision: for laws in float64, not for work.
    """

    lowers = True

    def __init__(self, compiled: bool = True):
        self.compiled = compiled

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> _Plan:
        from torch.nn.attention.flex_attention import create_block_mask

        bias = None
        if Property.CONTENT_FREE in encoding.properties:
            empty = torch.empty(0, device=q_pos.coords.device)
            bias = encoding.bias(empty, empty, q_pos, k_pos)
        pair, room = mask.pair(q_pos, k_pos), self._room(k_pos.length, q_pos.coords.device)
        if room:
            pair = _within(pair, k_pos.length)
        block_mask = None
        if pair is not None and q_pos.length and k_pos.length:
            rows = max(q_pos.rows, k_pos.rows)
            sizes = (rows if rows > 1 else None, None, q_pos.length, k_pos.length + room)
            block_mask = create_block_mask(pair, *sizes, device=q_pos.coords.device)
        return _Plan(q_pos, k_pos, bias, block_mask)

    def attend(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, bias: PairFunction | None, scale: float, dropout: float
    ) -> Tensor:
        if dropout:
            raise BackendError(
                "flex has no attention dropout", given=f"dropout={dropout}", do="use backend='sdpa', or no dropout"
            )
        if not q.shape[2] or not k.shape[2]:
            return v.new_zeros(*q.shape[:3], v.shape[3])
        room = self._room(k.shape[2], k.device)
        if room:
            k, v = (torch.nn.functional.pad(t, (0, 0, 0, room)) for t in (k, v))
        pair = pairs.placed(plan.bias if bias is None else bias, plan.q_pos, plan.k_pos)
        if room:
            pair = _clamped(pair, plan.k_pos.length)
        score_mod = None if pair is None else lambda score, b, h, i, j: score + pair(b, h, i, j).to(score.dtype)
        return self._kernel(q, k, v)(
            q, k, v, score_mod=score_mod, block_mask=plan.block_mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )

    def _room(self, keys: int, device: torch.device) -> int:
        """How many keys to add: torch 2.13's CPU kernel reads what it never wrote where a vector is half full."""
        return -keys % VECTOR if self.compiled and device.type == "cpu" else 0

    def _kernel(self, q: Tensor, k: Tensor, v: Tensor):

        if not self.compiled:
            return _uncompiled
        if q.device.type == "cpu":
            if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
                raise BackendError(
                    "flex has no backward pass on CPU",
                    given="inputs that require a gradient",
                    do="train with backend='sdpa', or run under torch.no_grad()",
                )
            if q.dtype == torch.float64:
                raise BackendError(
                    "flex computes in 16 or 32 bits on CPU", given="float64", do="use backend='sdpa' or 'reference'"
                )
            if not shutil.which(os.environ.get("CXX", "g++")) and not shutil.which("clang++"):
                raise BackendError(
                    "flex compiles its kernel on CPU and needs a C++ compiler",
                    given="no g++, no clang++, no $CXX",
                    do="install g++ (apt-get install g++), or use backend='sdpa'",
                )
        return _compiled()


def _clamped(pair: PairFunction | None, keys: int) -> PairFunction | None:
    """`pair`, with every key past the last one read as the last: tables end there."""
    return None if pair is None else lambda b, h, i, j: pair(b, h, i, j.clamp(max=keys - 1))


def _within(pair: PairFunction | None, keys: int) -> PairFunction:
    """What `pair` allows, of the keys that there are."""
    if pair is None:
        return lambda b, h, i, j: j < keys
    return lambda b, h, i, j: (j < keys) & pair(b, h, i, j.clamp(max=keys - 1))


def _uncompiled(*args, **options) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        return flex_attention(*args, **options)


@functools.cache
def _compiled():
    from torch.nn.attention.flex_attention import flex_attention

    # fullgraph: past the recompilation limit it raises instead of running eagerly at twenty times the cost.
    return torch.compile(flex_attention, fullgraph=True)

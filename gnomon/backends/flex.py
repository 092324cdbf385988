"""FlexAttention: bias and mask compiled into one fused kernel."""

import functools
import os
import shutil
import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon import masks, pairs
from gnomon.backends.backend import Backend, Raw, nothing
from gnomon.content import placed
from gnomon.encoding import Encoding, Property
from gnomon.errors import BackendError
from gnomon.masks import Mask
from gnomon.pairs import PairFunction
from gnomon.positions import Positions

SHORTEST = 16
"""Tokens that the CPU kernel handles at once, in float32."""
KERNELS = 2**16
"""More than a process will compile."""


@dataclass(frozen=True)
class _Plan:
    encoding: Encoding
    q_pos: Positions
    k_pos: Positions
    bias: PairFunction | None
    """That of a content-free encoding."""
    block_mask: object
    q_room: int
    """Queries to add, and keys, so that the kernel meets few different lengths."""
    k_room: int


class Flex(Backend):
    """`torch.nn.attention.flex_attention`, compiled; on CPU it needs a C++ compiler and has no backward pass.

    On CPU a kernel is compiled for one shape, and lengths are padded to powers of two: torch 2.13 names the sizes of a
    kernel for all lengths so that some of them collide (a C++ error), and reads what it never wrote where a vector is
    half full. Blocks of nothing but padding are skipped.

    `compiled=False` runs its eager form, in O(n^2) memory and in any precision: for laws in float64, not for work.
    """

    lowers = True

    def __init__(self, compiled: bool = True):
        self.compiled = compiled

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> _Plan:
        from torch.nn.attention.flex_attention import create_block_mask

        if encoding.mix(q_pos, k_pos) is not None:
            raise BackendError(
                f"{type(encoding).__name__} gives values that depend on the pair; flex keeps no weights",
                given="backend='flex'",
                allowed="sdpa, reference",
                do="use backend='sdpa'",
            )
        device, queries, keys = q_pos.coords.device, q_pos.length, k_pos.length
        pair = mask.pair(q_pos, k_pos)
        q_room, k_room = self._room(queries, device), self._room(keys, device)
        if q_room or k_room:
            q_pos, k_pos = q_pos.stretched(queries + q_room), k_pos.stretched(keys + k_room)
            pair = masks.both(_within(queries, keys, device), mask.pair(q_pos, k_pos))
        bias = None
        if Property.CONTENT_FREE in encoding.properties:
            bias = pairs.pointwise(placed(encoding.bias(*nothing(q_pos, dtype), q_pos, k_pos), q_pos, k_pos))
        block_mask = None
        if pair is not None and queries and keys:
            rows = max(q_pos.rows, k_pos.rows)
            sizes = (rows if rows > 1 else None, None, q_pos.length, k_pos.length)
            block_mask = create_block_mask(pair, *sizes, device=device)
        return _Plan(encoding, q_pos, k_pos, bias, block_mask, q_room, k_room)

    def attend(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        if dropout:
            raise BackendError(
                "flex has no attention dropout", given=f"dropout={dropout}", do="use backend='sdpa', or no dropout"
            )
        queries = q.shape[2]
        if not q.shape[0] or not queries or not k.shape[2]:
            return v.new_zeros(*q.shape[:3], v.shape[3])
        self._check(q, k, v)
        q, k, v = _padded(q, plan.q_room), _padded(k, plan.k_room), _padded(v, plan.k_room)
        pair = plan.bias
        if raw is not None:
            content = _padded(raw[0], plan.q_room), _padded(raw[1], plan.k_room)
            bias = pairs.pointwise(plan.encoding.bias(*content, plan.q_pos, plan.k_pos))
            pair = placed(bias, plan.q_pos, plan.k_pos)
        # A kernel's logits are float32 whatever its inputs are; penalties of far keys would overflow 16 bits.
        wide = torch.promote_types(q.dtype, torch.float32)
        score_mod = None if pair is None else lambda score, b, h, i, j: score + pair(b, h, i, j).to(wide)
        kernel = _compiled(dynamic=None if q.is_cuda else False) if self.compiled else _uncompiled
        out = kernel(
            q, k, v, score_mod=score_mod, block_mask=plan.block_mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )
        return out[:, :, :queries]

    def way(self, plan: _Plan) -> str:
        return "one compiled kernel" if self.compiled else "the formula of the kernel, not compiled"

    def _room(self, length: int, device: torch.device) -> int:
        """How many tokens to add for the next power of two."""
        if not self.compiled or device.type != "cpu" or not length:
            return 0
        return max(SHORTEST, 1 << (length - 1).bit_length()) - length

    def _check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        if not self.compiled or q.device.type != "cpu":
            return
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


def _padded(t: Tensor, room: int) -> Tensor:
    return torch.nn.functional.pad(t, (0, 0, 0, room)) if room else t


def _within(queries: int, keys: int, device: torch.device) -> PairFunction:
    """The queries and keys that there are; their number is a tensor, so that the kernel is the same for any."""
    limits = torch.tensor([queries, keys], device=device)
    return lambda b, h, i, j: (i < limits[0]) & (j < limits[1])


def _uncompiled(*args, **options) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        return flex_attention(*args, **options)


@functools.cache
def _compiled(dynamic: bool | None):
    from torch.nn.attention.flex_attention import flex_attention

    # fullgraph: past a limit it raises instead of running eagerly at twenty times the cost.
    compiled = torch.compile(flex_attention, fullgraph=True, dynamic=dynamic)

    def kernel(*args, **options) -> Tensor:
        if torch.compiler.is_compiling():
            return compiled(*args, **options)
        # dynamo's limit of eight is meant for one function; this one stands for as many kernels as there are encodings.
        with torch._dynamo.config.patch(recompile_limit=KERNELS, accumulated_recompile_limit=KERNELS):
            return compiled(*args, **options)

    return kernel

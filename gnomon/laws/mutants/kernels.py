"""Mutants of the SDPA backend: heads and masks as the kernel takes them."""

from dataclasses import replace

from torch import Tensor

from gnomon.backends import Sdpa
from gnomon.backends.backend import Raw
from gnomon.backends.sdpa import _Plan as SdpaPlan
from gnomon.encodings.rope import Rope
from gnomon.encodings.t5 import T5
from gnomon.laws.mutant import Mutant


class _Tiled(Sdpa):
    """Grouped key heads are tiled (0 1 2 0 1 2) where they should be repeated (0 0 1 1 2 2)."""

    def attend(
        self, plan: SdpaPlan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        group = q.shape[1] // k.shape[1]
        return super().attend(plan, q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), raw, scale, dropout)


class _MasksByNumber(Sdpa):
    """What is not allowed gets a large negative number, so a query that sees nothing averages everything."""

    def attend(
        self, plan: SdpaPlan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        if plan.bias is not None:
            plan = replace(plan, bias=plan.bias.clamp(min=-1e9))
        return super().attend(plan, q, k, v, raw, scale, dropout)


MUTANTS = [
    Mutant.of("sdpa: heads tiled", Rope, "grouped", "lowering", backend=_Tiled),
    Mutant.of("sdpa: masked by a number", T5, "blank", backend=_MasksByNumber),
]

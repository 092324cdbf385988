"""What a backend is: a plan made once per forward pass, and attention by that plan in every layer."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from gnomon.encoding import Encoding
from gnomon.masks import Mask
from gnomon.positions import Positions

Raw = tuple[Tensor, Tensor]
"""Queries and keys as projected."""


class Backend(ABC):
    """One way to compute softmax(logits) @ values."""

    lowers: bool
    """Whether it takes queries and keys as the encoding lowers them, or as they are projected."""

    @abstractmethod
    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> Any:
        """What all layers share: masks, and biases that depend on no content. `dtype` is that of the queries."""

    @abstractmethod
    def attend(
        self, plan: Any, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        """`[b, h, i, d_v]` from q `[b, h, i, d]`, k `[b, g, j, d]`, v `[b, g, j, d_v]`; h is a multiple of g.

        `raw` are queries and keys as projected where the encoding's bias reads them, None where it is content-free;
        `dropout` is the probability with which a weight is dropped. A query that sees no key receives zeros.
        """

    @abstractmethod
    def way(self, plan: Any) -> str:
        """How attention is computed by that plan, in a few words: what a reader asks who wonders about its cost."""


def nothing(pos: Positions, dtype: torch.dtype) -> Raw:
    """The queries and keys of a content-free bias: none, in the precision of the logits that it is added to."""
    return (torch.empty(0, dtype=torch.promote_types(dtype, torch.float32), device=pos.coords.device),) * 2

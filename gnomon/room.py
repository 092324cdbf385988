"""Memory that is used again and again, where a system that hands out fresh memory is slower than what is written to it.

A tensor of some megabytes is fresh memory each time, and to touch it first costs the system several times what a pass
over it costs. Parts of one computation that come one after another write into the same.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


class Room:
    """Memory for tensors that nobody needs any more once the next part begins (`again`)."""

    def __init__(self):
        self._kept: list[Tensor] = []
        self._used = 0

    def again(self) -> "Room":
        """From now on all of it may be written to."""
        self._used = 0
        return self

    def empty(self, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
        """A tensor of any values."""
        size, at = math.prod(shape), self._used
        self._used += 1
        if at == len(self._kept):
            self._kept.append(torch.empty(size, dtype=dtype, device=device))
        kept = self._kept[at]
        if kept.numel() < size or kept.dtype != dtype:
            kept = self._kept[at] = torch.empty(size, dtype=dtype, device=device)
        return kept[:size].view(*shape)


def empty(room: Room | None, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor of any values, in fresh memory where there is no room."""
    return torch.empty(*shape, dtype=dtype, device=device) if room is None else room.empty(shape, dtype, device)

"""Autocast: whether it acts on a device, and places where it must not."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def autocasts(device: torch.device) -> bool:
    """Whether what is computed on the device now is cast to another precision on the way."""
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def as_cast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The same as autocast would give them to a product, where it acts: float32 is narrowed, all else stays."""
    return tuple(
        t.to(torch.get_autocast_dtype(t.device.type)) if t.dtype == torch.float32 and autocasts(t.device) else t
        for t in tensors
    )


def uncast(device: torch.device) -> AbstractContextManager:
    """Inside, everything is computed in the precision that it has; the meta device knows no other."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()

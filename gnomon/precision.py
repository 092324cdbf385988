"""Autocast: whether it acts on a device, and places where it must not."""

from contextlib import AbstractContextManager, nullcontext

import torch


def autocasts(device: torch.device) -> bool:
    """Whether what is computed on the device now is cast to another precision on the way."""
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def uncast(device: torch.device) -> AbstractContextManager:
    """Inside, everything is computed in the precision that it has; the meta device knows no other."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()

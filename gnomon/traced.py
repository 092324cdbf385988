"""Whether what is computed now is followed: by a compiler or a transform, or by a gradient."""

from collections.abc import Sequence

import torch
from torch import Tensor


def traced() -> bool:
    """Whether a graph is compiled, torch.func transforms a function, or derivatives are taken forwards.

    These follow plain operations only.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def differs(*values: Tensor) -> bool:
    """Whether what is made of the values has a gradient."""
    return torch.is_grad_enabled() and any(value.requires_grad for value in values)


def apart(values: Sequence[Tensor]) -> list[Tensor]:
    """The same tensors, none of which is another of them or made of it: gradients by each do not count the others'."""
    return [value.view_as(value) for value in values]

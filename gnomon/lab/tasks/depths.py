"""How deep in a text something lies: 0 at its start, 1 at its end. Shared by recall and passkey."""

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Group

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Those that are measured, each as a group."""


class Depths:
    """Depths that are drawn in training, uniformly unless one is given, and those that are measured."""

    def __init__(self, depth: float | None):
        if depth is not None and not 0 <= depth <= 1:
            raise OptionError("a depth is a share of the text", given=depth, allowed="0 to 1")
        self.depth = depth
        self.measured = tuple(dict.fromkeys((*DEPTHS, *(() if depth is None else (depth,)))))
        self.groups = tuple(Group(f"depth {at:g}", depth in (None, at)) for at in self.measured)

    def places(self, last: Tensor, generator: torch.Generator, group: Tensor | None) -> Tensor:
        """For each row a place from 0 to `last` `[b]`, int64."""
        if group is not None:
            share = torch.tensor(self.measured)[group]
        elif self.depth is not None:
            share = torch.full(last.shape, self.depth)
        else:
            return (torch.rand(len(last), generator=generator) * (last + 1)).to(torch.int64)
        return (share * last).round().to(torch.int64)

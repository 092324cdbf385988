"""Parity: whether the number of ones is odd.

    <bos> 1 0 1 1 <sep> 1 <eos>

One symbol changes the answer wherever it stands: nothing can be left out, and no place matters.
"""

import torch
from torch import Tensor

from gnomon.lab.task import Chance
from gnomon.lab.tasks.sequences import BLANK, Sequences, uniform


class Parity(Sequences):
    """Parity of `length` bits."""

    symbols = ("0", "1")

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        x = uniform(lengths, 2, generator)
        return x, torch.where(x == BLANK, 0, x).sum(dim=1, keepdim=True) % 2

    def chance(self, length: int) -> Chance:
        return Chance(1 / 2, 3 / 4)

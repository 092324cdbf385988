"""Associative recall: after pairs of a key and a value, say the value of one key.

    <bos> k3 v7 k0 v2 k5 v7 ? k0 <sep> v2 <eos>

`length` counts pairs; keys are different, values may repeat. The pair that is asked for lies at any depth, or in
training at `depth` alone; all depths are measured, each by itself. Arora et al. 2023, "Zoology: Measuring and
Improving Recall in Efficient Language Models", ask for several keys in one text.
"""

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Chance
from gnomon.lab.tasks.depths import Depths
from gnomon.lab.tasks.sequences import BLANK, Sequences, distinct, uniform


class Recall(Sequences):
    """Recall of one of `length` pairs, of so many `keys` and `values` in all."""

    room = "choose shorter lengths, or more keys"

    def __init__(self, keys: int = 64, values: int = 64, depth: float | None = None):
        if keys < 1 or values < 2:
            raise OptionError("pairs have keys and values", given=f"{keys}, {values}", allowed="1, 2 or more")
        self.keys, self.values, self.longest = keys, values, keys
        self.depths = Depths(depth)
        self.groups = self.depths.groups
        self.symbols = (*(f"k{n}" for n in range(keys)), *(f"v{n}" for n in range(values)), "?")

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        keys, values = distinct(lengths, self.keys, generator), uniform(lengths, self.values, generator)
        values = torch.where(values == BLANK, BLANK, self.keys + values)
        asked = self.depths.places(lengths - 1, generator, group)[:, None]
        pairs = torch.stack([keys, values], dim=2).flatten(1)
        mark = torch.full((len(pairs), 1), len(self.symbols) - 1)
        return torch.cat([pairs, mark, keys.gather(1, asked)], dim=1), values.gather(1, asked)

    def chance(self, length: int) -> Chance:
        return Chance(1 / self.values, (1 / self.values + 1) / 2)

"""Repeated: a pattern stands in a text of no meaning, and again at its end.

    <bos> q w d a c t q w q d a c                        pattern=3: once d is said again, a c follow

Scored are the tokens of the second occurrence after its first, which tells where it begins. The symbols of a pattern
are different and stand nowhere else, so what comes next follows from the one place where the last symbol stood before:
the token after it. After the repeated random tokens of Olsson et al. 2022, "In-context Learning and Induction Heads",
whose sequences are one pattern twice. `length` counts the tokens from the text's first to the last of the second
occurrence. The first lies at any depth, or in training at `depth` alone; all depths are measured, each by itself.
"""

import math

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Batch, Chance
from gnomon.lab.tasks.depths import Depths
from gnomon.lab.tasks.sequences import Drawn, continued, distinct, finite, letters, uniform


class Repeated(Drawn):
    """The second occurrence of a `pattern` of so many symbols of an `alphabet`."""

    room = "choose longer lengths, or a shorter pattern"

    def __init__(self, alphabet: int = 26, pattern: int = 6, depth: float | None = None, sequences: int | None = None):
        if pattern < 2 or alphabet <= pattern:
            given = f"pattern {pattern}, alphabet {alphabet}"
            raise OptionError("a pattern goes on, and leaves other symbols", given=given, allowed="2 or more, and more")
        self.alphabet, self.pattern, self.sequences = alphabet, pattern, finite(sequences)
        self.shortest = 2 * pattern
        self.depths = Depths(depth)
        self.groups = self.depths.groups
        self.symbols = (*letters(alphabet), "<bos>", "<pad>")

    def rows(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> Batch:
        order = distinct(torch.full_like(lengths, self.alphabet), self.alphabet, generator)
        pattern, others = order.split([self.pattern, self.alphabet - self.pattern], dim=1)
        drawn = uniform(lengths - self.pattern, others.shape[1], generator)
        text = torch.where(drawn < 0, drawn, others.gather(1, drawn.clamp(min=0)))
        first = self.depths.places(lengths - 2 * self.pattern, generator, group)[:, None]
        text = text.scatter(1, first + torch.arange(self.pattern), pattern)
        whole = torch.cat([torch.full((len(text), 1), self.alphabet), text, pattern], dim=1)
        return continued(whole, torch.arange(whole.shape[1]) > whole.shape[1] - self.pattern, self.alphabet + 1)

    def chance(self, length: int) -> Chance:
        return Chance(1 / math.perm(self.alphabet, self.pattern - 1), 1 / self.alphabet)

    def describe(self) -> dict:
        return self.described("<bos> text pattern, scored from the second symbol of the pattern on")

"""Adjacency: two words mean something together only where the second directly follows the first.

    w3 deep learning w1 w7 -> yes
    w3 deep w1 learning w7 -> no
    w3 learning deep w1 w7 -> no
    deep2 learning2 w4 w4 w1 -> yes                      pairs=2

Every sequence has both words of one pair, each of them at any place with the same probability whatever the answer is:
that both are there tells nothing, and neither does the place of one. The answer is said at the second word, seen both
ways. `length` counts the words. Words that stand together and apart are measured by themselves; those that are apart
may be in the other order.
"""

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Batch, Chance, Group
from gnomon.lab.tasks.sequences import Drawn, asked, below, finite, uniform


class Adjacency(Drawn):
    """Whether the words of one of so many `pairs` are adjacent, among `others`; one in two are."""

    causal = False
    groups = (Group("adjacent"), Group("apart"))
    shortest = 4
    room = "choose longer lengths"
    shorter = False

    def __init__(self, others: int = 16, pairs: int = 4, sequences: int | None = None):
        if others < 1 or pairs < 1:
            raise OptionError("there are pairs, and other words", given=f"{pairs}, {others}", allowed="1 or more")
        self.others, self.pairs, self.sequences = others, pairs, finite(sequences)
        ends = ("", *(str(pair) for pair in range(2, pairs + 1)))
        named = (f"{word}{end}" for end in ends for word in ("deep", "learning"))
        self.symbols = (*(f"w{n}" for n in range(others)), *named, "no", "yes")

    def rows(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> Batch:
        x = uniform(lengths, self.others, generator)
        apart = torch.randint(2, lengths.shape, generator=generator) if group is None else group
        first = self.others + 2 * torch.randint(self.pairs, lengths.shape, generator=generator)
        at = below(lengths - 1, generator)
        # Of the places from 1 on, in a circle: the next one, or any other that is not the first word's own.
        on = torch.where(apart == 1, 1 + below(lengths - 3, generator), 0)
        then = 1 + (at + on) % (lengths - 1)
        x = x.scatter(1, at[:, None], first[:, None]).scatter(1, then[:, None], first[:, None] + 1)
        no, yes = self.vocabulary - 2, self.vocabulary - 1
        return asked(x, then, torch.where(apart == 1, no, yes))

    def chance(self, length: int) -> Chance:
        return Chance(1 / 2, 1 / 2)

    def describe(self) -> dict:
        return self.described("words, scored at the second of a pair")

"""Passkey: find the digits that stand between marks somewhere in a text of no meaning.

    <bos> q c [ 4 0 7 ] b w q ? <sep> 4 0 7 <eos>                                digits=3

`length` counts the tokens of the text, marks and digits among them. They lie at any depth, or in training at `depth`
alone; all depths are measured, each by itself. After Mohtashami and Jaggi 2023, "Landmark Attention", with letters
drawn at random in place of repeated sentences.
"""

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Chance
from gnomon.lab.tasks.depths import Depths
from gnomon.lab.tasks.sequences import Sequences, letters, uniform


class Passkey(Sequences):
    """A key of so many `digits` in `length` tokens."""

    def __init__(self, digits: int = 5, alphabet: int = 26, depth: float | None = None):
        if digits < 1 or alphabet < 1:
            raise OptionError("a key has digits, a text letters", given=f"{digits}, {alphabet}", allowed="1 or more")
        self.digits, self.alphabet, self.shortest = digits, alphabet, digits + 2
        self.depths = Depths(depth)
        self.groups = self.depths.groups
        self.symbols = (*letters(alphabet), *"0123456789", "[", "]", "?")
        self.room = "choose longer lengths, or fewer digits"

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        text = uniform(lengths, self.alphabet, generator)
        key = torch.randint(10, (len(lengths), self.digits), generator=generator) + self.alphabet
        first = self.depths.places(lengths - self.shortest, generator, group)[:, None]
        one = torch.ones(len(lengths), 1, dtype=torch.int64)
        needle = torch.cat([one * (self.alphabet + 10), key, one * (self.alphabet + 11)], dim=1)
        x = text.scatter(1, first + torch.arange(self.shortest), needle)
        return torch.cat([x, one * (self.alphabet + 12)], dim=1), key

    def chance(self, length: int) -> Chance:
        return Chance(10.0**-self.digits, (self.digits / 10 + 1) / (self.digits + 1))

"""Count: which symbol is the most frequent, or how often the first symbol of the alphabet occurs.

    <bos> c a c b <sep> c <eos>                          majority
    <bos> a c a b a <sep> 3 <eos>                        ask=number

The most frequent symbol is unique, each equally likely. A number is drawn uniformly from 0 to `length`, and so are the
places: a guess at the middle is worth no more than another. Its digits are written plainly, the most significant first.
"""

from typing import Literal

import torch
from torch import Tensor

from gnomon.lab.task import Chance
from gnomon.lab.tasks import guess
from gnomon.lab.tasks.copy import check_alphabet
from gnomon.lab.tasks.sequences import BLANK, Sequences, letters, uniform, within


class Count(Sequences):
    """Counting among `length` symbols of an `alphabet`."""

    def __init__(self, alphabet: int = 26, ask: Literal["majority", "number"] = "majority"):
        check_alphabet(alphabet)
        self.alphabet, self.ask = alphabet, ask
        self.symbols = (*letters(alphabet), *(tuple("0123456789") if ask == "number" else ()))

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        return (self._majority if self.ask == "majority" else self._number)(lengths, generator)

    def chance(self, length: int) -> Chance:
        if self.ask == "majority":
            return Chance(1 / self.alphabet, (1 / self.alphabet + 1) / 2)
        return guess.of_distribution([str(number) for number in range(length + 1)], [1 / (length + 1)] * (length + 1))

    def _majority(self, lengths: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        x = uniform(lengths, self.alphabet, generator)
        counts = torch.nn.functional.one_hot(x + 1, self.alphabet + 1).sum(dim=1)[:, 1:]
        # Of symbols that tie, one is drawn, and takes the place of a symbol that is another: then it is ahead of all.
        among = (counts == counts.amax(dim=1, keepdim=True)) * torch.rand(counts.shape, generator=generator)
        winner = among.argmax(dim=1, keepdim=True)
        tied = (counts == counts.amax(dim=1, keepdim=True)).sum(dim=1, keepdim=True) > 1
        other = ((x != winner) & within(lengths)) * torch.rand(x.shape, generator=generator)
        place = other.argmax(dim=1, keepdim=True)
        return torch.where(tied & (torch.arange(x.shape[1]) == place), winner, x), winner

    def _number(self, lengths: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        there = within(lengths)
        number = (torch.rand(len(lengths), generator=generator) * (lengths + 1)).to(torch.int64)
        others = torch.randint(1, self.alphabet, there.shape, generator=generator)
        order = torch.where(there, torch.rand(there.shape, generator=generator), 2.0).argsort(dim=1).argsort(dim=1)
        x = torch.where(there, torch.where(order < number[:, None], 0, others), BLANK)
        powers = 10 ** torch.arange(len(str(int(lengths.max()))) - 1, -1, -1)
        digits = number[:, None] // powers % 10
        shown = (number[:, None] >= powers) | (powers == 1)
        return x, torch.where(shown, self.alphabet + digits, BLANK)

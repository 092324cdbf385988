"""Reverse: say what was read, the last symbol first.

    <bos> d a c a <sep> a c a d <eos>

The next symbol lies farther back with every symbol said, by two places at a time.
"""

import torch
from torch import Tensor

from gnomon.lab.task import Chance
from gnomon.lab.tasks.copy import chance_of_symbols, check_alphabet
from gnomon.lab.tasks.sequences import Sequences, distinct, letters, uniform


class Reverse(Sequences):
    """Reversal of `length` symbols of an `alphabet`, repeated or, with `unique`, each at most once."""

    room = "choose shorter lengths, or a larger alphabet"

    def __init__(self, alphabet: int = 26, unique: bool = False):
        check_alphabet(alphabet)
        self.symbols, self.unique = letters(alphabet), unique
        self.longest = alphabet if unique else None

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        x = (distinct if self.unique else uniform)(lengths, len(self.symbols), generator)
        return x, x.flip(1)

    def chance(self, length: int) -> Chance:
        return chance_of_symbols(len(self.symbols), self.unique, length)

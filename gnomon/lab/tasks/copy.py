"""Copy: say again what was read.

    <bos> d a c a <sep> d a c a <eos>

With `unique`, no symbol occurs twice in a row, so what comes next follows from the last symbol alone; with repeats it
takes a place. Published with 26 letters (Jelassi et al. 2024, "Repeat After Me"), with 150 unique symbols and with two
that repeat.
"""

import math

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Chance
from gnomon.lab.tasks.sequences import Sequences, distinct, letters, uniform


class Copy(Sequences):
    """Copy of `length` symbols of an `alphabet`, repeated or, with `unique`, each at most once."""

    room = "choose shorter lengths, or a larger alphabet"

    def __init__(self, alphabet: int = 26, unique: bool = False):
        check_alphabet(alphabet)
        self.symbols, self.unique = letters(alphabet), unique
        self.longest = alphabet if unique else None

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        x = (distinct if self.unique else uniform)(lengths, len(self.symbols), generator)
        return x, x

    def chance(self, length: int) -> Chance:
        return chance_of_symbols(len(self.symbols), self.unique, length)


def check_alphabet(alphabet: int) -> None:
    if alphabet < 2:
        raise OptionError("an alphabet tells symbols apart", given=f"{alphabet} symbols", allowed="2 or more")


def chance_of_symbols(alphabet: int, unique: bool, length: int) -> Chance:
    """Guessing a sequence whose every order is equally likely."""
    exact = 1 / math.perm(alphabet, length) if unique else float(alphabet) ** -length
    return Chance(exact, (length / alphabet + 1) / (length + 1))

"""Sort: say what was read in the order of the alphabet.

    <bos> d a c b <sep> a b c d <eos>                     unique
    <bos> d a c a <sep> a a c d <eos>                     unique=false

With symbols that are all different, as published with 150 of them, what comes next is the least that is larger than
the last: no place has to be known. With repeats, how many of each were said has to be.
"""

import math

import torch
from torch import Tensor

from gnomon.lab.task import Chance
from gnomon.lab.tasks.copy import check_alphabet
from gnomon.lab.tasks.guess import binomial_tail
from gnomon.lab.tasks.sequences import BLANK, Sequences, distinct, letters, uniform


class Sort(Sequences):
    """Sorting of `length` symbols of an `alphabet`, each at most once or, without `unique`, repeated."""

    room = "choose shorter lengths, or a larger alphabet"

    def __init__(self, alphabet: int = 150, unique: bool = True):
        check_alphabet(alphabet)
        self.symbols, self.unique = letters(alphabet), unique
        self.longest = alphabet if unique else None

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        x = (distinct if self.unique else uniform)(lengths, len(self.symbols), generator)
        last = torch.where(x == BLANK, len(self.symbols), x).sort(dim=1).values
        return x, torch.where(last == len(self.symbols), BLANK, last)

    def chance(self, length: int) -> Chance:
        """Small symbols come first: at each place, the commonest value of that order statistic."""
        kinds = len(self.symbols)
        if self.unique:
            exact = 1 / math.comb(kinds, length)
            best = [self._commonest_of_distinct(place, length) for place in range(length)]
        else:
            even, more = divmod(length, kinds)
            arrangements = math.factorial(length) // (math.factorial(even) ** (kinds - more))
            exact = arrangements // math.factorial(even + 1) ** more / kinds**length
            best = [self._commonest_of_repeated(place, length) for place in range(length)]
        return Chance(exact, (sum(best) + 1) / (length + 1))

    def _commonest_of_distinct(self, place: int, length: int) -> float:
        kinds, ways = len(self.symbols), math.comb(len(self.symbols), length)
        return max(math.comb(v, place) * math.comb(kinds - 1 - v, length - 1 - place) / ways for v in range(kinds))

    def _commonest_of_repeated(self, place: int, length: int) -> float:
        kinds = len(self.symbols)
        # The symbol at a place is at most v where more than `place` symbols are.
        up_to = [binomial_tail(length, (v + 1) / kinds, place + 1) for v in range(kinds)]
        return max(after - before for before, after in zip([0.0, *up_to], up_to, strict=False))

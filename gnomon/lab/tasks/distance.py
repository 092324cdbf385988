"""Distance: a masked token says how far before it its answer stands.

    d a c ?3 b f -> d                                    the token 3 before the mark
    d a c b ?1 f -> b
    d a c b ?1 -> b                                      causal=True

Every symbol occurs as often as any other, or once more or less, so that counting them tells nothing, and the mark
stands at any place, so that no place is always right: the answer is found by looking so many tokens back. It is what a
masked language model has to learn about distance, and nothing else. To an encoding that sees a distance and not its
sign, the token as far after the mark looks as good. `length` counts the tokens, the mark among them; each distance is
measured by itself.
"""

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Batch, Chance, Group
from gnomon.lab.tasks.copy import check_alphabet
from gnomon.lab.tasks.sequences import Drawn, asked, below, finite, letters


class Distance(Drawn):
    """The token at a distance of 1 to `distances`, each equally likely; `causal`: seen from what comes before only."""

    room = "choose longer lengths, or fewer distances"
    shorter = False

    def __init__(self, alphabet: int = 16, distances: int = 8, causal: bool = False, sequences: int | None = None):
        check_alphabet(alphabet)
        if distances < 1:
            raise OptionError("a token stands at a distance", given=f"{distances} distances", allowed="1 or more")
        self.alphabet, self.distances, self.causal, self.sequences = alphabet, distances, causal, finite(sequences)
        self.shortest = distances + 1
        self.groups = tuple(Group(f"distance {k}") for k in range(1, distances + 1))
        self.symbols = (*letters(alphabet), *(f"?{k}" for k in range(1, distances + 1)))

    def rows(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> Batch:
        x = self._balanced(lengths, generator)
        which = torch.randint(self.distances, lengths.shape, generator=generator) if group is None else group
        source = below(lengths - which - 1, generator)
        place = source + which + 1
        inputs = x.scatter(1, place[:, None], self.alphabet + which[:, None])
        return asked(inputs, place, x.gather(1, source[:, None])[:, 0])

    def _balanced(self, lengths: Tensor, generator: torch.Generator) -> Tensor:
        order = torch.rand(len(lengths), int(lengths[0]), generator=generator).argsort(dim=1)
        return (order + torch.randint(self.alphabet, (len(lengths), 1), generator=generator)) % self.alphabet

    def chance(self, length: int) -> Chance:
        return Chance(1 / self.alphabet, 1 / self.alphabet)

    def describe(self) -> dict:
        return self.described("tokens with one mark among them, scored there")

"""Shortcut: a cue that is always at the start in training, and in the middle or at the end where it is measured.

    b w3 b w1 w4 w2 w5 c w2 ? a w1 w6 d w0 w3 w5 w1 -> b      start: b is said twice, every other letter once
    w6 c w1 a w0 w3 w2 w5 b b w4 w1 ? d w3 w5 w0 w2 -> b      middle
    w6 c w1 ? w0 w3 a w5 w7 w4 w1 d b w3 b w0 w1 w2 -> b      end

The cue is one letter, twice within six places; every other letter stands once, outside of them. The mark, where the
answer is said, stands anywhere, so that it has no fixed distance from the cue. Three rules are right in training. By
content: the letter that is said twice. A model that sees no positions finds it, by counting, and is right wherever the
cue stands. By place: the letter at places 0 to 5, for which it takes absolute positions. By order: the first letter,
for which relative ones are enough. These two need no counting, for no other letter competes, and they are wrong
elsewhere: in the middle other letters may come first and stand at those places, at the end one always comes first.
Which rule a model has learned is seen in the groups `middle` and `end`. A guess is right in one of so many classes, the
first letter less often than that.

With `cue=anywhere` training has it at any place, and all groups are trained: what a model can do that is not misled.
"""

from typing import Literal

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Batch, Chance, Group
from gnomon.lab.tasks.sequences import Drawn, asked, below, finite, letters, some, uniform

WINDOW = 6
"""Places within which the cue stands: 0 to 5 at the start."""

TIMES = 2
"""How often it is said there."""


class Shortcut(Drawn):
    """Which of so many `classes` the cue is of, among `others`, in `length` tokens with the mark."""

    causal = False
    room = "choose longer lengths, or fewer classes"
    shorter = False

    def __init__(
        self,
        classes: int = 4,
        others: int = 16,
        cue: Literal["start", "anywhere"] = "start",
        sequences: int | None = None,
    ):
        if classes < 2 or others < 1:
            raise OptionError("classes differ", given=f"{classes} classes, {others} others", allowed="2, 1 or more")
        self.classes, self.others, self.cue, self.sequences = classes, others, cue, finite(sequences)
        # Room for three windows, and outside of one for the other letters and the mark.
        self.shortest = max(3 * WINDOW, WINDOW + classes)
        self.groups = tuple(Group(name, name == "start" or cue == "anywhere") for name in ("start", "middle", "end"))
        self.symbols = (*letters(classes), *(f"w{n}" for n in range(others)), "?")

    def rows(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> Batch:
        x = self.classes + uniform(lengths, self.others, generator)
        cue = torch.randint(self.classes, (len(x), 1), generator=generator)
        last = lengths - WINDOW
        if group is not None:
            first = torch.stack([0 * last, last // 2, last]).gather(0, group[None])[0]
        else:
            first = 0 * last if self.cue == "start" else below(last + 1, generator)
        places = torch.arange(x.shape[1])
        window = (places >= first[:, None]) & (places < first[:, None] + WINDOW)
        said = some(window, TIMES, generator)
        mark = some(torch.ones_like(window).scatter(1, said, False), 1, generator)
        others = some((~window).scatter(1, mark, False), self.classes - 1, generator)
        rest = (cue + torch.arange(1, self.classes)) % self.classes
        x = x.scatter(1, said, cue.expand(-1, TIMES)).scatter(1, others, rest)
        return asked(x.scatter(1, mark, len(self.symbols) - 1), mark[:, 0], cue[:, 0])

    def chance(self, length: int) -> Chance:
        return Chance(1 / self.classes, 1 / self.classes)

    def describe(self) -> dict:
        return self.described("letters and words with one mark among them, scored there")

"""What the tasks on drawn sequences share: `<bos> x <sep> answer <eos>`, a loss on the answer and its end only.

A training sequence of `length` L has a content x whose length is drawn uniformly from the shortest to L, anew for each
row (as in Ruoss et al. 2023), and is padded at the end. Examples have exactly the length that is asked for; they are
drawn with other seeds than training is, so a short one, of which there are few, may also have been trained on.
"""

from abc import abstractmethod

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.seeds import generator
from gnomon.lab.task import IGNORED, Batch, Task

BLANK = -1
"""No symbol: what a row that is shorter than others has in its place."""

MARKS = ("<bos>", "<sep>", "<eos>", "<pad>")
"""Their tokens follow those of the symbols."""


class Sequences(Task):
    """A task that draws x and its answer, both of `symbols`: symbol s is token s."""

    symbols: tuple[str, ...]
    """How x and answers are spelled, a word a token."""
    shortest: int = 1
    """The shortest content."""
    longest: int | None = None
    """The longest content that the task can hold; None: any."""
    room: str | None = None
    """What to do about a length that it cannot hold."""

    @abstractmethod
    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        """x `[b, ...]` and its answer `[b, ...]`, int64, for contents of `lengths` `[b]`; BLANK where a row has none.

        group: `[b]`, the group of each row, where the task has groups and this is no training.
        """

    @property
    def vocabulary(self) -> int:
        return len(self.symbols) + len(MARKS)

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        self.check_length(length)
        drawn = generator("batch", seed, step)
        lengths = torch.randint(self.shortest, length + 1, (count,), generator=drawn)
        return self._laid(*self.draw(lengths, drawn, None))

    def examples(self, part: str, length: int, count: int) -> Batch:
        self.check_length(length)
        group = self._grouped(count)
        drawn = generator("examples", part, length)
        lengths = torch.full((count if group is None else len(group),), length)
        x, answer = self.draw(lengths, drawn, group)
        laid = self._laid(x, answer)
        return Batch(laid.inputs, laid.targets, group=group)

    def check_length(self, length: int) -> None:
        if length < self.shortest or (self.longest is not None and length > self.longest):
            most = "" if self.longest is None else f" to {self.longest}"
            raise OptionError(
                f"{type(self).__name__.lower()} cannot hold this length",
                given=length,
                allowed=f"{self.shortest}{most}{' or more' * (self.longest is None)}",
                do=self.room,
            )

    def spell(self, tokens: Tensor) -> str:
        """A row of tokens in words: `<bos> b a <sep> b a <eos>`."""
        words = (*self.symbols, *MARKS)
        return " ".join(words[token] for token in tokens.tolist())

    def describe(self) -> dict:
        return {
            "name": type(self).__name__.lower(),
            "vocabulary": self.vocabulary,
            "form": "<bos> x <sep> answer <eos>, scored from the answer on",
            "training_lengths": f"uniform, from {self.shortest}",
        }

    def _grouped(self, count: int) -> Tensor | None:
        """The group of each example: trained ones share `count`, each other has as many."""
        if not self.groups:
            return None
        trained = [at for at, group in enumerate(self.groups) if group.trained]
        others = [at for at, group in enumerate(self.groups) if not group.trained]
        shared = [trained[at % len(trained)] for at in range(count)] if trained else []
        return torch.tensor([*shared, *(at for at in others for _ in range(count))])

    def _laid(self, x: Tensor, answer: Tensor) -> Batch:
        """The rows as a model reads them, moved to the left where they have blanks, and padded at the end."""
        bos, sep, eos, pad = (
            torch.full((len(x), 1), token) for token in range(len(self.symbols), len(self.symbols) + len(MARKS))
        )
        whole = torch.cat([bos, x, sep, answer, eos], dim=1)
        scored = torch.arange(whole.shape[1]) >= 2 + x.shape[1]
        blank = whole == BLANK
        order = blank.to(torch.int8).argsort(dim=1, stable=True)[:, : int((~blank).sum(1).max())]
        targets = torch.where(scored & ~blank, whole, IGNORED).gather(1, order)
        inputs = torch.where(blank, pad, whole).gather(1, order)
        return Batch(inputs[:, :-1].contiguous(), targets[:, 1:].contiguous())


def within(lengths: Tensor) -> Tensor:
    """Which places of rows of these lengths are theirs, `[b, longest]` bool."""
    return torch.arange(int(lengths.max())) < lengths[:, None]


def distinct(lengths: Tensor, kinds: int, generator: torch.Generator) -> Tensor:
    """Rows of different numbers below `kinds`, in random order, `[b, longest]`, BLANK past a row's length."""
    order = torch.rand(len(lengths), kinds, generator=generator).argsort(dim=1)[:, : int(lengths.max())]
    return torch.where(within(lengths), order, BLANK)


def uniform(lengths: Tensor, kinds: int, generator: torch.Generator) -> Tensor:
    """Rows of numbers below `kinds`, each equally likely, `[b, longest]`, BLANK past a row's length."""
    drawn = torch.randint(kinds, (len(lengths), int(lengths.max())), generator=generator)
    return torch.where(within(lengths), drawn, BLANK)


def letters(count: int) -> tuple[str, ...]:
    """Names for symbols: the alphabet where it is long enough, numbers otherwise."""
    return tuple("abcdefghijklmnopqrstuvwxyz"[:count]) if count <= 26 else tuple(f"s{n}" for n in range(count))

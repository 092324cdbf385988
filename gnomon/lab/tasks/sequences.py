"""What the tasks on drawn sequences share: rows from a seed, and the form `<bos> x <sep> answer <eos>` of many.

A training sequence of `length` L has a content x whose length is drawn uniformly from the shortest to L, anew for each
row (as in Ruoss et al. 2023), and is padded at the end; a task may have all of them L long. Examples have exactly the
length that is asked for; they are drawn with other seeds than training is, so a short one, of which there are few, may
also have been trained on.

With `sequences`, training has that many and no more: they are drawn once for a seed and a length, and batches are drawn
from them, with repetition. Few of them can be learned by heart, which is how much data a model needs.
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


class Spelled(Task):
    """A task whose tokens have names."""

    symbols: tuple[str, ...]
    """How tokens are spelled: symbol s is token s."""
    shortest: int = 1
    """The shortest content."""
    longest: int | None = None
    """The longest content that the task can hold; None: any."""
    room: str | None = None
    """What to do about a length that it cannot hold."""

    @property
    def words(self) -> tuple[str, ...]:
        """How every token of the vocabulary is spelled."""
        return self.symbols

    @property
    def vocabulary(self) -> int:
        return len(self.words)

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
        return " ".join(self.words[token] for token in tokens.tolist())


class Drawn(Spelled):
    """A task whose sequences are drawn by length: those of training by seed and step, or out of so many."""

    shorter: bool = True
    """Whether training has shorter contents too."""
    sequences: int | None = None
    """How many sequences training has; None: each is drawn anew."""
    _pool: tuple[tuple[int, int], Batch] | None = None

    @abstractmethod
    def rows(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> Batch:
        """A sequence with a content of each of `lengths` `[b]`, all equal unless training has shorter ones.

        group: `[b]`, the group of each row, where the task has groups and this is no training.
        """

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        self.check_length(length)
        drawn = generator("batch", seed, step)
        if self.sequences is None:
            return self._training(count, length, drawn)
        if self._pool is None or self._pool[0] != (seed, length):
            self._pool = (seed, length), self._training(self.sequences, length, generator("pool", seed, length))
        return self._pool[1].rows(torch.randint(self.sequences, (count,), generator=drawn))

    def examples(self, part: str, length: int, count: int) -> Batch:
        self.check_length(length)
        group = self._grouped(count)
        lengths = torch.full((count if group is None else len(group),), length)
        drawn = self.rows(lengths, generator("examples", part, length), group)
        return Batch(drawn.inputs, drawn.targets, group=group)

    def described(self, form: str) -> dict:
        """What the record says of a task whose sequences have this form."""
        found = {
            "name": type(self).__name__.lower(),
            "vocabulary": self.vocabulary,
            "form": form,
            "training_lengths": f"uniform, from {self.shortest}" if self.shorter else "all the same",
        }
        return found if self.sequences is None else found | {"training_sequences": self.sequences}

    def _training(self, count: int, length: int, drawn: torch.Generator) -> Batch:
        if self.shorter:
            lengths = torch.randint(self.shortest, length + 1, (count,), generator=drawn)
        else:
            lengths = torch.full((count,), length)
        return self.rows(lengths, drawn, None)

    def _grouped(self, count: int) -> Tensor | None:
        """The group of each example: trained ones share `count`, each other has as many."""
        if not self.groups:
            return None
        trained = [at for at, group in enumerate(self.groups) if group.trained]
        others = [at for at, group in enumerate(self.groups) if not group.trained]
        shared = [trained[at % len(trained)] for at in range(count)] if trained else []
        return torch.tensor([*shared, *(at for at in others for _ in range(count))])


class Sequences(Drawn):
    """A task that draws x and its answer, both of `symbols`: `<bos> x <sep> answer <eos>`, a loss on answer and end."""

    @abstractmethod
    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        """x `[b, ...]` and its answer `[b, ...]`, int64, for contents of `lengths` `[b]`; BLANK where a row has none.

        group: `[b]`, the group of each row, where the task has groups and this is no training.
        """

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.symbols, *MARKS)

    def rows(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> Batch:
        return answered(*self.draw(lengths, generator, group), len(self.symbols))

    def describe(self) -> dict:
        return self.described("<bos> x <sep> answer <eos>, scored from the answer on")


def answered(x: Tensor, answer: Tensor, symbols: int) -> Batch:
    """Rows `<bos> x <sep> answer <eos>`; the marks are the tokens after so many symbols."""
    bos, sep, eos, pad = range(symbols, symbols + len(MARKS))
    mark = torch.ones(len(x), 1, dtype=torch.int64)
    whole = torch.cat([bos * mark, x, sep * mark, answer, eos * mark], dim=1)
    return continued(whole, torch.arange(whole.shape[1]) >= 2 + x.shape[1], pad)


def continued(whole: Tensor, scored: Tensor, pad: int) -> Batch:
    """Rows whose tokens are read one after another, moved to the left where they have blanks, and padded at the end.

    whole: `[b, n + 1]`, the last token is only said. scored: `[n + 1]` or `[b, n + 1]` bool, which are to be said.
    """
    blank = whole == BLANK
    order = blank.to(torch.int8).argsort(dim=1, stable=True)[:, : int((~blank).sum(1).max())]
    targets = torch.where(scored & ~blank, whole, IGNORED).gather(1, order)
    inputs = torch.where(blank, pad, whole).gather(1, order)
    return Batch(inputs[:, :-1].contiguous(), targets[:, 1:].contiguous())


def asked(inputs: Tensor, place: Tensor, answer: Tensor) -> Batch:
    """Rows `[b, n]` that are scored at one token, `place` `[b]`, where `answer` `[b]` is right."""
    targets = torch.full_like(inputs, IGNORED)
    return Batch(inputs, targets.scatter(1, place[:, None], answer[:, None]))


def finite(sequences: int | None) -> int | None:
    """The option of that name. OptionError for none at all."""
    if sequences is not None and sequences < 1:
        raise OptionError("training has sequences", given=sequences, allowed="1 or more, or none for no end of them")
    return sequences


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


def some(allowed: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """`count` different places of each row where `allowed` `[b, n]`, in random order, `[b, count]`."""
    return torch.where(allowed, torch.rand(allowed.shape, generator=generator), 2.0).argsort(dim=1)[:, :count]


def below(many: Tensor, generator: torch.Generator) -> Tensor:
    """A number from 0 to below each of `many` `[b]`, equally likely, int64."""
    return (torch.rand(many.shape, generator=generator) * many).to(torch.int64)

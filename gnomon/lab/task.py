"""The protocol of a task: it makes training batches of a given length, and fixed examples whose answers are scored."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.measures import LEARNED
from gnomon.positions import Positions

IGNORED = -100
"""The target of a token that is not scored."""


@dataclass(frozen=True)
class Batch:
    """What a model reads, and what it should say at each token.

    inputs:  `[b, n]` int64, tokens of the vocabulary; or `[b, n, features]` float32.
    targets: `[b, n]` int64: what token i is to be answered by, IGNORED where nothing is scored. One at least a row.
    pos:     where the tokens lie, one row for all or one each; None: at 0, 1, 2, ... Padding has segment -1 there.
             Under a causal mask padding at the end needs none: nothing that is scored sees it.
    group:   `[b]` int64, which of the task's groups each row belongs to; None: the task has none.
    """

    inputs: Tensor
    targets: Tensor
    pos: Positions | None = None
    group: Tensor | None = None

    def rows(self, which: Tensor) -> "Batch":
        """The rows that `which` `[m]` int64 names, in that order."""
        return replace(
            self,
            inputs=self.inputs[which],
            targets=self.targets[which],
            pos=self.pos if self.pos is None or self.pos.rows == 1 else self.pos.row(which.to(self.pos.coords.device)),
            group=None if self.group is None else self.group[which],
        )


class Group(NamedTuple):
    """A part of the examples that is also measured by itself: one depth of a needle, one shift of the operands."""

    name: str
    trained: bool = True
    """Whether training has such sequences. The numbers of a length are over the groups of which that is so."""


class Chance(NamedTuple):
    """What guessing gives, by one who knows how the answers of a length are distributed and nothing of the question.

    exact: the share of the commonest answer. token: the share of the commonest symbol at a place of an answer, the
    mean over all places, the end of the answer included.
    """

    exact: float
    token: float


class Trained(Protocol):
    """What training asks of a task, text or other."""

    vocabulary: int
    features: int | None
    causal: bool

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        """`count` training sequences of `length`: a pure function of its arguments, on every machine."""


class Task(ABC):
    """A task whose answers are right or wrong.

    A class of your own inherits from this one. Its constructor's parameters are the options; one called `path` is the
    file that it reads.
    """

    vocabulary: int
    """How many classes an answer's token can be of; of tokens that are read, all of them."""
    features: int | None = None
    """Numbers that each token of the input is made of; None: the input is tokens of the vocabulary."""
    causal: bool = True
    """Whether a token sees what comes before it only."""
    groups: tuple[Group, ...] = ()
    """The parts that are measured by themselves too."""

    @abstractmethod
    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        """`count` training sequences of `length`: a pure function of its arguments, on every machine."""

    @abstractmethod
    def examples(self, part: str, length: int, count: int) -> Batch:
        """`count` or more sequences of exactly `length`, always the same ones, of `test` or `validation`.

        None of them trained on: by another seed where sequences are drawn, by the split where they are data. With
        groups, `count` of all trained ones together and `count` of each other.
        """

    @abstractmethod
    def chance(self, length: int) -> Chance:
        """What guessing gives at a length."""

    def learned(self, length: int) -> float | None:
        """Share of answers that are right at the training length, from which on the task counts as learned.

        None: few answers are right as a whole, so it is judged by its loss, and `describe` says `unigram_loss` by part.
        """
        return LEARNED

    def check_length(self, length: int) -> None:
        """OptionError for a length that the task cannot hold; as it stands, every length from 1 on is held."""
        if length < 1:
            raise OptionError("a length counts", given=length, allowed="1 or more")

    def describe(self) -> dict:
        """What the record says about the data."""
        return {"name": type(self).__name__}

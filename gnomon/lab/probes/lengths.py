"""Loss and accuracy by length, and at each length by position."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.errors import OptionError, PositionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.answers import Said, said
from gnomon.lab.probes.probe import Result, with_errors
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch, Task
from gnomon.section import Line, Lines, Table

KEY, TITLE = "lengths", "Loss and accuracy by length and position"
QUESTION = "How well does the model answer at each length, and where in a sequence?"


@dataclass(frozen=True)
class Place:
    """The scored tokens `first` to `last` of a sequence, over the examples that have one."""

    first: int
    last: int
    loss: Mean
    accuracy: Mean


@dataclass(frozen=True)
class Length:
    """One length, over examples."""

    length: int
    tokens: int
    """Tokens in a sequence, answers included."""
    loss: Mean
    """Nats a token."""
    accuracy: Mean
    """Share of scored tokens that are right."""
    exact: Mean | None
    """Share of examples of which every scored token is right; None of text, where that means little."""
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Lengths(Result):
    """Every length that the encoding takes; `refused` names those that it does not."""

    trained: int
    lengths: tuple[Length, ...]
    refused: tuple[int, ...]

    def tables(self) -> tuple[Table, ...]:
        rows = [(e.length, *with_errors(e.loss, e.accuracy, e.exact), e.loss.count) for e in self.lengths]
        columns = ("length", "loss, nats", "se", "right tokens", "se", "all right", "se", "examples")
        note = f"Trained at {self.trained}."
        if self.refused:
            note += f" The encoding refuses {', '.join(map(str, self.refused))}."
        return (Table("Loss and accuracy by length", columns, tuple(rows), note),)

    def figures(self) -> tuple[Lines, ...]:
        x = [each.length for each in self.lengths]
        loss = Line.of("loss", x, [e.loss for e in self.lengths])
        right = [Line.of("tokens", x, [e.accuracy for e in self.lengths])]
        if all(e.exact is not None for e in self.lengths):
            right.append(Line.of("answers", x, [e.exact for e in self.lengths]))
        by_place = tuple(
            Line.of(f"length {e.length}", [(p.first + p.last) / 2 for p in e.places], [p.loss for p in e.places])
            for e in self.lengths
        )
        return (
            Lines("Loss by length", "length", "nats a token", (loss,)),
            Lines("Accuracy by length", "length", "share", tuple(right)),
            Lines("Loss by position", "position", "nats a token", by_place),
        )


def lengths(reader: Reader, batches: Mapping[int, Batch], trained: int, answers: bool = True) -> Lengths:
    """Loss and accuracy of a batch of each length; `trained` is the training length, one of them.

    answers: whether what is scored is an answer, right or wrong as a whole.

    Positions are counted from 0; a bin never mixes those that were trained with some that were not.
    """
    if trained not in batches:
        raise OptionError("lengths are held against the training length", given=[*batches], allowed=f"{trained} among")
    end, found, refused = batches[trained].targets.shape[1], [], []
    for length, batch in sorted(batches.items()):
        try:
            told = said(reader, batch)
        except PositionError:
            refused.append(length)
            continue
        means = told.mean_loss(), told.accuracy(), told.exact() if answers else None
        found.append(Length(length, batch.targets.shape[1], *means, _places(told, end)))
    return Lengths(trained, tuple(found), tuple(refused))


def ask(subject: Subject) -> Lengths:
    """At every length that the run was measured at; text at the same last places in all of them."""
    batches = {length: subject.batch(length) for length in subject.lengths}
    return lengths(subject.reader, batches, subject.length, answers=isinstance(subject.task, Task))


def _places(answers: Said, trained: int) -> tuple[Place, ...]:
    """In the bins of `measures.by_position`, those that have a scored token."""
    n, found = answers.loss.shape[1], []
    bounds = measures.edges(n, trained)
    for first, end in zip(bounds, bounds[1:], strict=False):
        inside = slice(first, end)
        there = ~np.isnan(answers.loss[:, inside]).all(axis=1)
        if there.any():
            each = (np.nanmean(values[there, inside], axis=1) for values in (answers.loss, answers.right))
            found.append(Place(first, end - 1, *map(measures.mean, each)))
    return tuple(found)

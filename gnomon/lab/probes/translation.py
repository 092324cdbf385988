"""What moving all positions alike changes in a trained model: what enters, attention, output, loss."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import PositionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.probe import Result, with_errors
from gnomon.lab.probes.reading import Reader, losses, of_examples, placed
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "translation", "Shifts"
QUESTION = "If every position moves by the same number of places, what changes: vectors, attention, output, loss?"
SHIFTS = (1, 5, 25, 100, 10**4)


@dataclass(frozen=True)
class Shift:
    """What a shift changes, over examples; 0 is nothing."""

    by: float
    inputs: Mean
    """|changed - before| / |before| of what enters the first layer."""
    attention: tuple[Mean, ...]
    """Of each layer, half of `sum_j |changed - before|` of the weights, over heads and queries: 1 is another head."""
    output: Mean
    """|changed - before| / |before| of the logits."""
    loss: Mean | None
    """Changed less before, nats a token; None where nothing is scored."""


@dataclass(frozen=True)
class Translation(Result):
    """What each shift changes; those that leave the encoding's domain are `refused`."""

    length: int
    shifts: tuple[Shift, ...]
    refused: tuple[float, ...]

    def tables(self) -> tuple[Table, ...]:
        inside, outside = [], []
        for shift in self.shifts:
            worst = max(shift.attention, key=lambda mean: mean.mean)
            inside.append((shift.by, *with_errors(shift.inputs, worst)))
            outside.append((shift.by, *with_errors(shift.output, shift.loss)))
        note = (
            f"Relative changes over {self.shifts[0].output.count if self.shifts else 0} examples; attention: half of"
            " the sum of changes of a query's weights, in the layer where that is most."
        )
        refused = ", ".join(f"{by:g}" for by in self.refused)
        return (
            Table(
                f"What a shift changes of what enters, and of attention, length {self.length}",
                ("shift", "vectors", "se", "attention", "se"),
                tuple(inside),
                note + f" Outside the encoding's domain: {refused}." * bool(refused),
            ),
            Table(
                "What a shift changes of what comes out",
                ("shift", "output", "se", "loss, nats", "se"),
                tuple(outside),
                "output: relative change of the logits; loss: changed less before, a token.",
            ),
        )

    def figures(self) -> tuple[Lines, ...]:
        if not self.shifts:
            return ()
        by, layers = [shift.by for shift in self.shifts], range(len(self.shifts[0].attention))
        lines = (
            Line.of("vectors", by, [shift.inputs for shift in self.shifts]),
            *(Line.of(f"attention, layer {at}", by, [shift.attention[at] for shift in self.shifts]) for at in layers),
            Line.of("output", by, [shift.output for shift in self.shifts]),
        )
        return (Lines(f"What a shift changes, length {self.length}", "shift (places)", "change", lines, x_log=True),)


def translation(reader: Reader, batch: Batch, shifts: Sequence[float] = SHIFTS) -> Translation:
    """What each shift of all positions changes.

    Outputs and what enters are those of the model's own backend, which sees positions as they are; attention weights
    are by the encoding's definition, which sees differences where the encoding is relative.
    """
    before, made, refused = _Read(reader, batch), [], []
    for by in shifts:
        try:
            after = _Read(reader, replace(batch, pos=placed(batch).shifted(by)))
        except PositionError:
            refused.append(float(by))
            continue
        made.append(before.changed(after, float(by)))
    return Translation(batch.targets.shape[1], tuple(made), tuple(refused))


def ask(subject: Subject) -> Translation:
    """At the training length."""
    return translation(subject.reader, subject.batch(subject.length))


class _Read:
    """All that is looked at, of a batch at some positions."""

    def __init__(self, reader: Reader, batch: Batch):
        self.depth, parts = reader.depth, [*reader.parts(batch)]
        self.real = [reader.tokens(part) for part in parts]
        self.inputs = [reader.hidden(part)[0] for part in parts]
        self.logits = [reader.logits(part) for part in parts]
        self.loss = np.concatenate(
            [of_examples(losses(logits, part)) for logits, part in zip(self.logits, parts, strict=True)]
        )
        self.seen = [[(seen.layer, seen.weights) for seen in reader.attention(part)[1]] for part in parts]

    def changed(self, after: "_Read", by: float) -> Shift:
        moved = after.loss - self.loss
        return Shift(
            by,
            measures.mean(self._relative(self.inputs, after.inputs)),
            tuple(measures.mean(self._moved(after, layer)) for layer in range(self.depth)),
            measures.mean(self._relative(self.logits, after.logits)),
            None if np.isnan(moved).any() else measures.mean(moved),
        )

    def _relative(self, before: list[Tensor], after: list[Tensor]) -> np.ndarray:
        """`[b]`, over the tokens that are no padding."""
        found = []
        for was, now, real in zip(before, after, self.real, strict=True):
            real = real[..., None]
            of = [torch.where(real, x, 0.0).double().flatten(1).norm(dim=1) for x in (now - was, was)]
            found.append((of[0] / of[1]).numpy())
        return np.concatenate(found)

    def _moved(self, after: "_Read", layer: int) -> np.ndarray:
        """`[b]`: of one layer, over heads and the queries that are no padding."""
        found = []
        for was, now, real in zip(self.seen, after.seen, self.real, strict=True):
            pairs = zip(was, now, strict=True)
            half = [(b[1] - a[1]).double().abs().sum(-1).mean(1) / 2 for a, b in pairs if a[0] == layer]
            queries = torch.cat(half, dim=-1)
            found.append((torch.where(real, queries, 0.0).sum(1) / real.sum(1)).numpy())
        return np.concatenate(found)

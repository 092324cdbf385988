"""How often what is asked for is found, by how deep in the text it lies: is it lost in the middle?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from gnomon.errors import OptionError, PositionError
from gnomon.lab import measures, tasks
from gnomon.lab.experiment import Problem
from gnomon.lab.measures import Mean
from gnomon.lab.probes.answers import Said, said
from gnomon.lab.probes.probe import NotAsked, Result
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "needle", "Depth of the needle"
QUESTION = "How often is what is asked for found, by how deep in the text it lies?"
DEPTHS = tuple(at / 10 for at in range(11))
MIDDLE, ENDS = (0.25, 0.75), (0.2, 0.8)
"""Depths from the first to the second are the middle; those up to the first and from the second on are the ends."""


@dataclass(frozen=True)
class Depth:
    """What is asked for lies at this depth: 0 is the start of the text, 1 its end."""

    depth: float
    exact: Mean
    """Share of answers that are right; its error by Wilson."""
    loss: Mean
    """Nats a token of the answer."""


@dataclass(frozen=True)
class Curve:
    """One length at every depth."""

    length: int
    depths: tuple[Depth, ...]
    dip: Mean | None
    """The share of right answers at the ends less that in the middle: positive where what lies in the middle is lost.
    None where either has no depth."""


@dataclass(frozen=True)
class Needle(Result):
    """Each length that the encoding takes; `refused` names the others."""

    curves: tuple[Curve, ...]
    refused: tuple[int, ...]

    def tables(self) -> tuple[Table, ...]:
        return tuple(
            Table(
                f"Depth of the needle, length {curve.length}",
                ("depth", "right", "se", "loss, nats", "se", "examples"),
                tuple((e.depth, e.exact.mean, e.exact.se, e.loss.mean, e.loss.se, e.exact.count) for e in curve.depths),
                ""
                if curve.dip is None
                else f"The ends are right more often than the middle by {curve.dip.mean:.3g} (se {curve.dip.se:.2g}).",
            )
            for curve in self.curves
        )

    def figures(self) -> tuple[Lines, ...]:
        lines = tuple(
            Line.of(f"length {curve.length}", [e.depth for e in curve.depths], [e.exact for e in curve.depths])
            for curve in self.curves
        )
        return (Lines("Answers that are right, by depth", "depth", "share", lines),)


def needle(reader: Reader, batches: Mapping[int, Mapping[float, Batch]]) -> Needle:
    """Answers by the depth of what is asked for: `batches[length][depth]`."""
    if not all(several and all(0 <= depth <= 1 for depth in several) for several in batches.values()):
        given = {length: [*several] for length, several in batches.items()}
        raise OptionError("a depth is a share of the text", given=given, allowed="0 to 1, one or more at each length")
    curves, refused = [], []
    for length, several in sorted(batches.items()):
        try:
            told = {depth: said(reader, batch) for depth, batch in sorted(several.items())}
        except PositionError:
            refused.append(length)
            continue
        depths = tuple(Depth(float(depth), each.exact(), each.mean_loss()) for depth, each in told.items())
        curves.append(Curve(length, depths, _dip(told)))
    return Needle(tuple(curves), tuple(refused))


def ask(subject: Subject) -> Needle | NotAsked:
    """At the training length, and past it; the depths are those of the task's own examples, and others between."""
    if not hides(subject):
        return NotAsked("The task hides nothing at a depth of its own: passkey and recall do.")
    lengths = [subject.length] if subject.longer is None else [subject.length, subject.longer]
    return needle(subject.reader, {length: _by_depth(subject, length) for length in lengths})


def hides(subject: Subject) -> bool:
    """Whether the task of the run has an option for the depth of what is asked for, and measures by it."""
    problem = subject.experiment.task
    if not isinstance(problem, Problem):
        return False
    names = {group.name for group in subject.task.groups}
    return "depth" in tasks.options_of(type(subject.task)) and f"depth {0:g}" in names


def _by_depth(subject: Subject, length: int) -> dict[float, Batch]:
    """Examples of each depth: those of a task that is trained there. Of depths at one place, the first."""
    problem, found = subject.experiment.task, {}
    for depth in DEPTHS:
        task = tasks.create(replace(problem, options={**problem.options, "depth": depth}))
        batch = subject.batch(length, task)
        if not any(_same(batch, other) for other in found.values()):
            found[depth] = batch
    return found


def _same(one: Batch, other: Batch) -> bool:
    return torch.equal(one.inputs, other.inputs) and torch.equal(one.targets, other.targets)


def _dip(told: Mapping[float, Said]) -> Mean | None:
    """Example by example: those of several depths may share their text."""
    least = min(len(each.right) for each in told.values())
    right = {depth: np.nanmin(each.right[:least], axis=1) for depth, each in told.items()}
    middle = [values for depth, values in right.items() if MIDDLE[0] <= depth <= MIDDLE[1]]
    ends = [values for depth, values in right.items() if depth <= ENDS[0] or depth >= ENDS[1]]
    return measures.mean(np.mean(ends, axis=0) - np.mean(middle, axis=0)) if middle and ends else None

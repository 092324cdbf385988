"""What one token at a wrong position changes: how many outputs, and by how much."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gnomon.backends import Reference
from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.probe import Result, with_errors
from gnomon.lab.probes.reading import Reader, losses, of_examples, placed
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "perturbed", "One wrong position"
QUESTION = "If one token lies where no token lay in training, how many outputs change, and by how much?"


@dataclass(frozen=True)
class Part:
    """The outputs of some tokens."""

    tokens: int
    """How many of each example, the fewest."""
    changed: Mean
    """The share of which a bit is another."""
    size: Mean
    """|changed - before| / |before| of their logits."""
    loss: Mean | None
    """Changed less before, nats a token; None where none of them is scored."""


@dataclass(frozen=True)
class Perturbed(Result):
    """What one wrong position changes: before its token, at it, and after it. None: there are no such tokens."""

    length: int
    at: int
    """The token."""
    to: float
    """Where it was put."""
    earlier: Part | None
    itself: Part | None
    later: Part | None
    by_token: tuple[Mean | None, ...]
    """|changed - before| / |before| of each token's logits; None where one example or fewer has it."""

    def tables(self) -> tuple[Table, ...]:
        parts = {"before it": self.earlier, "itself": self.itself, "after it": self.later}
        rows = []
        for name, part in parts.items():
            if part is not None:
                rows.append((name, part.tokens, *with_errors(part.changed, part.size, part.loss)))
        columns = ("tokens", "how many", "changed", "se", "by", "se", "loss, nats", "se")
        counts = [part.changed.count for part in parts.values() if part is not None]
        note = f"Over {counts[0]} examples. changed: share of tokens whose logits differ in a bit; by: relative change."
        return (Table(f"Token {self.at} of {self.length} put at {self.to:g}", columns, tuple(rows), note),)

    def figures(self) -> tuple[Lines, ...]:
        line = Line.of("output", range(len(self.by_token)), self.by_token)
        return (Lines(f"Token {self.at} put at {self.to:g}", "token", "relative change of its logits", (line,)),)


def perturbed(reader: Reader, batch: Batch, at: int, to: float) -> Perturbed:
    """What changes where token `at` lies at position `to` on every axis, its turn as it was.

    Both by the reference backend, which computes what is equal to equal bits. PositionError where the encoding has no
    such position, OptionError where there is no such token.
    """
    n, real, pos = batch.targets.shape[1], reader.tokens(batch), placed(batch)
    if not 0 <= at < n:
        raise OptionError("there is no such token", given=at, allowed=f"0 to {n - 1}")
    wrong = pos.coords.clone()
    wrong[:, at] = to
    # The same kind of positions for both: of neither it is known that they are evenly spaced.
    before, after = (
        [(reader.logits(part, Reference()), part) for part in reader.parts(replace(batch, pos=replace(pos, coords=c)))]
        for c in (pos.coords.clone(), wrong)
    )
    was, now = (torch.cat([logits for logits, _ in read]).double() for read in (before, after))
    cost = [np.concatenate([losses(logits, part) for logits, part in read]) for read in (before, after)]
    looked = _Looked(was, now, cost[1] - cost[0], real)
    turn = torch.arange(n)
    return Perturbed(
        n,
        at,
        float(to),
        looked.part(turn < at),
        looked.part(turn == at),
        looked.part(turn > at),
        looked.by_token(),
    )


@dataclass(frozen=True)
class _Looked:
    was: Tensor
    now: Tensor
    loss: np.ndarray
    real: Tensor

    def part(self, which: Tensor) -> Part | None:
        """Of the tokens `[n]` that are meant and no padding; None where an example has none."""
        counts = self.real & which
        count = counts.sum(dim=1)
        if not count.all():
            return None
        differs = (self.was != self.now).any(dim=-1) & counts
        inside = counts[..., None]
        of = [torch.where(inside, x, 0.0).flatten(1).norm(dim=1) for x in (self.now - self.was, self.was)]
        loss = of_examples(np.where(counts.numpy(), self.loss, np.nan))
        return Part(
            int(count.min()),
            measures.mean((differs.sum(dim=1) / count).numpy()),
            measures.mean((of[0] / of[1]).numpy()),
            None if np.isnan(loss).any() else measures.mean(loss),
        )

    def by_token(self) -> tuple[Mean | None, ...]:
        size = (self.now - self.was).norm(dim=-1) / self.was.norm(dim=-1)
        columns = (size[self.real[:, at], at].numpy() for at in range(size.shape[1]))
        return tuple(measures.mean(column) if len(column) > 1 else None for column in columns)


def ask(subject: Subject) -> Perturbed:
    """The token in the middle of sequences of the training length, put at the first place past them."""
    batch = subject.batch(subject.length)
    middle = int(subject.reader.tokens(batch).sum(dim=1).min()) // 2
    return perturbed(subject.reader, batch, middle, float(placed(batch).coords.max()) + 1)

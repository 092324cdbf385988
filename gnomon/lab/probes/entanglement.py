"""What the ratio of the norms of position and content does: a trained model, its positions made larger or smaller."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.probe import NotAsked, Result, with_errors
from gnomon.lab.probes.reading import Reader, of_examples
from gnomon.lab.probes.split import NAMES, added, four_terms, shares_of
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "entanglement", "Norm of positions beside content"
QUESTION = "What becomes of the loss, and of the logits, where the positions that are added are made larger or smaller?"
FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


@dataclass(frozen=True)
class Scaled:
    """The model with what positions add times `factor`, over examples."""

    factor: float
    ratio: Mean
    """Root mean square of what positions add over that of the content."""
    loss: Mean
    """Nats a token."""
    excess: Mean
    """Of the same targets, above the loss of the model as it is."""
    shares: tuple[Mean, Mean, Mean, Mean]
    """Of the four terms in the variance of the first layer's logits, the mean over heads; they add up to 1."""


@dataclass(frozen=True)
class Entanglement(Result):
    """The sweep."""

    length: int
    factors: tuple[Scaled, ...]

    def tables(self) -> tuple[Table, ...]:
        losses, shares = [], []
        for each in self.factors:
            losses.append((each.factor, *with_errors(each.ratio, each.loss, each.excess)))
            largest = max(share.se or 0.0 for share in each.shares)
            shares.append((each.factor, *(share.mean for share in each.shares), largest))
        count = self.factors[0].loss.count
        return (
            Table(
                f"Positions made larger or smaller, length {self.length}",
                ("factor", "ratio", "se", "loss, nats", "se", "excess", "se"),
                tuple(losses),
                f"{count} examples. ratio: of norms, position over content; excess: over factor 1.",
            ),
            Table(
                "Shares of the variance of the first layer's logits",
                ("factor", *NAMES, "largest se"),
                tuple(shares),
                "The mean over heads.",
            ),
        )

    def figures(self) -> tuple[Lines, ...]:
        x = [each.ratio.mean for each in self.factors]
        loss = Line.of("loss", x, [each.loss for each in self.factors])
        shares = [Line.of(name, x, [each.shares[i] for each in self.factors]) for i, name in enumerate(NAMES)]
        axis = "norm of positions / norm of content"
        return (
            Lines("Loss by the ratio of norms", axis, "nats a token", (loss,)),
            Lines("Shares of the logit's variance by the ratio of norms", axis, "share", tuple(shares)),
        )


def entanglement(reader: Reader, batch: Batch, factors: Sequence[float] = FACTORS) -> Entanglement:
    """The model with each factor on what its positions add. OptionError where they are not just added at the input."""
    place = added(reader, batch)
    if place is None or not factors:
        raise OptionError(
            "positions are scaled where they are added at the input and nowhere else, by some factors",
            given=f"{type(reader.encoding).__name__}, factors {[*factors]}",
            allowed="a model of learned or sinusoidal positions",
        )
    parts = [*reader.parts(batch)]
    places = [added(reader, part) for part in parts]
    entering = [reader.hidden(part)[0] - where for part, where in zip(parts, places, strict=True)]
    as_it_is = of_examples(reader.losses(batch))
    found = []
    for factor in factors:
        loss, ratio, shares = [], [], []
        for part, where, content in zip(parts, places, entering, strict=True):
            with _more(reader, (factor - 1) * where):
                loss.append(of_examples(reader.losses(part)))
            real = reader.tokens(part)
            ratio.append(factor * _size(where.expand_as(content), real) / _size(content, real))
            shares.append(shares_of(four_terms(reader, part, content + factor * where, factor * where)).mean(-1))
        loss = np.concatenate(loss)
        found.append(
            Scaled(
                float(factor),
                measures.mean(torch.cat(ratio).numpy()),
                measures.mean(loss),
                measures.paired(loss, as_it_is),
                tuple(measures.mean(term.numpy()) for term in torch.cat(shares, dim=1)),
            )
        )
    return Entanglement(batch.targets.shape[1], tuple(found))


def ask(subject: Subject) -> Entanglement | NotAsked:
    """At the training length."""
    batch = subject.batch(subject.length)
    if added(subject.reader, batch) is None:
        return NotAsked("Positions are not added to the content at the input alone, so there are no two norms.")
    return entanglement(subject.reader, batch)


def _size(x: Tensor, real: Tensor) -> Tensor:
    """Root mean square over the tokens that are no padding, `[b]`."""
    return (torch.where(real[..., None], x, 0.0).square().sum((1, 2)) / real.sum(1) / x.shape[2]).sqrt()


@contextmanager
def _more(reader: Reader, what: Tensor) -> Iterator[None]:
    """The model with `what` `[rows, n, w]` added to what enters its first layer."""
    hook = reader.model.blocks[0].register_forward_pre_hook(lambda _, given: (given[0] + what, *given[1:]))
    try:
        yield
    finally:
        hook.remove()

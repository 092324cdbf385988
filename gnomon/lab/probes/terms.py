"""The logit of content plus position in a trained first layer: its four terms, and what depends on i - j alone."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.probe import NotAsked, Result, with_errors
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.split import NAMES, FourTerms, added, four_terms, shares_of
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table
from gnomon.toeplitz import toeplitz_share

KEY, TITLE = "terms", "Four terms of the logit"
QUESTION = (
    "Of the first layer's logits, how much is content with content, content with position, position with content, and"
    " position with position, and how much of the last depends on the distance alone?"
)


@dataclass(frozen=True)
class Head:
    """One head of the first layer, over examples."""

    shares: tuple[Mean, Mean, Mean, Mean]
    """cov(term, logit) / var(logit) over the pairs that the mask shows, in the order of NAMES; they add up to 1."""
    toeplitz: Mean
    """Of the place-place term over all pairs: the share of its variance that a function of i - j explains."""
    toeplitz_seen: Mean
    """The same over the pairs that the mask shows."""


@dataclass(frozen=True)
class Terms(Result):
    """The four terms of each head."""

    length: int
    heads: tuple[Head, ...]

    def tables(self) -> tuple[Table, ...]:
        shares, distances = [], []
        for at, head in enumerate(self.heads):
            largest = max(mean.se or 0.0 for mean in head.shares)
            shares.append((at, *(mean.mean for mean in head.shares), largest))
            distances.append((at, *with_errors(head.toeplitz, head.toeplitz_seen)))
        count = self.heads[0].toeplitz.count
        return (
            Table(
                f"Four terms of the first layer's logits, length {self.length}",
                ("head", *NAMES, "largest se"),
                tuple(shares),
                f"Shares of the logit's variance, {count} examples.",
            ),
            Table(
                "Of the place-place term, the share that depends on the distance alone",
                ("head", "all pairs", "se", "pairs that are seen", "se"),
                tuple(distances),
                "Of its variance, explained by the best function of i - j; seen: those that the mask shows.",
            ),
        )

    def figures(self) -> tuple[Lines, ...]:
        at = range(len(self.heads))
        lines = [Line.of(name, at, [head.shares[i] for head in self.heads]) for i, name in enumerate(NAMES)]
        lines.append(Line.of("place-place, of i - j", at, [head.toeplitz_seen for head in self.heads]))
        return (Lines("Four terms of the first layer's logits", "head", "share", tuple(lines)),)


def terms(reader: Reader, batch: Batch) -> Terms:
    """The four terms of the first layer's logits. OptionError where positions are not just added at the input."""
    place = added(reader, batch)
    if place is None:
        raise OptionError(
            "a logit has four terms where positions are added to content, at the input and nowhere else",
            given=type(reader.encoding).__name__,
            allowed="a model of learned or sinusoidal positions",
        )
    shares, whole, shown = [], [], []
    for part in reader.parts(batch):
        its = place if len(place) == 1 else added(reader, part)
        found = four_terms(reader, part, reader.hidden(part)[0], its)
        shares.append(shares_of(found))
        whole.append(toeplitz_share(found.terms[3]))
        shown.append(torch.stack([toeplitz_share(t, seen) for t, seen in zip(found.terms[3], _each(found))]))
    shares, whole, shown = torch.cat(shares, dim=1), torch.cat(whole), torch.cat(shown)
    heads = tuple(
        Head(
            tuple(measures.mean(term[:, at].numpy()) for term in shares),
            measures.mean(whole[:, at].numpy()),
            measures.mean(shown[:, at].numpy()),
        )
        for at in range(reader.model.heads)
    )
    return Terms(batch.targets.shape[1], heads)


def ask(subject: Subject) -> Terms | NotAsked:
    """At the training length."""
    batch = subject.batch(subject.length)
    if added(subject.reader, batch) is None:
        return NotAsked("Positions are not added to the content at the input alone, so a logit has no such terms.")
    return terms(subject.reader, batch)


def _each(found: FourTerms) -> Tensor:
    """The pairs that are seen, of each example `[b, i, j]`."""
    return found.seen[:, 0].expand(found.terms.shape[1], -1, -1)

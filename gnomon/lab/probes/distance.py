"""How much of each layer's logits is set by where the two tokens are, and how much by their distance alone."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.measures import Mean
from gnomon.lab.probes.probe import NotAsked, Result, with_errors
from gnomon.lab.probes.reading import Reader, placed
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "distance", "Places and distances in the logits"
QUESTION = (
    "Of what the logits of a query say of its keys, how much is the same in every text: a function of the two places,"
    " and how much of that is a function of their distance alone?"
)


@dataclass(frozen=True)
class Head:
    """Shares of the variance of a query's logits, those of each query counted from their mean; without what chance
    gives, errors by the jackknife over examples."""

    places: Mean
    """Explained by the places (i, j) of the two tokens."""
    distance: Mean
    """Explained by i - j alone."""


@dataclass(frozen=True)
class Distance(Result):
    """Every head of every layer."""

    length: int
    layers: tuple[tuple[Head, ...], ...]
    """`[layer][head]`."""

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (layer, at, *with_errors(head.places, head.distance))
            for layer, heads in enumerate(self.layers)
            for at, head in enumerate(heads)
        ]
        note = (
            f"{self.layers[0][0].places.count} examples. Of the logits that the mask shows, less the mean of each"
            " query, which softmax does not see. The rest of the variance is content."
        )
        columns = ("layer", "head", "places", "se", "distance", "se")
        return (Table(f"Shares of the logits' variance, length {self.length}", columns, tuple(rows), note),)

    def figures(self) -> tuple[Lines, ...]:
        lines = []
        for at, heads in enumerate(self.layers):
            lines.append(Line.of(f"places, layer {at}", range(len(heads)), [head.places for head in heads]))
            lines.append(Line.of(f"distance, layer {at}", range(len(heads)), [head.distance for head in heads]))
        return (Lines("Places and distances in the logits", "head", "share of the variance", tuple(lines)),)


def distance(reader: Reader, batch: Batch) -> Distance:
    """What of the logits places set, and distances, in every layer under any encoding.

    At distance 0 a token meets itself, which content alone tells; so none of the encodings has exactly 0.

    OptionError where that cannot be told: of examples that are padded, read in segments, laid apart or on a grid, or of
    fewer than 3.
    """
    why = _unfit(reader, batch)
    if why is not None:
        raise OptionError("places are told from texts that lie at the same ones", given=why, allowed="3 whole texts")
    rows = [[[] for _ in range(reader.model.heads)] for _ in range(reader.depth)]
    for part in reader.parts(batch):
        for seen in reader.attention(part)[1]:
            shown = seen.seen[0, 0]
            mean = (seen.logits * shown).sum(-1, keepdim=True) / shown.sum(-1, keepdim=True)
            centred = (seen.logits - mean)[..., shown].double()
            for at, kept in enumerate(rows[seen.layer]):
                kept.append(centred[:, at])
    fit = _Fit(shown)
    return Distance(batch.targets.shape[1], tuple(tuple(fit.head(torch.cat(kept)) for kept in row) for row in rows))


def ask(subject: Subject) -> Distance | NotAsked:
    """At the training length."""
    batch = subject.batch(subject.length)
    why = _unfit(subject.reader, batch)
    return distance(subject.reader, batch) if why is None else NotAsked(f"This needs whole texts; here: {why}.")


def _unfit(reader: Reader, batch: Batch) -> str | None:
    if not reader.tokens(batch).all():
        return "some are padded"
    if placed(batch).axes > 1:
        return "they lie on several axes"
    if placed(batch).rows > 1:
        return "each lies at places of its own"
    if reader.model.memory and reader.segment < batch.targets.shape[1]:
        return "they are read in segments"
    return "fewer than 3" if len(batch.targets) < 3 else None


class _Fit:
    """Least squares by distance, and by places, of logits that are counted from the mean of their query."""

    def __init__(self, shown: Tensor):
        n = len(shown)
        query, key = torch.nonzero(shown, as_tuple=True)
        self.diagonal = query - key + n - 1
        # The normal matrix of one number a distance, less its mean over the keys of each query.
        self.size = 2 * n - 1
        has = torch.zeros(n, self.size, dtype=torch.float64)
        has[query, self.diagonal] = 1
        inner = torch.diag(has.sum(0)) - has.T @ (has / has.sum(1, keepdim=True).clamp(min=1))
        self.inverse = torch.linalg.pinv(inner, hermitian=True)

    def head(self, x: Tensor) -> Head:
        """From the logits of each example `[b, pairs]`."""
        sums = torch.zeros(len(x), self.size, dtype=x.dtype).index_add(1, self.diagonal, x)
        squares = x.square().sum(1)
        single = ((sums @ self.inverse) * sums).sum(1)
        total = _Sums(len(x), x.sum(0), sums.sum(0), squares.sum(), single.sum())
        found = self._shares(total)
        each = (_Sums(1, *of) for of in zip(x, sums, squares, single, strict=True))
        left = np.array([self._shares(total.without(one)) for one in each])
        errors = np.sqrt((len(x) - 1) / len(x) * np.square(left - left.mean(0)).sum(0))
        return Head(*(Mean(share, float(se), len(x)) for share, se in zip(found, errors, strict=True)))

    def _shares(self, of: "_Sums") -> tuple[float, float]:
        """What the mean over examples explains, by places and by distance, less what chance gives, over all squares.

        The mean of independent examples has 1 / count of their variance: chance explains (mean of squares - square of
        the mean) / (count - 1) of any fit.
        """
        fits = of.places.square().sum(), of.distances @ self.inverse @ of.distances
        means = of.squares / of.count, of.fitted / of.count
        if not means[0]:
            return 0.0, 0.0
        squares = [fit / of.count**2 for fit in fits]
        explained = (fit - (mean - fit) / (of.count - 1) for fit, mean in zip(squares, means, strict=True))
        return tuple(float(part / means[0]) for part in explained)


class _Sums(NamedTuple):
    """Sums over examples: how many, their logits by pair and by distance, their squares, and what distances fit of
    each of them."""

    count: int
    places: Tensor
    distances: Tensor
    squares: Tensor
    fitted: Tensor

    def without(self, one: "_Sums") -> "_Sums":
        return _Sums(*(all_of_them - its for all_of_them, its in zip(self, one, strict=True)))

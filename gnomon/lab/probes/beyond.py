"""How much attention falls on keys that lie farther away than any did in training."""

from dataclasses import dataclass

from gnomon.errors import OptionError
from gnomon.lab.measures import Mean
from gnomon.lab.probes.heads import of_heads
from gnomon.lab.probes.probe import NotAsked, Result
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "beyond", "Attention beyond the training length"
QUESTION = "How much of a query's attention falls on keys that lie farther away than any key did in training?"


@dataclass(frozen=True)
class Beyond(Result):
    """Of the queries that have such a key: the weight on keys at `trained` tokens or more, over examples."""

    length: int
    trained: int
    """The training length in tokens: there the farthest key lay one less away."""
    layers: tuple[tuple[Mean, ...], ...]
    """`[layer][head]`."""
    uniform: Mean
    """The weight there of a head that looks at every key it sees alike."""
    loss: Mean | None
    """Nats a token of the same queries; None where none of them is scored."""

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (layer, head, mean.mean, mean.se, mean.mean / self.uniform.mean)
            for layer, heads in enumerate(self.layers)
            for head, mean in enumerate(heads)
        ]
        told = "" if self.loss is None else f" Their loss: {self.loss.mean:.4g} nats."
        return (
            Table(
                f"Attention on keys {self.trained} tokens away or more, length {self.length}",
                ("layer", "head", "weight", "se", "of uniform"),
                tuple(rows),
                f"Queries from {self.trained} on, {self.uniform.count} examples. A head that looks at every key alike:"
                f" {self.uniform.mean:.4g}.{told}",
            ),
        )

    def figures(self) -> tuple[Lines, ...]:
        heads = range(len(self.layers[0]))
        lines = tuple(Line.of(f"layer {layer}", heads, means) for layer, means in enumerate(self.layers))
        even = Line.of("uniform", heads, [self.uniform] * len(heads))
        return (Lines(f"Attention beyond {self.trained} tokens", "head", "weight", (*lines, even)),)


def beyond(reader: Reader, batch: Batch, trained: int) -> Beyond:
    """The attention of queries from turn `trained` on that falls on keys `trained` turns away or more.

    OptionError where the sequences are no longer than that. Of uniform causal attention it is (i + 1 - L) / (i + 1) at
    query i.
    """
    n = batch.targets.shape[1]
    if not 0 < trained < n:
        raise OptionError("there is nothing beyond", given=f"{n} tokens, trained on {trained}", allowed="longer ones")
    heads = of_heads(reader, batch, lambda weights, away: weights.masked_fill(away < trained, 0.0).sum(-1), trained)
    return Beyond(n, trained, heads.layers, heads.uniform, heads.loss)


def ask(subject: Subject) -> Beyond | NotAsked:
    """Of sequences longer than those of training, at twice its length where that was measured."""
    if subject.longer is None:
        return NotAsked("The run was measured at no length beyond that of training.")
    batch, trained = subject.batch(subject.longer), subject.batch(subject.length).targets.shape[1]
    if not subject.reader.tokens(batch)[:, trained:].any(dim=1).all():
        return NotAsked("A sequence of the longer length has no token beyond those of training.")
    return beyond(subject.reader, batch, trained)

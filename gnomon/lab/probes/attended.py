"""How far each head looks: the mean distance of what it attends to, in tokens."""

from dataclasses import dataclass

from gnomon.lab.measures import Mean
from gnomon.lab.probes.heads import of_heads
from gnomon.lab.probes.probe import NotAsked, Result
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "attended", "Attended distance"
QUESTION = "How far does each head look, on average, in tokens?"


@dataclass(frozen=True)
class Attended(Result):
    """`sum_j weight_ij |i - j|` in tokens, the mean over the queries of an example, then over examples."""

    length: int
    first: int
    """The first query that counts."""
    layers: tuple[tuple[Mean, ...], ...]
    """`[layer][head]`."""
    uniform: Mean
    """That of a head that looks at every key it sees alike."""

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (layer, head, mean.mean, mean.se, mean.mean / self.uniform.mean if self.uniform.mean else None)
            for layer, heads in enumerate(self.layers)
            for head, mean in enumerate(heads)
        ]
        return (
            Table(
                f"Attended distance in tokens, length {self.length}",
                ("layer", "head", "tokens", "se", "of uniform"),
                tuple(rows),
                f"Queries from {self.first} on, {self.uniform.count} examples. A head that looks at every key alike:"
                f" {self.uniform.mean:.4g} tokens.",
            ),
        )

    def figures(self) -> tuple[Lines, ...]:
        lines = tuple(Line.of(f"layer {layer}", range(len(heads)), heads) for layer, heads in enumerate(self.layers))
        even = Line.of("uniform", range(len(self.layers[0])), [self.uniform] * len(self.layers[0]))
        return (Lines(f"Attended distance, length {self.length}", "head", "tokens", (*lines, even), y_log=True),)


def attended(reader: Reader, batch: Batch, first: int = 0) -> Attended:
    """How far each head looks from the queries `first` on.

    Distances count tokens, wherever those lie; of ALiBi with queries and keys of zero it is that of a geometric
    series, which decays by e^-slope a token.
    """
    heads = of_heads(reader, batch, lambda weights, distance: (weights * distance).sum(-1), first)
    return Attended(batch.targets.shape[1], first, heads.layers, heads.uniform)


def ask(subject: Subject) -> Attended | NotAsked:
    """Of the queries in the second half of sequences of the training length, which have room to look back."""
    batch = subject.batch(subject.length)
    if not batch.targets.shape[1] > 1:
        return NotAsked("A sequence of one token has no distances.")
    return attended(subject.reader, batch, first=int(subject.reader.tokens(batch).sum(dim=1).min()) // 2)

"""Which frequencies carry the loss past the training length: each band held inside the range of training in turn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.held import Wave, holding, waves
from gnomon.lab.probes.probe import NotAsked, Result
from gnomon.lab.probes.reading import Reader, of_examples
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "bands", "Frequency bands"
QUESTION = "Past the training length, which frequencies cost the loss: what if one band sees no position beyond it?"
COUNT = 4


@dataclass(frozen=True)
class Band:
    """Neighbouring frequencies; all differences are of the same targets."""

    shortest: float
    """Wavelength in positions."""
    longest: float
    held: Mean
    """Nats a token, less the loss of the model as it is, where this band is held and the others run on."""
    alone: Mean
    """Nats a token, less the loss where all are held, where this band alone runs on."""


@dataclass(frozen=True)
class Bands(Result):
    """The loss of the tokens past the training length, over examples."""

    length: int
    trained: int
    """The training length in tokens."""
    plain: Mean
    """Nats a token of the model as it is."""
    all_held: Mean
    """Where every band is held."""
    inside: Mean | None
    """Of the tokens up to the training length; None where none of them is scored."""
    bands: tuple[Band, ...]
    """The fastest first."""

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (band.shortest, band.longest, band.held.mean, band.held.se, band.alone.mean, band.alone.se)
            for band in self.bands
        ]
        inside = "" if self.inside is None else f" Before {self.trained}: {self.inside.mean:.4g}."
        note = (
            f"Tokens from {self.trained} on, {self.plain.count} examples. held: change of the loss where the band sees"
            " no position beyond the training length; alone: where it alone does, against where none does."
            f" As it is: {self.plain.mean:.4g} nats; all held: {self.all_held.mean:.4g}.{inside}"
        )
        columns = ("wavelength from", "to", "held, nats", "se", "alone, nats", "se")
        return (Table(f"Frequency bands at length {self.length}", columns, tuple(rows), note),)

    def figures(self) -> tuple[Lines, ...]:
        x = [(band.shortest * band.longest) ** 0.5 for band in self.bands]
        lines = (
            Line.of("held, against the model as it is", x, [band.held for band in self.bands]),
            Line.of("alone, against all held", x, [band.alone for band in self.bands]),
        )
        return (Lines("Bands past the training length", "wavelength (positions)", "nats a token", lines, x_log=True),)


def bands(reader: Reader, batch: Batch, trained: int, count: int = COUNT) -> Bands:
    """The loss of the tokens from `trained` on, with each of `count` bands held, and with all others held.

    A held band of added positions sees min(p, trained - 1); of rotations, distances no larger than trained - 1: no
    phase that training had not. OptionError for an encoding without frequencies, or nothing past `trained`.
    """
    found = waves(reader.encoding)
    if found is None or not 0 < count <= len(found):
        raise OptionError(
            "bands are of encodings with frequencies on a line",
            given=f"{type(reader.encoding).__name__}, {count} bands",
            allowed="sinusoidal or rope, 1 band up to one for each frequency",
        )
    n = batch.targets.shape[1]
    if not 0 < trained < n:
        raise OptionError("nothing is past the training length", given=f"{n} tokens, trained on {trained}")
    every = tuple(column for wave in found for column in wave.columns)

    def loss(columns: Sequence[int]) -> np.ndarray:
        with holding(reader, tuple(columns), trained - 1):
            return of_examples(reader.losses(batch)[:, trained:])

    as_it_is = reader.losses(batch)
    plain, inside = of_examples(as_it_is[:, trained:]), of_examples(as_it_is[:, :trained])
    if np.isnan(plain).any():
        raise OptionError("no token past the training length is scored", given=f"tokens from {trained} on")
    all_held, made = loss(every), []
    for some in _bands(found, count):
        columns = {column for wave in some for column in wave.columns}
        made.append(
            Band(
                some[0].length,
                some[-1].length,
                measures.paired(loss(sorted(columns)), plain),
                measures.paired(loss([c for c in every if c not in columns]), all_held),
            )
        )
    return Bands(
        n,
        trained,
        measures.mean(plain),
        measures.mean(all_held),
        None if np.isnan(inside).any() else measures.mean(inside),
        tuple(made),
    )


def ask(subject: Subject) -> Bands | NotAsked:
    """Of sequences longer than those of training."""
    if waves(subject.reader.encoding) is None:
        return NotAsked("The encoding has no frequencies on a line that could be held.")
    if subject.experiment.training.randomised is not None:
        return NotAsked("The run was trained at random places, so that longer sequences have positions like those.")
    if subject.longer is None:
        return NotAsked("The run was measured at no length beyond that of training.")
    batch, trained = subject.batch(subject.longer), subject.batch(subject.length).targets.shape[1]
    count = min(COUNT, len(waves(subject.reader.encoding)))
    return bands(subject.reader, batch, trained, count)


def _bands(found: Sequence[Wave], count: int) -> list[Sequence[Wave]]:
    """Neighbours together, as many frequencies in each as can be."""
    edges = [at * len(found) // count for at in range(count + 1)]
    return [found[a:b] for a, b in zip(edges, edges[1:], strict=False)]

"""How the loss of models of text rises with length, also under other options of their encoding than in training."""

from collections.abc import Callable, Mapping
from typing import Any

from gnomon.claims import experiments, runs
from gnomon.claims.experiments import Record
from gnomon.claims.shapes import Each, Whole

NEAR, NEARER, TWICE, FAR = 9 / 8, 5 / 4, 2, 8
"""Lengths past that of training, as multiples of it. So few last bytes are scored that at each of them all lie past the
training length."""
RATIOS = (NEAR, NEARER, 3 / 2, TWICE, 4, FAR)

NATS = runs.MAYBE
RUN = (*runs.RUN, NATS)
RUN_COLUMNS = (*runs.RUN_COLUMNS, "loss at the training length")
"""What the row of a run begins with. Losses are in nats a byte, of the same bytes at every length."""
LENGTHS = Each(Whole(1))


def at(record: Record, *ratios: float) -> list[int]:
    """Multiples of the training length, in bytes."""
    return [round(ratio * experiments.trained_at(record)) for ratio in ratios]


def loss(ratio: float = 1, options: Mapping[str, Any] | None = None) -> Callable[[Record], float | None]:
    """The paired loss at a multiple of the training length; None where a record has none.

    options: of the encoding, in place of those that were trained with.
    """

    def read(record: Record) -> float | None:
        [length] = at(record, ratio)
        if options is None:
            return experiments.at(record, length, "paired_loss")
        return experiments.variant(record, options, length, "paired_loss")

    return read


def rise(ratio: float, options: Mapping[str, Any] | None = None) -> Callable[[Record], float | None]:
    """How much that loss lies above the one at the training length, of the model as it was trained."""

    def read(record: Record) -> float | None:
        there, trained = loss(ratio, options)(record), loss()(record)
        return None if there is None or trained is None else there - trained

    return read

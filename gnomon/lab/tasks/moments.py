"""What the tasks on samples in time share: samples at their moments, then a question, on stretches of the time axis.

A sequence is `length` samples, regular or at moments drawn uniformly in between, and the question one interval after
the last regular one. Its first moment is drawn anew for each, a whole number from 0 to `stretch`, so that training sees
one stretch of the time axis; the same sequences are measured there, and again with every moment `shifts` later.
"""

from abc import abstractmethod
from typing import Literal

import torch
from torch import Tensor

from gnomon import positions as places
from gnomon.errors import OptionError
from gnomon.lab.seeds import generator
from gnomon.lab.task import Batch, Group, Task
from gnomon.lab.tasks.held_out import assigned
from gnomon.lab.tasks.question import answered, ask

Sampling = Literal["regular", "irregular", "both"]


class Moments(Task):
    """Samples `[b, n, c]` at moments `[b, n]`, counted in intervals between regular samples from the first one on.

    counted:  tokens lie at 0, 1, 2, ... from their first moment on, whenever they were sampled.
    interval: what an interval counts as position.
    sampling: which moments training has. transfer: the others are measured too.
    """

    causal = False

    def __init__(
        self,
        channels: int,
        counted: bool,
        interval: float,
        sampling: Sampling,
        transfer: bool,
        stretch: int,
        shifts: tuple[int, ...],
    ):
        if min(stretch, *shifts, 0) < 0:
            raise OptionError(
                "moments are moved later", given=f"stretch {stretch}, shifts {list(shifts)}", allowed="0 or more"
            )
        self.counted, self.interval, self.stretch = counted, interval, stretch
        trained = ("regular", "irregular") if sampling == "both" else (sampling,)
        measured = ("regular", "irregular") if transfer else trained
        self.sampling = trained
        self.settings = [(kind, shift) for kind in measured for shift in dict.fromkeys((0, *shifts))]
        self.groups = tuple(
            Group(f"{kind}, {f'{shift} later' if shift else 'as trained'}", kind in trained and not shift)
            for kind, shift in self.settings
        )
        self.features = channels + 1

    @abstractmethod
    def choose(self, part: str, length: int, count: int, drawn: torch.Generator) -> Tensor:
        """`count` items of `train`, or up to `count` different ones of another part, `[m]` int64."""

    @abstractmethod
    def signals(self, part: str, which: Tensor, length: int) -> tuple[Tensor, int]:
        """Values `[b, m, c]` float32 from the first moment to the last, and how many of them there are an interval."""

    @abstractmethod
    def answers(self, part: str, which: Tensor, samples: Tensor, moments: Tensor, end: float) -> Tensor:
        """The answer of each row, `[b]` int64, where the question is asked at `end`."""

    @abstractmethod
    def last(self, length: int) -> int:
        """The moment of the last of `length` regular samples."""

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        self.check_length(length)
        drawn = generator("batch", seed, step)
        which = self.choose("train", length, count, drawn)
        regular, irregular = self.moments(length, count, drawn)
        odd = torch.rand(count, generator=drawn) < {("regular",): 0, ("irregular",): 1}.get(self.sampling, 0.5)
        start = torch.randint(self.stretch + 1, (count,), generator=drawn)
        return self._laid("train", which, length, torch.where(odd[:, None], irregular, regular), start)

    def examples(self, part: str, length: int, count: int) -> Batch:
        """`count` sequences of the part, fewer where it has fewer: the same ones in every group, one shift apart."""
        self.check_length(length)
        drawn = generator("examples", part, length)
        which = self.choose(part, length, count, drawn)
        regular, irregular = self.moments(length, len(which), drawn)
        start = torch.randint(self.stretch + 1, (len(which),), generator=drawn)
        group, number = assigned(self.groups, len(which))
        odd = torch.tensor([kind == "irregular" for kind, _ in self.settings])[group]
        start = start[number] + torch.tensor([shift for _, shift in self.settings])[group]
        moments = torch.where(odd[:, None], irregular[number], regular)
        batch = self._laid(part, which[number], length, moments, start)
        return Batch(batch.inputs, batch.targets, batch.pos, group)

    def moments(self, length: int, count: int, drawn: torch.Generator) -> tuple[Tensor, Tensor]:
        """Regular ones `[1, length]`, and `count` rows drawn at random, both from the first moment to the last."""
        last = self.last(length)
        # The product first: where there is a sample at every interval, the moments are whole numbers.
        regular = torch.arange(length, dtype=torch.float64)[None] * last / max(1, length - 1)
        return regular, last * torch.rand(count, length, generator=drawn, dtype=torch.float64).sort(dim=1).values

    def _laid(self, part: str, which: Tensor, length: int, moments: Tensor, start: Tensor) -> Batch:
        values, each = self.signals(part, which, length)
        moments, end = moments.expand(len(values), -1), self.last(length) + 1.0
        samples = interpolated(values, moments * each)
        inputs = ask(samples, length)
        labels = self.answers(part, which, samples, moments, end)
        at = torch.nn.functional.pad(moments, (0, 1), value=end)
        if self.counted:
            at = torch.arange(length + 1, dtype=torch.float64)
        pos = places.timed((start[:, None] + at) * self.interval)
        return Batch(inputs, answered(labels, length + 1, length), pos)


def interpolated(values: Tensor, at: Tensor) -> Tensor:
    """Values `[b, m, c]`, known at 0, 1, ..., m - 1, at real moments `[b, n]` in between: linear, `[b, n, c]`."""
    before = at.floor().clamp(0, max(0, values.shape[1] - 2)).to(torch.int64)
    share = (at - before)[..., None].to(values.dtype)
    after = (before + 1).clamp(max=values.shape[1] - 1)
    rows = torch.arange(len(values))[:, None]
    return values[rows, before] * (1 - share) + values[rows, after] * share

"""What is measured of a model trained on text: loss at every length, by position, on the same targets, and sliding."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from gnomon.errors import PositionError
from gnomon.lab import measures
from gnomon.lab.experiment import Experiment
from gnomon.lab.places import read
from gnomon.lab.seeds import generator
from gnomon.lab.tasks.text import TextTask
from gnomon.lab.windows import Windows, ending, ends, stretches, windows

TOKENS = 8192
"""Tokens in one batch; a window that is longer than this is a batch of its own. Memory does not grow with the text."""


@dataclass(frozen=True)
class Measured:
    """Rows for the record: one a length, and one a length and bin of positions."""

    lengths: list[dict]
    positions: list[dict]


def evaluate(
    model: nn.Module,
    task: TextTask,
    experiment: Experiment,
    device: torch.device,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Measured:
    """Measure every length of the experiment. A length that the encoding refuses is recorded with its reason.

    `report` is told the tokens done and the tokens in all after each batch; what it raises ends the measurement.
    """
    documents = task.documents(experiment.measure.part)
    plan = _plan(documents, experiment)
    counter = _Counter(sum(tokens.numel() for _, scored, pairs in plan for tokens in (scored.tokens, pairs)), report)
    targets = min(experiment.measure.targets, *experiment.measure.lengths)
    was_training = model.training
    model.eval()
    scored: dict[int, _Scored | str] = {}
    for length, apart, pairs in plan:
        try:
            scored[length] = _Scored(
                apart,
                _losses(model, apart.tokens, device, counter, experiment),
                _losses(model, pairs, device, counter, experiment),
                targets,
            )
        except PositionError as error:
            scored[length] = str(error)
            counter.skip(length, apart, pairs)
    model.train(was_training)
    at = scored[experiment.training.length]
    reference = None if isinstance(at, str) else at.paired
    rows = [_row(length, found, reference) for length, found in scored.items()]
    positions = [
        {"length": length, **bin._asdict()}
        for length, found in scored.items()
        if not isinstance(found, str) and found.finite
        for bin in measures.by_position(found.losses[found.windows.apart], experiment.training.length)
    ]
    return Measured(rows, positions)


class _Scored:
    """The losses of one length: of every token of every window, and of the paired targets, a mean for each place."""

    def __init__(self, windows: Windows, losses: np.ndarray, paired: np.ndarray, targets: int):
        self.windows, self.losses, self.targets = windows, losses, targets
        self.paired = paired[:, -targets:].mean(axis=1, dtype=np.float64)

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.losses).all() and np.isfinite(self.paired).all())


class _Counter:
    """Tokens done, and the caller told."""

    def __init__(self, total: int, report: Callable[[int, int], None]):
        self.done, self.total, self.report = 0, total, report

    def add(self, tokens: int) -> None:
        self.done += tokens
        self.report(self.done, self.total)

    def skip(self, length: int, apart: Windows, pairs: Tensor) -> None:
        self.total -= apart.tokens.numel() + pairs.numel()


def _plan(documents: Sequence[Tensor], experiment: Experiment) -> list[tuple[int, Windows, Tensor]]:
    measure = experiment.measure
    on = stretches(documents, measure.bytes, experiment.longest)
    places = ends(documents, measure.pairs, experiment.longest)
    return [(length, windows(on, length), ending(documents, places, length)) for length in measure.lengths]


@torch.inference_mode()
def _losses(
    model: nn.Module, tokens: Tensor, device: torch.device, counter: _Counter, experiment: Experiment
) -> np.ndarray:
    """The loss of every target in nats, `[windows, n]` float32, from tokens `[windows, n + 1]`."""
    found, drawn = [], generator("measure", experiment.seed, tokens.shape[1])
    for batch in tokens.split(max(1, TOKENS // (tokens.shape[1] - 1))):
        batch = batch.to(device=device, dtype=torch.int64)
        logits = read(model, batch[:, :-1], experiment.training, drawn).float()
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="none")
        found.append(loss.view(len(batch), -1).cpu())
        counter.add(batch.numel())
    return torch.cat(found).numpy()


def _row(length: int, found: "_Scored | str", reference: np.ndarray | None) -> dict:
    """One entry of a record's `lengths`."""
    if isinstance(found, str):
        return {"length": length, "status": "refused", "reason": found}
    if not found.finite:
        return {"length": length, "status": "diverged", "reason": f"the loss is not finite at length {length}"}
    loss = measures.mean(found.losses[found.windows.apart].mean(axis=1, dtype=np.float64))
    pair = measures.mean(found.paired)
    known = reference is not None and np.isfinite(reference).all()
    excess = measures.paired(found.paired, reference) if known else None
    sliding = _sliding(found)
    return {
        "length": length,
        "status": "measured",
        "reason": None,
        "loss": loss.mean,
        "loss_se": loss.se,
        "bits_per_byte": measures.bits(loss.mean),
        "windows": loss.count,
        "tokens": loss.count * length,
        "paired_loss": pair.mean,
        "paired_se": pair.se,
        "paired_windows": pair.count,
        "paired_targets": found.targets,
        "paired_excess": None if excess is None else excess.mean,
        "paired_excess_se": None if excess is None else excess.se,
        "sliding_loss": sliding,
        "sliding_perplexity": measures.perplexity(sliding),
        "sliding_stride": found.windows.stride,
    }


def _sliding(found: _Scored) -> float:
    """Mean loss over every target of the stretches, each scored once by the window that saw most before it."""
    fresh = np.arange(found.losses.shape[1]) >= found.losses.shape[1] - found.windows.sliding[:, None]
    total = math.fsum(found.losses[fresh].tolist())
    return total / int(fresh.sum())

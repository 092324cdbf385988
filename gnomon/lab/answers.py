"""What is measured of a model on a task with answers: how many it gets right at every length, and in every group."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from gnomon.errors import PositionError
from gnomon.lab import measures
from gnomon.lab.evaluate import TOKENS, Measured
from gnomon.lab.experiment import Experiment
from gnomon.lab.places import laid
from gnomon.lab.seeds import generator
from gnomon.lab.task import IGNORED, Batch, Task


@dataclass(frozen=True)
class _Scored:
    """An entry an example: whether all its tokens are right, the share that are, the loss of all, how many."""

    exact: np.ndarray
    share: np.ndarray
    loss: np.ndarray
    tokens: np.ndarray

    def of(self, which: np.ndarray) -> "_Scored":
        return _Scored(self.exact[which], self.share[which], self.loss[which], self.tokens[which])


def evaluate(
    model: nn.Module,
    task: Task,
    experiment: Experiment,
    device: torch.device,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Measured:
    """Score the task's fixed examples at every length of the experiment, the right answer so far being read.

    A token is right if its logit is the largest; an answer if all its tokens are. A length that the encoding refuses
    is recorded with its reason. `report` is told the tokens done and the tokens in all after each batch; what it
    raises ends the measurement.
    """
    measure = experiment.measure
    plan = {length: task.examples(measure.part, length, measure.examples) for length in measure.lengths}
    total, done = sum(batch.targets.numel() for batch in plan.values()), 0

    def count(tokens: int) -> None:
        nonlocal done
        done += tokens
        report(done, total)

    was_training = model.training
    model.eval()
    rows = []
    for length, batch in plan.items():
        row = {"length": length, "status": "measured", "reason": None}
        try:
            scored = _scored(model, batch, experiment, length, device, count)
        except PositionError as error:
            rows.append(row | {"status": "refused", "reason": str(error)})
            total -= batch.targets.numel()
            continue
        if not np.isfinite(scored.loss).all():
            rows.append(row | {"status": "diverged", "reason": f"the loss is not finite at length {length}"})
            continue
        chance = task.chance(length)
        rows.append(
            row
            | _numbers(scored.of(_trained(task, batch)))
            | {"chance_exact": chance.exact, "chance_token": chance.token, "groups": _groups(scored, task, batch)}
        )
    model.train(was_training)
    return Measured(rows, [])


def _trained(task: Task, batch: Batch) -> np.ndarray:
    """Which examples are like those of training, `[b]` bool."""
    if batch.group is None:
        return np.ones(len(batch.targets), dtype=bool)
    return np.array([group.trained for group in task.groups])[batch.group.numpy()]


def _groups(scored: _Scored, task: Task, batch: Batch) -> list[dict]:
    """The numbers of each group that has an example."""
    if batch.group is None:
        return []
    rows = []
    for at, group in enumerate(task.groups):
        which = (batch.group == at).numpy()
        if which.any():
            rows.append({"name": group.name, "trained": group.trained, **_numbers(scored.of(which))})
    return rows


def _numbers(scored: _Scored) -> dict:
    right, examples, tokens = int(scored.exact.sum()), len(scored.exact), int(scored.tokens.sum())
    share = measures.mean(scored.share)
    return {
        "exact": right / examples,
        "exact_se": measures.wilson(right, examples),
        "token_accuracy": share.mean,
        "token_accuracy_se": share.se,
        "loss": math.fsum(scored.loss.tolist()) / tokens,
        "examples": examples,
        "tokens": tokens,
    }


@torch.inference_mode()
def _scored(
    model: nn.Module,
    examples: Batch,
    experiment: Experiment,
    length: int,
    device: torch.device,
    count: Callable[[int], None],
) -> _Scored:
    drawn, parts = generator("measure", experiment.seed, length), []
    for which in torch.arange(len(examples.targets)).split(max(1, TOKENS // examples.targets.shape[1])):
        batch = examples.rows(which)
        pos = laid(batch, model, experiment.training, drawn, device)
        logits = model(batch.inputs.to(device), pos).float()
        parts.append(_each(logits, batch.targets.to(device)))
        count(batch.targets.numel())
    return _Scored(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _each(logits: Tensor, targets: Tensor) -> list[np.ndarray]:
    scored = targets != IGNORED
    right = (logits.argmax(dim=-1) == targets) & scored
    losses = nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="none"
    ).view_as(targets)
    tokens = scored.sum(dim=1)
    columns = (right.sum(dim=1) == tokens, right.sum(dim=1).double() / tokens, losses.double().sum(dim=1), tokens)
    return [column.cpu().numpy() for column in columns]

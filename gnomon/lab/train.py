"""Training, to the bit the same whether or not it was interrupted: all randomness is a function of (seed, step)."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from gnomon.errors import OptionError, UserError
from gnomon.lab import checkpoint
from gnomon.lab.build import encoding_parameters
from gnomon.lab.checkpoint import History
from gnomon.lab.experiment import Experiment, Text, Training
from gnomon.lab.places import laid, places
from gnomon.lab.processes import Processes
from gnomon.lab.seeds import generator, seed_of
from gnomon.lab.task import IGNORED, Trained
from gnomon.memory import Memory
from gnomon.past import Past
from gnomon.transformer import Transformer

FLUSH = 10
"""Steps between two looks at the loss on an accelerator, where a look waits for the device."""


class Stopped(Exception):
    """Training was asked to stop, and has written a checkpoint."""


@dataclass(frozen=True)
class Watch:
    """How training is watched and interrupted."""

    report: Callable[[History], None] = field(default=lambda history: None)
    """Called after every look at the loss."""
    stop: Callable[[], bool] = field(default=lambda: False)
    checkpoint: Path | None = None
    """Where to write checkpoints; None: nowhere."""
    every: float = 20.0
    """Seconds between two checkpoints."""
    saved: Callable[[int], None] = field(default=lambda step: None)
    """Called with the step of a checkpoint, once it is on disk."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """On what it is trained, for the checkpoint."""


def learning_rate(training: Training, step: int) -> float:
    """The learning rate of step 0 .. steps - 1: linear up over the warm-up, then half a cosine down to the floor."""
    warm = round(training.warmup * training.steps)
    if step < warm:
        return training.learning_rate * (step + 1) / warm
    done = (step - warm) / max(1, training.steps - 1 - warm)
    return training.learning_rate * (training.floor + (1 - training.floor) * (1 + math.cos(math.pi * done)) / 2)


def optimizer_of(model: nn.Module, training: Training) -> torch.optim.AdamW:
    """AdamW that decays matrices and nothing else: no gain, no bias, no table of an encoding."""
    positional = {id(p) for p in encoding_parameters(model)}
    parameters = list(model.parameters())
    matrices = [p for p in parameters if p.dim() >= 2 and id(p) not in positional]
    chosen = {id(p) for p in matrices}
    groups = [
        {"params": matrices, "weight_decay": training.weight_decay},
        {"params": [p for p in parameters if id(p) not in chosen], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=training.learning_rate, betas=(0.9, 0.95), fused=True)


def train(
    model: Transformer,
    task: Trained,
    experiment: Experiment,
    accelerator: Accelerator,
    watch: Watch = Watch(),
    processes: Processes | None = None,
) -> tuple[nn.Module, History]:
    """Train in place; returns the model in the precision of the training, and the history.

    A loss that is not finite ends training: it is then the last one of the history. Raises Stopped after a
    checkpoint when `watch.stop` says so. Every process of a launch takes an equal share of each batch; where one fails,
    all raise.
    """
    training, processes = experiment.training, processes or Processes(accelerator)
    share, learned = _share(training.batch, processes), [p for p in model.parameters() if p.requires_grad]
    with processes.apart():
        optimizer = optimizer_of(model, training)
        # On its device and in its precision, and not wrapped: see gnomon.lab.processes.
        wrapped, stepper = (
            accelerator.prepare_model(model, evaluation_mode=True),
            accelerator.prepare_optimizer(optimizer),
        )
        history = _resume(watch.checkpoint, experiment, model, optimizer)
        past, batches = _past(model, history, processes), task.stream if model.memory else task.batch
    begins = processes.told(history.step)
    with processes.apart():
        if history.step != begins:
            given = f"step {history.step} in process {processes.index}, step {begins} in the main one"
            raise UserError("the processes of a launch go on from one checkpoint", given=given)
    processes.spread([*model.parameters(), *model.buffers()])
    history.goes_on(watch.environment)
    if history.losses and not math.isfinite(history.losses[-1]):
        return wrapped, history
    look = 1 if accelerator.device.type == "cpu" else FLUSH
    pending: list[torch.Tensor] = []
    saved = begun = time.perf_counter()
    wrapped.train()
    for step in range(history.step, training.steps):
        last = step + 1 == training.steps
        with processes.apart():
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(training, step)
            batch = batches(experiment.seed, step, training.batch, training.length)
            inputs, targets = batch.inputs[share].to(accelerator.device), batch.targets[share].to(accelerator.device)
            drawn = generator("positions", experiment.seed, step)
            if isinstance(experiment.task, Text):
                pos = places(training, training.length, past.length, drawn, accelerator.device)
            else:
                pos = laid(batch, model, training, drawn, accelerator.device)
            for encoding in model.encodings:
                pos = encoding.draw(pos, drawn, training.batch)
            pos = pos if pos.rows == 1 else pos.row(torch.arange(training.batch, device=pos.coords.device)[share])
            torch.manual_seed(seed_of("dropout", experiment.seed, step, processes.index))
            logits = wrapped(inputs, pos, cache=past)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED)
            loss = loss * _weight(batch.targets, share)
            auxiliary = sum(encoding.auxiliary(pos, drawn) for encoding in model.encodings)
            stepper.zero_grad()
            accelerator.backward(loss + auxiliary)
            row = processes.packed(learned, loss.detach())
        used = processes.any(*(p.grad is not None for p in learned))
        processes.average(row)
        losses: list[float] = []
        with processes.apart():
            pending.append(processes.unpacked(row, learned, used))
            accelerator.clip_grad_norm_(model.parameters(), training.clip)
            stepper.step()
            history.tokens.append(batch.targets.numel())
            if len(pending) >= look or last:
                losses = torch.stack(pending).tolist()
        # A running mean is that of the main process's share.
        processes.spread(model.buffers())
        if not losses:
            continue
        now = time.perf_counter()
        history.seconds += [(now - begun) / len(pending)] * len(pending)
        history.losses += losses
        pending, begun = [], now
        wrong = next((i for i, value in enumerate(losses) if not math.isfinite(value)), None)
        if wrong is not None:
            kept = history.step - len(losses) + wrong + 1
            del history.losses[kept:], history.seconds[kept:], history.tokens[kept:]
            return wrapped, history
        with processes.apart():
            watch.report(history)
            stop = watch.stop()
        stop, due = processes.any(stop, now - saved > watch.every)
        if watch.checkpoint is not None and (stop or last or due):
            history.memory = _gathered(past, processes)
            with processes.apart():
                if processes.main:
                    checkpoint.save(watch.checkpoint, experiment.hash, model, optimizer, history)
                    watch.saved(history.step)
            saved = begun = time.perf_counter()
        if stop and not last:
            raise Stopped
    return wrapped, history


def _past(model: Transformer, history: History, processes: Processes) -> Past:
    """What a resumed run remembers; every process its share of the rows."""
    past = model.past()
    if isinstance(past, Memory) and history.memory:
        count, which = processes.count, processes.index
        rows = {name: t.chunk(count)[which] if name.startswith("layer") else t for name, t in history.memory.items()}
        past.load(rows, processes.device)
    return past


def _gathered(past: Past, processes: Processes) -> dict[str, torch.Tensor]:
    if not isinstance(past, Memory):
        return {}
    return {name: processes.gathered(t) if name.startswith("layer") else t for name, t in past.tensors().items()}


def _resume(path: Path | None, experiment: Experiment, model: nn.Module, optimizer: torch.optim.AdamW) -> History:
    found = None if path is None else checkpoint.load(path, experiment.hash, model, optimizer)
    return History() if found is None else found


def _weight(targets: torch.Tensor, share: slice) -> float:
    """What the mean loss of a share is multiplied by, so that the mean over processes is that over scored tokens."""
    scored = (targets != IGNORED).sum(dim=1)
    processes = len(scored) // len(scored[share])
    return processes * int(scored[share].sum()) / int(scored.sum())


def _share(batch: int, processes: Processes) -> slice:
    count = processes.count
    if batch % count:
        raise OptionError("the processes share a batch equally", given=f"batch {batch}, {count} processes")
    each = batch // count
    return slice(processes.index * each, (processes.index + 1) * each)

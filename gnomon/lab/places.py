"""At which positions the tokens of training and of measurement lie, and how a model with a memory reads a long text."""

import torch
from torch import Tensor, nn

from gnomon import positions
from gnomon.lab.experiment import Training
from gnomon.positions import Positions


def places(training: Training, n: int, start: int, generator: torch.Generator, device: torch.device) -> Positions:
    """Where `n` tokens lie after `start` others: one after another, or at random places in order."""
    if training.randomised is None:
        return positions.sequence(n, start, device=device)
    return positions.randomised(n, training.randomised, generator=generator).to(device)


def read(model: nn.Module, tokens: Tensor, training: Training, generator: torch.Generator) -> Tensor:
    """The logits of whole windows; a model with a memory reads them in segments of the training length."""
    n, past = tokens.shape[1], model.past()
    size = training.length if model.memory else n
    parts = []
    for start in range(0, n, size):
        part = tokens[:, start : start + size]
        parts.append(model(part, places(training, part.shape[1], start, generator, tokens.device), cache=past))
    return torch.cat(parts, dim=1)

"""At which positions the tokens of training and of measurement lie, and how a model with a memory reads a long text."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from gnomon import positions
from gnomon.encoding import Property
from gnomon.lab.experiment import Training
from gnomon.lab.task import IGNORED, Batch
from gnomon.positions import Positions
from gnomon.transformer import Transformer


def places(training: Training, n: int, start: int, generator: torch.Generator, device: torch.device) -> Positions:
    """Where `n` tokens lie after `start` others: one after another, or at random places in order."""
    if training.randomised is None:
        return positions.sequence(n, start, device=device)
    return positions.randomised(n, training.randomised, generator=generator).to(device)


def laid(
    batch: Batch, model: Transformer, training: Training, generator: torch.Generator, device: torch.device
) -> Positions:
    """Where the tokens of a batch lie that nothing came before: where it says, or one after another.

    A row of a causal task ends at the last token that is scored. What comes after it is seen by nothing that is
    scored, so padding costs no mask, unless an encoding looks at the whole row (its length, in dynamic NTK).
    """
    if batch.pos is not None:
        return batch.pos.to(device)
    pos = places(training, batch.inputs.shape[1], 0, generator, device)
    if all(Property.CACHEABLE in encoding.properties for encoding in model.encodings):
        return pos
    scored = (batch.targets != IGNORED).to(device)
    there = scored.flip(1).cumsum(1).flip(1) > 0
    return pos if there.all() else replace(pos, segment=torch.where(there, 0, -1))


def read(model: nn.Module, tokens: Tensor, training: Training, generator: torch.Generator) -> Tensor:
    """The logits of whole windows; a model with a memory reads them in segments of the training length."""
    n, past = tokens.shape[1], model.past()
    size = training.length if model.memory else n
    parts = []
    for start in range(0, n, size):
        part = tokens[:, start : start + size]
        parts.append(model(part, places(training, part.shape[1], start, generator, tokens.device), cache=past))
    return torch.cat(parts, dim=1)

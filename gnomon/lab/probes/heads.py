"""A number for each query from its attention weights, and its mean over queries: of every head of every layer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.reading import Reader, losses, of_examples
from gnomon.lab.task import Batch

Of = Callable[[Tensor, Tensor], Tensor]
"""From weights `[b, h, i, j]` and distances `[rows, 1, i, j]` to a number for each query, `[b, h, i]`."""


@dataclass(frozen=True)
class Heads:
    """Means over examples, each the mean over the queries that count."""

    layers: tuple[tuple[Mean, ...], ...]
    """`[layer][head]`."""
    uniform: Mean
    """The same of a head that looks at every key it sees alike."""
    loss: Mean | None
    """Nats a token, over the same queries; None where none of them is scored."""


def of_heads(reader: Reader, batch: Batch, of: Of, first: int = 0) -> Heads:
    """`of` of every head, over the queries `first` and later that are no padding. OptionError where there is none."""
    n, found, uniform, loss = batch.targets.shape[1], [], [], []
    if not 0 <= first < n or not reader.tokens(batch)[:, first:].any(dim=1).all():
        raise OptionError("no query of some example counts", given=f"queries from {first}", allowed=f"0 to {n - 1}")
    for part in reader.parts(batch):
        logits, several = reader.attention(part)
        counts = reader.tokens(part).double()
        counts[:, :first] = 0
        whole = counts.sum(dim=1)
        sums = torch.zeros(reader.depth, reader.model.heads, len(whole), dtype=torch.float64)
        alike = torch.zeros(len(whole), dtype=torch.float64)
        begun = [0] * reader.depth
        for seen in several:
            queries = slice(begun[seen.layer], begun[seen.layer] + seen.weights.shape[2])
            begun[seen.layer] = queries.stop
            distance, count = seen.distance(), counts[:, None, queries]
            sums[seen.layer] += (of(seen.weights.double(), distance) * count).sum(-1).T
            if seen.layer == 0:
                shown = seen.seen.double().expand(len(whole), -1, -1, -1)
                even = shown / shown.sum(-1, keepdim=True).clamp(min=1)
                alike += (of(even, distance)[:, 0] * count[:, 0]).sum(-1)
        found.append((sums / whole).numpy())
        uniform.append((alike / whole).numpy())
        loss.append(of_examples(losses(logits, part)[:, first:]))
    values, told = np.concatenate(found, axis=2), np.concatenate(loss)
    return Heads(
        tuple(tuple(measures.mean(head) for head in layer) for layer in values),
        measures.mean(np.concatenate(uniform)),
        None if np.isnan(told).any() else measures.mean(told),
    )

"""A trained model as a probe reads it: logits, hidden states, and the attention of every layer, from one forward pass.

Nothing of the model is written a second time: attention is seen by a backend that records, hidden states by hooks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnomon.backends import Backend, Reference
from gnomon.encoding import Encoding
from gnomon.errors import OptionError
from gnomon.lab.task import IGNORED, Batch
from gnomon.positions import Positions, sequence
from gnomon.transformer import Transformer

PAIRS = 2**21
"""Pairs of tokens, over rows and heads, whose logits are held at once."""


@dataclass(frozen=True)
class Seen:
    """What one layer has made of one call.

    q `[b, h, i, d]`, k `[b, g, j, d]`: as projected. logits, weights: `[b, h, i, j]`, the logits as they are before
    the mask, the weights zero where it hides a key. seen: `[rows, 1, i, j]` bool, what the mask shows.
    """

    layer: int
    q: Tensor
    k: Tensor
    logits: Tensor
    weights: Tensor
    seen: Tensor
    q_pos: Positions
    k_pos: Positions

    def distance(self) -> Tensor:
        """How many turns each key lies from each query, on either side: `[rows, 1, i, j]` int64."""
        return (self.q_pos.turns()[:, None, :, None] - self.k_pos.turns()[:, None, None, :]).abs()


class Recording(Reference):
    """The reference backend, which keeps logits and weights of each call: one object for all layers of a model."""

    def __init__(self, depth: int):
        self.depth, self.kept = depth, []

    def attend(self, plan: Any, q: Tensor, k: Tensor, v: Tensor, raw: Any, scale: float, dropout: float) -> Tensor:
        watched = _Watched(plan.encoding)
        out = super().attend(replace(plan, encoding=watched), q, k, v, raw, scale, dropout)
        [logits] = watched.logits
        hidden = plan.allowed
        seen = logits.new_ones(1, 1, *logits.shape[2:], dtype=torch.bool) if hidden is None else hidden
        weights = logits.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, 0.0)
        layer = len(self.kept) % self.depth
        self.kept.append(Seen(layer, q, k, logits, weights, seen, plan.q_pos, plan.k_pos))
        return out


class _Watched:
    """An encoding whose logits are kept: what the reference backend asks of one, and no more."""

    def __init__(self, encoding: Encoding):
        self.encoding, self.logits = encoding, []

    @property
    def properties(self) -> Any:
        return self.encoding.properties

    def score(self, *arguments: Any) -> Tensor:
        self.logits.append(self.encoding.score(*arguments))
        return self.logits[-1]

    def value(self, *arguments: Any) -> Tensor:
        return self.encoding.value(*arguments)


@dataclass(frozen=True)
class Reader:
    """A model, and how it reads: whole, or in segments of so many tokens where it has a memory of earlier ones."""

    model: Transformer
    segment: int | None = None

    def __post_init__(self) -> None:
        if self.model.memory and self.segment is None:
            raise OptionError(
                "a model with a memory reads text in segments",
                given=f"a memory of {self.model.memory} tokens, and no segment",
                do="give segment=, the training length",
            )
        if self.model.mask_decoder is not None:
            raise OptionError("a probe reads each layer once", given="a model with a mask decoder")

    @property
    def depth(self) -> int:
        return len(self.model.blocks)

    @property
    def encoding(self) -> Encoding:
        """That of the first layer."""
        return self.model.blocks[0].attention.encoding

    def parts(self, batch: Batch) -> Iterator[Batch]:
        """The batch, a few rows at a time: as many as PAIRS allows."""
        rows, n = batch.targets.shape
        for which in torch.arange(rows).split(max(1, PAIRS // (self.model.heads * n * n))):
            yield batch.rows(which)

    def tokens(self, batch: Batch) -> Tensor:
        """Which tokens are no padding, `[b, n]` bool: those of a document; under a causal mask up to the last scored.

        What comes after that is seen by nothing that is scored, so a causal task need not say that it is padding.
        """
        there = (placed(batch).segments() >= 0).expand(batch.targets.shape)
        if not self.model.blocks[0].attention.mask.causal:
            return there
        return there & ((batch.targets != IGNORED).flip(1).cumsum(1).flip(1) > 0)

    def logits(self, batch: Batch, backend: Backend | None = None) -> Tensor:
        """`[b, n, vocabulary]`, by the model's own backend unless one is given."""
        with _attending(self.model, backend), _still(self.model), torch.inference_mode():
            return self._read(batch)

    def attention(self, batch: Batch) -> tuple[Tensor, list[Seen]]:
        """The logits, and what every layer has seen: a layer after the other, in every segment."""
        recording = Recording(self.depth)
        return self.logits(batch, recording), recording.kept

    def hidden(self, batch: Batch) -> list[Tensor]:
        """The residual stream `[b, n, w]`: what enters the first layer, then what each layer leaves; depth + 1."""
        kept: list[list[Tensor]] = [[] for _ in range(self.depth + 1)]
        hooks = [self.model.blocks[0].register_forward_pre_hook(lambda _, given: kept[0].append(given[0]))]
        for block, leaves in zip(self.model.blocks, kept[1:], strict=True):
            hooks.append(block.register_forward_hook(lambda _, given, out, leaves=leaves: leaves.append(out)))
        try:
            self.logits(batch)
        finally:
            for hook in hooks:
                hook.remove()
        return [torch.cat(parts, dim=1) for parts in kept]

    def losses(self, batch: Batch, backend: Backend | None = None) -> np.ndarray:
        """The loss of each token in nats, `[b, n]` float64; nan where none is scored."""
        return np.concatenate([losses(self.logits(part, backend), part) for part in self.parts(batch)])

    def _read(self, batch: Batch) -> Tensor:
        n, model, pos = batch.targets.shape[1], self.model, placed(batch)
        if not model.memory:
            return model(batch.inputs, pos)
        past, found = model.past(), []
        for start in range(0, n, self.segment):
            stop = min(start + self.segment, n)
            found.append(model(batch.inputs[:, start:stop], pos.tokens(start, stop), cache=past))
        return torch.cat(found, dim=1)


def placed(batch: Batch) -> Positions:
    """Where the tokens of a batch lie: where it says, or at 0, 1, 2, ..."""
    return sequence(batch.targets.shape[1]) if batch.pos is None else batch.pos


def losses(logits: Tensor, batch: Batch) -> np.ndarray:
    """The loss of each token in nats, `[b, n]` float64; nan where none is scored."""
    scored = batch.targets != IGNORED
    loss = nn.functional.cross_entropy(
        logits.double().flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED, reduction="none"
    ).view_as(batch.targets)
    return torch.where(scored, loss, torch.nan).numpy()


def of_examples(values: np.ndarray) -> np.ndarray:
    """The mean of each row's numbers `[b, n]`, `[b]`; nan is left out, and a row of nothing else stays nan."""
    there = ~np.isnan(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


@contextmanager
def _attending(model: Transformer, backend: Backend | None) -> Iterator[None]:
    layers = [block.attention for block in model.blocks]
    before = [layer.backend for layer in layers]
    try:
        for layer in layers:
            layer.backend = layer.backend if backend is None else backend
        yield
    finally:
        for layer, own in zip(layers, before, strict=True):
            layer.backend = own


@contextmanager
def _still(model: Transformer) -> Iterator[None]:
    """The model as it is after training."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)

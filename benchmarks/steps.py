"""Training steps as calls that time themselves: the lab's, a bare loop over the same model, and x-transformers'."""

import random
import statistics
import time
from collections.abc import Callable

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from gnomon.lab import build
from gnomon.lab.corpus import Corpus
from gnomon.lab.experiment import Experiment, Model, Training
from gnomon.lab.tasks.text import TextTask
from gnomon.lab.train import optimizer_of, train

FIRST = 2
"""Steps that are run and not counted: buffers of the optimizer are made there."""


def text(size: int) -> bytes:
    """Words in random order, the same every time."""
    draw, words = random.Random(1), ("sun", "casts", "a", "shadow", "gnomon", "turns", "angle", "into", "hours")
    return " ".join(draw.choice(words) for _ in range(size // 3)).encode()[:size]


def task() -> TextTask:
    return TextTask(Corpus("words", "", (text(200_000),), (text(2000),), (text(2000),)))


def experiment(encoding: str, steps: int, quick: bool) -> Experiment:
    """The model of `gnomon compare quick` and its batches, or smaller ones."""
    sizes = dict(batch=4, length=32) if quick else {}
    model = Model(width=32, depth=1, heads=2) if quick else Model()
    return Experiment(encoding, model=model, training=Training(steps=FIRST + steps, **sizes))


def of_the_lab(asked: Experiment) -> Callable[[], float]:
    """Seconds of a step, the median of those of one training by the lab."""
    words, accelerator = task(), Accelerator(cpu=True)

    def call() -> float:
        _, history = train(build.model(asked, words), words, asked, accelerator)
        return statistics.median(history.seconds[FIRST:])

    return call


def bare(asked: Experiment, make: Callable[[], nn.Module] | None = None) -> Callable[[], float]:
    """The same of a loop with nothing around it: batch, forward, loss, backward, clip, step; over a new model."""
    words = task()

    def call() -> float:
        model = build.model(asked, words) if make is None else make()
        training, seconds = asked.training, []
        if make is None:
            optimizer = optimizer_of(model, training)
        else:
            optimizer = torch.optim.AdamW(model.parameters(), training.learning_rate, (0.9, 0.95), fused=True)
        model.train()
        for step in range(training.steps):
            begun = time.perf_counter()
            batch = words.batch(asked.seed, step, training.batch, training.length)
            loss = _loss(model(batch.inputs), batch.targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), training.clip)
            optimizer.step()
            loss.item()
            seconds.append(time.perf_counter() - begun)
        return statistics.median(seconds[FIRST:])

    return call


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


def of_x_transformers(asked: Experiment) -> Callable[[], float]:
    """The bare loop over a model of x-transformers of the same shape, under its own form of the same encoding."""
    from x_transformers import Decoder, TransformerWrapper

    sizes = asked.model
    kinds = {"none": {}, "rope": dict(rotary_pos_emb=True), "alibi": dict(alibi_pos_bias=True)}

    def make() -> nn.Module:
        layers = Decoder(
            dim=sizes.width, depth=sizes.depth, heads=sizes.heads, attn_dim_head=sizes.width // sizes.heads,
            attn_flash=True, **kinds[asked.encoding],
        )  # fmt: skip
        return TransformerWrapper(
            num_tokens=256, max_seq_len=asked.training.length, use_abs_pos_emb=False, tie_embedding=True,
            attn_layers=layers,
        )  # fmt: skip

    return bare(asked, make)

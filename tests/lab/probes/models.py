"""Models whose answers are known in closed form, and batches for them."""

from typing import Any

import torch
from torch import Tensor

from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.lab.probes.reading import Reader
from gnomon.lab.task import Batch
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.transformer import Transformer

VOCABULARY = 11


def reader(
    encoding: str = "none", *, width: int = 16, depth: int = 2, heads: int = 4, causal: bool = True, **options: Any
) -> Reader:
    """An untrained model in float64; weights large enough that what is to change changes."""
    torch.manual_seed(1)
    made = create(encoding, Shape(width, heads, depth=depth, causal=causal), **options)
    model = Transformer(VOCABULARY, width, depth, heads, made, mask=CAUSAL if causal else BIDIRECTIONAL)
    return Reader(model.double().eval(), segment=8 if model.memory else None)


def blind(made: Reader) -> Reader:
    """The same with queries of zero: attention sees positions alone."""
    with torch.no_grad():
        for block in made.model.blocks:
            block.attention.q.weight.zero_()
    return made


def tokens(rows: int, n: int, seed: int = 0) -> Batch:
    """Random tokens; each is to be answered by the next."""
    drawn: Tensor = torch.randint(VOCABULARY, (rows, n + 1), generator=torch.Generator().manual_seed(seed))
    return Batch(drawn[:, :-1].clone(), drawn[:, 1:].clone())

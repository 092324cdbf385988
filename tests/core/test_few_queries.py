"""A few queries over many keys: positions are projected on the side of the queries, with the same numbers."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from gnomon import attend, positions
from gnomon.encoding import Shape
from gnomon.encodings import build, named
from gnomon.masks import CAUSAL

SHAPE = Shape(width=32, heads=2, head_dim=16)
CASES = {
    "transformer_xl": {},
    "deberta": {"span": 6},
    "deberta, shared": {"span": 6, "norm": True, "shared": True},
    "deberta, buckets": {"span": 9, "buckets": 4, "terms": "c2p"},
}


def made(label: str):
    encoding = build(named(label.partition(",")[0]), SHAPE, **CASES[label]).double()
    torch.manual_seed(1)
    if "shared" in label:
        # The keys of a model may have a bias, which positions then have too.
        encoding.serves(nn.Linear(32, 32).double(), nn.Linear(32, 32).double())
    for parameter in encoding.parameters():
        nn.init.normal_(parameter, std=0.3)
    return encoding


@pytest.mark.parametrize("label", CASES)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("queries", [1, 3, 17])
@pytest.mark.parametrize("prefix", [0, 5])
def test_a_few_queries_see_what_the_definition_says(label: str, rows: int, queries: int, prefix: int):
    encoding, n = made(label), 90
    q, k, v = (torch.randn(rows, 2, size, 16, dtype=torch.float64) for size in (queries, n, n))
    pos = positions.sequence(n)
    if prefix:
        # Keys without a place have no bias: what is the same for all keys of a query is seen beside them.
        pos = replace(pos, placed=torch.arange(n)[None] >= prefix)
    with torch.no_grad():
        found, told = (
            attend(q, k, v, encoding, pos.tokens(n - queries, n), pos, mask=CAUSAL, backend=backend)
            for backend in ("sdpa", "reference")
        )
    assert (found - told).abs().max() < 1e-12

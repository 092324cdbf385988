"""A few queries over many keys: positions are projected on the side of the queries, and keys read a row of each pair.

The numbers are the same, and no product is made with all rows of a table.
"""

from dataclasses import replace

import pytest
import torch
from torch import nn

from gnomon import attend, positions
from gnomon.encoding import Shape
from gnomon.encodings import build, named
from gnomon.masks import CAUSAL
from tests.core.common import Largest

SHAPE = Shape(width=32, heads=2, head_dim=16)
CASES = {
    "transformer_xl": {},
    "deberta": {"span": 6},
    "deberta, shared": {"span": 6, "norm": True, "shared": True},
    "deberta, buckets": {"span": 9, "buckets": 4, "terms": "c2p"},
    "deberta, of keys alone": {"span": 40, "terms": "p2c"},
    "shaw, of queries and keys": {"form": "relative_key_query", "max_positions": 90, "per_head": True},
    "shaw, one table": {"form": "relative_key_query", "max_positions": 90},
}
PLACES = {
    "even": lambda n: positions.sequence(n),
    "padded": lambda n: positions.padded(torch.arange(n) >= torch.tensor([[0], [7], [30]])),
    "shuffled": lambda n: positions.timed(torch.randperm(n, generator=torch.Generator().manual_seed(0))),
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


@pytest.mark.parametrize("label", CASES)
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("gradient", [False, True])
def test_wherever_the_keys_are_and_whoever_shares_them(label: str, places: str, queries: int, gradient: bool):
    encoding, n = made(label), 90
    groups = 2 if "shared" in label else 1
    sizes = ((2, queries), (groups, n), (groups, n))
    q, k, v = (torch.randn(3, heads, size, 16, dtype=torch.float64) for heads, size in sizes)
    pos, outcomes = PLACES[places](n), []
    for backend in ("sdpa", "reference"):
        with torch.set_grad_enabled(gradient):
            for tensor in (q, k):
                tensor.requires_grad_(gradient)
            out = attend(q, k, v, encoding, pos.tokens(n - queries, n), pos, mask=CAUSAL, backend=backend)
            learned = [q, k, *encoding.parameters()] if gradient else []
            outcomes.append([out, *torch.autograd.grad(out.square().sum(), learned)] if gradient else [out])
    assert all((a - b).abs().max() < 1e-11 for a, b in zip(*outcomes, strict=True))


@pytest.mark.parametrize("label", ["deberta", "shaw"])
@pytest.mark.parametrize("places", ["even", "padded"])
def test_one_query_makes_no_product_of_all_keys_with_all_rows(label: str, places: str):
    options = {"deberta": {"span": 512}, "shaw": {"form": "relative_key_query", "max_positions": 512}}[label]
    encoding, n = build(named(label), SHAPE, **options), 300
    pos = PLACES[places](n)
    q, k, v = (torch.randn(3, 2, size, 16) for size in (1, n, n))
    with torch.no_grad(), Largest() as largest:
        attend(q, k, v, encoding, pos.tokens(n - 1, n), pos)
    assert largest.elements < n * 512

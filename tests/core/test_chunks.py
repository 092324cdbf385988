"""Queries by chunks and keys by blocks, as without gradients: the same numbers as all at once, for every encoding."""

import pytest
import torch

from gnomon import pairs, positions, products
from gnomon.attention import attend
from gnomon.backends import far, pairwise, sdpa, tabled
from gnomon.masks import Mask
from tests.core.common import anywhere, every_variant, gap, heads, label, make, weigh

N = 11
SIZES = [
    (sdpa, "CHUNK", 4), (pairwise, "BIASES", 30), (pairwise, "ALL_HEADS", 200), (tabled, "FLIPPED", 100),
    (sdpa, "SHARED", 1),
    (products, "BLOCK", 3), (pairs, "AT_ONCE", 20), (far, "LEAST", 2), (tabled, "WORTH", 1e-9),
]  # fmt: skip
"""Small ones, so that a few tokens meet every way to divide them."""


@pytest.mark.parametrize("variant", every_variant(), ids=label)
def test_chunks_give_what_the_whole_gives(variant, monkeypatch):
    name, options = variant
    encoding = weigh(make(name, **options).double())
    q, k, v = heads(N)
    places = [anywhere(encoding, 2, N)]
    if encoding.domain.axes in (None, 1):
        places += [positions.sequence(N), positions.packed([4, N - 4])]
    masks = [Mask(), Mask(window=3)] + ([Mask(causal=False)] if encoding.causal is not True else [])
    for pos in places:
        for mask in masks:
            whole = attend(q, k, v, encoding, pos, mask=mask)
            with torch.no_grad(), monkeypatch.context() as patch:
                for module, size, value in SIZES:
                    patch.setattr(module, size, value)
                assert gap(attend(q, k, v, encoding, pos, mask=mask), whole) < 1e-12


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    "name", ["alibi", "t5", "kerple", "fire", "relative_bias", "shaw", "deberta", "transformer_xl"]
)
def test_parts_of_the_size_that_they_have(name, causal):
    """1100 tokens: evenly spaced, anywhere, and two documents; the last hundred rows of the definition."""
    encoding, some = weigh(make(name, causal=causal).double()), slice(1000, 1100)
    places = torch.randperm(3000, generator=torch.Generator().manual_seed(5))[:1100].sort().values
    q, k, v = heads(1100)
    with torch.no_grad():
        for pos in (positions.sequence(1100, 5), positions.timed(places.double()), positions.packed([400, 700])):
            found = attend(q, k, v, encoding, pos, mask=Mask(causal))[:, :, some]
            last, options = pos.tokens(1000, 1100), dict(mask=Mask(causal), backend="reference")
            assert gap(found, attend(q[:, :, some], k, v, encoding, last, pos, **options)) < 1e-11

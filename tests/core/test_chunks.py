"""Queries by chunks and keys by blocks, as without gradients: the same numbers as all at once, for every encoding."""

import pytest
import torch

from gnomon import content, positions
from gnomon.attention import attend
from gnomon.backends import sdpa
from gnomon.masks import Mask
from tests.core.common import anywhere, every_variant, gap, heads, label, make, weigh

N = 11


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
                patch.setattr(sdpa, "CHUNK", 4)
                patch.setattr(content, "BLOCK", 3)
                assert gap(attend(q, k, v, encoding, pos, mask=mask), whole) < 1e-12

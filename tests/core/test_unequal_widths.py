"""Values that are narrower, or wider, than keys: filled up with zeros, or by weights where queries are few."""

import itertools

import pytest
import torch

from gnomon.backends import fused as module
from gnomon.backends.fused import fused


def told(q, k, v, scale, mask):
    """By the formula; what sees no key receives zeros."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    logits = scale * q @ k.mT
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else logits + mask
    return logits.softmax(-1).nan_to_num(0.0) @ v


MASKS = {
    "none": lambda: None,
    "bools": lambda: torch.rand(3, 1, 2, 9) > 0.5,
    "numbers": lambda: torch.randn(1, 4, 2, 9, dtype=torch.float64),
    "nothing is seen": lambda: torch.tensor([True, False])[None, None, :, None].expand(3, 1, 2, 9),
    "minus infinity": lambda: torch.tensor([0.0, -torch.inf]).double()[None, None, :, None].expand(1, 1, 2, 9),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("wide", "narrow", "groups"), [(12, 5, 4), (5, 12, 4), (64, 8, 2), (6, 6, 2)])
def test_as_the_formula_says(mask, wide, narrow, groups):
    q, k = (torch.randn(3, heads, n, wide, dtype=torch.float64) for heads, n in ((4, 2), (groups, 9)))
    v, given = torch.randn(3, groups, 9, narrow, dtype=torch.float64), MASKS[mask]()
    out = fused(q, k, v, 0.3, attn_mask=given)
    assert (out - told(q, k, v, 0.3, given)).abs().max() < 1e-12


def test_few_queries_fill_up_nothing(monkeypatch):
    """Unless there is a gradient, whose kernel keeps no weights, or 16 bits, in which it would round them."""
    filled = []
    monkeypatch.setattr(module, "alike", lambda q, k, v, alike=module.alike: filled.append(None) or alike(q, k, v))

    def fills(queries=1, dtype=torch.float32, gradient=False):
        filled.clear()
        q = torch.randn(1, 4, queries, 16, dtype=dtype, requires_grad=gradient)
        k, v = (torch.randn(1, 4, 9, width, dtype=dtype) for width in (16, 8))
        fused(q, k, v, 0.3)
        return bool(filled)

    assert not fills() and not fills(8)
    assert fills(9) and fills(dtype=torch.bfloat16) and fills(gradient=True)
    with torch.no_grad():
        assert not fills(gradient=True)


def test_a_causal_kernel_stays_causal():
    q, k, v = (torch.randn(1, 2, 3, width) for width in (8, 8, 6))
    causal = torch.ones(3, 3, dtype=torch.bool).tril()
    for queries, bits in itertools.product((1, 3), (torch.float32, torch.float64)):
        some = [t.to(bits) for t in (q[:, :, :queries], k, v)]
        out = fused(*some, 0.3, is_causal=True)
        assert (out - told(*some, 0.3, causal[None, None, :queries])).abs().max() < 1e-5

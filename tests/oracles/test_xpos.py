"""XPos against x-transformers 2.31.10 and rotary-embedding-torch 0.9.1, and against numbers worked out by hand."""

import math

import pytest
import torch

from gnomon.attention import Attention, attend
from gnomon.encodings.xpos import XPos
from gnomon.kv_cache import Cache
from gnomon.positions import Positions, sequence
from tests.oracles.others import close, float32_angle, normal, require

require("x-transformers")
require("rotary-embedding-torch")

import rotary_embedding_torch  # noqa: E402
from x_transformers import x_transformers  # noqa: E402

HEAD_DIM = 12


def products(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """What a query meets in the past, itself included."""
    return (q @ k.mT).tril()


def ours(xpos: XPos, q: torch.Tensor, k: torch.Tensor, pos: Positions) -> torch.Tensor:
    prepared = xpos.prepare(pos, pos, torch.float64)
    return products(xpos.query(q, prepared), xpos.key(k, prepared))


@pytest.mark.parametrize("base", [512, 64])
def test_x_transformers(base):
    """RotaryEmbedding(use_xpos=True): another constant in the exponent, the same products."""
    q, k = normal(2, 3, 9, HEAD_DIM, seed=1), normal(2, 3, 9, HEAD_DIM, seed=2)
    rotary = x_transformers.RotaryEmbedding(HEAD_DIM, use_xpos=True, scale_base=base)
    freqs, scale = rotary(torch.arange(9.0)[None])
    turned = [x_transformers.apply_rotary_pos_emb(x, freqs, s) for x, s in ((q, scale), (k, scale**-1))]
    # Products of two vectors of twelve, each off by the angle and by the power.
    close(ours(XPos(HEAD_DIM, scale_base=float(base), longest=64), q, k, sequence(9)), products(*turned),
          30 * float32_angle(9))  # fmt: skip


def test_rotary_embedding_torch():
    q, k = normal(2, 3, 9, HEAD_DIM, seed=1), normal(2, 3, 9, HEAD_DIM, seed=2)
    rotary = rotary_embedding_torch.RotaryEmbedding(dim=HEAD_DIM, use_xpos=True, cache_if_possible=False)
    turned = rotary.rotate_queries_and_keys(q, k)
    close(ours(XPos(HEAD_DIM, longest=64), q, k, sequence(9)), products(*turned), 30 * float32_angle(9))


def test_by_hand():
    """d = 4: zeta is 0.4 / 1.4 and 0.9 / 1.4, frequencies are 1 and 0.01; at a distance of 256, half of each power."""
    q, k = torch.zeros(2, 1, 1, 1, 4, dtype=torch.float64)
    q[..., 0] = q[..., 2] = k[..., 0] = k[..., 2] = 1
    q_pos, k_pos = sequence(1, 300), sequence(1, 44)
    expected = math.sqrt(2 / 7) * math.cos(256) + math.sqrt(9 / 14) * math.cos(2.56)
    xpos = XPos(4)
    turned_q = xpos.query(q, xpos.prepare(q_pos, k_pos, torch.float64))
    turned_k = xpos.key(k, xpos.prepare(k_pos, k_pos, torch.float64))
    assert (turned_q @ turned_k.mT).item() == pytest.approx(expected, abs=1e-14)
    assert xpos.score(q, k, q_pos, k_pos).item() == pytest.approx(expected / 2, abs=1e-14)


@pytest.mark.parametrize("n", [8, 1024])
def test_a_cached_step_is_that_of_the_full_pass(n):
    """All that ever meet share one constant, cached or not: exact, where a constant for each call is off."""
    module = Attention(24, 2, XPos(HEAD_DIM, longest=2048)).double()
    x = normal(1, n, 24)
    cache = Cache(n)
    module(x[:, :-1], cache=cache)
    close(module(x[:, -1:], cache=cache), module(x)[:, -1:])


def test_long_texts_stay_finite_in_float32_and_bfloat16():
    """Powers that an implementation with S = 64 loses from 9064 positions on."""
    for scale_base, longest in ((64.0, 8000), (512.0, 60_000)):
        xpos = XPos(HEAD_DIM, scale_base=scale_base, longest=longest)
        pos = Positions(torch.linspace(0, longest - 1, 50).floor().double()[None, :, None])
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.05)):
            q, k, v = (normal(1, 2, 50, HEAD_DIM, seed=i).to(dtype) for i in range(3))
            expected = attend(q.double(), k.double(), v.double(), xpos, pos, backend="reference")
            close(attend(q, k, v, xpos, pos), expected, tolerance)


def test_what_was_computed_before_leaves_no_trace():
    xpos, q, k = XPos(HEAD_DIM), normal(1, 2, 5, HEAD_DIM), normal(1, 2, 5, HEAD_DIM, seed=1)
    before = ours(xpos, q, k, sequence(5))
    xpos.prepare(sequence(500), sequence(500), torch.float32)
    assert torch.equal(ours(xpos, q, k, sequence(5)), before)

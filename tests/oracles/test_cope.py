"""CoPE against CoPE of x-transformers 2.31.10, and numbers of the authors' released code (facebookresearch/RAM)."""

import pytest
import torch

from gnomon.attention import attend
from gnomon.encodings.cope import Cope
from gnomon.masks import CAUSAL, Mask
from gnomon.positions import sequence
from tests.oracles.others import close, copy, normal, require, weigh

require("x-transformers")

from x_transformers.x_transformers import CoPE  # noqa: E402

ROWS, HEADS, TOKENS, HEAD_DIM = 2, 3, 11, 8


def test_golden():
    """Two dimensions, six rows e_m = (0.2 m, 0.2 m + 0.1), logits given: what is read at the counted positions."""
    encoding = Cope(2, max_positions=6).double()
    m = torch.arange(6, dtype=torch.float64)
    copy({encoding.weight: torch.stack([0.2 * m, 0.2 * m + 0.1], dim=-1)})
    q = torch.tensor([[1, 0], [0, 1], [1, 1], [2, -1]], dtype=torch.float64)[None, None]
    logits = torch.full((4, 4), -torch.inf, dtype=torch.float64)
    for i, given in enumerate([[0], [0, 0], [2, -2, 0], [1, 0, -1, 3]]):
        logits[i, : i + 1] = torch.tensor(given)
    found = encoding.read(q, encoding.count(logits.sigmoid()[None, None], sequence(4), sequence(4)))[0, 0]
    golden = [[0.1], [0.3, 0.2], [0.7, 0.3477, 0.3], [0.3905, 0.2443, 0.1443, 0.0905]]
    for i, expected in enumerate(golden):
        assert (found[i, : i + 1] - torch.tensor(expected, dtype=torch.float64)).abs().max() < 5e-5


@pytest.mark.parametrize("max_positions", [64, 5, 1])
@pytest.mark.parametrize("window", [None, 4])
def test_x_transformers(max_positions, window):
    """It adds the term to scaled, masked logits, undivided; past the table it stays at the last row."""
    their = weigh(CoPE(HEAD_DIM, HEADS, max_positions))
    our = Cope(HEAD_DIM, max_positions, divided=False).double()
    copy({our.weight: their.pos_emb})
    q, k, v = (normal(ROWS, HEADS, TOKENS, HEAD_DIM, seed=seed) for seed in range(3))
    i, j = torch.arange(TOKENS)[:, None], torch.arange(TOKENS)
    hidden = (j > i) | (i - j >= (window or TOKENS))
    logits = (q @ k.mT / HEAD_DIM**0.5).masked_fill(hidden, -torch.finfo(torch.float64).max)
    expected = (logits + their(q, logits)).softmax(-1) @ v
    mask = CAUSAL if window is None else Mask(window=window)
    close(attend(q, k, v, our, mask=mask), expected, 1e-13)
    close(attend(q, k, v, our, sequence(TOKENS, 1_000_000, step=0.5), mask=mask), expected, 1e-13)


def test_the_two_ways_of_adding():
    """Divided by sqrt(d) with the logits, or not: the same as a table smaller by that factor."""
    ours = [Cope(HEAD_DIM, 16, divided=divided).double() for divided in (True, False)]
    table = normal(16, HEAD_DIM)
    copy({ours[0].weight: table, ours[1].weight: table * HEAD_DIM**-0.5})
    q, k, v = (normal(ROWS, HEADS, TOKENS, HEAD_DIM, seed=seed) for seed in range(3))
    close(attend(q, k, v, ours[0]), attend(q, k, v, ours[1]), 1e-13)

"""FIRE against numbers of a public implementation (mcleish7/arithmetic, FIRE), and its module written with torch's."""

import pytest
import torch
from torch import nn

from gnomon.encodings.fire import Fire
from gnomon.pairs import dense
from gnomon.positions import sequence
from tests.oracles.others import close, normal, weigh

GOLDEN = {512.0: [0.0663, 0.0461, 0.0241, 0.0], 2.0: [1.0, 0.6949, 0.3633, 0.0]}


@pytest.mark.parametrize("start", GOLDEN)
def test_ratios_of_the_last_row_of_four(start):
    """c = 0.1 and mu = 1, as built."""
    found = Fire(3, start=start).double().ratio(sequence(1, 3), sequence(4))[0, 0]
    assert (found - torch.tensor(GOLDEN[start], dtype=torch.float64)).abs().max() < 5e-5


@pytest.mark.parametrize("c, mu", [(0.1, 1.0), (-0.7, 0.02), (3.0, -0.004)])
def test_the_bias(c, mu):
    """An MLP of torch's modules on ratios worked out beside it; c and mu count by their size."""
    encoding = weigh(Fire(3, start=512.0))
    nn.init.constant_(encoding.c, c)
    nn.init.constant_(encoding.mu, mu)
    n = 12
    i, j = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(n, dtype=torch.float64)
    rise = ((c * (i - j)).abs() + 1).log()
    length = torch.maximum(i, torch.tensor(abs(mu * 512.0), dtype=torch.float64))
    ratio = rise / (((c * length).abs() + 1).log() + 1e-6)
    network = nn.Sequential(encoding.hidden, nn.ReLU(), encoding.out)
    expected = network(ratio[..., None]).permute(2, 0, 1)
    empty = torch.empty(0, dtype=torch.float64)
    found = dense(encoding.bias(empty, empty, sequence(n), sequence(n)), 1, 3, n, n)[0]
    close(found, expected, 1e-12)
    q, k = normal(1, 3, n, 4), normal(1, 3, n, 4, seed=1)
    close(encoding.score(q, k, sequence(n), sequence(n))[0], (q @ k.mT)[0] / 2 + expected, 1e-12)

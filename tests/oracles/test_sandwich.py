"""Sandwich against numbers of NeMo's (SandwichRelativePositionEmbedding), and against sinusoids' inner products."""

import pytest
import torch

from gnomon.encodings.sandwich import Sandwich
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.pairs import dense
from gnomon.positions import Positions, sequence
from tests.oracles.others import close, normal

EMPTY = torch.empty(0, dtype=torch.float64)


def bias(encoding: Sandwich, q_pos: Positions, k_pos: Positions) -> torch.Tensor:
    return dense(encoding.bias(EMPTY, EMPTY, q_pos, k_pos), 1, encoding.heads, q_pos.length, k_pos.length)[0]


def test_golden():
    """Width 4, exponents from 0: the sum of cosines at distances 3, 2, 1, 0."""
    found = bias(Sandwich(1, size=4, first=0), sequence(1, 3), sequence(4))[0, 0] * 8 + 2
    assert (found - torch.tensor([0.0096, 0.5837, 1.5403, 2.0], dtype=torch.float64)).abs().max() < 5e-5


@pytest.mark.parametrize("width", [4, 32, 128])
def test_inner_products_of_sinusoids(width):
    """Up to a constant, and divided by 8 h / H, at positions of every kind."""
    pos = Positions(300 * normal(1, 9, 1))
    table = Sinusoidal(width).absolute(pos)[0].double()
    encoding = Sandwich(3, size=width, first=0)
    for h in range(3):
        close(bias(encoding, pos, pos)[h] * 8 * (h + 1) / 3 + width / 2, table @ table.T, 1e-11)


def test_exponents_from_1_leave_out_the_frequency_1():
    """As in the paper and in NeMo: 10000^{-2n/w} for n = 1 .. w/2, so the slowest is 10^-4 and the fastest below 1."""
    pos, w = sequence(1, 5), 8
    expected = sum(torch.cos(torch.tensor(5.0 * 10000 ** (-2 * n / w), dtype=torch.float64)) for n in (1, 2, 3, 4))
    close(bias(Sandwich(1, size=w), pos, sequence(1))[0, 0, 0], (expected - w / 2) / 8, 1e-14)

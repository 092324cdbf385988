"""KERPLE against numbers of the authors' released code (chijames/KERPLE, ParallelKerpleLog and ParallelKerplePower)."""

import math

import pytest
import torch

from gnomon.encodings.kerple import Kerple
from gnomon.pairs import dense
from gnomon.positions import Positions, sequence
from tests.oracles.others import close

EMPTY = torch.empty(0, dtype=torch.float64)


def released(kernel: str, a: list[float], p: list[float]) -> Kerple:
    encoding = Kerple(len(a), kernel).double()
    encoding.assign(torch.tensor(a, dtype=torch.float64), torch.tensor(p, dtype=torch.float64))
    return encoding


def row(encoding: Kerple, q_pos: Positions, k_pos: Positions) -> torch.Tensor:
    return dense(encoding.bias(EMPTY, EMPTY, q_pos, k_pos), 1, encoding.heads, q_pos.length, k_pos.length)[0]


GOLDEN = {
    "log": (2.0, 0.5, [-0.9730, -0.8047, -0.5493, 0.0]),
    "power": (0.5, 1.5, [-2.5981, -1.4142, -0.5, 0.0]),
}


@pytest.mark.parametrize("kernel", GOLDEN)
def test_the_last_row_of_four(kernel):
    a, p, expected = GOLDEN[kernel]
    found = row(released(kernel, [a], [p]), sequence(1, 3), sequence(4))[0, 0]
    assert (found - torch.tensor(expected, dtype=torch.float64)).abs().max() < 5e-5


@pytest.mark.parametrize("kernel", GOLDEN)
def test_every_head_has_its_own_numbers(kernel):
    """The formula in Python floats, at positions in no order, on either side, and far away."""
    a, p = [0.02, 0.3, 0.999], [0.02, 1.2, 1.9]
    at = [-3.5, 0.0, 2.25, 300.0, 1e6]
    pos = Positions(torch.tensor(at, dtype=torch.float64)[None, :, None])
    found = row(released(kernel, a, p), pos, pos)
    for h, (a_h, p_h) in enumerate(zip(a, p, strict=True)):
        for i, x in enumerate(at):
            for j, y in enumerate(at):
                apart = abs(x - y)
                value = p_h * math.log1p(a_h * apart) if kernel == "log" else a_h * apart**p_h
                close(found[h, i, j], torch.tensor(-value, dtype=torch.float64), 1e-11)


def test_what_the_released_code_would_clamp():
    """Below 0.01 it is 0.01; the power is at most 2. What is stored lies 1e-4 inside, where a gradient moves it."""
    low, high = released("power", [0.0, 0.0], [0.0, 7.0]).numbers()
    assert low.tolist() == pytest.approx([0.0101, 0.0101], abs=1e-12)
    assert high.tolist() == pytest.approx([0.01, 1.9998], abs=1e-12)
    a, p = released("log", [0.0, 3.0], [0.0, 7.0]).numbers()
    assert a.tolist() == pytest.approx([0.0101, 3.0], abs=1e-12)
    assert p.tolist() == pytest.approx([0.0101, 7.0], abs=1e-12)

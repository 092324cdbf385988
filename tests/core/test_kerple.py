"""KERPLE: what trains, what is stored, what precision costs, and the options that are refused."""

import pytest
import torch

from gnomon.attention import attend
from gnomon.encodings.kerple import LEAST, Kerple
from gnomon.errors import OptionError
from gnomon.kv_cache import Cache
from gnomon.pairs import dense
from gnomon.positions import grid, sequence
from tests.core.common import HEADS, gap, make, model, tokens

EMPTY = torch.empty(0)


def bias(encoding: Kerple, q_pos, k_pos) -> torch.Tensor:
    return dense(encoding.bias(EMPTY, EMPTY, q_pos, k_pos), 1, encoding.heads, q_pos.length, k_pos.length)[0]


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_as_built_it_is_there_and_trains(kernel):
    """A revision elsewhere began with zeros that were no parameter: no positions, in no state_dict, never trained."""
    torch.manual_seed(0)
    encoding = Kerple(HEADS, kernel)
    assert set(encoding.state_dict()) == {"raw_a", "raw_p"}
    assert (bias(encoding, sequence(9), sequence(9))[:, 8, :8] < 0).all()
    q = torch.randn(2, HEADS, 9, 8)
    attend(q, q, q, encoding).square().sum().backward()
    assert all((p.grad != 0).all() and torch.isfinite(p.grad).all() for p in encoding.parameters())


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_initial_values(kernel):
    """Uniform in (0, 1) and (0, 2), what lies under the least moved up to it."""
    torch.manual_seed(0)
    a, p = Kerple(4000, kernel).numbers()
    assert a.min() >= LEAST and a.max() < 1.001 and a.mean().item() == pytest.approx(0.5, abs=0.03)
    assert p.min() >= LEAST * 0.99 and p.max() < 2.001 and p.mean().item() == pytest.approx(1.0, abs=0.06)


def test_a_power_never_exceeds_two():
    encoding = Kerple(1, "power").double()
    torch.nn.init.constant_(encoding.raw_p, 1e6)
    assert encoding.numbers()[1].item() == 2.0
    assert torch.isfinite(bias(encoding, sequence(1, 1e6), sequence(1))).all()


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_bfloat16_tells_distances_past_256_apart(kernel):
    """Distances cast to the logits' precision merge: bfloat16 has 407 numbers for 0 .. 599."""
    encoding = Kerple(HEADS, kernel).bfloat16()
    penalties = bias(encoding, sequence(1, 599), sequence(600))[:, 0]
    assert penalties.dtype == torch.float64
    assert all(row.unique().numel() == 600 for row in penalties)


@pytest.mark.parametrize("kernel", ["log", "power"])
@pytest.mark.parametrize("chunk", [1, 3])
def test_cached_rows_are_those_of_the_queries(kernel, chunk):
    """Elsewhere: one query at a time only, or the top-left corner of the matrix."""
    net, token, cache = model(make("kerple", kernel=kernel)), tokens(2, 9), Cache(9)
    parts = [net(token[:, start : start + chunk], cache=cache) for start in range(0, 9, chunk)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_on_a_grid_the_distance_is_euclidean(kernel):
    encoding = Kerple(2, kernel).double()
    found = bias(encoding, grid(4, 5), grid(4, 5))
    line = bias(encoding, sequence(1), sequence(6))[:, 0]
    assert gap(found[:, 0, 3 * 5 + 4], line[:, 5]) < 1e-14
    assert gap(found[:, 0, 5:10:5], line[:, 1:2]) < 1e-14


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_no_gradient_is_lost_at_distance_zero(kernel):
    encoding = Kerple(2, kernel).double()
    value = bias(encoding, sequence(1), sequence(1))
    value.sum().backward()
    assert (value == 0).all() and all(torch.isfinite(p.grad).all() for p in encoding.parameters())


def test_assigned_numbers_come_back():
    a, p = torch.tensor([0.02, 0.7, 30.0]), torch.tensor([0.05, 1.3, 1.99])
    for kernel in ("log", "power"):
        encoding = Kerple(3, kernel).double()
        encoding.assign(a, p)
        found = encoding.numbers()
        assert gap(found[0], a.double()) < 1e-12 and gap(found[1], p.double()) < 1e-12


@pytest.mark.parametrize("options", [dict(heads=0), dict(heads=2, kernel="exponential")], ids=str)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        Kerple(**options)
    assert error.value.given is not None and error.value.allowed


@pytest.mark.parametrize("a", [[1.0], [1.0, -1.0], [1.0, float("nan")]], ids=str)
def test_numbers_that_are_not_one_positive_for_each_head(a):
    with pytest.raises(OptionError):
        Kerple(2).assign(torch.tensor(a), torch.ones(2))

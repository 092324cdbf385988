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

EMPTY = torch.empty(0, dtype=torch.float64)


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


@pytest.mark.parametrize("a", [[1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")]], ids=str)
def test_numbers_that_are_negative_or_not_finite(a):
    with pytest.raises(OptionError, match="negative") as error:
        Kerple(2).assign(torch.tensor(a), torch.ones(2))
    assert error.value.allowed.startswith("0 or more")


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 1)], ids=str)
def test_numbers_that_are_not_one_for_each_head(shape):
    with pytest.raises(OptionError, match="one number `p` for each head") as error:
        Kerple(2).assign(torch.ones(2), torch.ones(shape))
    assert error.value.allowed == "[2]" and str(list(shape)) in error.value.given


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_what_lies_at_a_bound_still_learns(kernel):
    """At the bound itself the slope is 0: released numbers there are stored a little inside."""
    encoding = Kerple(2, kernel).double()
    encoding.assign(torch.tensor([0.0, 0.01]), torch.tensor([0.0, 2.0]))
    sum(numbers.sum() for numbers in encoding.numbers()).backward()
    assert (encoding.raw_a.grad > 5e-5).all() and (encoding.raw_p.grad > 5e-5).all()


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_definition_and_lowering_have_the_same_bounds(kernel):
    """Stored numbers far beyond any that training reaches, where the two are written apart."""
    encoding = Kerple(5, kernel).double()
    for raw in (encoding.raw_a, encoding.raw_p):
        with torch.no_grad():
            raw.copy_(torch.tensor([-100.0, -40.0, 0.3, 40.0, 100.0]))
    pos, q = sequence(4), torch.zeros(1, 5, 4, 8, dtype=torch.float64)
    assert gap(encoding.score(q, q, pos, pos)[0], bias(encoding, pos, pos)) < 1e-14

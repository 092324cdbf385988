"""Learned tables: each policy beyond the table against rows worked out by hand, and the errors that name them."""

from dataclasses import replace

import pytest
import torch

from gnomon.encodings.learned import Learned
from gnomon.errors import OptionError, PositionError
from gnomon.positions import grid, padded, sequence
from tests.core.common import at, gap, model, normal, tokens

ROWS, WIDTH = 4, 3


def learned(**options) -> Learned:
    """A table whose row r is (10 r, 10 r + 1, -r)."""
    encoding = Learned(WIDTH, ROWS, **options).double()
    r = torch.arange(ROWS, dtype=torch.float64)
    with torch.no_grad():
        encoding.weight.copy_(torch.stack([10 * r, 10 * r + 1, -r], dim=-1))
    return encoding


def row(r: float) -> list[float]:
    return [10 * r, 10 * r + 1, -r]


def added(encoding: Learned, places: list[float]) -> torch.Tensor:
    pos = at(places)
    found = encoding.embed(torch.zeros(1, len(places), WIDTH, dtype=torch.float64), pos)
    assert gap(found, encoding.absolute(pos)) < 1e-14
    return found[0]


GOLDEN = {
    "raise": (dict(), [0, 1, 3, 3], [0, 1, 3, 3]),
    "clamp": (dict(beyond="clamp"), [-7, -1, 0, 2, 3, 4, 1000], [0, 0, 0, 2, 3, 3, 3]),
    "wrap": (dict(beyond="wrap"), [-5, -1, 0, 3, 4, 9, 4000], [3, 3, 0, 3, 0, 1, 0]),
    # x = p (M - 1) / (longest - 1) = p / 2, linear between rows.
    "interpolate": (dict(beyond="interpolate", longest=7), [0, 1, 2, 3, 5, 6, 4.5], [0, 0.5, 1, 1.5, 2.5, 3, 2.25]),
    "interpolate by nothing": (dict(beyond="interpolate", longest=4), [0, 1, 2.5, 3], [0, 1, 2.5, 3]),
}


@pytest.mark.parametrize("policy", GOLDEN)
def test_policies(policy):
    options, places, rows = GOLDEN[policy]
    expected = torch.tensor([row(r) for r in rows], dtype=torch.float64)
    assert gap(added(learned(**options), places), expected) < 1e-15


def test_a_table_of_one_row():
    encoding = Learned(WIDTH, 1, beyond="interpolate", longest=5).double()
    found = encoding.embed(torch.zeros(1, 3, WIDTH, dtype=torch.float64), at([0, 2.5, 4]))
    assert torch.equal(found[0], encoding.weight.expand(3, -1))
    assert Learned(WIDTH, 1).embed(torch.zeros(1, 1, WIDTH), sequence(1)).shape == (1, 1, WIDTH)


OUTSIDE = {
    "past the end": (dict(), 4, "0 to 3"),
    "before the start": (dict(), -1, "0 to 3"),
    "between rows": (dict(), 1.5, "whole"),
    "between rows, clamped": (dict(beyond="clamp"), 1.5, "whole"),
    "between rows, wrapped": (dict(beyond="wrap"), -0.5, "whole"),
    "past the stretched end": (dict(beyond="interpolate", longest=7), 6.5, "0 to 6"),
    "before the stretched start": (dict(beyond="interpolate", longest=7), -0.5, "0 to 6"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_positions_outside(case):
    options, place, allowed = OUTSIDE[case]
    with pytest.raises(PositionError) as error:
        learned(**options).embed(torch.zeros(1, 3, WIDTH, dtype=torch.float64), at([1, place, 2]))
    assert f"{place:g}" in str(error.value.given)
    assert allowed in str(error.value.allowed)
    assert error.value.do


def test_a_model_past_its_table_says_what_to_do():
    net = model(Learned(48, 8))
    assert net(tokens(2, 8)).shape == (2, 8, 29)
    with pytest.raises(PositionError, match="max_positions"):
        net(tokens(2, 9))
    with pytest.raises(PositionError, match="position 10"):
        net(tokens(2, 8), sequence(8, 3))


def test_padding_is_never_outside():
    """What lies in the padding is not looked up, whatever coordinates it has."""
    encoding = learned()
    real = torch.tensor([[True, True, False], [False, True, True]])
    pos = padded(real)
    elsewhere = pos.coords.where(real[..., None], 99.5)
    x = normal(2, 3, WIDTH)
    found = encoding.embed(x, replace(pos, coords=elsewhere)) - x
    expected = torch.tensor([[row(0), row(1)], [row(0), row(1)]], dtype=torch.float64)
    assert gap(found[real].reshape(2, 2, WIDTH), expected) < 1e-14


def test_only_rows_looked_up_are_trained():
    encoding = learned()
    encoding.embed(torch.zeros(1, 3, WIDTH, dtype=torch.float64), at([1, 3, 1])).sum().backward()
    assert encoding.weight.grad[:, 0].tolist() == [0, 2, 0, 1]


def test_a_line_is_no_grid():
    with pytest.raises(PositionError, match="axes"):
        model(Learned(48, 50))(tokens(1, 6), grid(2, 3))
    with pytest.raises(PositionError, match="axes"):
        model(Learned(48, 50, axes=2))(tokens(1, 6))


def test_rows_and_columns_have_tables_of_their_own():
    """A grid that is not square, after a class token that has no place."""
    encoding = Learned(1, 4, axes=2).double()
    with torch.no_grad():
        encoding.weight.copy_(torch.tensor([0.0, 10, 20, 30, 1, 2, 3, 4])[:, None])
    pos = grid(2, 4, prefix=1)
    found = encoding.embed(torch.zeros(1, 9, 1, dtype=torch.float64), pos)
    assert found[0, :, 0].tolist() == [0, 1, 2, 3, 4, 11, 12, 13, 14]
    assert gap(found, encoding.absolute(pos)) == 0
    long = encoding.resized(7)
    assert long.weight[:, 0].tolist() == [0, 5, 10, 15, 20, 25, 30, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert long.axes == 2


def test_the_scale_multiplies_what_is_added_and_stays_when_resized():
    for options in (dict(), dict(beyond="interpolate", longest=7)):
        places = [0, 1, 3]
        assert gap(added(learned(**options, scale=3.0), places), 3.0 * added(learned(**options), places)) < 1e-14
    long = learned(scale=3.0).resized(7)
    assert gap(long.weight, learned().resized(7).weight) == 0
    assert gap(added(long, [6]), 3.0 * torch.tensor([row(3)], dtype=torch.float64)) < 1e-14


def test_each_axis_ends_where_its_table_does():
    encoding = Learned(6, 4, axes=2)
    encoding.embed(torch.zeros(1, 16, 6), grid(4, 4))
    for rows, columns in ((5, 4), (4, 5)):
        with pytest.raises(PositionError, match="position 4"):
            encoding.embed(torch.zeros(1, rows * columns, 6), grid(rows, columns))


@pytest.mark.parametrize(
    "options",
    [dict(max_positions=0), dict(axes=0), dict(beyond="extrapolate"), dict(longest=9), dict(beyond="interpolate"),
     dict(max_positions=4, beyond="interpolate", longest=3), dict(beyond="clamp", longest=2000), dict(scale=0.0),
     dict(scale=-1.0), dict(scale=float("inf")), dict(scale=float("nan"))],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        Learned(8, **options)
    assert error.value.given is not None

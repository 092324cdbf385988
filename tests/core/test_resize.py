"""Resized tables: sizes and never factors, prefix rows, grids that are not square, and hand-made numbers."""

import pytest
import torch

from gnomon.encodings.learned import Learned
from gnomon.encodings.resize import resize_grid, resize_line
from gnomon.errors import OptionError
from gnomon.positions import sequence
from tests.core.common import gap, normal


def plane(rows: int, columns: int, prefix: int = 0) -> torch.Tensor:
    """A table whose entry at (row, column) is (row, 100 column); the prefix is -1, -2, ..."""
    place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).double() * torch.tensor([1.0, 100.0])
    return torch.cat([-torch.arange(1.0, prefix + 1)[:, None].expand(-1, 2).double(), place])


def test_rows_and_columns_keep_their_names():
    """A slope stays a slope: rows change down, columns across. Elsewhere (w, h) for (h, w) went unseen on squares."""
    found = resize_grid(plane(8, 12), (8, 12), (16, 6), antialias=False).unflatten(0, (16, 6))
    assert (found[6:12, :, 0] - found[4:10, :, 0] - 1).abs().max() < 1e-12
    assert (found[:, 3, 1] - found[:, 2, 1] - 200).abs().max() < 1e-10
    assert found[..., 0].diff(dim=1).abs().max() < 1e-12 and found[..., 1].diff(dim=0).abs().max() < 1e-10


@pytest.mark.parametrize("new", [(4, 4), (16, 1), (1, 16), (8, 2)], ids=str)
def test_as_many_places_is_not_the_same_grid(new):
    """Elsewhere an equal count and a square image were taken for nothing to do."""
    found = resize_grid(plane(2, 8), (2, 8), new, antialias=False)
    assert found.shape == (16, 2) and gap(found, plane(2, 8)) > 0.1


def test_the_same_grid_is_a_copy():
    table = plane(3, 5, 2)
    found = resize_grid(table, (3, 5), (3, 5), antialias=True, prefix=2)
    assert torch.equal(found, table) and found.data_ptr() != table.data_ptr()


@pytest.mark.parametrize("old, new", [(14, 61), (14, 115), (14, 122), (37, 39), (37, 43), (37, 78), (37, 115)])
@pytest.mark.parametrize("antialias", [True, False])
def test_sizes_that_a_factor_misses(old, new, antialias):
    found = resize_grid(normal(old * old, 3), (old, old), (new, new), antialias=antialias)
    assert found.shape == (new * new, 3)


@pytest.mark.parametrize("prefix", [0, 1, 5])
def test_prefix_rows_are_kept_bit_for_bit(prefix):
    table = normal(prefix + 15, 4, dtype=torch.bfloat16)
    found = resize_grid(table, (3, 5), (6, 7), antialias=True, prefix=prefix)
    assert found.dtype == torch.bfloat16 and found.shape == (prefix + 42, 4)
    assert torch.equal(found[:prefix], table[:prefix])
    line = resize_line(table, 40, align_corners=False, prefix=prefix)
    assert line.shape == (40, 4) and torch.equal(line[:prefix], table[:prefix])


LINES = {
    (True, 5): [0, 0.5, 1, 1.5, 2],
    (True, 2): [0, 2],
    (True, 1): [0],
    (False, 6): [0, 0.25, 0.75, 1.25, 1.75, 2],
    (False, 1): [1],
    (True, 3): [0, 1, 2],
    (False, 3): [0, 1, 2],
}


@pytest.mark.parametrize("case", LINES, ids=str)
def test_lines_by_hand(case):
    align_corners, length = case
    table = torch.tensor([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]], dtype=torch.float64)
    found = resize_line(table, length, align_corners=align_corners)
    assert gap(found[:, 0], torch.tensor(LINES[case], dtype=torch.float64)) < 1e-15
    assert gap(found[:, 1], 10 * found[:, 0]) < 1e-15


def test_a_row_alone():
    table = normal(1, 4)
    for align_corners in (True, False):
        assert torch.equal(resize_line(table, 3, align_corners=align_corners), table.expand(3, -1))


def test_a_learned_table_of_another_length():
    """What `beyond='interpolate'` reads at whole positions is what the resized table holds."""
    short = Learned(6, 5, beyond="interpolate", longest=9).double()
    long = short.resized(9)
    assert long.max_positions == 9 and long.beyond == "raise"
    x = torch.zeros(1, 9, 6, dtype=torch.float64)
    assert gap(long.embed(x, sequence(9)), short.embed(x, sequence(9))) < 1e-14
    assert torch.equal(Learned(6, 5).resized(5).weight, Learned(6, 5).resized(5).weight) is False
    assert short.resized(9, align_corners=False).weight.requires_grad


def test_gradients_reach_the_old_rows():
    table = normal(15, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: resize_grid(t, (3, 5), (4, 2), antialias=False), table)
    assert torch.autograd.gradcheck(lambda t: resize_line(t, 7, align_corners=True, prefix=2), table)


WRONG = {
    "another grid": lambda: resize_grid(normal(15, 2), (3, 4), (6, 6), antialias=False),
    "a prefix forgotten": lambda: resize_grid(normal(16, 2), (3, 5), (6, 6), antialias=False),
    "no place": lambda: resize_grid(normal(15, 2), (3, 5), (0, 6), antialias=False),
    "nothing but prefix": lambda: resize_line(normal(3, 2), 9, align_corners=True, prefix=3),
    "shorter than the prefix": lambda: resize_line(normal(9, 2), 2, align_corners=True, prefix=2),
    "a negative prefix": lambda: resize_line(normal(9, 2), 2, align_corners=True, prefix=-1),
}


@pytest.mark.parametrize("case", WRONG)
def test_sizes_that_do_not_fit(case):
    with pytest.raises(OptionError) as error:
        WRONG[case]()
    assert error.value.given


def test_antialiasing_and_corners_have_no_default():
    with pytest.raises(TypeError):
        resize_grid(normal(4, 2), (2, 2), (3, 3))
    with pytest.raises(TypeError):
        resize_line(normal(4, 2), 3)

"""The constructors of positions: where tokens are, when they come, which document they belong to."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon import attend, encodings, positions
from gnomon.encoding import Shape
from gnomon.errors import OptionError, PositionError, UserError
from gnomon.masks import CAUSAL, Mask


def line(pos: positions.Positions) -> list:
    """The coordinates of the only axis, row by row."""
    assert pos.axes == 1 and pos.coords.dtype == torch.float64
    return pos.coords[..., 0].tolist()


@pytest.mark.parametrize("start", [0, 7, -3, 10**7])
def test_a_sequence_counts_from_its_start(start):
    pos = positions.sequence(3, start)
    assert line(pos) == [[start, start + 1, start + 2]]
    assert pos.turns().tolist() == [[start, start + 1, start + 2]]
    assert (pos.rows, pos.length, pos.axes) == (1, 3, 1)


def test_a_sequence_may_start_between_whole_numbers():
    assert line(positions.sequence(2, -0.25)) == [[-0.25, 0.75]]


def test_a_sequence_may_start_elsewhere_in_each_row():
    assert line(positions.sequence(2, [0, 5, -1.5])) == [[0, 1], [5, 6], [-1.5, -0.5]]
    assert line(positions.sequence(1, torch.tensor([3, 4]))) == [[3], [4]]


@pytest.mark.parametrize("n", [0, 1])
def test_short_sequences(n):
    pos = positions.sequence(n, 4)
    assert pos.length == n and pos.turns().shape == pos.segments().shape == pos.has_place().shape == (1, n)


def test_far_positions_are_exact():
    """float32 has no 2^24 + 1."""
    assert line(positions.sequence(2, 2**24)) == [[2.0**24, 2.0**24 + 1]]


@pytest.mark.parametrize("restart", [True, False])
def test_packed(restart):
    pos = positions.packed([2, 1, 3], restart=restart)
    assert line(pos) == [[0, 1, 0, 0, 1, 2] if restart else [0, 1, 2, 3, 4, 5]]
    assert pos.segments().tolist() == [[0, 0, 1, 2, 2, 2]]
    assert pos.turns().tolist() == [[0, 1, 2, 3, 4, 5]]


def test_padded_on_either_side_and_in_between():
    mask = torch.tensor([[1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    pos = positions.padded(mask)
    assert pos.segments().tolist() == [[0, 0, 0, -1], [-1, -1, 0, 0], [0, -1, 0, -1], [-1, -1, -1, -1]]
    real = [[p for p, m in zip(row, kept) if m] for row, kept in zip(line(pos), mask.tolist())]
    assert real == [[0, 1, 2], [0, 1], [0, 1], []]
    assert torch.isfinite(pos.coords).all()


@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 2), (1, 4)])
def test_a_grid_is_read_row_by_row(rows, columns):
    pos = positions.grid(rows, columns)
    assert pos.coords[0].tolist() == [[y, x] for y in range(rows) for x in range(columns)]
    assert pos.has_place().all()


def test_a_grid_after_a_prefix():
    pos = positions.grid(2, 3, prefix=2)
    assert pos.has_place().tolist() == [[False, False] + [True] * 6]
    assert pos.coords[0, 2:].tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert pos.turns().tolist() == [list(range(8))]


def test_timed_in_every_shape():
    assert line(positions.timed([0.5, 2])) == [[0.5, 2]]
    assert line(positions.timed(torch.tensor([[1, 2], [3, 4]]))) == [[1, 2], [3, 4]]
    assert positions.timed(torch.zeros(2, 3, 4)).axes == 4
    assert positions.timed(torch.tensor([1_700_000_000, 1_700_000_001])).coords.diff(dim=1).item() == 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_timed_refuses_16_bits(dtype):
    with pytest.raises(PositionError, match="float64"):
        positions.timed(torch.tensor([256.0, 257.0]).to(dtype))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_positions_are_finite(bad):
    for constructor in (lambda: positions.timed([0.0, bad]), lambda: positions.sequence(2, bad)):
        with pytest.raises(UserError):
            constructor()


@given(n=st.integers(0, 20), more=st.integers(0, 30), rows=st.integers(1, 4), seed=st.integers(0, 99))
def test_randomised_positions_are_sorted_distinct_and_in_range(n, more, rows, seed):
    pos = positions.randomised(n, n + more, rows=rows, generator=torch.Generator().manual_seed(seed))
    assert pos.coords.shape == (rows, n, 1)
    assert (pos.coords.diff(dim=1) >= 1).all()
    assert (pos.coords == pos.coords.round()).all()
    assert n == 0 or (pos.coords.min() >= 0 and pos.coords.max() <= n + more - 1)


def test_randomised_positions_come_from_the_generator_alone():
    def draw(seed):
        return positions.randomised(8, 1000, rows=2, generator=torch.Generator().manual_seed(seed)).coords

    torch.manual_seed(1)
    first = draw(3)
    torch.manual_seed(2)
    assert torch.equal(draw(3), first)
    assert not torch.equal(draw(4), first)
    assert not torch.equal(first[0], first[1])


def test_randomised_positions_are_uniform():
    """Of 2000 draws of 2 in 6, each position is in a third: 667 +- 21, so within 100 of it."""
    drawn = positions.randomised(2, 6, rows=2000, generator=torch.Generator().manual_seed(0)).coords
    counts = torch.bincount(drawn.flatten().long(), minlength=6)
    assert ((counts - 2000 / 3).abs() < 100).all()


def test_documents_other_in_each_row_of_shared_coordinates():
    """Two rows of segments beside one row of coordinates: refused, or two rows; never the first row for both."""
    segment = torch.tensor([[0, 0, 0], [0, 1, 1]])
    try:
        pos = replace(positions.sequence(3), segment=segment)
    except PositionError:
        return
    assert pos.rows == 2


@pytest.mark.parametrize("field", ["index", "segment", "placed"])
def test_fields_that_do_not_fit_the_coordinates(field):
    """Four tokens with coordinates, and something said of three."""
    said = torch.ones(1, 3, dtype=torch.bool if field == "placed" else torch.int64)
    with pytest.raises(PositionError):
        replace(positions.sequence(4), **{field: said})


MISTAKES = {
    "a negative length": lambda: positions.sequence(-1),
    "no documents": lambda: positions.packed([]),
    "an empty document": lambda: positions.packed([2, 0]),
    "a grid without rows": lambda: positions.grid(0, 3),
    "a grid without columns": lambda: positions.grid(3, 0),
    "a negative prefix": lambda: positions.grid(2, 2, prefix=-1),
    "a mask of one dimension": lambda: positions.padded(torch.tensor([True, False])),
    "more positions than there are": lambda: positions.randomised(5, 4),
    "a negative number of positions": lambda: positions.randomised(-1, 4),
    "a single moment": lambda: positions.timed(torch.tensor(3.0)),
    "four dimensions": lambda: positions.timed(torch.zeros(1, 1, 1, 1)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    with pytest.raises(PositionError):
        MISTAKES[mistake]()


def test_python_numbers_are_read_in_float64():
    assert positions.timed([1.7e9, 1.7e9 + 1]).coords.flatten().tolist() == [1.7e9, 1.7e9 + 1]
    assert positions.timed([0.1]).coords.item() == 0.1


def test_no_number_that_is_none_gets_in():
    for wrong in (math.nan, math.inf):
        with pytest.raises(OptionError, match="finite number"):
            positions.sequence(3, step=wrong)
        with pytest.raises(PositionError, match="nan not among them"):
            positions.sequence(3, torch.tensor([wrong]))
        with pytest.raises(OptionError, match="finite number"):
            positions.sequence(3).shifted(wrong)
    with pytest.raises(PositionError, match="axis"):
        positions.sequence(3).shifted([1, 2])


@pytest.mark.parametrize("step", [1.0, 0.5, 2.0, 4.0, -1.0, 0.1, 1 / 3])
def test_the_end_of_a_sequence_is_where_the_whole_has_it(step):
    """Whatever the step: the turns of the tokens before are counted, not their coordinates."""
    whole, last = positions.sequence(8, step=step), positions.sequence(2, 6 * step, step=step)
    assert torch.equal(last.turns(), whole.tokens(6, 8).turns())
    alibi = encodings.create("alibi", Shape(16, 2, 8))
    q, k, v = (torch.randn(1, 2, 8, 8, dtype=torch.float64) for _ in range(3))
    for mask in (CAUSAL, Mask(window=3)):
        full = attend(q, k, v, alibi, whole, whole, mask=mask)[:, :, 6:]
        assert (attend(q[:, :, 6:], k, v, alibi, last, whole, mask=mask) - full).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("start", "step", "turn"), [(0.3, 1.0, 0), (3, 0.0, 0), (5, 2.0, 0), (6, -2.0, -3), (2**53, 0.5, 0)]
)
def test_a_start_of_no_whole_steps_begins_at_turn_0(start, step, turn):
    assert positions.sequence(1, start, step=step).turn == turn


def test_a_caller_may_count_on_in_its_own_tensor():
    """What remembers positions does not see it."""
    at = torch.arange(4).double()
    pos = positions.timed(at)
    at += 4
    assert pos.coords.flatten().tolist() == [0, 1, 2, 3]


def test_turns_are_told_in_one_way():
    with pytest.raises(PositionError, match="turn"):
        positions.Positions(
            torch.zeros(1, 2, 1, dtype=torch.float64), turn=7, index=torch.zeros(1, 2, dtype=torch.int64)
        )
    told = positions.Positions(torch.zeros(1, 4, 1, dtype=torch.float64), index=torch.arange(4)[None] * 2)
    later = told.tokens(1, 3).append(positions.sequence(2).after(told))
    assert later.turn == 0 and later.turns().tolist() == [[2, 4, 5, 6]]

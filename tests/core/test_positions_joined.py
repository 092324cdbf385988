"""Positions taken apart and put together: tokens, row, shifted, append, batch."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon import positions
from gnomon.errors import PositionError
from gnomon.positions import Positions


def samples(n: int = 6) -> dict[str, Positions]:
    g = torch.Generator().manual_seed(0)
    drawn = Positions(torch.randn(3, n, 2, generator=g, dtype=torch.float64))
    return {
        "sequence": positions.sequence(n, 3),
        "per row": positions.sequence(n, [0, 4, -2.5]),
        "packed": positions.packed([2, n - 2]),
        "padded": positions.padded(torch.arange(n) >= torch.tensor([[0], [2], [n]])),
        "prefix": positions.grid(1, n - 2, prefix=2),
        "anywhere": drawn,
        "everything": replace(
            drawn,
            index=torch.randint(0, 50, (3, 1), generator=g) + torch.arange(n),
            segment=torch.randint(-1, 2, (3, n), generator=g),
            placed=torch.rand(3, n, generator=g) > 0.5,
        ),
    }


SAMPLES = samples()


def facts(pos: Positions) -> tuple[torch.Tensor, ...]:
    """All that a position says, of the same number of rows each."""
    return tuple(t.expand(pos.rows, *t.shape[1:]) for t in (pos.coords, pos.turns(), pos.segments(), pos.has_place()))


def same(found: Positions, expected: Positions) -> None:
    rows = max(found.rows, expected.rows)
    for a, b in zip(facts(found), facts(expected), strict=True):
        assert torch.equal(a.expand(rows, *a.shape[1:]), b.expand(rows, *b.shape[1:]))


@pytest.mark.parametrize("name", SAMPLES)
@given(cut=st.integers(0, 6))
def test_the_two_parts_of_a_sequence_append_to_the_whole(name, cut):
    pos = SAMPLES[name]
    same(pos.tokens(0, cut).append(pos.tokens(cut, 6)), pos)


@pytest.mark.parametrize("name", SAMPLES)
@given(start=st.integers(0, 6), size=st.integers(0, 6))
def test_tokens_are_slices(name, start, size):
    pos, stop = SAMPLES[name], min(start + size, 6)
    part = pos.tokens(start, stop)
    for whole, piece in zip(facts(pos), facts(part), strict=True):
        assert torch.equal(piece, whole[:, start:stop])


@pytest.mark.parametrize("name", SAMPLES)
def test_rows_are_picked_and_stacked_again(name):
    pos, order = SAMPLES[name], torch.tensor([2, 0, 0, 1])
    picked = pos.row(order)
    if pos.rows == 1:
        same(picked, pos)
    for whole, piece in zip(facts(pos), facts(picked), strict=True):
        assert torch.equal(piece, whole if pos.rows == 1 else whole[order])
    same(positions.batch(*[pos.row(torch.tensor([i])) for i in range(pos.rows)]), pos)


def test_a_batch_of_different_kinds():
    kinds = [positions.sequence(6, 9), positions.packed([4, 2]), positions.sequence(6, 0.5)]
    pos = positions.batch(*kinds)
    assert pos.rows == 3
    for i, kind in enumerate(kinds):
        same(pos.row(torch.tensor([i])), kind)


def test_a_batch_of_sequences_keeps_what_is_known():
    """Where turns and steps agree, they are still known without looking at data."""
    pos = positions.batch(positions.sequence(4), positions.sequence(4))
    assert pos.step == 1.0 and pos.index is None
    assert positions.batch(positions.sequence(3), positions.sequence(3, 5)).turns().tolist() == [[0, 1, 2], [5, 6, 7]]
    assert positions.batch(positions.sequence(4), positions.packed([2, 2])).step is None
    assert pos.counts_from(0) and pos.tokens(1, 4).counts_from(1)
    other = positions.batch(positions.sequence(4), positions.sequence(4, 2))
    assert other.step == 1.0 and other.start is None and not other.counts_from(0)


@given(by=st.floats(-1e6, 1e6), again=st.floats(-1e6, 1e6))
def test_shifts_move_coordinates_and_nothing_else(by, again):
    for pos in SAMPLES.values():
        moved = pos.shifted(by)
        assert torch.equal(moved.coords, pos.coords + by)
        assert torch.equal(moved.turns(), pos.turns()) and torch.equal(moved.segments(), pos.segments())
        assert torch.equal(moved.has_place(), pos.has_place())


def test_a_shift_may_differ_by_axis():
    pos = positions.grid(2, 3)
    assert torch.equal(pos.shifted([10, -1]).coords, pos.coords + torch.tensor([10, -1]))


def test_a_shared_row_joins_one_of_its_own_in_each_row():
    pos = positions.sequence(2).append(positions.sequence(1, [5, 9]))
    assert pos.coords[..., 0].tolist() == [[0, 1, 5], [0, 1, 9]]


def test_what_has_no_place_and_what_is_padding_lie_at_the_origin():
    for name in ("prefix", "padded", "everything"):
        pos = SAMPLES[name]
        nowhere = ~pos.has_place() | (pos.segments() < 0)
        anchored = pos.anchored()
        assert (anchored[nowhere] == 0).all()
        assert torch.equal(anchored[~nowhere], pos.coords[~nowhere])


MISTAKES = {
    "rows of different lengths": lambda: positions.batch(positions.sequence(2), positions.sequence(3)),
    "rows of different axes": lambda: positions.batch(positions.sequence(2), positions.grid(1, 2)),
    "a batch of nothing": lambda: positions.batch(),
    "pieces of different axes": lambda: positions.sequence(2).append(positions.grid(1, 2)),
    "pieces of two and three rows": lambda: positions.sequence(1, [1, 2]).append(positions.sequence(1, [1, 2, 3])),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    with pytest.raises(PositionError):
        MISTAKES[mistake]()

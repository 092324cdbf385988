"""The learned relative bias: which entry each pair reads on a line and on grids that are not square."""

import pytest
import torch

from gnomon.attention import attend
from gnomon.encoding import Shape
from gnomon.encodings import build
from gnomon.encodings.relative_bias import RelativeBias
from gnomon.errors import OptionError, PositionError
from gnomon.masks import BIDIRECTIONAL
from gnomon.pairs import dense
from gnomon.positions import Positions, grid, sequence
from tests.core.common import HEADS, at, gap, heads, weigh


def entries(q_pos: Positions, k_pos: Positions, **options) -> torch.Tensor:
    """Which entry of its head's table each pair reads: head h's entry e is 1000 h + e."""
    encoding = RelativeBias(2, **options).double()
    many = encoding.weight.shape[1]
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(many) + 1000 * torch.arange(2)[:, None])
    q = torch.zeros(1, 2, q_pos.length, 4, dtype=torch.float64)
    k = torch.zeros(1, 2, k_pos.length, 4, dtype=torch.float64)
    found = dense(encoding.bias(q[:0], k[:0], q_pos, k_pos), 1, 2, q_pos.length, k_pos.length)[0]
    assert torch.equal(found, encoding.score(q, k, q_pos, k_pos)[0])
    assert torch.equal(found[1], found[0] + 1000)
    return found[0].to(torch.int64)


def test_on_a_line_the_difference_is_query_minus_key_clipped():
    expected = [[4, 4, 3, 2, 1, 0, 0]]
    assert entries(at([5]), at([-90, 3, 4, 5, 6, 7, 80]), clip=2).tolist() == expected


@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5), (4, 2)])
def test_on_a_grid_every_difference_has_its_entry(rows, columns):
    """Rows before columns, by hand; each entry of the window's table is read, and none by two differences."""
    pos = grid(rows, columns)
    table = entries(pos, pos, window=(rows, columns))
    places = [(y, x) for y in range(rows) for x in range(columns)]
    for i, (y, x) in enumerate(places):
        for j, (v, u) in enumerate(places):
            assert table[i, j] == (y - v + rows - 1) * (2 * columns - 1) + (x - u + columns - 1)
    assert table.unique().tolist() == list(range((2 * rows - 1) * (2 * columns - 1)))


def test_beyond_the_table_the_last_row_and_column_are_read():
    q_pos = Positions(torch.tensor([[[0.0, 0.0]]], dtype=torch.float64))
    k_pos = Positions(torch.tensor([[[-9.0, 1.0], [1.0, -90.0], [40.0, 40.0], [0.0, 2.0]]], dtype=torch.float64))
    # Differences (1, -1), (-1, 2), (-1, -2), (0, -2) of a table of 3 x 5.
    assert entries(q_pos, k_pos, window=(2, 3)).tolist() == [[11, 4, 0, 5]]


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
def test_tokens_without_a_place_have_no_bias(backend):
    encoding = weigh(build(RelativeBias, Shape(48, 6, 8), window=(2, 3)).double())
    pos, v = grid(2, 3, prefix=2), torch.eye(8, dtype=torch.float64).expand(1, 3, 8, 8)
    q, k, _ = heads(8, rows=1)
    weights = attend(0 * q, k, v, encoding, pos, mask=BIDIRECTIONAL, backend=backend)[0]
    assert gap(weights[:, :2], torch.full((6, 2, 8), 1 / 8, dtype=torch.float64)) < 1e-15
    assert gap(weights[:, 2:, 0], weights[:, 2:, 1]) < 1e-15
    patches = grid(2, 3)
    alone = attend(0 * q[:, :, 2:], k[:, :, 2:], v[:, :, 2:], encoding, patches, mask=BIDIRECTIONAL, backend=backend)
    assert gap(weights[:, 2:, 2:] / weights[:, 2:, 2:].sum(-1, keepdim=True), alone[0, ..., 2:]) < 1e-14


@pytest.mark.parametrize("start, step", [(0, 1.0), (-7, 3.0), (10**9, 1.0)])
def test_even_positions_by_a_table_of_differences(start, step):
    encoding = weigh(RelativeBias(HEADS, clip=5).double())
    q, k, v = heads(20)
    pos = sequence(20, start, step=step)
    assert gap(attend(q, k, v, encoding, pos), attend(q, k, v, encoding, pos, backend="reference")) < 1e-13


def test_sizes():
    assert RelativeBias(6).weight.shape == (6, 33)
    assert RelativeBias(6, window=(3, 6)).weight.shape == (6, 5 * 11)
    assert RelativeBias(6, axes=2, window=(4, 1)).weight.shape == (6, 7)
    assert RelativeBias(6, window=(7, 7)).weight.shape == (6, 169), "Swin's window"
    assert RelativeBias(6, axes=2, clip=3).weight.shape == (6, 49)


def test_positions_that_it_does_not_take():
    line, patches = RelativeBias(HEADS).double(), RelativeBias(HEADS, axes=2).double()
    for encoding, pos in ((line, grid(2, 3)), (patches, sequence(6)), (line, at([0, 1, 2, 3, 4, 5.5]))):
        with pytest.raises(PositionError) as error:
            attend(*heads(6, rows=1), encoding, pos)
    assert error.value.allowed.endswith("whole numbers")


@pytest.mark.parametrize(
    "options",
    [dict(axes=3), dict(axes=0), dict(clip=0), dict(clip=-2), dict(axes=1, window=(3, 3)), dict(axes=3, window=(3, 3)),
     dict(window=(0, 2)), dict(window=(1, 1)), dict(window=(3, 3), clip=2), dict(window=3), dict(window=(3, 3, 3))],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        RelativeBias(6, **options)
    assert error.value.given is not None

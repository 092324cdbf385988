"""Uniqueness against sets of bytes, all pairs, and interval arithmetic."""

import pytest
import torch

from gnomon.analysis.duplicates import collisions, duplicates, nearest, nearest_at
from gnomon.analysis.forms import waves
from gnomon.analysis.rounded_rows import kept, lag_distances, nearest_reals
from gnomon.analysis.stored import PRECISIONS, angles, dtype, exact, unit, waved
from gnomon.analysis.uniqueness import section
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError


def rows(encoding, n: int, way: str, stored: str) -> torch.Tensor:
    found = waves(encoding)
    return waved(found, angles(found, torch.arange(n), way)).to(dtype(stored))


def by_bytes(table: torch.Tensor) -> list[tuple[int, int]]:
    """Each row whose bytes an earlier row has, and the first that has them."""
    seen: dict[bytes, int] = {}
    again = []
    for at, row in enumerate(table.view(torch.uint8).reshape(len(table), -1).tolist()):
        first = seen.setdefault(bytes(row), at)
        if first != at:
            again.append((at, first))
    return again


def nearest_by_hand(table: torch.Tensor) -> float:
    return float(torch.pdist(table.to(torch.float64)).min())


@pytest.mark.parametrize("way", PRECISIONS)
@pytest.mark.parametrize("stored", PRECISIONS)
def test_kept_against_brute_force(way, stored):
    for encoding, n in ((Sinusoidal(12), 700), (Sinusoidal(3), 300), (Rope(20), 250), (Sinusoidal(2), 400)):
        table = rows(encoding, n, way, stored)
        got = kept(waves(encoding), n, way, stored)
        again = by_bytes(table)
        assert list(zip(got.duplicates.rows.tolist(), got.duplicates.first.tolist())) == again
        assert got.nearest.distance == pytest.approx(nearest_by_hand(table), abs=1e-12)
        a, b = got.nearest.pair
        assert a < b and float((table[a].double() - table[b].double()).norm()) == pytest.approx(
            got.nearest.distance, abs=1e-14
        )
        high, low = exact(waves(encoding), torch.arange(n))
        off = ((table.double() - high) - low).abs() > unit(high, stored)
        first = off.any(dim=1).nonzero()
        assert got.first_off == (int(first[0]) if len(first) else None)


def test_1407_of_2048_rows_are_lost_to_positions_in_bfloat16():
    """bfloat16 counts by ones to 256, by twos to 512, by fours to 1024, by eights to 2048: 641 numbers."""
    found = waves(Sinusoidal(512))
    for stored in ("float64", "bfloat16"):
        got = kept(found, 2048, "bfloat16", stored)
        assert got.duplicates.count == 1407 == 2048 - (256 + 128 + 128 + 128 + 1)
        assert (int(got.duplicates.rows[0]), int(got.duplicates.first[0])) == (257, 256)
    # It is the angle that does it: the same table of right angles has none.
    assert kept(found, 2048, "float64", "bfloat16").duplicates.count == 0
    assert kept(found, 2048, "float32", "bfloat16").duplicates.count == 0


@pytest.mark.parametrize("width, n, way", [(3, 1000, "float16"), (8, 240, "bfloat16"), (8, 1000, "float16")])
def test_the_nearest_pair_need_not_lie_at_the_nearest_lag(width, n, way):
    """Angles that are far off bring rows together that would be farther apart than others."""
    got = kept(waves(Sinusoidal(width)), n, way, way)
    assert got.nearest.distance == pytest.approx(nearest_by_hand(rows(Sinusoidal(width), n, way, way)), abs=1e-12)
    lags = [b - a for a, b in (got.nearest.pair, nearest_reals(waves(Sinusoidal(width)), n).pair)]
    assert lags[0] != lags[1]


def test_duplicates_are_found_where_they_were_put():
    table = torch.randn(3000, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert duplicates(table).count == 0
    table[2999], table[1234] = table[7], table[7]
    table[50], table[40] = 0.0, -0.0
    got = duplicates(table)
    assert (got.rows.tolist(), got.first.tolist()) == ([50, 1234, 2999], [40, 7, 7])
    assert duplicates(table[:0]).count == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("what", [duplicates, nearest, collisions, lambda table: nearest_at(table, 1)])
def test_what_is_no_number_is_refused(what, kind, value):
    """A row of nan equals no row, itself included: without a refusal the search for equal ones would not end."""
    table = torch.randn(20, 3, generator=torch.Generator().manual_seed(1)).to(kind)
    table[5] = table[9] = value
    with pytest.raises(OptionError, match="6 that are nan or infinite"):
        what(table)


def test_nearest_of_any_rows():
    for seed in range(3):
        table = torch.randn(800, 5, generator=torch.Generator().manual_seed(seed))
        got = nearest(table)
        assert got.distance == pytest.approx(nearest_by_hand(table), rel=1e-12)
    table[700] = table[3] + 1e-9
    assert nearest(table).pair == (3, 700)
    with pytest.raises(OptionError, match="pairs of rows"):
        nearest(table[:1])


def test_distances_over_the_reals_depend_on_the_lag():
    for encoding in (Sinusoidal(16), Sinusoidal(16, convention="tensor2tensor"), Rope(16)):
        table = rows(encoding, 300, "float64", "float64")
        got = lag_distances(waves(encoding), torch.tensor([1, 44, 200]))
        for lag, distance in zip((1, 44, 200), got.tolist()):
            assert (table[lag:] - table[:-lag]).norm(dim=1).sub(distance).abs().max() < 1e-11


@pytest.mark.parametrize("name", PRECISIONS)
def test_collisions_against_sets(name):
    table = rows(Sinusoidal(40), 900, "float64", name)
    got = collisions(table)
    assert got.tolist() == [900 - len(set(table[:, column].tolist())) for column in range(40)]


def test_the_section_of_sinusoidal():
    of = section(Sinusoidal(64), 1000)
    assert of.applies and "pi is irrational" in of.answer and of.numbers["nearest_lag_reals"] == 1
    assert "Of rows up to 999 places apart the nearest are those 1 apart" in of.answer and "wherever" not in of.answer
    assert of.answer.startswith("Yes, if its angles are formed in float64, float32 or float16.")
    assert section(Sinusoidal(64), 100).answer.startswith("Yes, in every precision.")
    found = {(cell["angle"], cell["stored"]): cell for cell in of.numbers["kept"]}
    assert len(found) == 16 and found["float32", "float32"]["duplicates"] == 0
    assert found["bfloat16", "float32"]["duplicates"] == 1000 - (256 + 128 + 128 - 5)
    assert all(len(table.rows) <= 12 and len(table.columns) <= 6 for table in of.tables)
    assert all(len(line.x) == len(line.y) <= 2000 for figure in of.figures for line in figure.lines)
    table = rows(Sinusoidal(64), 1000, "float64", "float64")
    assert of.numbers["collisions"]["float64"] == collisions(table).tolist()
    seen = []
    section(Sinusoidal(8), 100, seen.append)
    assert seen == sorted(seen) and seen[-1] == 1


def test_a_short_width_has_an_alias_that_is_nearer_than_the_neighbour():
    of = section(Sinusoidal(8), 8192)
    k = of.numbers["nearest_lag_reals"]
    distances = lag_distances(waves(Sinusoidal(8)), torch.arange(1, 8192))
    assert k == 1 + int(distances.argmin()) > 1
    exactly = next(c for c in of.numbers["kept"] if (c["angle"], c["stored"]) == ("float64", "float64"))
    assert exactly["nearest"][1] - exactly["nearest"][0] == k


def test_float16_ends_and_says_so():
    of = section(Sinusoidal(4), 66000)
    assert of.numbers["cannot_hold"] == ["float16"] and "cannot hold" in of.tables[0].rows[2]
    with pytest.raises(OptionError, match="no number as large"):
        kept(waves(Sinusoidal(2)), 70000, "float16", "float16")


def test_a_table_of_rows_and_what_has_none():
    encoding = Learned(16, max_positions=60)
    of = section(encoding, 500)
    assert of.applies and of.numbers["positions"] == 60 and of.numbers["kept"][0]["duplicates"] == 0
    with torch.no_grad():
        encoding.weight[50] = encoding.weight[9]
    again = section(encoding, 500).numbers["kept"]
    assert [(c["duplicates"], c["first_duplicate"], c["equal_to"]) for c in again] == [(1, 50, 9)] * 4
    assert not section(Alibi(4)).applies


@pytest.mark.parametrize("n", [0, 1, 2**26])
def test_too_few_or_too_many(n):
    with pytest.raises(OptionError):
        section(Sinusoidal(64), n)


@pytest.mark.parametrize("n", [5, 50, 700])
@pytest.mark.parametrize("width, convention", [(1, "paper"), (3, "paper"), (5, "paper"), (4, "paper")])
def test_the_nearest_two_over_the_reals_by_brute_force(width, convention, n):
    """A sine without its cosine moves rows apart by how much it does where they are: never 0, and never nothing."""
    found = waves(Sinusoidal(width, convention=convention))
    high, _ = exact(found, torch.arange(n))
    got = nearest_reals(found, n)
    assert got.distance == pytest.approx(nearest_by_hand(high), rel=1e-9)
    a, b = got.pair
    assert float((high[a] - high[b]).norm()) == pytest.approx(got.distance, rel=1e-9)
    of = section(Sinusoidal(width, convention=convention), n)
    assert of.numbers["nearest_distance_reals"] == got.distance > 0
    assert ("depends on their places too" in of.answer) == (width % 2 == 1)
    if width % 2:
        with pytest.raises(OptionError):
            lag_distances(found, torch.arange(1, n))


def test_one_dimension_of_many_places_is_sorted():
    got = kept(waves(Sinusoidal(1)), 2**17, "float64", "float64")
    assert got.nearest.pair == nearest_reals(waves(Sinusoidal(1)), 2**17).pair


@pytest.mark.parametrize(
    "table, distance",
    [
        (torch.zeros(2000, 2), 0.0),
        (1e8 + torch.arange(300, dtype=torch.float64)[:, None] * 2.0**-20, 2.0**-20),
        (torch.tensor([[1e200], [2e200], [4e200]], dtype=torch.float64), 1e200),
        (torch.tensor([[1e-200], [2e-200], [4e-200]], dtype=torch.float64), 1e-200),
        (torch.tensor([[1e308], [-1e308], [0.0]], dtype=torch.float64), 1e308),
    ],
    ids=["equal", "far from 0", "huge", "tiny", "the whole range"],
)
def test_nearest_where_products_say_little(table, distance):
    assert nearest(table).distance == pytest.approx(distance, rel=1e-12)
    assert min(nearest_at(table, lag).distance for lag in (1, 2)) == pytest.approx(distance, rel=1e-12)


def test_ways_that_lose_the_same_rows_are_one_line():
    """Eight entries of a legend stood for two lines."""
    figure = section(Sinusoidal(64), 4096).figures[0]
    assert [line.label for line in figure.lines] == ["float16", "bfloat16"]

"""How numbers are taken and told: order and medians of rounds, growth of memory, verdicts, width."""

import os
import signal
import time

import pytest
import torch

from benchmarks.measure import ChildFailed, Timing, fresh, grown, interleaved
from benchmarks.rows import Row, about, markdown, notes, printed, quantity, quartiles, sections, timed
from gnomon.commands.output import Screen

MEBI = 2**20


class Call:
    """Writes its name down, and says that it took `seconds`."""

    def __init__(self, name: str, order: list[str], *seconds: float):
        self.name, self.order, self.seconds, self.calls = name, order, seconds, 0

    def __call__(self) -> float:
        self.order.append(self.name)
        self.calls += 1
        return self.seconds[(self.calls - 1) % len(self.seconds)]


def test_rounds_alternate_after_a_warm_up():
    order: list[str] = []
    found = interleaved({"limit": Call("a", order, 1.0), "other": Call("b", order, 3.0)}, 2, patience=100)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert found["other"] == Timing(3.0, 3.0, 3.0, 3.0, 2) and found["limit"].ratio == 1


def test_a_ratio_is_taken_round_by_round():
    """The machine slows down over the rounds; what takes twice as long still does."""
    slower = [1.0, 1.0, 2.0, 5.0]
    limit, other = Call("a", [], *slower), Call("b", [], *(2 * t for t in slower))
    assert interleaved({"limit": limit, "other": other}, 3, patience=100)["other"].ratio == 2


@pytest.mark.parametrize(
    ("ratios", "ends"),
    [([2.0], (2, 2)), ([1.0, 3.0], (1.5, 2.5)), ([4.0, 1.0, 2.0], (1.5, 3)), ([*range(1, 6)], (2, 4))],
)
def test_quartiles_lie_inside_what_was_measured(ratios: list[float], ends: tuple[float, float]):
    """Of two and three rounds too, where other kinds of quartiles are the ends, or beyond them."""
    calls = {"limit": Call("a", [], 1.0), "other": Call("b", [], ratios[-1], *map(float, ratios))}
    found = interleaved(calls, len(ratios), patience=1000)["other"]
    assert (found.low, found.high) == ends and found.runs == len(ratios)


def test_a_slow_call_has_fewer_rounds_and_says_so():
    order: list[str] = []
    calls = {"limit": Call("a", order, 1.0), "slow": Call("b", order, 4.0), "slowest": Call("c", order, 20.0)}
    found = interleaved(calls, 5, patience=10)
    assert [found[name].runs for name in calls] == [5, 2, 1]


def test_what_is_compiled_at_the_first_call_is_no_measure_of_the_others():
    found = interleaved({"limit": Call("a", [], 9.0, *[0.1] * 6)}, 5, patience=10)
    assert found["limit"].runs == 5 and found["limit"].seconds == 0.1


@pytest.mark.parametrize("size", [40, 200])
def test_growth_is_that_of_the_peak(size: int):
    """Memory that is given back before the call ends counts too; what was there before does not."""
    for once in (0, 300):
        assert size - 2 <= fresh(_after, once=once, size=size) / MEBI <= size + 8


def _after(once: int, size: int) -> int:
    """A process that was larger before is watched by a thread, which may be late on a busy machine: memory is held."""
    _Ones(once)()
    held = torch.ones(30 * MEBI, dtype=torch.uint8)
    found = grown(_Ones(size, held=0.5 if once else 0.0))
    del held
    return found


class _Ones:
    def __init__(self, size: int, held: float = 0.0):
        self.size, self.held = size, held

    def __call__(self) -> None:
        made = torch.ones(self.size * MEBI, dtype=torch.uint8)
        time.sleep(self.held)
        del made


def test_a_fresh_process_has_our_threads():
    assert fresh(torch.get_num_threads) == torch.get_num_threads()


def test_a_process_that_dies_is_an_error_that_says_why():
    with pytest.raises(ChildFailed, match="killed"):
        fresh(_die)
    with pytest.raises(ChildFailed, match="ZeroDivisionError"):
        fresh(_divide)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _divide() -> float:
    return 1 / 0


@pytest.mark.parametrize(
    ("ratio", "bound", "at_least", "said"),
    [
        (1.05, 1.05, False, "met"),
        (1.2, 1.0, False, "missed by 20%"),
        (6.0, 2.0, False, "missed by 3x"),
        (3.5, 3.0, True, "met"),
        (1.5, 3.0, True, "missed by 2x"),
        (2.0, 3.0, True, "missed by 50%"),
        (0, 1, False, "met"),
        (2.0, None, False, ""),
        (None, 2.0, False, ""),
    ],
)
def test_verdicts(ratio: float | None, bound: float | None, at_least: bool, said: str):
    assert Row("s", "w", ratio=ratio, bound=bound, at_least=at_least).verdict == said


@pytest.mark.parametrize(
    ("low", "high", "at_least", "said"),
    [
        (1.0, 1.4, False, "met"),
        (1.4, 1.6, False, "undecided"),
        (1.6, 2.0, False, "missed by 20%"),
        (1.5, 2.1, False, "undecided"),
        (1.4, 1.6, True, "undecided"),
        (1.6, 2.0, True, "met"),
        (1.0, 1.4, True, "missed by 25%"),
    ],
)
def test_a_bound_between_the_quartiles_is_undecided(low: float, high: float, at_least: bool, said: str):
    """Whichever side of it the median lies on."""
    row = Row("s", "w", ratio=(low + high) / 2, bound=1.5, at_least=at_least, low=low, high=high, runs=7)
    assert row.verdict == said and row.spread == pytest.approx((high - low) / row.ratio)


def test_quartiles_of_a_ratio_that_follows_from_another():
    timing = Timing(1.0, 2.0, 1.0, 4.0, 5)
    assert quartiles(timing, 3.0) == dict(low=3.0, high=12.0, runs=5)
    assert quartiles(timing, inverse=True) == dict(low=0.25, high=1.0, runs=5)
    assert quartiles(Timing(1.0, 2.0, 2.0, 2.0, 1)) == dict(runs=1)


def test_a_row_survives_json():
    of_limit = Timing(1.0, 1.0, 1.0, 1.0, 7)
    row = timed("s", "w", "l", Timing(2.0, 2.0, 1.9, 2.1, 7), of_limit, bound=1.5, peer="transformers 1")
    told = row.to_json()
    assert Row.from_json(told) == row and told["verdict"] == "missed by 33%" and told["spread"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.0125, "s", "12.5 ms"),
        (2e-7, "s", "0.2 µs"),
        (3 * MEBI, "B", "3 MiB"),
        (0.5, "share", "50%"),
        (3, "count", "3"),
    ],
)
def test_quantities(value: float, unit: str, said: str):
    assert quantity(value, unit) == said


ROWS = [
    timed("one", "rotate_queries_or_keys", "rope", Timing(0.123, 12.34, 10.0, 16.8, 3), Timing(0.0123, 1, 1, 1, 3),
          bound=1.15, peer="rotary-embedding-torch 0.9.1", note="a note"),
    Row("two", "transformer_xl sorted", "SDPA", 123.4 * MEBI, "B", 8.4 * MEBI, 14.7, 1.6),
    timed("one", "transformer_xl sorted", "rope", Timing(0.1234, 1.2, 1.1, 1.3, 7), Timing(0.123, 1, 1, 1, 7),
          bound=1.2, note="a note"),
]  # fmt: skip


def test_tables_fit_80_columns(capsys: pytest.CaptureFixture):
    for rows in sections(ROWS).values():
        Screen().print(printed(rows))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for said in ("missed by", "undecided", "12.34x", "55%/3", "≤ 1.15x", "rotary-embedding-torch", "14.70x"):
        assert said in out


def test_sections_keep_their_rows_together():
    assert [(title, len(rows)) for title, rows in sections(ROWS).items()] == [("one", 2), ("two", 1)]
    assert notes(ROWS) == ["rotate_queries_or_keys, transformer_xl sorted: a note"]


def test_the_page_says_where_each_row_is_from():
    found = about()
    page = markdown(found, sections(ROWS), quick=False)
    rows = [line for line in page.splitlines() if line.startswith("| rotate")]
    assert "| rotary-embedding-torch 0.9.1 |" in rows[0] and "missed by" in rows[0] and "--quick" not in page
    assert found["date"] in page and f"torch {found['torch']}" in page and "set_num_threads" in page

"""Grouping, medians, spread and reach, against values worked out by hand."""

import copy
import math

import pytest

from gnomon.errors import DataError, StoreError
from gnomon.report.settings import flatten
from gnomon.report.summary import Stat, number, summarise
from tests.report import fakes
from tests.report.fakes import record

FLAT = (1.7, (0.0, 0.0, 0.0, 0.0))


def exact(label, seed=0, *, loss, rises, **options):
    """A record whose numbers are exactly these."""
    made = record(label, seed, profile=(loss, rises), **options)
    for row, excess in zip(made["lengths"], (0.13, 0.0, *rises)):
        if excess is not None:
            row |= {"paired_excess": excess, "paired_loss": loss + excess, "paired_excess_se": 0.001}
    return made


def only(*records):
    (series,) = summarise(records).series
    return series


def test_seeds_of_one_configuration_are_one_series():
    series = only(*(exact("rope", seed, loss=loss, rises=FLAT[1]) for seed, loss in enumerate((1.9, 1.6, 1.7))))
    assert series.in_range() == Stat(1.7, 1.6, 1.9, 0.021, 3)
    assert series.in_range().scaled(2) == Stat(3.4, 3.2, 3.8, 0.042, 3)


def test_the_place_of_a_text_is_no_part_of_a_configuration():
    here, there = record("rope", 0), record("rope", 1)
    there["experiment"]["task"]["path"] = "plays"
    assert len(summarise([here, there]).series) == 1


def test_configurations_that_share_a_label_get_distinct_names():
    summary = summarise([record("rope"), record("rope", depth=4), record("alibi")])
    assert [series.label for series in summary.series] == ["rope · model.depth 2", "rope · model.depth 4", "alibi"]


def test_names_stay_distinct_where_the_settings_are_too_long_to_tell_apart():
    twins = [record("rope", options={"x": "a" * 40 + end}) for end in "bc"]
    for twin, name in zip(twins, "bc"):
        twin["hash"] = name * 16
    names = [series.label for series in summarise(twins).series]
    assert len(set(names)) == 2 and all("rope" in name for name in names)


@pytest.mark.parametrize(
    ("rises", "text"),
    [
        ((0.0, 0.0, 0.0, 0.0), "≥1024"),
        ((0.1, 0.1, 0.1, 0.1), "≥1024"),
        ((0.0, 0.0, 0.0, 0.11), "512"),
        ((0.0, 0.2, 0.0, 0.0), "160"),
        ((0.2, 0.0, 0.0, 0.0), "128"),
        ((0.0, 0.0, None, 0.0), "256"),
        ((None, None, None, None), "128"),
    ],
)
def test_reach(rises, text):
    assert only(exact("rope", loss=1.7, rises=rises)).reach.text == text


def test_reach_over_seeds_is_the_lower_median_and_its_spread():
    ends = {"≥1024": FLAT[1], "160": (0.0, 0.2, 0.2, 0.2), "128": (0.2, 0.2, 0.2, 0.2)}
    series = only(*(exact("rope", seed, loss=1.7, rises=rises) for seed, rises in enumerate(ends.values())))
    assert (series.reach.text, series.reach.spread) == ("160", "128 to ≥1024")
    pair = only(*(exact("rope", seed, loss=1.7, rises=rises) for seed, rises in enumerate(list(ends.values())[:2])))
    assert pair.reach.text == "160"
    assert only(exact("rope", loss=1.7, rises=FLAT[1])).reach.spread is None


@pytest.mark.parametrize(("excess", "close"), [(0.099, True), (0.101, True), (0.05, False), (0.15, False)])
def test_a_verdict_within_two_standard_errors_is_a_close_call(excess, close):
    made = exact("rope", loss=1.7, rises=(0.0, excess, 0.0, 0.0))
    assert only(made).reach.close is close


def test_lengths_past_the_failing_one_make_no_close_call():
    assert not only(exact("rope", loss=1.7, rises=(0.5, 0.1, 0.1, 0.1))).reach.close


def test_gaps_say_why():
    made = exact("rope", loss=1.7, rises=(0.0, None, 0.0, 0.0))
    made["lengths"][-1] = {"length": 1024, "status": "diverged", "reason": "the loss is not finite at length 1024"}
    gaps = only(made).gaps()
    assert {length: gap.state for length, gap in gaps.items()} == {256: "refused", 1024: "diverged"}
    assert only(made).reach.text == "160"


def test_a_length_that_one_seed_measured_is_no_gap():
    runs = [exact("rope", seed, loss=1.7, rises=FLAT[1]) for seed in range(2)]
    runs[1]["lengths"][-1] = {"length": 1024, "status": "diverged", "reason": "not finite"}
    series = only(*runs)
    assert not series.gaps() and series.stat("paired_loss", 1024).seeds == 1


def test_without_a_loss_at_the_training_length_there_is_no_reach():
    made = exact("rope", loss=1.7, rises=FLAT[1])
    made["lengths"][1] = {"length": 128, "status": "refused", "reason": "too long"}
    series = only(made)
    assert series.reach is None and series.in_range() is None and not series.holds


def test_runs_that_did_not_finish_count_for_nothing_but_are_kept():
    series = only(record("rope", 0), record("rope", 1, status="diverged", reason="nan"))
    assert (len(series.runs), len(series.lost)) == (1, 1)
    assert series.in_range().seeds == 1


def test_ranked_by_reach_then_loss_then_what_has_none():
    runs = [
        record("t5", status="failed", reason="x"),
        exact("rope", loss=1.5, rises=(0.5, 0.5, 0.5, 0.5)),
        exact("none", loss=2.3, rises=FLAT[1]),
        exact("alibi", loss=1.8, rises=FLAT[1]),
    ]
    assert [series.label for series in summarise(runs).ranked()] == ["alibi", "none", "rope", "t5"]


def test_the_unit_is_a_byte_only_where_bits_per_byte_are_the_loss():
    made = record("rope")
    assert summarise([made]).unit == "byte"
    other = copy.deepcopy(made)
    for row in other["lengths"]:
        row["bits_per_byte"] /= 4
    assert summarise([other]).unit == "token"


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "1"])
def test_what_is_not_a_finite_number_is_none(value):
    assert number(value) is None
    made = record("rope")
    made["lengths"][-1]["paired_loss"] = value
    assert only(made).stat("paired_loss", 1024) is None


def test_no_records_and_other_formats_are_the_users_mistake():
    with pytest.raises(DataError, match="gnomon compare"):
        summarise([])
    with pytest.raises(StoreError, match="format 2"):
        summarise([record("rope") | {"format": 2}])


def test_flatten():
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": [3]}) == {"a.b": 1, "a.c.d": 2, "e": [3]}


def test_three_seeds_of_ten():
    summary = summarise(fakes.three_seeds())
    assert len(summary.series) == 10 and summary.seeds == [3] and summary.trained == [128]

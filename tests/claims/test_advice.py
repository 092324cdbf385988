"""Advice: sentences made of the results that are here, and what to run where there are none."""

import json
from pathlib import Path

import pytest

from gnomon.claims import costs, experiments
from gnomon.claims.advice import KINDS, advice
from gnomon.claims.columns import COLUMNS
from gnomon.lab.experiment import Problem
from tests.claims.made_up import keep, right, text


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where results lie, and no benchmarks do."""
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    monkeypatch.setattr(costs, "FILE", tmp_path / "results.json")
    return tmp_path


def of(key: str):
    return next(each for each in advice() if each.kind.key == key)


ALIBI = (0.02, 0.03, 0.04)
COST = {"none": 1.0, "alibi": 1.1, "shaw": 2.0, "rope": 1.2}


def runs(**rises: tuple[float, ...]) -> list:
    return [
        text(name, seed, rise, ms=COST[name] * (2 + seed), far=rise)
        for name, each in rises.items()
        for seed, rise in enumerate(each)
    ]


def test_without_results_it_says_what_to_run():
    for each in advice():
        experiment = next(c for c in COLUMNS if c.key == each.kind.columns[0]).source.experiments[0]
        assert f"gnomon compare experiments/{experiment}.py --store runs/{experiment}" in each.text
        assert each.questions == () and each.numbers["choice"] is None


def test_what_a_step_of_the_best_takes(folder):
    keep(folder, text=runs(none=(0.5, 0.51, 0.52), alibi=ALIBI, shaw=(0.01, 0.03, 0.035), rope=(0.9, 0.91, 0.92)))
    told = of("text")
    assert "Among the best in 2 of 2 questions: shaw and alibi." in told.text
    assert "A training step takes, in times of one without positions: alibi 1.1 and shaw 2." in told.text
    choice = told.numbers["choice"]
    assert choice["among"] == ["shaw", "alibi"] and (choice["in"], choice["of"]) == (2, 2)
    assert {label: ends[0] for label, ends in choice["times_none"].items()} == pytest.approx({"alibi": 1.1, "shaw": 2})
    first = told.questions[1]
    assert "Best: shaw 0.025 [-0.00786, 0.0579]; as good, to 0.1: alibi 0.03 [0.00516, 0.0548]; worse: none" in first
    assert "Held (at most 0.1, in the whole interval over seeds): shaw 0.025" in first
    assert "alibi 0.03 [0.00516, 0.0548]. Best" in first, "rope and none do not hold"
    json.dumps([each.as_dict() for each in advice()])


def test_another_number_is_another_advice(folder):
    keep(folder, text=runs(none=(0.5, 0.51, 0.52), alibi=ALIBI, shaw=(0.001, 0.011, 0.0215)))
    assert "Among the best in 2 of 2 questions: shaw and alibi." in of("text").text
    keep(folder, text=runs(none=(0.001, 0.002, 0.003), alibi=(0.5, 0.5, 0.6), shaw=(0.4, 0.3, 0.5)))
    assert "Among the best in 2 of 2 questions: none." in of("text").text
    keep(folder, text=runs(none=(0.5, 0.51, 0.52), alibi=(0.4, 0.41, 0.4), shaw=(0.2, 0.2, 0.21)))
    told = of("text")
    assert "So nothing is advised" in told.text and "text 2x" in told.text
    assert "Nobody is best where nobody holds: shaw 0.203 [0.189, 0.218] comes nearest." in told.questions[1]


def test_where_those_that_are_advised_are_worse_is_said_with_them(folder):
    def of_loss(name: str, loss: float, *rises: float) -> list:
        return [text(name, seed, rise, loss=loss + seed / 1e3, far=rise) for seed, rise in enumerate(rises)]

    keep(folder, text=[*of_loss("alibi", 2.5, *ALIBI), *of_loss("rope", 2.0, 0.9, 0.91, 0.92)])
    told = of("text").text
    assert "Among the best in 2 of 3 questions: alibi. Not among the best: in text (alibi 2.5 [" in told
    assert "best is rope 2 [2, 2])." in told


def test_what_did_not_learn_is_named_and_not_advised(folder):
    keep(
        folder, text=[*runs(none=(0.5, 0.51, 0.52), alibi=ALIBI), text("rope", 0, 0.0, loss=3.25), text("rope", 1, 0.0)]
    )
    told = of("text")
    assert (
        "Learned in range with every seed: alibi and none. Not, and so not ranked: rope (1 of 2 seeds)."
        in told.questions[1]
    )
    assert "rope" not in told.text and told.numbers["answers"]["text_2x"]["not_learned"] == ["rope"]


def test_where_nothing_learned_nothing_is_advised(folder):
    keep(folder, text=[text("rope", 0, 0.0, loss=3.25), text("alibi", 0, 0.0, loss=3.25)])
    assert "nothing is advised" in of("text").text


def test_its_limits_are_those_of_the_records(folder):
    keep(folder, text=runs(none=(0.5,), alibi=(0.02,)))
    limits = (
        "Limits: 2 runs with 1 seed on made up: models of 2 layers and width 64, 100 steps of 16 sequences, trained on "
        "lengths up to 32. One seed tells nothing of chance."
    )
    assert limits in of("text").text


def test_what_was_asked_of_no_run_is_told(folder):
    copies = [
        right(Problem("copy"), name, seed, {20: 1.0, 40: share}, trained=20, steps=300)
        for name, share in (("none", 0.2), ("alibi", 0.95))
        for seed in range(2)
    ]
    keep(folder, algorithmic=copies)
    told = of("answers")
    assert "Among the best in 1 of 1 question: alibi. A training step takes, in times of one" in told.text
    assert "Not measured here: reverse 2x, sort 2x" in told.text and "300 steps" in told.text
    assert "Held (at least 0.9, in the whole interval over seeds): alibi 0.95." in told.questions[0]


def test_every_kind_asks_questions_that_are_there():
    keys = {column.key for column in COLUMNS}
    for kind in KINDS:
        assert kind.columns and {*kind.columns} <= keys

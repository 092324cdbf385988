"""The experiment on distances: what it is made of, and that its records are what C25 reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import c25, experiments
from gnomon.claims.rules.c25 import BERT, RELATIVE
from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Experiment
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make

FILE = Path(__file__).resolve().parents[2] / "experiments" / "distance.py"
FORMS = pytest.mark.parametrize("form", ["quick", "standard"])


def first(form: str = "quick") -> list[Experiment]:
    """Those of the first seed."""
    return corpus.pin([each for each in load(str(FILE), form).experiments if each.seed == 0])


def by_budget(form: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for each in first(form):
        found.setdefault(each.training.steps, []).append(each.label)
    return found


def toy(experiment: Experiment) -> Experiment:
    return replace(
        experiment,
        model=replace(experiment.model, width=8, depth=1, heads=2),
        training=replace(experiment.training, steps=experiment.training.steps // 125, batch=4),
        measure=replace(experiment.measure, examples=16),
    )


@FORMS
def test_every_budget_has_the_same_encodings_and_the_largest_has_the_bounds(form: str):
    found = by_budget(form)
    budgets = sorted(found)
    assert [budget * 2 for budget in budgets[:-1]] == budgets[1:] and len(budgets) >= 4
    asked = {*found[budgets[0]]}
    assert all({*found[budget]} == asked for budget in budgets[:-1])
    assert {*found[budgets[-1]]} - asked == {"alibi", "none"}
    encodings = [label.partition(" ")[0] for label in found[budgets[-1]]]
    assert {*encodings} == {*COMPARED} > {BERT, *RELATIVE}
    assert encodings.count("deberta") == 3 and encodings.count(BERT) == 1


def test_it_is_as_large_as_it_says():
    plan, said = load(str(FILE)), FILE.read_text(encoding="utf-8")
    assert f"{len(plan.experiments)} runs and {len(plan.tuning.trials(plan.experiments))} trials" in said
    assert {each.seed for each in plan.experiments} == {0, 1, 2}
    assert {each.seed for each in load(str(FILE), "standard").experiments} == {0, 1, 2, 3, 4}


@FORMS
def test_every_experiment_can_be_run(form: str):
    """Budgets make no difference to a model."""
    largest = max(each.training.steps for each in first(form))
    for experiment in first(form):
        if experiment.training.steps == largest:
            build.check(experiment, cpu=True)


def test_its_records_are_what_the_claim_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chosen = [toy(each) for each in first() if each.label in ("learned", "rope")]
    store = Store(tmp_path / "runs", create=True)
    [record] = engine.run(chosen[:1], store, workers=1, cpu=True)
    assert record["status"] == "finished" and {make(each, store.path) for each in chosen[1:]} == {"written"}
    export(store, tmp_path / "distance")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    numbers = c25.evidence()
    c25.CLAIM.check(numbers)
    assert [row[:3] for row in numbers["runs"]] == [[name, 0, n] for name in ("learned", "rope") for n in (1, 2, 4, 8)]
    [row] = [row for row in numbers["runs"] if row[0] == record["label"] and row[2] == 8]
    assert row[3] == record["lengths"][0]["exact"]
    assert row[4:] == [group["exact"] for group in record["lengths"][0]["groups"]]
    assert c25.CLAIM.judge(numbers).word == "inconclusive"

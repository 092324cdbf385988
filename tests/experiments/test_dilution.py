"""The experiment `dilution`: what it runs, and that its records are what C23 reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import c23
from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Model, Problem
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED

FILE = str(Path(__file__).resolve().parents[2] / "experiments" / "dilution.py")
INPUT = "seqpe form=input"
LABELS = {*COMPARED, INPUT}


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """One run of the quick form at toy size, on a text of two letters and blanks."""
    folder = tmp_path_factory.mktemp("dilution")
    (folder / "text.txt").write_text("ab ba b a " * 2000)
    first = next(e for e in load(FILE).experiments if e.encoding == "sinusoidal")
    toy = replace(
        first,
        task=Problem("masked", path=str(folder / "text.txt")),
        model=Model(width=8, depth=4, heads=2),
        training=replace(first.training, steps=2, batch=4, length=16),
        measure=replace(first.measure, lengths=(16,), examples=8),
    )
    [made] = engine.run([toy], folder / "runs", 1, cpu=True)
    assert made["status"] == "finished", made["reason"]
    return made


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_experiment_can_be_run(form):
    experiments = corpus.pin(load(FILE, form).experiments)
    for experiment in experiments:
        if experiment.seed == 0:
            build.check(replace(experiment, training=replace(experiment.training, batch=2)), cpu=True)
    seeds = {e.seed for e in experiments}
    assert {e.label for e in experiments} == LABELS
    assert len(experiments) == len(seeds) * len(LABELS) and len(seeds) == (3 if form == "quick" else 5)
    assert {e.model.depth for e in experiments} <= {*range(6, 13)}
    assert {e.measure.probes for e in experiments} == {("dilution", "distance")}


def test_the_trials_are_those_of_the_docstring():
    plan = load(FILE)
    assert (len(plan.experiments), len(plan.tuning.trials(plan.experiments))) == (33, 22)


def test_positions_enter_once_under_three_encodings():
    kinds = {}
    for experiment in corpus.pin([e for e in load(FILE).experiments if e.seed == 0]):
        kinds[experiment.label] = c23.kind({"experiment": experiment.to_json()})
    assert {label for label, kind in kinds.items() if kind == "once"} == {"sinusoidal", "learned", INPUT}
    assert {label for label, kind in kinds.items() if kind == "none"} == {"none"}
    assert {kinds[label] for label in ("seqpe", "rope", "alibi", "t5", "shaw", "deberta")} == {"every layer"}


def test_the_claim_reads_the_record(record):
    rows = c23.layers(record)
    assert [row[:3] for row in rows] == [["sinusoidal", 0, at] for at in range(5)]
    assert all(row[5] is not None and row[6] is not None for row in rows[:-1])
    assert rows[-1][5:] == [None, None]
    assert rows[0][4] > 0.05 and c23.loss(record) > 0
    heads = [head["places"]["mean"] for head in record["probes"]["distance"]["layers"][1]]
    assert rows[1][5] == pytest.approx(sum(heads) / 2)

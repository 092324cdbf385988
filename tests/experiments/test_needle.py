"""The experiment `needle`: what it runs, and that its records are what C28 reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import c28, experiments
from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Model
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED

FILE = str(Path(__file__).resolve().parents[2] / "experiments" / "needle.py")


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """One run of the quick form at toy size."""
    first = next(e for e in load(FILE).experiments if e.encoding == "alibi")
    toy = replace(
        first,
        model=Model(width=8, depth=2, heads=2),
        training=replace(first.training, steps=2, batch=4),
        measure=replace(first.measure, examples=20),
    )
    [made] = engine.run([toy], tmp_path_factory.mktemp("needle") / "runs", 1, cpu=True)
    assert made["status"] == "finished", made["reason"]
    return made


@pytest.mark.parametrize("form", ["quick", "standard"])
def test_every_experiment_can_be_run(form):
    experiments = corpus.pin(load(FILE, form).experiments)
    for experiment in experiments:
        if experiment.seed == 0:
            build.check(replace(experiment, training=replace(experiment.training, batch=2)), cpu=True)
    seeds = {e.seed for e in experiments}
    assert {e.label for e in experiments} == {*COMPARED, "seqpe form=input"}
    assert len(experiments) == len(seeds) * (len(COMPARED) + 1) and len(seeds) == (3 if form == "quick" else 5)
    for experiment in experiments:
        length = experiment.training.length
        assert experiment.measure.lengths == (length, 2 * length)
        assert experiment.measure.probes == ("dilution", "needle")


def test_the_trials_are_those_of_the_docstring():
    plan = load(FILE)
    assert (len(plan.experiments), len(plan.tuning.trials(plan.experiments))) == (33, 22)


def test_every_depth_occurs_in_training():
    [experiment] = [e for e in load(FILE).experiments if e.label == "alibi" and e.seed == 0]
    assert all(group.trained for group in build.task_of(experiment).groups)


def test_the_claim_reads_the_record(record):
    length = experiments.trained_at(record)
    for at in (length, 2 * length):
        found = [experiments.group(record, at, f"depth {depth:g}") for depth in c28.DEPTHS]
        assert all(0 <= share <= 1 for share in found)
    before, after = c28.read(record)
    layers = record["probes"]["dilution"]["layers"]
    assert (before, after) == (layers[0]["r2"]["mean"], layers[1]["r2"]["mean"]) and before < 1
    assert [curve["length"] for curve in record["probes"]["needle"]["curves"]] == [length, 2 * length]

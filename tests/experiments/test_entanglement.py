"""The experiment on entanglement: its runs can be made, and are those that its docstring tells of."""

from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Model
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from gnomon.lab.tuning import key

FILE = str(Path(__file__).resolve().parents[2] / "experiments" / "entanglement.py")


def parts(form="quick"):
    """The runs by the name of their task."""
    found = {}
    for experiment in load(FILE, form).experiments:
        found.setdefault(experiment.task.name, []).append(experiment)
    return found


@pytest.mark.parametrize(("form", "seeds"), [("quick", 3), ("standard", 5)])
def test_pairs_are_asked_of_all_at_every_budget(form, seeds):
    runs = parts(form)["adjacency"]
    labels = {*COMPARED, "deberta terms=c2p", "deberta terms=p2c"}
    budgets = {e.training.steps for e in runs}
    assert {(e.label, e.training.steps, e.seed) for e in runs} == {
        (label, steps, seed) for label in labels for steps in budgets for seed in range(seeds)
    }
    assert len(runs) == len(labels) * len(budgets) * seeds
    assert {round(e.training.warmup * e.training.steps) for e in runs} == {30}
    # What the trials of one budget are has to be told from those of another by more than their steps.
    assert len({key(e.to_json()) for e in runs}) == len(labels) * len(budgets)


@pytest.mark.parametrize(("form", "seeds", "count"), [("quick", 3, 6), ("standard", 5, 9)])
def test_both_sums_are_swept_from_small_to_large_beside_nothing(form, seeds, count):
    runs = parts(form)["masked"]
    ratios = {"sinusoidal": 0.5**0.5, "learned": 1.0}
    scales = {name: sorted({e.options["scale"] for e in runs if e.encoding == name}) for name in ratios}
    for name, ratio in ratios.items():
        assert 1.0 in scales[name] and len(scales[name]) == count
        assert ratio * scales[name][0] < 0.03 and ratio * scales[name][-1] >= 20
    assert {e.encoding for e in runs} == {"none", *scales} and len(runs) == (2 * count + 1) * seeds
    assert len({(e.training, e.model, e.measure) for e in runs}) == 1


def test_every_run_can_be_made():
    for experiment in corpus.pin([e for runs in parts().values() for e in runs if e.seed == 0]):
        build.check(experiment, cpu=True)


def test_a_run_of_the_sweep_is_probed(tmp_path):
    [of] = [e for e in parts()["masked"] if e.label == "sinusoidal scale=30" and e.seed == 0]
    training = replace(of.training, steps=2, batch=2, length=8)
    measure = replace(of.measure, lengths=(8,), examples=4)
    small = replace(of, model=Model(width=16, depth=1, heads=2), training=training, measure=measure)
    [record] = engine.run(corpus.pin([small]), Store(tmp_path, create=True), workers=1, cpu=True)
    assert record["status"] == "finished" and record["data"]["learned"] is None
    assert record["probes"].keys() == {"terms", "entanglement"}
    as_it_is = [each for each in record["probes"]["entanglement"]["factors"] if each["factor"] == 1.0]
    assert as_it_is[0]["ratio"]["mean"] > 10

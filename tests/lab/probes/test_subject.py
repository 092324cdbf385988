"""The probes on runs of the lab: what is restored, what is asked, what does not apply."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from gnomon.errors import OptionError, StoreError
from gnomon.lab import probes
from gnomon.lab.probes.probe import NotAsked, Result
from gnomon.lab.probes.subject import Subject, restored
from gnomon.lab.store import Store
from tests.lab.probes.conftest import experiments

EXAMPLES = 8


def subject(store: Store, text: Path, name: str) -> Subject:
    return restored(store, experiments(text)[name].hash, EXAMPLES)


@pytest.mark.parametrize("name", ["sinusoidal", "rope", "memory", "randomised", "recall"])
def test_every_probe_answers_or_says_why_not(store, text, name):
    asked = dict((probe.KEY, result) for probe, result in probes.asked(subject(store, text, name)))
    assert [*asked] == [*probes.PROBES]
    for key, result in asked.items():
        if isinstance(result, NotAsked):
            assert result.why.endswith(".")
            continue
        assert isinstance(result, Result)
        for table in result.tables():
            assert table.rows and all(len(row) == len(table.columns) for row in table.rows), key
        assert result.figures() and all(len(line.x) == len(line.y) for f in result.figures() for line in f.lines)
        json.dumps(result.numbers(), allow_nan=False)
    told = {key for key, result in asked.items() if isinstance(result, NotAsked)}
    expected = {
        "sinusoidal": {"needle"},
        "rope": {"needle", "terms", "entanglement"},
        "memory": {"needle", "terms", "entanglement", "bands"},
        "randomised": {"needle", "bands"},
        "recall": {"terms", "entanglement", "bands"},
    }
    assert told == expected[name]


def test_the_loss_is_that_of_the_record(store, text):
    """Of text, windows that end where the paired loss is measured; here more of them."""
    made = restored(store, experiments(text)["rope"].hash, examples=8)
    record = store.record(made.experiment.hash)
    for row in record["lengths"]:
        mean = np.mean(made.reader.losses(made.batch(row["length"]))[:, -4:])
        assert mean == pytest.approx(row["paired_loss"], abs=1e-4)


def test_a_memory_is_read_in_segments_as_it_was_measured(store, text):
    made = subject(store, text, "memory")
    assert made.reader.segment == 16 and made.reader.model.memory == 16
    record = store.record(made.experiment.hash)
    row = next(row for row in record["lengths"] if row["length"] == 32)
    assert np.mean(made.reader.losses(made.batch(32))[:, -4:]) == pytest.approx(row["paired_loss"], abs=1e-4)


def test_answers_are_as_often_right_as_the_record_says(store, text):
    made = subject(store, text, "recall")
    found = next(result for probe, result in probes.asked(made, ["lengths"]))
    record = store.record(made.experiment.hash)
    for each, row in zip(found.lengths, record["lengths"], strict=True):
        assert each.exact.mean == row["exact"] and each.exact.se == row["exact_se"]
        assert each.accuracy.mean == pytest.approx(row["token_accuracy"], abs=1e-12)


def test_needles_lie_at_every_depth_that_is_asked(store, text):
    made = subject(store, text, "recall")
    found = next(result for probe, result in probes.asked(made, ["needle"]))
    assert [curve.length for curve in found.curves] == [4, 8]
    for curve in found.curves:
        depths = [each.depth for each in curve.depths]
        # Of few pairs, several depths are the same examples: those are asked once.
        assert (depths[0], depths[-1]) == (0, 1) and depths == sorted(depths) and curve.length <= len(depths) < 11
        assert all(each.exact.count == EXAMPLES for each in curve.depths)


def test_a_probe_leaves_the_model_as_it_was(store, text):
    made = subject(store, text, "rope")
    batch = made.batch(16)
    before = made.reader.logits(batch)
    kept = {name: value.clone() for name, value in made.reader.model.state_dict().items()}
    for _ in probes.asked(made):
        pass
    assert torch.equal(made.reader.logits(batch), before)
    assert all(torch.equal(value, kept[name]) for name, value in made.reader.model.state_dict().items())
    assert not made.reader.model.blocks[0]._forward_hooks and not made.reader.model.blocks[0]._forward_pre_hooks


def test_what_the_table_ends_before_is_not_asked(store, text):
    """Tokens 0 to 15 have a row: neither the first place past them nor a longer text can be read."""
    made = subject(store, text, "table")
    asked = {probe.KEY: result for probe, result in probes.asked(made)}
    for key in ("perturbed", "beyond"):
        assert isinstance(asked[key], NotAsked) and "Learned has no such position" in asked[key].why
    assert asked["lengths"].refused == (32,) and asked["translation"].refused == (1, 5, 25, 100, 10**4)
    assert asked["translation"].tables()[0].rows == ()


def test_unknown_probes_and_runs_are_told(store):
    with pytest.raises(OptionError, match="attended"):
        probes.named(["atended"])
    with pytest.raises(StoreError, match="finished run"):
        restored(store, "0" * 16)

"""The experiment on addition: what it is made of, and that a run of it gives what its claims read."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import c16, c27, experiments
from gnomon.lab import build, corpus
from gnomon.lab.experiment import Model, Training
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
FILE = str(FOLDER / "addition.py")
SHIFTS = "measured_shifts=0,1,3,4 order=reversed shift=2"
FORMS = {
    "quick": ["addition base=5 order=reversed", f"addition base=5 {SHIFTS}"],
    "plain": ["addition base=5"],
    "hints": ["addition base=5 hints=10 order=reversed"],
    "standard": [
        "addition",
        "addition order=reversed",
        "addition hints=24 order=reversed",
        f"addition {SHIFTS}",
        "multiplication order=reversed",
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_encoding_has_every_format_with_every_seed(form):
    seeds = range(5 if form == "standard" else 3)
    found = load(FILE, form).experiments
    plain = [(e.task.label, e.seed, e.label) for e in found if e.training.randomised is None]
    labels = (*COMPARED, "fire")
    assert plain == [(task, seed, label) for task in FORMS[form] for seed in seeds for label in labels]
    drawn = [(e.seed, e.label) for e in found if e.training.randomised is not None]
    assert drawn == [(s, f"randomised {name}") for s in seeds for name in ("learned", "fire") if form == "standard"]


@pytest.mark.parametrize("form", FORMS)
def test_sums_are_measured_at_two_and_a_half_times_the_digits_of_training(form):
    for each in load(FILE, form).experiments:
        trained = each.training.length
        if "measured_shifts" in each.task.options:
            assert each.measure.lengths == (trained,)
        else:
            assert each.measure.lengths[0] == trained and each.longest == round(c16.FACTOR * trained)


@pytest.mark.parametrize("form", FORMS)
def test_every_experiment_can_be(form):
    for each in corpus.pin([each for each in load(FILE, form).experiments if each.seed == 0]):
        build.check(each, cpu=True)


def test_the_file_counts_its_runs_and_its_trials():
    told = " ".join((FOLDER / "addition.py").read_text(encoding="utf-8").split())
    runs, trials = map(int, re.search(r"Sizing: (\d+) runs and (\d+) trials, each trial a quarter", told).groups())
    for form, share in (("quick", 1), ("plain", 2), ("hints", 2)):
        made = load(FILE, form)
        tried = made.tuning.trials(made.experiments)
        assert (runs, trials) == (share * len(made.experiments), share * len(tried))
        steps = {each.task.label: each.training.steps for each in made.experiments}
        assert {round(steps[each.task.label] / each.training.steps) for each in tried} == {4}


def test_its_records_are_what_the_claims_read(tmp_path, monkeypatch):
    """The forms at the size of a toy, which learns nothing."""
    chosen = [each for form in ("quick", "plain") for each in load(FILE, form).experiments if each.seed == 0]
    kept = [each for each in chosen if each.encoding in ("learned", "alibi")]
    toys = [
        replace(
            each,
            model=Model(width=8, depth=1, heads=2),
            training=Training(steps=1, batch=2, length=each.training.length),
            measure=replace(each.measure, examples=8),
        )
        for each in kept
        if each.encoding == "learned" or "measured_shifts" in each.task.options
    ]
    store = Store(tmp_path / "runs", create=True)
    for each in corpus.pin(toys):
        make(each, store.path)
    assert {record["status"] for record in store.records()} == {"finished"}
    for name in c16.NAMES:
        export(store, tmp_path / name)
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    of_shifts = json.loads(json.dumps(c27.evidence()))
    c27.CLAIM.check(of_shifts)
    assert of_shifts["task"] == FORMS["quick"][1] and of_shifts["shift"] == 2
    assert [row[:4] for row in of_shifts["runs"]] == [
        ["alibi", 0, "relative", False],
        ["learned", 0, "absolute", False],
    ]
    assert all(None not in row for row in of_shifts["runs"])
    of_lengths = c16.evidence()
    # The same results under three names.
    assert [row[2] for row in of_lengths["runs"]] == 3 * [*sorted((FORMS["plain"][0], FORMS["quick"][0]))]
    assert all(None not in row for row in of_lengths["runs"])
    assert c16.CLAIM.judge(of_lengths).word == c27.CLAIM.judge(of_shifts).word == "inconclusive"

"""The experiments on rows of symbols: what they are made of, and that each can be."""

import re
from pathlib import Path

import pytest

from gnomon.lab import build, corpus
from gnomon.lab.load import load
from gnomon.lab.measures import LEARNED
from gnomon.lab.presets import COMPARED

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
TASKS = {
    ("algorithmic", "quick"): ["copy", "copy unique=True"],
    ("algorithmic", "standard"): ["copy", "copy alphabet=64 unique=True"],
    ("algorithmic_more", "quick"): [
        "reverse",
        "repeated alphabet=16 pattern=5",
        "sort alphabet=26",
        "count alphabet=6",
    ],
    ("algorithmic_more", "recall"): ["recall keys=10 values=4"],
    ("algorithmic_more", "standard"): ["reverse", "repeated", "sort", "count", "recall"],
}
FORMS = [*TASKS]


def plan(name: str, form: str):
    return load(str(FOLDER / f"{name}.py"), form)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_encoding_has_every_task_with_every_seed(name, form):
    seeds = range(5 if form == "standard" else 3)
    found = [(each.task.label, each.seed, each.label) for each in plan(name, form).experiments]
    labels = (*COMPARED, "chain")
    assert found == [(task, seed, label) for task in TASKS[name, form] for seed in seeds for label in labels]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_lengths_are_from_a_little_past_training_to_two_and_a_half_times(name, form):
    for each in plan(name, form).experiments:
        trained = each.training.length
        first, *past = each.measure.lengths
        assert (
            first == trained and past == [round(factor * trained) for factor in (1.1, 1.25, 1.5, 2, 2.5)][-len(past) :]
        )
        assert past[0] <= 1.25 * trained and past[-1] == 2.5 * trained


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_experiment_can_be(name, form):
    """Of each task under each encoding one, since seeds change nothing; guessing is far from having learned."""
    for each in corpus.pin([each for each in plan(name, form).experiments if each.seed == 0]):
        build.check(each, cpu=True)
        assert build.task_of(each).chance(each.training.length).exact < LEARNED / 3


@pytest.mark.parametrize("name", ["algorithmic", "algorithmic_more"])
def test_the_file_counts_its_runs_and_its_trials(name):
    told = " ".join((FOLDER / f"{name}.py").read_text(encoding="utf-8").split())
    runs, trials = re.search(r"Sizing: (\d+) runs and (\d+) trials, each trial a quarter as long", told).groups()
    made = plan(name, "quick")
    tried = made.tuning.trials(made.experiments)
    assert (int(runs), int(trials)) == (len(made.experiments), len(tried))
    steps = {each.task.label: each.training.steps for each in made.experiments}
    assert {round(steps[each.task.label] / each.training.steps) for each in tried} == {4}

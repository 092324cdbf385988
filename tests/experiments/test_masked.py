"""The experiment on masked text: its runs can be made, and are those that its docstring tells of."""

from pathlib import Path

import pytest

from gnomon.lab import build, corpus
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED

FILE = str(Path(__file__).resolve().parents[2] / "experiments" / "masked.py")


@pytest.mark.parametrize(("form", "seeds", "tasks"), [("quick", 3, 1), ("standard", 5, 2)])
def test_every_encoding_is_trained_alike(form, seeds, tasks):
    plan = load(FILE, form)
    more = {"deberta terms=c2p", "deberta terms=p2c"}
    assert {e.label for e in plan.experiments} == {*COMPARED} | more
    assert len(plan.experiments) == len({*plan.experiments}) == 12 * seeds * tasks
    alike = {(e.training, e.model, e.measure) for e in plan.experiments}
    assert len(alike) == 1
    assert {e.seed for e in plan.experiments} == {*range(seeds)}
    assert len(plan.tuning.trials(plan.experiments)) == 12 * tasks * len(plan.tuning.rates)


def test_letters_are_asked_before_words():
    """The words of `standard` are another task; `quick` has none."""
    assert {e.task.label for e in load(FILE, "quick").experiments} == {"masked"}
    assert {e.task.label for e in load(FILE, "standard").experiments} == {"masked", "masked whole_words=True"}


def test_every_run_can_be_made():
    for experiment in corpus.pin([e for e in load(FILE).experiments if e.seed == 0]):
        build.check(experiment, cpu=True)

"""The experiment on a cue at the start: what it is made of, and that its records are what C24 reads."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import c24, experiments
from gnomon.claims.rules.c24 import ABSOLUTE, RELATIVE
from gnomon.lab import build, corpus, engine
from gnomon.lab.experiment import Experiment
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED
from gnomon.lab.store import Store
from tests.lab.toys import make

FILE = Path(__file__).resolve().parents[2] / "experiments" / "shortcut.py"
FORMS = pytest.mark.parametrize("form", ["quick", "standard"])


def first(form: str = "quick") -> list[Experiment]:
    """Those of the first seed."""
    return corpus.pin([each for each in load(str(FILE), form).experiments if each.seed == 0])


def toy(experiment: Experiment) -> Experiment:
    """An eighth as wide, hardly trained: other sizes are other sizes still."""
    return replace(
        experiment,
        model=replace(experiment.model, width=experiment.model.width // 8, heads=2),
        training=replace(experiment.training, steps=1, batch=300),
        measure=replace(experiment.measure, examples=6),
    )


@FORMS
def test_every_part_has_its_encodings(form: str):
    parts: dict[tuple, set] = {}
    for each in first(form):
        options = each.task.options
        parts.setdefault((options["cue"], options.get("sequences"), each.model.width), set()).add(each.label)
    middle = Counter(each.model.width for each in first(form)).most_common(1)[0][0]
    assert parts.pop(("start", None, middle)) == {*COMPARED}
    swept = parts.pop(("anywhere", None, middle))
    assert {*ABSOLUTE} < swept and swept & {*RELATIVE}
    assert all(found == swept for found in parts.values())
    amounts = [amount for cue, amount, width in parts if width == middle]
    [of_sizes] = {amount for cue, amount, width in parts if width != middle}
    assert len(amounts) >= 3 and of_sizes == sorted(amounts)[len(amounts) // 2]
    assert len({width for cue, amount, width in parts}) == 3


def test_it_is_as_large_as_it_says():
    plan, said = load(str(FILE)), FILE.read_text(encoding="utf-8")
    assert f"{len(plan.experiments)} runs and {len(plan.tuning.trials(plan.experiments))} trials" in said
    assert {each.seed for each in plan.experiments} == {0, 1, 2}
    assert {each.seed for each in load(str(FILE), "standard").experiments} == {0, 1, 2, 3, 4}


@FORMS
def test_every_experiment_can_be_run(form: str):
    for experiment in first(form):
        build.check(experiment, cpu=True)


def test_its_records_are_what_the_claim_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chosen = [toy(each) for each in first() if each.label == "learned"]
    store = Store(tmp_path / "runs", create=True)
    [record] = engine.run(chosen[:1], store, workers=1, cpu=True)
    assert record["status"] == "finished" and {make(each, store.path) for each in chosen[1:]} == {"written"}
    export(store, tmp_path / "shortcut")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    numbers = c24.evidence()
    c24.CLAIM.check(numbers)
    assert len(numbers["by_encoding"]) == len(numbers["anywhere"]) == 1
    assert sorted(row[2] for row in numbers["by_data"]) == [64, 256, 300, 300]
    assert len({row[3] for row in numbers["by_data"]}) == 1
    assert len({row[3] for row in numbers["by_size"]}) == 3 and {row[2] for row in numbers["by_size"]} == {256}
    assert numbers["by_encoding"][0][4:] == [group["exact"] for group in record["lengths"][0]["groups"]]
    assert numbers["chance"] == 0.25 and numbers["sources"][0][::2] == ["shortcut", len(chosen)]
    assert c24.CLAIM.judge(numbers).word == "inconclusive"

"""C05, C07, C12, C13, C26 and C30: other numbers, another verdict; and results of the experiment make the numbers."""

import ast
import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gnomon import user_code
from gnomon.claims import CLAIMS, c30, experiments
from gnomon.claims.claim import WORDS
from gnomon.errors import DataError
from gnomon.lab.experiment import Experiment, Model, Problem, Text, Training
from tests.claims.made_up import keep
from tests.claims.made_up import record as made_up
from tests.claims.text_numbers import CASES, EXAMPLES, SEEDS

FILE = Path(__file__).resolve().parents[2] / "experiments" / "text.py"


@pytest.mark.parametrize(
    ("id", "change", "word", "said"), CASES, ids=[f"{case[0]}-{at}-{case[2]}" for at, case in enumerate(CASES)]
)
def test_other_numbers_another_verdict(id, change, word, said):
    verdict = CLAIMS[id].judge(EXAMPLES[id] | change)
    assert verdict.word == word, verdict.because
    assert said in verdict.because


@pytest.mark.parametrize("id", EXAMPLES)
def test_a_rule_comes_out_every_way_that_it_names(id):
    tree = ast.parse(inspect.getsource(inspect.getmodule(CLAIMS[id].rule)))
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in WORDS}
    assert {word for each, _, word, _ in CASES if each == id} == named


@pytest.mark.parametrize("id", EXAMPLES)
def test_the_examples_have_the_shape_that_is_stated(id):
    CLAIMS[id].check(json.loads(json.dumps(EXAMPLES[id])))


BEYOND = {"raise": None, "wrap": 1.5, "interpolate": 0.7}


def changed(encoding: str, options: dict[str, Any]) -> float | None:
    """The rise of the loss at every length past training, under options; None where it is refused."""
    if "scaling" in options:
        return 0.05 if options["scaling"] == "yarn" and options["factor"] == 2 else 0.3
    if options:
        return BEYOND[options["beyond"]]
    return {"rope": 0.9, "alibi": 0.0}.get(encoding, 1.0)


def measured(experiment: Experiment, rise: float | None) -> list[dict[str, Any]]:
    """Losses with that rise past training; within it half of it where the options are others."""
    found = []
    for length in experiment.measure.lengths:
        past = length > experiment.training.length
        if past and rise is None:
            found.append({"length": length, "status": "refused", "reason": "no such row"})
        else:
            loss = 2.0 + (rise if past else 0.0) + 0.01 * experiment.seed
            found.append({"length": length, "status": "measured", "paired_loss": loss})
    return found


def record(experiment: Experiment) -> dict[str, Any]:
    """The record of a run of the experiment, with numbers that are made up."""
    bands = [{"shortest": 6.0, "longest": 47.0, "held": {"mean": -0.8}, "alone": {"mean": 0.1}}] * 4
    made = made_up(experiment.encoding, experiment.seed, {64: {}})
    waved = experiment.encoding in ("rope", "sinusoidal")
    return made | {
        "hash": experiment.hash,
        "experiment": json.loads(json.dumps(experiment.to_json())),
        "label": experiment.label,
        "lengths": measured(experiment, changed(experiment.encoding, {})),
        "variants": [
            {"options": dict(options), "lengths": measured(experiment, changed(experiment.encoding, dict(options)))}
            for options in experiment.measure.variants
        ],
        "probes": {
            "translation": {"shifts": [{"by": 5.0, "output": {"mean": 1e-13}}]},
            "bands": {"plain": {"mean": 3.0}, "all_held": {"mean": 2.5}, "bands": bands}
            if waved
            else {"not_asked": "no frequencies"},
        },
    }


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """Three seeds of the encodings that are judged, as the experiment's own file has them."""
    form = user_code.run(FILE)["form"]
    every = form(SEEDS, Model(width=16, depth=1, heads=2), Training(steps=1, batch=1, length=64), 512, 4)
    kept = [
        record(replace(each, task=Text(digest="0" * 64)))
        for each in every
        if each.encoding in ("rope", "sinusoidal", "learned", "alibi")
    ]
    keep(tmp_path, text=kept)
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    return tmp_path


def edit(folder: Path, **change: Any) -> None:
    """Another text in each record of sinusoidal positions with seed 1."""
    kept = experiments.records("text")
    for each in kept:
        if each["label"] == "sinusoidal" and each["experiment"]["seed"] == 1:
            each.update(change)
    keep(folder, text=kept)


def found(id: str) -> dict[str, Any]:
    """The numbers of a claim, as a record keeps them."""
    numbers = json.loads(json.dumps(CLAIMS[id].evidence(), allow_nan=False))
    CLAIMS[id].check(numbers)
    for name, columns in CLAIMS[id].columns.items():
        if numbers[name] is not None:
            assert {len(row) for row in numbers[name]} == {len(columns)}, name
    return numbers


VERDICTS = {
    "C05": "does not hold",
    "C07": "holds if texts are at most twice as long as those of training and frequencies are scaled by yarn",
    "C12": "holds",
    "C13": "holds",
    "C26": "does not hold",
    "C30": "holds of fast waves that carry the loss, not of combinations never seen",
}


@pytest.mark.parametrize("id", EXAMPLES)
def test_results_make_the_numbers_and_the_numbers_the_verdict(id, results):
    numbers = found(id)
    assert numbers["trained_at"] == 64 and {row[1] for row in numbers["runs"]} == {*SEEDS}
    assert numbers["sources"][0][0] == "text" and numbers["sources"][0][2] == 15
    assert CLAIMS[id].judge(numbers).short == VERDICTS[id]


def test_rises_are_over_the_model_as_it_was_trained(results):
    rope = {row[0]: row[3:] for row in found("C07")["runs"] if row[1] == 2}
    assert rope["rope"] == pytest.approx([2.02, 0.9, 0.9, 0.0, 0.0])
    # Stretched to twice the length at the one, and to eight times at the other.
    assert rope["rope yarn"] == pytest.approx([2.02, 0.05, 0.3, 0.0, 0.0])
    assert [*rope] == [
        "rope", "rope linear", "rope ntk", "rope yarn", "rope dynamic", "alibi", "learned",
        "learned beyond=clamp max_positions=64", "sinusoidal",
    ]  # fmt: skip
    ways = {row[0]: row[4:] for row in found("C12")["runs"] if row[1] == 0}
    assert ways["interpolation over 128"] == pytest.approx([0.7] * 3) and ways["wrapping"] == pytest.approx([1.5] * 3)
    assert [*ways][:2] == ["an untrained row", "clamping"] and len(ways) == 5
    assert found("C12")["refused"] == [[seed, 6, 6] for seed in SEEDS]


def test_what_slow_waves_bring_is_by_the_run_where_the_fast_alone_go_on(results):
    """As it is 3.0; all held 2.5; the fast alone run on: 0.1 more."""
    [row] = [row for row in found("C30")["runs"] if row[:2] == ["sinusoidal", 0]]
    assert row[5:] == pytest.approx([0.8, 0.4])


def test_a_run_that_failed_is_not_dropped(results):
    edit(results, status="failed", lengths=[], data=None, probes={}, variants=[])
    for id in ("C05", "C13", "C26", "C30"):
        verdict = CLAIMS[id].judge(found(id))
        assert verdict.word == "inconclusive", id
    assert "seed 1" in CLAIMS["C13"].judge(found("C13")).because
    assert CLAIMS["C12"].judge(found("C12")).word == "holds"


def test_a_run_that_knows_no_more_than_byte_frequencies_is_told(results):
    edit(results, data={"unigram_loss": {"test": 2.05}})
    assert [row[2] for row in found("C13")["runs"]] == [True, False, True]
    assert CLAIMS["C13"].judge(found("C13")).word == "inconclusive"


def test_copies_are_told_where_there_are_any(results):
    assert found("C26")["answers"] is None
    lengths = {20: {"exact": 0.99}, 22: {"exact": 0.01, "chance_exact": 0.0}, 25: {"exact": 0.0}}
    runs = [
        made_up(name, seed, lengths, Problem(task, {}), options=options, trained=20)
        for task in ("copy", "reverse")
        for name, options in (("sinusoidal", {}), ("learned", {"max_positions": 128}), ("alibi", {}))
        for seed in SEEDS
    ]
    keep(results, algorithmic=runs)
    numbers = found("C26")
    assert numbers["answers"] == [
        [name, seed, True, 0.99, 0.01, 0.0, 0.0] for name in ("sinusoidal", "learned") for seed in SEEDS
    ]
    assert [row[0] for row in numbers["sources"]] == ["text", "algorithmic"]
    assert CLAIMS["C26"].judge(numbers).condition == (
        "of copies under sinusoidal positions and of copies under learned positions, not of text under sinusoidal "
        "positions and of text under learned positions"
    )


def test_results_without_the_encodings_of_a_claim_are_refused(results):
    keep(results, text=[each for each in experiments.records("text") if each["label"] == "alibi"])
    for id in EXAMPLES:
        with pytest.raises(DataError, match="lack encodings"):
            CLAIMS[id].evidence()


def test_combinations_are_new_where_no_trained_position_is_as_near_as_a_neighbour():
    """One place after another, of the fast half of four waves."""
    from gnomon.encodings.sinusoidal import Sinusoidal
    from gnomon.positions import sequence

    added = Sinusoidal(8).absolute(sequence(24))[0]
    for at, (shortest, longest, share) in enumerate(c30.unseen(8, 12)):
        wave = added[:, 2 * at : 2 * at + 2]
        near = (wave[1] - wave[0]).norm()
        new = [all((wave[p] - wave[q]).norm() > near * (1 + 1e-9) for q in range(12)) for p in range(12, 24)]
        assert share == sum(new) / 12
        assert shortest == longest == pytest.approx(6.283185307179586 * 10**at)
    assert c30.unseen(8, 12)[0][2] == 0 and c30.unseen(8, 12)[-1][2] == 11 / 12

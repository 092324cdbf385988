"""C21 and C22: numbers make the verdict, and runs of a few steps the numbers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import c21, c22, experiments
from gnomon.claims.claim import WORDS
from gnomon.claims.rules import c21 as rule21
from gnomon.lab import corpus
from gnomon.lab.experiment import Experiment, Measure, Model
from gnomon.lab.exported import export
from gnomon.lab.load import load
from gnomon.lab.run import Settings, run
from gnomon.lab.store import Store

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
SOURCES = [["an experiment", "a digest", 1]]

WELL, LOST, A_LITTLE = (2.0, 2.01, 1.99), (2.3, 2.31, 2.28), (2.01, 2.0, 2.0)
ACROSS, BROKEN, WITHOUT = (2.0, 2.6, 2.1), (None, None, None), (2.6, 2.61, 2.6)
SWEPT = {0.01: LOST, 0.3: WELL, 1.0: A_LITTLE, 30.0: LOST}
KEPT = SWEPT | {0.01: A_LITTLE, 30.0: A_LITTLE}


def sweep(name, losses, learned=True):
    """Rows of C21: by scale, the loss of each seed; the ratio of norms is half the scale."""
    return [
        [f"{name} scale={scale}", seed, name, scale, loss, scale / 2, 0.25, 0.25, 0.25, 0.25, learned]
        for scale, each in losses.items()
        for seed, loss in enumerate(each)
    ]


def none(losses=WITHOUT, learned=True):
    return [["none", seed, "none", None, loss, *[None] * 5, learned] for seed, loss in enumerate(losses)]


def judged21(sinusoidal, learned, without=None):
    rows = sweep("sinusoidal", sinusoidal) + sweep("learned", learned) + (none() if without is None else without)
    numbers = {"guess": 3.3, "runs": rows, "sources": SOURCES}
    c21.CLAIM.check(numbers)
    return c21.CLAIM.judge(numbers)


CASES_21 = [
    (SWEPT, SWEPT, None, "holds", "less than 10% of their worth is lost from scale 0.3 to 1, where their norm after "
     "training is 0.15 to 0.5 of the content's."),
    (SWEPT, SWEPT, None, "holds", "scale 30 (norm 15 of the content's, positions in 75% of the logits' variance)"),
    (SWEPT | {30.0: BROKEN}, SWEPT, None, "holds", "3 runs have no finite loss and count as a guess."),
    (
        SWEPT | {0.01: A_LITTLE}, SWEPT, None, "holds if",
        "of too large a norm of sinusoidal positions and of too small a norm of learned positions and of too large a "
        "norm of learned positions: nothing that counts is lost by too small a norm of sinusoidal positions.",
    ),
    (SWEPT | {0.01: A_LITTLE}, SWEPT, None, "holds if", "from scale 0.01 to 1"),
    (SWEPT, SWEPT | {30.0: ACROSS}, None, "holds if", "undecided is too large a norm of learned positions."),
    (KEPT, KEPT, None, "does not hold", "from scale 0.01 to 30"),
    (KEPT | {30.0: ACROSS}, KEPT, None, "inconclusive", "Undecided is too large a norm of sinusoidal positions."),
    # Positions are worth nothing here, so nothing says what is lost of them.
    (SWEPT, SWEPT, none(WELL), "inconclusive", "positions are worth"),
    ({each: SWEPT[each][:1] for each in SWEPT}, {each: SWEPT[each][:1] for each in SWEPT}, none(WITHOUT[:1]),
     "inconclusive", "one seed"),
    ({each: SWEPT[each] for each in (0.3, 30.0)}, KEPT, None, "inconclusive", "sinusoidal: there is no sweep"),
    (KEPT, KEPT, none(WITHOUT, learned=False), "does not hold", "No better than byte frequencies in some seed: none."),
]  # fmt: skip


@pytest.mark.parametrize(("sinusoidal", "learned", "without", "word", "said"), CASES_21)
def test_c21_follows_its_numbers(sinusoidal, learned, without, word, said):
    verdict = judged21(sinusoidal, learned, without)
    assert verdict.word == word
    assert said in verdict.because


def test_c21_lets_no_seed_choose_what_it_is_compared_with():
    """Seed 2 is lucky at scale 0.3; the others are better at 1, so that it is held against 1 too."""
    by_scale = {0.1: {0: 3.0, 1: 3.0, 2: 3.0}, 0.3: {0: 2.1, 1: 2.1, 2: 1.5}, 1.0: {0: 2.0, 1: 2.0, 2: 2.0}}
    assert [rule21._best(by_scale, [0.3, 1.0], seed) for seed in range(3)] == [0.3, 0.3, 1.0]
    assert rule21._best({0.3: {0: 2.1}, 1.0: {0: 2.0}}, [0.3, 1.0], 0) == 1.0


def test_c21_tells_no_range_across_a_gap():
    """A scale that loses parts those on its other side from the range around the best."""
    verdict = judged21({0.01: LOST, 0.1: A_LITTLE, 0.3: LOST, 1.0: WELL, 3.0: WELL, 30.0: LOST}, SWEPT)
    assert "sinusoidal: positions are worth" in verdict.because and "from scale 1 to 3," in verdict.because


LABELS = ("deberta", "learned", "sinusoidal", "deberta terms=c2p", "rope")


def masked(bert=WELL, learns=True, **losses):
    """Rows of C22: the losses of each seed on masked text; a step of DeBERTa costs twice one of the sum."""
    each = dict.fromkeys(LABELS, WELL) | {"learned": bert} | losses
    return [
        [label, seed, loss, None if loss is None else 0.4, learns, 20.0 if label == "deberta" else 10.0]
        for label, several in each.items()
        for seed, loss in enumerate(several)
    ]


SOON, LATE, NEVER = ((0.97, 0.98, 0.99), (1.0, 1.0, 1.0)), ((0.6, 0.55, 0.65), (1.0, 0.99, 0.98)), ((0.5,) * 3,) * 2
UNSURE, DIED = ((0.5, 1.0, 0.6), (0.6, 1.0, 1.0)), (BROKEN, BROKEN)


def pairs(bert=SOON, **shares):
    """The share right after 250 and after 500 steps, of each seed."""
    each = dict.fromkeys(LABELS, SOON) | {"learned": bert} | shares
    return [
        [label, seed, steps, share, share is not None and share >= 0.9]
        for label, both in each.items()
        for steps, several in zip((250, 500), both, strict=True)
        for seed, share in enumerate(several)
    ]


def judged22(text, binding):
    numbers = {"guess": 3.3, "chance": 0.5, "masked": text, "pairs": binding, "sources": SOURCES}
    c22.CLAIM.check(numbers)
    return c22.CLAIM.judge(numbers)


BEHIND = (2.1, 2.12, 2.1)
WORSE, SLOWER = masked(BEHIND, sinusoidal=BEHIND), pairs(LATE, sinusoidal=LATE)
CASES_22 = [
    (WORSE, SLOWER, "holds", "So do rope, which add nothing to the content either"),
    (WORSE, SLOWER, "holds", "at equal steps (one of deberta costs 2.0 times as much), deberta gains 0.107"),
    (WORSE, SLOWER, "holds", "deberta 0.99 (250), learned 0.79 (500)"),
    (masked(BROKEN, sinusoidal=BROKEN), pairs(NEVER, sinusoidal=DIED), "holds", "sinusoidal 0.50 (never)"),
    (WORSE, pairs(), "holds if", "of masked text: On masked text"),
    (WORSE, pairs(deberta=LATE), "holds if", "it is behind"),
    (WORSE, pairs(UNSURE), "holds if", "the interval leaves it open"),
    (masked(), SLOWER, "holds if", "of pairs that bind when adjacent: On masked text"),
    (masked(BEHIND), SLOWER, "holds if", "of masked text beside BERT's sum, and of pairs that bind when adjacent:"),
    (masked(), pairs(sinusoidal=LATE), "holds if", "of pairs that bind when adjacent beside the sinusoidal sum:"),
    (masked(), pairs(), "does not hold", "no difference that counts"),
    (masked(deberta=BEHIND), pairs(), "does not hold", "deberta gains -0.107"),
    (masked(deberta=BEHIND), pairs(deberta=LATE), "does not hold", "-0.195"),
    (masked((2.001, 2.012, 1.991)), pairs(), "does not hold", "deberta gains 0.001"),
    (masked(ACROSS), pairs(), "inconclusive", "the interval leaves it open"),
    (masked(learns=False), pairs(), "inconclusive", "neither has learned it"),
    (masked(learns=False), pairs(), "inconclusive", "No better than byte frequencies in some seed: deberta, deberta"),
    (masked(), pairs(NEVER, deberta=NEVER), "inconclusive", "neither has learned it"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "binding", "word", "said"), CASES_22)
def test_c22_follows_its_numbers(text, binding, word, said):
    verdict = judged22(text, binding)
    assert verdict.word == word
    assert said in verdict.because


def test_c22_names_what_else_gains_only_where_it_does():
    assert "So do" in judged22(masked(BEHIND), pairs()).because
    assert "So do" not in judged22(masked(BEHIND, rope=BEHIND), pairs()).because
    assert "So do" not in judged22(masked(), pairs()).because


def test_c22_tells_what_each_term_brings():
    text = masked(BEHIND, **{"deberta terms=c2p": (2.05, 2.06, 2.04)})
    assert "Both terms gain 0.050 [0.050, 0.050] on c2p alone." in judged22(text, pairs()).because


@pytest.mark.parametrize("cases", [CASES_21, CASES_22], ids=["C21", "C22"])
def test_a_rule_comes_out_every_way(cases):
    assert {case[-2] for case in cases} == {*WORDS[:4]}


def small(experiment: Experiment) -> Experiment:
    """The same in a few steps of a few numbers."""
    training = replace(experiment.training, steps=3, batch=2, length=8, warmup=0.1)
    measure = Measure(lengths=(8,), examples=4, probes=experiment.measure.probes)
    return replace(experiment, model=Model(width=16, depth=1, heads=2), training=training, measure=measure)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Results of a seed of some encodings of both experiments, each made small."""
    folder = tmp_path_factory.mktemp("results")
    chosen = {
        "masked": ("deberta", "learned", "sinusoidal"),
        "entanglement": (
            *("deberta", "learned", "sinusoidal"),
            *("sinusoidal scale=0.3", "learned scale=3", "none"),
        ),
    }
    for name, labels in chosen.items():
        all_of = load(str(EXPERIMENTS / f"{name}.py")).experiments
        made = dict.fromkeys(small(e) for e in all_of if e.label in labels and e.seed == 0)
        store = Store(folder / "runs" / name, create=True)
        for experiment in corpus.pin([*made]):
            assert run(experiment, store, Settings(cpu=True)) == "written"
        export(store, folder / name)
    return folder


def numbers_of(claim):
    numbers = json.loads(json.dumps(claim.evidence(), allow_nan=False))
    claim.check(numbers)
    return numbers


def test_c21_reads_the_sweep(found, monkeypatch):
    monkeypatch.setattr(experiments, "FOLDER", found)
    numbers = numbers_of(c21.CLAIM)
    rows = {row[0]: row for row in numbers["runs"]}
    assert rows.keys() == {"sinusoidal scale=0.3", "learned scale=3", "none"}
    assert rows["sinusoidal scale=0.3"][2:4] == ["sinusoidal", 0.3] and rows["none"][2:4] == ["none", None]
    # Contents begin with 1, sines and cosines with 1 / sqrt(2); three steps move neither far.
    assert rows["sinusoidal scale=0.3"][5] == pytest.approx(0.3 / 2**0.5, rel=0.1)
    assert rows["learned scale=3"][5] == pytest.approx(3, rel=0.3)
    assert sum(rows["sinusoidal scale=0.3"][6:10]) == pytest.approx(1)
    assert rows["none"][5:10] == [None] * 5 and rows["none"][4] > 3
    assert numbers["guess"] == pytest.approx(3.3, abs=0.3)
    assert c21.CLAIM.judge(numbers).word == "inconclusive"


def test_c22_reads_both_experiments(found, monkeypatch):
    monkeypatch.setattr(experiments, "FOLDER", found)
    numbers = numbers_of(c22.CLAIM)
    assert [row[:2] for row in numbers["masked"]] == [["deberta", 0], ["learned", 0], ["sinusoidal", 0]]
    assert all(row[2] > 3 and row[5] > 0 for row in numbers["masked"])
    labels = ("deberta", "learned", "sinusoidal", "none")
    assert {(row[0], row[2]) for row in numbers["pairs"]} == {(label, 3) for label in labels}
    assert numbers["chance"] == 0.5
    assert [row[0] for row in numbers["sources"]] == ["masked", "entanglement"]
    assert c22.CLAIM.judge(numbers).word == "inconclusive"


def test_c21_takes_a_run_that_diverged_for_what_it_is(found, monkeypatch):
    monkeypatch.setattr(experiments, "FOLDER", found)
    [record] = [r for r in experiments.records("entanglement") if r["label"] == "learned scale=3"]
    row = c21._row(record | {"status": "diverged", "lengths": [], "probes": {}})
    assert row[2:] == ["learned", 3.0, *[None] * 6, False]

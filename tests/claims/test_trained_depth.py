"""C23 and C28: records of trained models make the numbers, and the numbers the verdict."""

import json
import statistics

import pytest

from gnomon.claims import CLAIMS, c23, c28, experiments
from gnomon.claims.rules.c28 import _rank
from gnomon.lab import corpus
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.measures import Mean
from gnomon.lab.probes.dilution import Dilution, Layer
from gnomon.lab.probes.distance import Distance, Head
from tests.claims.made_up import keep

SEEDS = {0: -0.01, 1: 0.0, 2: 0.01}
"""By how much the numbers of a seed are off; the interval of what all are off by alike has no width."""
SOURCES = [["made up", "0" * 64, 3]]

# Of C23, by encoding: where positions enter, the loss, and each at the input or in the shallower half, and deep.
NONE = ("none", 3.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
FADES = ("once", 2.5, (0.9, 0.6), (0.5, 0.2), (0.4, 0.1))
KEEPS = ("once", 2.5, (0.9, 0.9), (0.5, 0.5), (0.4, 0.4))
STAYS = ("every layer", 2.5, (0.2, 0.1), (0.1, 0.1), (0.4, 0.4))
GOES = ("every layer", 2.5, (0.2, 0.1), (0.1, 0.1), (0.4, 0.1))


def numbers23(wide=1.0, **encodings):
    """Four layers, the last of which leaves nothing; `wide`: times that by which seeds are off, in what is deep."""
    runs, layers = [], []
    for label, (kind, loss, *pairs) in {"none": NONE, **encodings}.items():
        for seed, off in SEEDS.items():
            runs.append([label, seed, kind, None if loss is None else loss + off])
            for at in range(5) if loss is not None else ():
                r2, share = ((pair[at > 2] + wide * off * (at > 2)) * (at < 4) for pair in pairs[:2])
                places = None if at == 4 else pairs[2][at > 1] + wide * off * (at > 1)
                layers.append([label, seed, at, r2, share, places, places])
    return {"depth": 4, "runs": runs, "layers": layers, "sources": SOURCES}


READ, NOISE, MADE, ENTERS = (
    "what can be read of positions added once",
    "the signal to noise of positions added once",
    "what attention makes of positions added once",
    "what attention makes of positions that enter every layer",
)

CASES_23 = [
    (dict(sinusoidal=FADES, rope=STAYS), "holds", "sinusoidal 0.90 to 0.60 (-0.300"),
    (dict(sinusoidal=FADES, rope=GOES), "holds if", f"of {READ} and of {NOISE} and of {MADE}: not so of {ENTERS}."),
    (dict(sinusoidal=KEEPS, rope=STAYS), "holds if", f"of {ENTERS}: not so of {READ} and of {NOISE} and of {MADE}."),
    (
        dict(sinusoidal=FADES, learned=KEEPS, rope=STAYS),
        "holds if", f"of {READ} under sinusoidal and of {NOISE} under sinusoidal and of {MADE} under sinusoidal and",
    ),
    (
        dict(sinusoidal=("once", 2.5, (0.9, 0.6), (0.5, 0.5), (0.4, 0.4)), rope=STAYS),
        "holds if", f"of {READ} and of {ENTERS}: not so of {NOISE} and of {MADE}.",
    ),
    (
        dict(sinusoidal=("once", 2.5, (0.9, 0.6), (0.5, 0.2), (0.015, 0.015)), rope=STAYS),
        "holds if", f"not asked of {MADE}.",
    ),
    (dict(sinusoidal=KEEPS, rope=GOES), "does not hold", "No part of it is so of sinusoidal."),
    (dict(sinusoidal=KEEPS, learned=KEEPS, rope=GOES), "does not hold", "is so of sinusoidal and learned."),
    (dict(sinusoidal=("once", 2.95, *FADES[2:]), rope=STAYS), "inconclusive", "sinusoidal (0.050"),
    (dict(sinusoidal=FADES, rope=("every layer", 2.95, *STAYS[2:])), "inconclusive", "rope (0.050"),
    (dict(sinusoidal=("once", None, *FADES[2:]), rope=STAYS), "inconclusive", "sinusoidal (no run)"),
    (dict(wide=10, sinusoidal=FADES, rope=STAYS), "inconclusive", "0.90 to 0.60 (-0.300 [-0.548, -0.052])"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "word", "said"), CASES_23, ids=[f"{n}-{c[1]}" for n, c in enumerate(CASES_23)])
def test_other_numbers_of_c23_another_verdict(change, word, said):
    numbers = json.loads(json.dumps(numbers23(**change)))
    CLAIMS["C23"].check(numbers)
    verdict = CLAIMS["C23"].judge(numbers)
    assert verdict.word == word
    assert said in verdict.because


# Of C28, by encoding: right at start, middle and end at the training length, and past it; what R^2 falls by.
EVEN = (1.0, 1.0, 1.0)


def numbers28(*curves, wide=1.0, exact=0.95, text=True):
    runs, depths, other = [], [], []
    for which, (within, past, falls) in enumerate(curves):
        for seed, off in SEEDS.items():
            label = f"e{which}"
            runs.append([label, seed, exact, None if past is None else 0.5, 0.8, 0.8 - falls - off / 10])
            other += [[label, seed, 0.8, 0.8 - falls]] if text else []
            for at, curve in ((24, within), (48, past)):
                for depth in (0.0, 0.25, 0.5, 0.75, 1.0) if curve is not None else ():
                    middle = 0 < depth < 1
                    right = curve[0 if depth == 0 else 2 if depth == 1 else 1] - (wide * off if middle else 0)
                    depths.append([label, seed, at, depth, min(max(right, 0.0), 1.0)])
    return {
        "length": 24, "longer": 48, "guessing": 0.01, "runs": runs, "depths": depths,
        "text": other or [["another", 0, 0.8, 0.2]], "sources": SOURCES,
    }  # fmt: skip


def dipped(by, falls=None, within=EVEN):
    """The middle is worse by so much past the training length; positions fade alike unless it is said how."""
    return within, (0.9, 0.9 - by, 0.9), by if falls is None else falls


RISING = [dipped(0.1 * n, 0.05 + 0.05 * n) for n in range(6)]
FALLING = [dipped(0.1 * n, 0.4 - 0.05 * n) for n in range(6)]
BOTH = [dipped(0.1 * n, 0.05 + 0.05 * n, (0.99, 0.99 - 0.01 * n**2, 0.99)) for n in range(6)]
CASES_28 = [
    (BOTH, {}, "holds", "Rank correlation of fading and dip at 24: 1.00"),
    (RISING, {}, "holds if", "if texts are longer than in training: at the other length the dip is not predicted."),
    (
        [(past, within, falls) for within, past, falls in RISING],
        {}, "holds if", "of texts as long as in training: at the other length the dip is not predicted.",
    ),
    (FALLING, {}, "does not hold", "At length 48 the middle is lost less where positions fade."),
    ([(EVEN, EVEN, 0.1 * n) for n in range(6)], {}, "does not hold", "Under e5, at length 24, R^2 falls by 0.500"),
    (
        [*[(EVEN, EVEN, 0.3)] * 3, *[(EVEN, EVEN, -0.1)] * 2, dipped(0.3, 0.0)],
        {}, "does not hold", "is lost (right at start, middle and end) by e5 0.90, 0.60, 0.90 (dip 0.300",
    ),
    ([*[(EVEN, EVEN, 0.3)] * 3, *[(EVEN, EVEN, -0.1)] * 2, dipped(0.3, 0.2)], {}, "inconclusive", "by e5 0.90, 0.60"),
    ([(EVEN, EVEN, 0.0)] * 6, {}, "inconclusive", "is lost (right at start, middle and end) by none"),
    (RISING, dict(wide=30), "inconclusive", "open by"),
    (RISING[:4], {}, "inconclusive", "4 encodings learned the task, of 5 needed."),
    (RISING, dict(exact=0.85), "inconclusive", "Not learned in every run: e0, e1, e2, e3, e4, e5"),
    ([*RISING[:4], (EVEN, None, 0.3), (EVEN, (0.05,) * 3, 0.3)], dict(text=False), "inconclusive", "at 48: e4, e5"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("curves", "more", "word", "said"), CASES_28, ids=[f"{n}-{c[2]}" for n, c in enumerate(CASES_28)]
)
def test_other_numbers_of_c28_another_verdict(curves, more, word, said):
    numbers = json.loads(json.dumps(numbers28(*curves, **more)))
    CLAIMS["C28"].check(numbers)
    verdict = CLAIMS["C28"].judge(numbers)
    assert verdict.word == word
    assert said in verdict.because


def test_better_at_one_end_alone_is_no_dip():
    """What is found the more often the later it stands is not lost in the middle."""
    curves = [(EVEN, (0.2, 0.5, 0.9), 0.1 * n) for n in range(6)]
    because = CLAIMS["C28"].judge(numbers28(*curves)).because
    assert "At length 48 the middle is lost (right at start, middle and end) by none" in because


def test_an_order_that_a_seed_turns_round_predicts_nothing():
    """The means over seeds rank encodings as before."""
    numbers = numbers28(*RISING)
    for row in numbers["runs"]:
        if row[1] == 0:
            row[5] = 0.6 + int(row[0][1:]) / 100
    verdict = CLAIMS["C28"].judge(numbers)
    assert "fading and dip at 48: 1.00 (by seed 0.333" in verdict.because
    assert verdict.word == "inconclusive"


def test_ranks_are_spearmans():
    """Without ties 1 - 6 sum d^2 / (n (n^2 - 1)); with ties the correlation of mean ranks, counted by hand."""
    apart = [(0.1, 5.0), (0.2, 1.0), (0.3, 2.0), (0.4, 4.0), (0.5, 3.0)]
    assert _rank(apart) == pytest.approx(1 - 6 * (16 + 1 + 1 + 0 + 4) / (5 * 24), abs=1e-12)
    x, y = [0.3, 0.1, 0.1, 0.9, 0.4], [2.0, 1.0, 3.0, 3.0, 0.0]
    known = statistics.correlation([3, 1.5, 1.5, 5, 4], [3, 2, 4.5, 4.5, 1])
    assert _rank([*zip(x, y)]) == pytest.approx(known, abs=1e-12)
    assert _rank([(1.0, 2.0), (1.0, 3.0)]) is None and _rank([]) is None


@pytest.mark.parametrize(("at", "cases"), [(1, CASES_23), (2, CASES_28)])
def test_every_verdict_is_reached(at, cases):
    assert {case[at] for case in cases} == {"holds", "holds if", "does not hold", "inconclusive"}


# Evidence, from records.


def mean(value):
    return Mean(value, 0.01, 32)


def record(experiment, lengths, **probes):
    """What a run has left, as far as a claim reads it."""
    return {
        "format": 1, "hash": experiment.hash, "experiment": experiment.to_json(), "label": experiment.label,
        "status": "finished" if lengths else "failed", "reason": None, "lengths": lengths,
        "cost": {}, "environment": {}, "parameters": {"total": 1, "encoding": 0}, "probes": probes,
    }  # fmt: skip


def store(folder, name, records):
    keep(folder, **{name: records})


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results of both experiments: two layers, two seeds, and one run that failed."""
    (tmp_path / "text.txt").write_text("ab ba " * 1000)
    monkeypatch.setattr(experiments, "FOLDER", tmp_path / "results")
    common = dict(model=Model(width=8, depth=2, heads=2), training=Training(steps=1, length=16))
    stream = Dilution(16, 16, -0.1, tuple(Layer(mean(0.9 - at / 10), mean(0.5 - at / 10)) for at in range(3)))
    logits = Distance(16, tuple((Head(mean(0.4 - at / 10), mean(0.2)), Head(mean(0.2), mean(0.1))) for at in range(2)))
    read = dict(dilution=stream.numbers(), distance=logits.numbers())
    labels = ("none", {}), ("learned", {}), ("seqpe", {"form": "input"}), ("seqpe", {}), ("shaw", {})
    masked = Problem("masked", path=str(tmp_path / "text.txt"))
    deep = corpus.pin(
        [
            Experiment(*each, task=masked, measure=Measure(lengths=(16,)), seed=seed, **common)
            for each in labels
            for seed in (0, 1)
        ]
    )
    row = {"length": 16, "status": "measured", "loss": 2.5}
    failed = deep[-1].hash
    store(
        experiments.FOLDER, c23.NAME,
        [record(e, [], ) if e.hash == failed else record(e, [row], **read) for e in deep],
    )  # fmt: skip
    asked = corpus.pin(
        [
            Experiment("alibi", task=Problem("passkey"), measure=Measure(lengths=(16, 32)), seed=seed, **common)
            for seed in (0, 1)
        ]
    )
    rows = [
        {
            "length": at, "status": "measured", "loss": 0.1, "exact": right, "chance_exact": 1e-5,
            "groups": [{"name": f"depth {depth:g}", "exact": right - depth / 10} for depth in c28.DEPTHS],
        }
        for at, right in ((16, 0.95), (32, 0.5))
    ]  # fmt: skip
    store(experiments.FOLDER, c28.NAME, [record(asked[0], rows, **read), record(asked[1], [])])
    return experiments.FOLDER


def test_the_evidence_of_c23_has_every_run(results):
    numbers = json.loads(json.dumps(c23.evidence(), allow_nan=False))
    CLAIMS["C23"].check(numbers)
    assert numbers["depth"] == 2 and len(numbers["runs"]) == 10
    assert {(row[0], row[2]) for row in numbers["runs"]} == {
        ("none", "none"), ("learned", "once"), ("seqpe form=input", "once"), ("seqpe", "every layer"),
        ("shaw", "every layer"),
    }  # fmt: skip
    assert [row[3] for row in numbers["runs"] if row[0] == "shaw"].count(None) == 1
    assert len(numbers["layers"]) == 9 * 3
    first = next(row for row in numbers["layers"] if row[:3] == ["learned", 1, 1])
    assert first[3:] == pytest.approx([0.8, 0.4, 0.25, 0.15])
    assert numbers["sources"][0][0] == "dilution" and numbers["sources"][0][2] == 10


def test_the_evidence_of_c28_is_of_both_experiments(results):
    numbers = json.loads(json.dumps(c28.evidence(), allow_nan=False))
    CLAIMS["C28"].check(numbers)
    assert (numbers["length"], numbers["longer"], numbers["guessing"]) == (16, 32, 1e-5)
    assert numbers["runs"] == [["alibi", 0, 0.95, 0.5, 0.9, pytest.approx(0.8)], ["alibi", 1, None, None, None, None]]
    assert numbers["depths"][:2] == [["alibi", 0, 16, 0.0, 0.95], ["alibi", 0, 16, 0.25, pytest.approx(0.925)]]
    assert len(numbers["depths"]) == 10 and len(numbers["text"]) == 10
    assert [row[0] for row in numbers["sources"]] == ["needle", "dilution"]


@pytest.mark.parametrize("module", [c23, c28])
def test_every_column_has_a_name(results, module):
    numbers = module.evidence()
    for name, columns in module.CLAIM.columns.items():
        assert {len(row) for row in numbers[name]} == {len(columns)}, name

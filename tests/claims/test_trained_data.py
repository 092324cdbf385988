"""C19, C20 and C33: other numbers, another verdict; and evidence has every run in it, also one that was lost."""

from copy import deepcopy

import pytest

from gnomon.claims import c19, c20, c33, experiments
from gnomon.claims.claim import WORDS
from gnomon.lab import corpus, engine
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training, hash_of
from gnomon.lab.exported import export
from gnomon.lab.store import Store
from tests.claims.made_up import keep

SEEDS = (0, 1, 2)
GEOMETRY = dict(
    width=14, height=14, below_over_right_1d=3.4, below_over_right_2d=1.0, rank_1d=0.58, rank_2d=0.83,
)  # fmt: skip
ROUND = dict(below_over_right_1d=1.0, rank_2d=0.6)
"""A grid whose distances flattening leaves as they are."""


def digits(label, positions, wider, moved=0.3, learned=True):
    """Runs that lose so much on a wider canvas: of each seed, or of all alike."""
    lost = wider if isinstance(wider, tuple) else (wider,) * 3
    return [
        [label, seed, positions, learned, 0.9, 0.9 - moved, 0.9 - moved, 0.9 - lost[seed]] for seed in SEEDS
    ]  # fmt: skip


ROPE = digits("rope", "flat", (0.5, 0.6, 0.55)) + digits("rope axes=2", "grid", 0.05)
EVEN = digits("alibi", "flat", 0.02) + digits("alibi", "grid", 0.01)
SPREAD = digits("learned", "flat", (0.0, 0.3, 0.6)) + digits("learned axes=2", "grid", 0.0)
LOST = [row if row[1] else [*row[:4], None, None, None, None] for row in ROPE]
NOT = digits("rope", "flat", 0.5, learned=False) + digits("rope axes=2", "grid", 0.05)
BESIDE = digits("convolution", "flat", 0.4) + digits("convolution", "grid", 0.0) + digits("t5", "flat", 0.7)

ALL = "of the two neighbours and of the order of all distances"
CASES_19 = [
    (dict(digits=ROPE), "holds", "3.40 times as far"),
    (dict(digits=ROPE + BESIDE), "holds", "of all answers: rope 0.500 [0.376, 0.624]. By flattening a move"),
    (dict(digits=ROPE + BESIDE), "holds", "flattened: rope 0.55, 0.30; convolution 0.40, 0.30; t5 0.70, 0.30."),
    (dict(digits=ROPE + EVEN), "holds if", f"{ALL} and of models trained with rope on a wider canvas."),
    (dict(digits=EVEN), "holds if", f"{ALL}; not of trained models on a wider canvas."),
    (dict(digits=SPREAD), "holds if", f"{ALL}; trained models leave it open."),
    (dict(digits=BESIDE), "holds if", "costs a trained model, of all answers: not known of any."),
    (dict(digits=NOT), "holds if", "Not learned by every seed: rope flattened."),
    (dict(digits=LOST), "holds if", "Not learned by every seed: rope flattened, rope with two axes."),
    (dict(digits=ROPE[:1] + ROPE[3:4]), "holds if", "trained models leave it open"),
    (dict(digits=ROPE, rank_2d=0.6), "holds if", "not of the order of all distances."),
    (dict(digits=ROPE, below_over_right_2d=1.3), "holds if", "not of the two neighbours."),
    (dict(digits=ROPE, **ROUND), "holds if", "of trained models on a wider canvas; not of the two neighbours or the"),
    (dict(digits=EVEN, **ROUND), "does not hold", "0.58 and 0.60"),
    (dict(digits=SPREAD, **ROUND), "inconclusive", "0.300 [-0.445, 1.045]"),
]


def times(label, task, far, near=0.1, learned=True):
    """Runs that lose so much at the farther time: of each seed, or of all alike."""
    lost = far if isinstance(far, tuple) else (far,) * 3
    return [[label, seed, task, learned, 0.8, 0.8 - near, 0.8 - lost[seed]] for seed in SEEDS]


TIED, TIED_TOO = times("learned", "ecg", (0.4, 0.45, 0.5)), times("sinusoidal", "ecg", 0.3)
FREE, OPEN = times("sinusoidal", "ecg", 0.02), times("sinusoidal", "ecg", (0.0, 0.1, 0.4))
DISTANCE = times("rope", "ecg", 0.0) + times("t5", "ecg", 0.0) + times("none", "ecg", 0.0, learned=False)
AS_BAD = times("rope", "ecg", (0.4, 0.45, 0.5)) + times("t5", "ecg", (0.4, 0.45, 0.5))
STAMPED = times("rope", c20.STAMPED, 0.0) + [
    [*row[:4], right, right, right] for row, right in zip(times("rope", c20.COUNTED, 0.0), (0.5, 0.6, 0.7), strict=True)
]
CASES_20 = [
    (TIED + DISTANCE, "holds", "ecg: learned 0.100 and 0.450 [0.326, 0.574]; of 2 others rope the most, 0.000"),
    (TIED + TIED_TOO + DISTANCE, "holds", "sinusoidal 0.100 and 0.300"),
    (TIED, "holds", "lost 128 and 512 intervals later"),
    (TIED + DISTANCE, "holds", "not learned by every seed: none"),
    (TIED + FREE + DISTANCE, "holds if", "of learned on ecg; not of sinusoidal on ecg."),
    (TIED + OPEN + DISTANCE, "holds if", "of learned on ecg; open of sinusoidal on ecg."),
    (TIED + times("learned beyond=interpolate", "set", 0.0), "holds if", "of learned on ecg; not of learned on set."),
    (FREE + DISTANCE, "does not hold", "sinusoidal on ecg: no more than 0.1 of all answers are lost"),
    (TIED + AS_BAD, "does not hold", "of 2 others rope the most, 0.450"),
    (OPEN + DISTANCE, "inconclusive", "sinusoidal on ecg lose is not told"),
    (TIED[:1] + DISTANCE, "inconclusive", "learned on ecg"),
    ([[*row[:3], False, *row[4:]] for row in TIED] + DISTANCE, "inconclusive", "not learned by every seed: learned"),
    ([*TIED[:2], [*TIED[2][:4], None, None, None], *DISTANCE], "inconclusive", "No absolute encoding has learned"),
    (TIED + DISTANCE + STAMPED, "holds", "irregular samples than with their count: rope 0.200 [-0.048, 0.448]."),
]


def curve(label, task, *right, learned=True):
    """Runs with 100, 1,000 and 4,000 items, all seeds nearly alike."""
    amounts = zip((100, 1000, 4000), right, strict=True)
    return [
        [label, seed, task, amount, learned or amount < 4000, share + 0.001 * seed]
        for amount, share in amounts
        for seed in SEEDS
    ]


WORSE, ALIKE = curve("learned axes=2", "digits", 0.4, 0.7, 0.9), curve("sinusoidal", "digits", 0.6, 0.8, 0.9)
NEAR = curve("rope axes=2", "digits", 0.6, 0.8, 0.9) + curve("alibi", "digits", 0.5, 0.8, 0.95)
NET = curve("convolution", "digits", 0.7, 0.9, 0.98)
UNEVEN = [[*row[:5], row[5] - 0.2 * row[1] * (row[3] < 4000)] for row in ALIKE]
CASES_33 = [
    (WORSE + NEAR, "holds", "encodings of distance less learned axes=2 0.125 [0.125, 0.125]."),
    (WORSE + NEAR + NET, "holds", "convolution less learned axes=2 0.250 [0.250, 0.250]"),
    (WORSE + NEAR + NET, "holds", "convolution 1,000 for what learned axes=2 has with 4,000"),
    (WORSE + NEAR, "holds", "encodings of distance 3,031 for what learned axes=2 has with 4,000"),
    (
        ALIKE + NEAR + NET, "holds if",
        "of sinusoidal beside convolution on digits; not of sinusoidal beside encodings of distance on digits.",
    ),
    (UNEVEN + WORSE + NEAR, "holds if", "of learned axes=2 beside encodings of distance on digits; open of sinusoidal"),
    (WORSE + ALIKE + NEAR[9:], "holds if", "not of sinusoidal beside encodings of distance on digits."),
    (ALIKE + NEAR, "does not hold", "Absolute positions need no more data: sinusoidal beside encodings of distance"),
    (UNEVEN + NEAR, "inconclusive", "Not told by these seeds: sinusoidal beside"),
    (WORSE[::3] + NEAR, "inconclusive", "Not told by these seeds: learned axes=2"),
    (curve("learned", "digits", 0.4, 0.5, 0.5, learned=False) + NEAR, "inconclusive", "with all of it: learned."),
    (WORSE + curve("t5", "digits", 0.4, 0.5, 0.5, learned=False), "inconclusive", "Nothing can be compared"),
    ([[*row[:5], None if row[1] else row[5]] for row in WORSE] + NEAR, "inconclusive", "of it: learned axes=2"),
]  # fmt: skip


@pytest.mark.parametrize(("numbers", "word", "said"), CASES_19)
def test_c19_follows_its_numbers(numbers, word, said):
    verdict = c19.CLAIM.judge(GEOMETRY | numbers)
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize(("rows", "word", "said"), CASES_20)
def test_c20_follows_its_numbers(rows, word, said):
    verdict = c20.CLAIM.judge(dict(near=128, far=512, stamped=c20.STAMPED, counted=c20.COUNTED, runs=rows))
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize(("rows", "word", "said"), CASES_33)
def test_c33_follows_its_numbers(rows, word, said):
    verdict = c33.CLAIM.judge({"runs": rows})
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize("cases", [CASES_19, CASES_20, CASES_33], ids=["C19", "C20", "C33"])
def test_a_rule_comes_out_every_way(cases):
    assert {word for _, word, _ in cases} == {*WORDS[:4]}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A record of a run of one step."""
    folder = tmp_path_factory.mktemp("results")
    store = Store(folder / "runs", create=True)
    toy = Experiment(
        "none",
        task=Problem("distance", {"alphabet": 3, "distances": 2, "sequences": 4}),
        model=Model(width=8, depth=1, heads=2),
        training=Training(steps=1, batch=2, length=6),
        measure=Measure(lengths=(6,), examples=4),
    )
    [record] = engine.run(corpus.pin([toy]), store, workers=1, cpu=True)
    export(store, folder / "efficiency")
    return record, folder


@pytest.fixture
def results(made, monkeypatch):
    """Writes records as the results of an experiment, made of one that is there: what each was, and had right."""
    record, folder = made
    monkeypatch.setattr(experiments, "FOLDER", folder)

    def write(name, *runs):
        keep(folder, **{name: [changed(record, *run) for run in runs]})

    return write


def changed(made, label, seed, task, options, right, groups=None, pictures=None):
    """The record of another run; one without `right` has diverged."""
    record = deepcopy(made)
    record["experiment"] |= {"encoding": label.split()[0], "seed": seed}
    record["experiment"]["task"] |= {"name": task, "options": options}
    record |= {"label": label, "hash": hash_of(record["experiment"])}
    record["data"] = {"learned": 0.55} | ({"pictures": {"train": pictures}} if pictures else {})
    [row] = record["lengths"]
    row["exact"] = right
    row["groups"] = [{"name": name, "trained": not at, "exact": each} for at, (name, each) in enumerate(groups or [])]
    return record if right is not None else record | {"status": "diverged", "reason": "nan", "lengths": []}


def test_c19_reads_every_run_of_the_images(results):
    flat, grid = ({"positions": positions} for positions in ("flat", "grid"))
    groups = [*zip(c19.GROUPS, (0.9, 0.8, 0.7, 0.6), strict=True)]
    results(
        "images",
        ("alibi", 0, "images", flat, 0.9, groups),
        ("alibi", 0, "images", grid, 0.5, groups),
        ("rope axes=2", 1, "images", grid, None),
    )
    numbers = c19.evidence()
    c19.CLAIM.check(numbers)
    assert numbers["digits"] == [
        ["alibi", 0, "flat", True, 0.9, 0.8, 0.7, 0.6],
        ["alibi", 0, "grid", False, 0.9, 0.8, 0.7, 0.6],
        ["rope axes=2", 1, "grid", False, None, None, None, None],
    ]
    assert c19.CLAIM.judge(numbers).condition == f"{ALL}; trained models leave it open".partition(";")[0]


def test_c20_names_tasks_and_reads_both_times(results):
    def options(**given):
        return {"positions": "time", "sampling": "irregular", "shifts": [512, 128]} | given

    def groups(kind):
        names = (f"{kind}, as trained", f"{kind}, 128 later", f"{kind}, 512 later")
        return [*zip(names, (0.9, 0.5, 0.4), strict=True)]

    results(
        "time",
        ("learned", 0, "ecg", options(sampling="regular"), 0.9, groups("regular")),
        ("t5", 1, "ecg", options(), 0.9, groups("irregular")),
        ("t5", 1, "ecg", options(positions="count"), 0.2, groups("irregular")),
        ("rope", 1, "series", options(set="GunPoint", sampling="regular"), None),
    )
    numbers = c20.evidence()
    c20.CLAIM.check(numbers)
    assert (numbers["near"], numbers["far"]) == (128, 512)
    assert numbers["runs"] == [
        ["learned", 0, "ecg", True, 0.9, 0.5, 0.4],
        ["rope", 1, "GunPoint", False, None, None, None],
        ["t5", 1, c20.STAMPED, True, 0.9, 0.5, 0.4],
        ["t5", 1, c20.COUNTED, False, 0.9, 0.5, 0.4],
    ]


def test_c33_counts_pictures_and_sequences(results):
    def options(share, positions="grid"):
        return {"positions": positions, "share": share}

    results(
        "efficiency",
        ("learned axes=2", 0, "images", options(1.0), 0.9, None, 3997),
        ("learned", 0, "images", options(0.2, "flat"), 0.5, None, 799),
        ("rope axes=2", 0, "images", options(0.2), None),
        ("t5", 0, "distance", {"sequences": 512}, 0.3),
    )
    numbers = c33.evidence()
    c33.CLAIM.check(numbers)
    assert numbers["runs"] == [
        ["learned flattened", 0, "digits", 799, False, 0.5],
        ["learned axes=2", 0, "digits", 3997, True, 0.9],
        ["rope axes=2", 0, "digits", 799, False, None],
        ["t5", 0, "a token at a distance", 512, False, 0.3],
    ]

"""An experiment is one value with one hash, whichever way it was written down."""

import copy
import hashlib
import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import OptionError
from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training, hash_of
from gnomon.lab.parts import canonical

PINNED = Text(digest="0" * 64)

experiments = st.builds(
    Experiment,
    encoding=st.sampled_from(["none", "rope", "t5"]),
    options=st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        max_size=3,
    ),
    task=st.just(PINNED),
    model=st.builds(Model, width=st.sampled_from([64, 128]), tied=st.booleans()),
    training=st.builds(Training, steps=st.integers(1, 1000), length=st.integers(1, 512)),
    measure=st.builds(Measure, lengths=st.lists(st.integers(1, 4096), min_size=1, max_size=4).map(tuple)),
    seed=st.integers(0, 2**32 - 1),
)


def test_the_hash_of_an_experiment_is_fixed():
    """Every stored run hangs on this. Where it changes on purpose, raise `experiment.FORMAT` with it."""
    experiment = Experiment(
        "rope",
        {"theta": 1e4},
        PINNED,
        Model(width=128, depth=2, heads=4, dropout=0.5),
        Training(steps=600, batch=16, length=128, learning_rate=0.002),
        Measure(lengths=(64, 128), bytes=1000, pairs=10, targets=32),
        seed=7,
    )
    written = (
        '{"code":null,"encoding":"rope","format":3,'
        '"measure":{"bytes":1000,"lengths":[64,128],"pairs":10,"part":"test","targets":32},'
        '"model":{"backend":"auto","depth":2,"dropout":0.5,"feed_forward":null,"heads":4,"kv_heads":null,'
        '"scale_embeddings":true,"table":1.0,"tied":true,"width":128},'
        '"options":{"theta":10000},"seed":7,'
        '"task":{"digest":"' + "0" * 64 + '","kind":"text"},'
        '"training":{"batch":16,"clip":1.0,"floor":0.1,"learning_rate":0.002,"length":128,"precision":"fp32",'
        '"randomised":null,"steps":600,"warmup":0.1,"weight_decay":0.1}}'
    )
    assert experiment.hash == hashlib.sha256(written.encode()).hexdigest()[:16]


@given(experiments)
def test_json_gives_the_same_experiment_back(experiment: Experiment):
    again = Experiment.from_json(json.loads(canonical(experiment.to_json())))
    assert again == experiment
    assert again.hash == experiment.hash == hash_of(json.loads(json.dumps(experiment.to_json())))


@given(experiments)
def test_copies_are_equal(experiment: Experiment):
    for again in (pickle.loads(pickle.dumps(experiment)), copy.deepcopy(experiment)):
        assert again == experiment and hash(again) == hash(experiment)


def test_canonical_json_is_sorted_and_has_no_spaces():
    assert canonical({"b": [1, 2.5], "a": {"z": None, "y": "é"}}) == '{"a":{"y":"é","z":null},"b":[1,2.5]}'
    with pytest.raises(ValueError):
        canonical({"a": float("nan")})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Training(learning_rate=1), Training(learning_rate=1.0)),
        (Measure(lengths=[64, 128]), Measure(lengths=(128, 64, 64))),
    ],
)
def test_two_spellings_are_one_experiment(one: object, other: object):
    assert one == other and repr(one) == repr(other)


def test_two_spellings_of_options_are_one_experiment():
    one = Experiment("rope", {"theta": 1e4, "fraction": 0.5}, PINNED)
    other = Experiment("rope", {"fraction": 0.5, "theta": 10000}, PINNED)
    assert one.hash == other.hash and one.label == other.label == "rope fraction=0.5 theta=10000"


def test_options_cannot_be_changed_afterwards():
    given = {"theta": 5}
    experiment = Experiment("rope", given, PINNED)
    given["theta"] = 6
    assert experiment.options["theta"] == 5
    with pytest.raises(TypeError):
        experiment.options["theta"] = 6


def test_where_the_text_lies_is_no_part_of_the_hash_but_what_it_says_is():
    here, there = (Experiment("rope", task=Text(path, PINNED.digest)) for path in ("a.txt", "b.txt"))
    assert here.hash == there.hash
    assert here.hash != Experiment("rope", task=Text("a.txt", "1" * 64)).hash
    with pytest.raises(ValueError, match="pin"):
        _ = Experiment("rope").hash


@pytest.mark.parametrize(
    "changed",
    [
        Experiment("alibi", task=PINNED),
        Experiment("rope", {"theta": 1}, PINNED),
        Experiment("rope", task=PINNED, model=Model(dropout=0.1)),
        Experiment("rope", task=PINNED, training=Training(steps=1001)),
        Experiment("rope", task=PINNED, measure=Measure(pairs=7)),
        Experiment("rope", task=PINNED, seed=1),
    ],
)
def test_whatever_changes_the_numbers_changes_the_hash(changed: Experiment):
    assert changed.hash != Experiment("rope", task=PINNED).hash


def test_the_training_length_is_always_measured():
    experiment = Experiment("rope", training=Training(length=100), measure=Measure(lengths=(400, 50)))
    assert experiment.measure.lengths == (50, 100, 400)
    assert experiment.longest == 400


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"encoding": "rope", "trainning": {}}, "training"),
        ({"encoding": "rope", "training": {"step": 5}}, "steps"),
        ({"encoding": "rope", "task": {"kind": "text", "pth": "x"}}, "path"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(data: dict, named: str):
    with pytest.raises(OptionError, match=f"did you mean '{named}'"):
        Experiment.from_json(data)


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        {"encoding": 5},
        {"encoding": "rope", "task": {"kind": "images"}},
        {"encoding": "rope", "format": 99},
        {"encoding": "rope", "model": [1]},
        {"encoding": "rope", "options": {"a": {"b": 1}}},
        {"encoding": "rope", "options": {"a": float("inf")}},
        {"encoding": "rope", "training": {"steps": 5.5}},
        {"encoding": "rope", "training": {"steps": True}},
        {"encoding": "rope", "training": {"learning_rate": float("nan")}},
        {"encoding": "rope", "measure": {"lengths": "64"}},
        {"encoding": "rope", "seed": -1},
    ],
)
def test_a_wrong_description_is_a_users_error(data: object):
    with pytest.raises(OptionError):
        Experiment.from_json(data)


@pytest.mark.parametrize(
    ("kind", "options", "allowed"),
    [
        (Model, {"width": 100, "heads": 3}, "multiple of 3"),
        (Model, {"heads": 4, "kv_heads": 3}, "1, 2, 4"),
        (Model, {"dropout": 1.0}, "below 1"),
        (Model, {"backend": "fex"}, "flex"),
        (Training, {"steps": 0}, "1 or more"),
        (Training, {"learning_rate": 0}, "above 0"),
        (Training, {"warmup": 1.5}, "0 to 1"),
        (Measure, {"lengths": ()}, None),
        (Measure, {"lengths": (64, 0)}, "1 or more"),
    ],
)
def test_a_value_outside_its_range_says_what_is_allowed(kind: type, options: dict, allowed: str | None):
    with pytest.raises(OptionError) as error:
        kind(**options)
    assert allowed is None or allowed in str(error.value)


def test_the_command_line_can_read_experiments_without_torch():
    modules = "gnomon.lab.experiment, gnomon.lab.presets, gnomon.lab.load, gnomon.lab.corpus, gnomon.lab.progress"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_label_can_be_shown():
    """By a terminal and by a figure: no escapes, no end of lines, not thousands of letters."""
    label = Experiment("rope", options={"mode": "a\x1b[31m\n" + "b" * 3000, "theta": 7}).label
    assert label.isprintable() and len(label) < 100
    assert label.startswith("rope mode=a?[31m?bb") and label.endswith("... theta=7")

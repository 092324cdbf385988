"""Experiment files: what is right is read, and what is wrong is said with its line."""

from pathlib import Path

import pytest

from gnomon.errors import OptionError, UserError
from gnomon.lab.experiment import Experiment, Measure, Text
from gnomon.lab.load import load
from gnomon.lab.presets import COMPARED, adjusted, quick, sweep

ROOT = Path(__file__).resolve().parents[2]
IMPORT = "from gnomon.lab.experiment import *\n"


def write(folder: Path, code: str) -> str:
    path = folder / "mine.py"
    path.write_text(code)
    return str(path)


@pytest.mark.parametrize("name", ["quick", "standard"])
def test_the_preset_and_its_file_are_the_same(name: str):
    assert load(name) == load(str(ROOT / "experiments" / f"{name}.py"))


def test_quick_is_what_the_readme_says():
    experiments = quick()
    assert [e.encoding for e in experiments] == list(COMPARED)
    assert {e.seed for e in experiments} == {0}
    assert {e.training.length for e in experiments} == {128}
    assert {e.measure.lengths for e in experiments} == {(64, 128, 160, 256, 512, 1024)}


def test_standard_has_three_seeds_of_each():
    assert sorted((e.encoding, e.seed) for e in load("standard").experiments) == sorted(
        (n, s) for n in COMPARED for s in range(3)
    )


def test_a_file_of_ones_own(tmp_path: Path):
    code = IMPORT + "EXPERIMENTS = [Experiment('rope', {'theta': 5}, seed=s) for s in range(2)]\n"
    assert load(write(tmp_path, code)).experiments == [Experiment("rope", {"theta": 5}, seed=seed) for seed in range(2)]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("EXPERIMENT = []\n", "does not set EXPERIMENTS"),
        ("EXPERIMENTS = []\n", "list of experiments"),
        ("EXPERIMENTS = ['rope']\n", "holds something else"),
        ("x = 1\nEXPERIMENTS = [\n", "line 2"),
        ("x = 1\ny = z\n", "line 2: NameError"),
        ("import nothing_of_this_name\n", "ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "ends the program"),
        (IMPORT + "\nTraining(steps=0)\n", "line 3: Training.steps"),
        (IMPORT + "Training(step=5)\n", "did you mean 'steps'"),
        (IMPORT + "Experiment('rope', optons={})\n", "did you mean 'options'"),
        (IMPORT + "Experiment()\n", "encoding"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, code: str, said: str):
    with pytest.raises(UserError, match="(?s).*" + said.replace("(", r"\(")):
        load(write(tmp_path, code))


@pytest.mark.parametrize(
    ("name", "said"), [("qick", "did you mean 'quick'"), ("nowhere.py", "no such"), ("/", "no such")]
)
def test_a_name_that_is_nothing(name: str, said: str):
    with pytest.raises(OptionError, match=f"(?s).*{said}"):
        load(name)


def test_a_command_line_changes_what_it_names_and_nothing_else():
    changed = adjusted(quick(), text="mine.txt", steps=7, lengths=(256, 64), seeds=(3, 4))
    assert len(changed) == 2 * len(COMPARED)
    assert [(e.encoding, e.seed) for e in changed] == [(name, seed) for seed in (3, 4) for name in COMPARED]
    for e in changed:
        assert (e.task, e.training.steps, e.measure.lengths) == (Text("mine.txt"), 7, (64, 128, 256))
        assert e.model == quick()[0].model
    assert adjusted(quick()) == quick()


def test_encodings_are_kept_with_their_options_or_added():
    plan = sweep([("rope", {"theta": 5}), "none"], seeds=(0, 1), measure=Measure(pairs=3))
    changed = adjusted(plan, encodings=("alibi", "rope"))
    assert [(e.encoding, dict(e.options), e.seed) for e in changed] == [
        ("alibi", {}, 0),
        ("alibi", {}, 1),
        ("rope", {"theta": 5}, 0),
        ("rope", {"theta": 5}, 1),
    ]
    assert {e.measure.pairs for e in changed} == {3}

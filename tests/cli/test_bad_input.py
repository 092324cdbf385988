"""What a user gets wrong is a message and exit code 2, whatever it is: each of these has been a traceback."""

import os
from pathlib import Path

import pytest

from gnomon.errors import OptionError, shown
from gnomon.lab.experiment import Experiment
from gnomon.lab.machine import launched, most_threads
from gnomon.typed import typed
from tests.fuzz.watched import bounded

PLAN = """from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training

EXPERIMENTS = [
    Experiment(
        "none",
        task=Text("text.txt"),
        model=Model(width=8, depth=1, heads=1),
        training=Training(steps=1, batch=1, length=8),
    )
]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plan.py").write_text(PLAN)
    Path("text.txt").write_text("the sun casts a shadow " * 2000)
    return tmp_path


@pytest.mark.parametrize(
    "held", [b"a\0b", b",\x8a", b"\xff\xfe" + "x = 1".encode("utf-16-le"), b"(" * 5000, b"x = (\n"]
)
@pytest.mark.parametrize("command", ["compare", "list"])
def test_a_file_that_is_no_python(command: str, held: bytes, gnomon, here: Path):
    Path("odd.py").write_bytes(held)
    done = gnomon(command, "odd.py")
    assert done.code == 2 and "odd.py" in done.err


@pytest.mark.parametrize(
    "name, value",
    [("RANK", "1.5"), ("RANK", "-1"), ("WORLD_SIZE", "x"), ("WORLD_SIZE", "9" * 5000), ("WORLD_SIZE", "0")],
)
def test_a_launch_that_is_none(name: str, value: str, gnomon, here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, value)
    done = gnomon("compare", "plan.py", "--store", "new")
    assert done.code == 2 and name in done.err and f"unset {name}" in done.err and not Path("new").exists()


def test_an_empty_variable_is_as_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RANK", "")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert launched() == (0, 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert most_threads() == 3


@pytest.mark.parametrize("threads", ["²", "9" * 5000, "", "x", "-1"])
def test_threads_that_are_no_number_bound_nothing(threads: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert most_threads() > 1000


@pytest.mark.parametrize("columns", ["²", "9" * 5000, "-1", "x", "0", "00"])
def test_columns_that_are_no_width(columns: str, gnomon, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert gnomon("cite", "rope").code == 0
    assert gnomon("cite", "ropee").code == 2


@pytest.mark.parametrize("words", [[], ["--form", "quick"], ["--form", "1"]], ids=" ".join)
def test_forms_have_names(words: list[str], gnomon, here: Path):
    Path("plan.py").write_text(PLAN + "FORMS = {1: EXPERIMENTS}\n")
    done = gnomon("compare", "plan.py", *words)
    assert done.code == 2 and "FORMS of plan.py names lists of experiments" in done.err


@pytest.mark.parametrize("columns", ["1", "5", "20"])
def test_help_on_a_narrow_screen_ends(columns: str, gnomon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("COLUMNS", columns)
    with bounded():
        assert "Train" in gnomon("compare", "--help").out
        assert gnomon("compare", "--step", "3").code == 2
    assert os.environ["COLUMNS"] == columns


@pytest.mark.parametrize("option", ["--out", "--figure"])
@pytest.mark.parametrize("target", ["pipe", "/dev/full", "loop", "x" * 300, "text.txt/in"])
def test_a_report_goes_into_a_file(option: str, target: str, gnomon, here: Path, monkeypatch):
    """Said before the store is read."""
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    done = gnomon("report", "gone", option, target)
    assert (
        done.code == 2 and "there is no store" not in done.err and "report" in done.err + "report" * (option != "--out")
    )


@pytest.mark.parametrize("target", ["pipe", "/dev/full"])
def test_a_comparison_says_so_before_it_trains(target: str, gnomon, here: Path):
    os.mkfifo("pipe")
    done = gnomon("compare", "plan.py", "--out", target)
    assert done.code == 2 and "a report is a regular file" in done.err and not Path("runs").exists()


HUGE = 10**5000
ENDLESS: list = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize("value", [HUGE, [HUGE], {"a": HUGE}], ids=["number", "list", "table"])
def test_a_number_that_python_does_not_write_is_named_by_its_kind(value: object):
    assert shown(value) == f"a {type(value).__name__} that is too large to be shown"
    for hint in (int, str, float):
        with pytest.raises(OptionError, match="too large to be shown"):
            typed(value, hint, "size")
    with pytest.raises(OptionError):
        Experiment("rope", seed=value)
    assert "too large" in str(OptionError("a number", given=value))


def test_what_is_long_is_cut():
    assert shown("a" * 1000) == "'" + "a" * 199 + "..." and shown(ENDLESS) == "[[...]]" and shown(1.5) == "1.5"

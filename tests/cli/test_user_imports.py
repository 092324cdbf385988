"""What a user's file imports from its own folder belongs to its code: a changed helper is another experiment."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnomon import user_imports
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.errors import OptionError, UserError
from gnomon.lab import build, corpus
from gnomon.lab.experiment import Experiment
from gnomon.lab.store import Store
from gnomon.user_code import digest
from tests.lab.toys import make, toy

SHAPE = Shape(64, 4, 16)

MINE = """
from gnomon import Encoding
from {module} import STEEPNESS


class Mine(Encoding):
    steepness = STEEPNESS

    def score(self, q, k, q_pos, k_pos):
        return super().score(q, k, q_pos, k_pos)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A folder with a file, a helper and a text; afterwards Python is as it was before."""
    modules = set(sys.modules)
    write(tmp_path, "STEEPNESS = 0.5\n")
    (tmp_path / "book.txt").write_bytes(bytes(65 + i % 23 for i in range(20_000)))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


def write(folder: Path, helper: str, module: str = "steep") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(MINE.format(module=module))
    inner = folder.joinpath(*module.split(".")).with_suffix(".py")
    inner.parent.mkdir(exist_ok=True)
    inner.write_text(helper)
    return folder / "mine.py"


PLAN = """
from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training

EXPERIMENTS = [
    Experiment(
        "mine.py:Mine",
        task=Text("book.txt"),
        model=Model(width=8, depth=1, heads=2),
        training=Training(steps=1, batch=2, length=8),
        measure=Measure(lengths=(8,), bytes=64, pairs=2, targets=2),
    )
]
"""


def test_a_changed_helper_is_trained_again_and_an_unchanged_one_is_not(gnomon, folder: Path):
    def compare() -> dict[str, Any]:
        done = gnomon("compare", "plan.py", "--workers", "1", "--json")
        assert done.code == 0, done.err
        [record] = json.loads(done.out)["records"]
        return record

    (folder / "plan.py").write_text(PLAN)
    before = compare()
    assert compare() == before
    write(folder, "STEEPNESS = 0.7\n")
    after = compare()
    assert after["hash"] != before["hash"] and after["started"] > before["started"]


def test_the_code_that_runs_is_that_of_the_experiment(folder: Path):
    """In one process too, where the helper has been imported before; and a run of the old one is refused."""
    pinned = corpus.pin([Experiment("mine.py:Mine")])[0]
    assert build.encoding(pinned).steepness == 0.5
    write(folder, "STEEPNESS = 0.7\n")
    with pytest.raises(UserError, match="has changed"):
        build.encoding(pinned)
    assert create("mine.py:Mine", SHAPE).steepness == 0.7


def test_each_folder_has_its_own_helper(folder: Path):
    other = write(folder / "other", "STEEPNESS = 0.9\n")
    assert create("mine.py:Mine", SHAPE).steepness == 0.5
    assert create(f"{other}:Mine", SHAPE).steepness == 0.9
    assert not {str(folder), str(other.parent)} & set(sys.path), "a process that is given this path would mix them up"


WRITTEN = {
    "import tool.inner": {"tool.inner"},
    "import tool.inner as other, json": {"tool.inner"},
    "from tool import inner": {"tool.inner"},
    "from tool.inner import *": {"tool.inner"},
    "def late():\n    import tool.inner": {"tool.inner"},
    "import near": {"near", "far"},
    "import package": {"package", "package.part", "package.deep", "package.deep.end"},
    "import package.deep.end": {"package", "package.part", "package.deep", "package.deep.end"},
    "import random, torch, gnomon": set(),
    "import mine": set(),
}


@pytest.mark.parametrize("line", WRITTEN)
def test_what_is_found(line: str, folder: Path):
    """Modules at any depth with the packages they lie in, relative ones too; none of Python's, and none of ours."""
    files = {
        "near.py": "import far",
        "far.py": "import near",
        "random.py": "",
        "gnomon/__init__.py": "",
        "tool/inner.py": "",
        "package/__init__.py": "from . import part",
        "package/part.py": "from .deep import end",
        "package/deep/__init__.py": "",
        "package/deep/end.py": "from .. import part\nfrom ..part import nothing",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    (folder / "mine.py").write_text(line)
    found = user_imports.beside(folder / "mine.py")
    assert set(found) == WRITTEN[line]
    assert all(str(file.relative_to(folder)) in files for file in found.values())


def test_every_file_that_is_found_counts(folder: Path):
    (folder / "steep.py").write_text("from deeper import STEEPNESS")
    (folder / "deeper.py").write_text("STEEPNESS = 1")
    (folder / "beside.py").write_text("")
    before = digest("mine.py:Mine")
    (folder / "beside.py").write_text("x = 1")
    assert digest("mine.py:Mine") == before
    (folder / "deeper.py").write_text("STEEPNESS = 2")
    assert digest("mine.py:Mine") != before
    (folder / "mine.py").write_text("import torch\n")
    assert digest("mine.py:Mine") == hashlib.sha256(b"import torch\n").hexdigest()


def test_a_helper_with_the_name_of_something_else(folder: Path):
    write(folder, "STEEPNESS = 1\n", module="jaxtyping")
    (folder / "mine.py").write_text("import jaxtyping\n" + MINE.format(module="steep"))
    with pytest.raises(OptionError, match="another module of that name") as error:
        create("mine.py:Mine", SHAPE)
    assert error.value.allowed == str(folder / "jaxtyping.py")


@pytest.mark.parametrize("command", ["list none --encoding", "laws", "compare --text book.txt --encoding"])
@pytest.mark.parametrize("helper, line", [("x = 1\nSTEEPNESS = x / 0\n", 2), ("x = 1\n\nSTEEPNESS = (\n", 3)])
def test_a_mistake_in_a_helper_is_told_with_its_line(helper: str, line: int, command: str, gnomon, folder: Path):
    write(folder, helper)
    done = gnomon(*command.split(), "mine.py:Mine")
    assert done.code == 2 and f"steep.py, line {line}: " in done.err


AT_WORK = """
from gnomon import Encoding


class Mine(Encoding):
    def draw(self, pos, generator, rows=1):
        if rows > 1:
            raise {error}
        return pos
"""


@pytest.mark.parametrize("error", ["SystemExit", "KeyError('here')"])
def test_what_is_raised_in_training_fails_that_run_with_the_line(error: str, folder: Path):
    """No check can find it before, since nothing but training asks for several rows."""
    (folder / "mine.py").write_text(AT_WORK.format(error=error))
    experiment = toy(folder / "book.txt", "mine.py:Mine")
    assert make(experiment, folder / "runs") == "written"
    record = Store(folder / "runs").record(experiment.hash)
    assert record["status"] == "failed" and record["reason"].startswith("mine.py, line 8: ")

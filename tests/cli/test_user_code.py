"""An encoding in a user's own file takes part in compare, laws and list; its mistakes are told with the line."""

import json
from pathlib import Path

import pytest

from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.errors import OptionError, UserError
from gnomon.lab import build, corpus
from gnomon.lab.experiment import Experiment
from tests.cli.processes import process

MINE = '''
import torch
from gnomon.encoding import Encoding, Property, difference, both_placed, dot
from gnomon.pairs import at


class Square(Encoding):
    """Half a penalty for each step of distance, and no more."""

    variants = ({"steepness": 0.25},)

    def __init__(self, steepness: float = 0.5):
        super().__init__()
        self.steepness = steepness

    def score(self, q, k, q_pos, k_pos):
        distance = difference(q_pos, k_pos).abs().sum(-1)
        return self.scale(q.shape[-1]) * dot(q, k) - torch.where(
            both_placed(q_pos, k_pos), self.steepness * distance, 0.0
        )

    def bias(self, q, k, q_pos, k_pos):
        q_at, k_at = q_pos.coords.unbind(-1), k_pos.coords.unbind(-1)
        return lambda b, h, i, j: -self.steepness * sum(
            (at(x, b, i) - at(y, b, j)).abs() for x, y in zip(q_at, k_at, strict=True)
        )


class Wrong(Square):
    """Its lowering forgets half of the penalty."""

    def bias(self, q, k, q_pos, k_pos):
        pair = super().bias(q, k, q_pos, k_pos)
        return lambda b, h, i, j: 0.5 * pair(b, h, i, j)
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_it_is_listed_and_held_to_every_law(mine: Path, tmp_path: Path):
    listed = process("list", "none", "--encoding", f"{mine}:Square", "--json", cwd=tmp_path)
    rows = json.loads(listed.out)["encodings"]
    assert [row["name"] for row in rows] == ["none", "Square"]
    assert rows[1]["acts_on"] == ["logits"] and rows[1]["options"] == {"steepness": 0.5}
    laws = process("laws", "--encoding", f"{mine}:Square", "--json", cwd=tmp_path)
    assert laws.code == 0
    assert {row["verdict"] for row in json.loads(laws.out)} >= {"holds"}
    wrong = process("laws", f"{mine}:Wrong", cwd=tmp_path)
    assert wrong.code == 1 and "BROKEN" in wrong.out and "Wrong" in wrong.out


def test_it_takes_part_in_a_comparison(mine: Path, tmp_path: Path):
    text = tmp_path / "book.txt"
    text.write_bytes(bytes(65 + i % 23 for i in range(20_000)))
    sizes = ["--text", str(text), "--steps", "2", "--length", "16", "--lengths", "16", "32", "--workers", "1"]
    argv = ["compare", "--encodings", "none", "--encoding", f"{mine}:Square", *sizes, "--json"]
    done = process(*argv, cwd=tmp_path)
    assert done.code == 0, done.err
    records = json.loads(done.out)["records"]
    assert [record["label"] for record in records] == ["none", "Square"]
    assert [record["status"] for record in records] == ["finished", "finished"]
    assert "Square" in (tmp_path / "runs" / "report.html").read_text()


def test_other_code_is_another_experiment_and_another_folder_is_not(mine: Path, tmp_path: Path):
    def pinned(path: Path) -> Experiment:
        return corpus.pin([Experiment(f"{path}:Square")])[0]

    before = pinned(mine)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "mine.py").write_text(MINE)
    assert pinned(moved / "mine.py").hash == before.hash and before.label == "Square"
    mine.write_text(MINE + "\n# changed\n")
    assert pinned(mine).hash != before.hash
    with pytest.raises(UserError, match="has changed"):
        build.encoding(before)


MISTAKES = {
    "no class": ("", ":Square", "unknown"),
    "no class named": (MINE, "", "which class"),
    "a class that is none": ("class Square:\n    pass\n", ":Square", "no encoding"),
    "a near name": (MINE, ":Sqare", "Square"),
    "syntax": ("def f(:\n", ":Square", "line 1"),
    "raises": ("x = 1\ny = x / 0\n", ":Square", "line 2"),
    "exits": ("import sys\nsys.exit(3)\n", ":Square", "line 2"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_with_the_line(mistake: str, mine: Path):
    written, kind, told = MISTAKES[mistake]
    mine.write_text(written)
    with pytest.raises(UserError, match=told):
        create(f"{mine}{kind}", Shape(64, 4, 16))


ONE = """
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope


class Mine(Encoding):
    pass
"""


def test_what_a_file_imports_is_not_its_own(mine: Path):
    """`from gnomon.encodings.rope import Rope` makes no encoding of the file."""
    mine.write_text(ONE)
    assert type(create(str(mine), Shape(64, 4, 16))).__name__ == "Mine"
    mine.write_text(ONE + "\n\nclass Other(Mine):\n    pass\n")
    with pytest.raises(OptionError) as error:
        create(str(mine), Shape(64, 4, 16))
    assert error.value.allowed == f"{mine}:Mine, {mine}:Other"
    with pytest.raises(OptionError, match="no encoding defined there"):
        create(f"{mine}:Rope", Shape(64, 4, 16))


def test_a_file_without_an_encoding_of_its_own(mine: Path):
    mine.write_text("from gnomon.encodings.rope import Rope\n")
    with pytest.raises(OptionError, match="no encoding of its own"):
        create(str(mine), Shape(64, 4, 16))


def test_a_constructor_that_asks_for_more_than_sizes(mine: Path):
    mine.write_text(ONE.replace("pass", "def __init__(self, heads, steepness):\n        super().__init__()"))
    with pytest.raises(OptionError, match="steepness"):
        build.encoding(Experiment(str(mine)))


FAULTS = {
    "in its constructor": "    def __init__(self):\n        super().__init__()\n        raise ValueError('no good')\n",
    "at work": "    def bias(self, q, k, q_pos, k_pos):\n        return 1 / 0\n",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_class_is_told_before_anything_is_trained(fault: str, tmp_path: Path):
    (tmp_path / "bad.py").write_text("from gnomon import Encoding\n\n\nclass Bad(Encoding):\n" + FAULTS[fault])
    (tmp_path / "book.txt").write_bytes(bytes(65 + i % 23 for i in range(20_000)))
    sizes = ["--text", "book.txt", "--steps", "2", "--length", "16", "--lengths", "16"]
    done = process("compare", "--encodings", "none", "--encoding", "bad.py:Bad", *sizes, cwd=tmp_path)
    assert done.code == 2 and "bad.py, line" in done.err and "Traceback" not in done.err


def test_a_file_that_is_not_there(tmp_path: Path):
    done = process("laws", "--encoding", "nowhere.py:Mine", cwd=tmp_path)
    assert done.code == 2 and "no such file" in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("command", ["list", "laws", "compare"])
def test_what_comes_with_gnomon_is_nobodys_own(command, tmp_path):
    done = process(command, "--encoding", "rope", cwd=tmp_path)
    assert done.code == 2 and "FILE.py:CLASS" in done.err and not list(tmp_path.iterdir())

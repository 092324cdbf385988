"""The page of tasks is that of their docstrings, and its example is a task that trains."""

import json
import re
from pathlib import Path

import pytest

from tests.task_pages import FILE, page


def example(tmp_path: Path, **changed: str) -> Path:
    [block] = re.findall(r"^```python\n(.*?)^```$", FILE.read_text(encoding="utf-8"), re.M | re.S)
    for old, new in changed.values():
        assert block.count(old) == 1
        block = block.replace(old, new)
    file = tmp_path / "largest.py"
    file.write_text(block, encoding="utf-8")
    return file


def small(gnomon, file: Path, *more: str):
    words = ("--task", f"{file}:Largest", "digits=8", "--encodings", "none", "--steps", "2")
    sizes = ("--length", "6", "--lengths", "6", "12")
    return gnomon("compare", *words, *sizes, "--store", str(file.parent / "runs"), "--quiet", *more)


def test_the_page_is_written_from_the_code():
    assert FILE.read_text(encoding="utf-8") == page(), "run `python -m tests.task_pages`"


def test_the_example_trains(tmp_path: Path, gnomon):
    told = small(gnomon, example(tmp_path))
    assert told.code == 0, told.err
    [run] = json.loads(gnomon("results", str(tmp_path / "runs"), "--json").out)
    assert run["status"] == "finished"


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (("return Chance(exact=share, token=share)", "return share"), "chance"),
        (("generator=random)", ")"), "the same"),
        (("vocabulary = 11", "vocabulary = 9"), "a token outside"),
        (("targets[:, -1] = read.amax(dim=1)", "pass"), "without a scored token"),
    ],
)
def test_a_mistake_is_told_with_its_line_before_anything_is_trained(mistake, told, tmp_path: Path, gnomon):
    file = example(tmp_path, mistake=mistake)
    found = small(gnomon, file)
    assert found.code == 2 and told in found.err and "largest.py" in found.err and "step" not in found.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pth=pairs.jsonl",), "did you mean 'path'?"),
        (("path=pairs.jsonl", "--length", "4"), "given:   4\n"),
        (("path=pairs.jsonl", "--length", "8"), "given:   4, one of the lengths that are measured: 4, 8"),
        (("path=pairs.jsonl", "--length", "8", "--lengths", "8", "12"), "no pair of this length"),
    ],
)
def test_a_mistake_with_pairs_is_told(words, said, tmp_path: Path, gnomon, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [{"input": f"{at:08d}", "target": str(at)} for at in range(200)]
    Path("pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    told = gnomon("compare", "--task", "jsonl", *words, "--encodings", "none", "--steps", "2", "--quiet")
    assert told.code == 2 and said in told.err


def test_tasks_are_listed_with_their_options(gnomon):
    shown, listed = gnomon("list", "--tasks").out, json.loads(gnomon("list", "--tasks", "--json").out)["tasks"]
    assert "alphabet=26 unique=false" in shown and "path=... within=1" in shown
    assert max(map(len, shown.splitlines())) <= 80
    copy = next(task for task in listed if task["name"] == "copy")
    assert copy["options"] == {"alphabet": 26, "unique": False} and copy["example"][0].startswith("<bos>")
    assert gnomon("list", "rope", "--tasks").code == 2

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

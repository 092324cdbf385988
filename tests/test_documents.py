"""What documents say of the code is so: the picture of its layers, the runs of an experiment, words of its style."""

import ast
import re
from pathlib import Path

import pytest

from gnomon.lab.presets import PRESETS
from tests.test_architecture import LAYERS, MODULES, ROOT, named, unit_of


def picture(text: str) -> list[set[str]]:
    """The layers of rule 3 in DESIGN.md, bottom to top; what is in brackets says something of a layer."""
    block = text.partition("**Rule 3.")[2].partition("\n\n")[2].partition("\n\n")[0]
    return [set(re.sub(r"\(.*", "", line).split()) for line in reversed(block.splitlines())]


def test_the_picture_of_the_layers_is_that_of_the_imports():
    assert picture((ROOT / "DESIGN.md").read_text(encoding="utf-8")) == [*LAYERS]


def test_every_layer_is_there():
    assert set().union(*LAYERS) == {unit_of(path) for path in MODULES} - {"__init__"}


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.py")), ids=lambda path: path.stem)
def test_an_experiment_asks_and_says_what_answers(path: Path):
    told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert re.search(r"(?m)^Question: .", told) and re.search(r"(?m)^Answer: .", told)
    assert f"gnomon compare {path.stem}\n" in told
    assert all(int(said) == len(PRESETS[path.stem]()) for said in re.findall(r"(\d+) runs", told))


def test_no_document_counts_the_laws():
    """The number is the code's to say: `gnomon laws` prints it."""
    counted = {path.name for path in ROOT.glob("*.md") if re.search(r"\b\d+ laws", path.read_text(encoding="utf-8"))}
    assert not counted


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_nothing_asks_what_an_object_has(path: Path):
    called = [node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in called if isinstance(call, ast.Name) and call.id == "hasattr"]

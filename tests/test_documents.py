"""What documents say of the code is so: the picture of its layers, the runs of an experiment, words of its style."""

import ast
import re
from pathlib import Path

import pytest

from gnomon import user_code
from gnomon.lab.load import load
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


EXPERIMENTS = sorted((ROOT / "experiments").glob("*.py"))


def told(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_an_experiment_asks_and_says_what_answers(path: Path):
    assert re.search(r"(?m)^Question: .", told(path)) and re.search(r"(?m)^Answer: .", told(path))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_run_by_its_name(name: str):
    said = told(ROOT / "experiments" / f"{name}.py")
    assert f"gnomon compare {name}\n" in said
    assert all(int(runs) == len(PRESETS[name]()) for runs in re.findall(r"(\d+) runs", said))


@pytest.mark.parametrize("path", [path for path in EXPERIMENTS if path.stem not in PRESETS], ids=lambda path: path.stem)
def test_an_experiment_says_how_it_is_run_and_how_large_it_is(path: Path):
    """Its runs are compared and exported where claims read them; what it says of its size is of its form `quick`."""
    name, said = path.stem, told(path)
    forms = user_code.run(path)["FORMS"]
    asked = re.findall(r"gnomon compare experiments/(\S+)\.py(?: --form (\S+))? --store runs/(\S+)\n", said)
    assert asked and len(asked) == said.count("gnomon compare")
    assert all(file == store == name for file, _, store in asked) and {form for _, form, _ in asked} <= {"", *forms}
    assert f"gnomon results runs/{name} --export results/{name}\n" in said
    plan, sizing = load(str(path), "quick"), said.partition("\nSizing: ")[2].partition("\n\n")[0]
    counts = {"runs": len(plan.experiments), "trials": len(plan.tuning.trials(plan.experiments))}
    assert sizing and all(int(count) == counts[of] for count, of in re.findall(r"(\d+)\s+(runs|trials)\b", sizing))


def test_no_document_counts_the_laws():
    """The number is the code's to say: `gnomon laws` prints it."""
    counted = {path.name for path in ROOT.glob("*.md") if re.search(r"\b\d+ laws", path.read_text(encoding="utf-8"))}
    assert not counted


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_nothing_asks_what_an_object_has(path: Path):
    called = [node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in called if isinstance(call, ast.Name) and call.id == "hasattr"]

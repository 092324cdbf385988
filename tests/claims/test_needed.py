"""Which experiments a claim needs: as its evidence reads them, and told where their results are not there."""

import ast
import inspect
from pathlib import Path

import pytest

from gnomon.claims import CLAIMS, MODULES, experiments, needed
from gnomon.claims.ledger import entry
from gnomon.errors import DataError

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def sources(module) -> tuple[str, ...]:
    """The names that the code of a claim always hands to `experiments.sources`, which a record keeps."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
    names = []
    for call in calls:
        if ast.unparse(call.func) == "experiments.sources":
            for each in call.args:
                inner = each.value if isinstance(each, ast.Starred) else each
                if isinstance(inner, ast.Name | ast.Attribute):
                    value = eval(ast.unparse(inner), vars(module))
                    names += value if isinstance(each, ast.Starred) else [value]
    return tuple(names)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.id)
def test_what_is_needed_is_what_the_evidence_reads(module):
    assert needed.READS.get(module.CLAIM.id, ()) == sources(module)


def test_what_is_needed_can_be_run():
    assert {name for names in needed.READS.values() for name in names} <= {
        path.stem for path in EXPERIMENTS.glob("*.py")
    }
    assert needed.READS.keys() < CLAIMS.keys()


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results without any."""
    monkeypatch.setattr(experiments, "FOLDER", tmp_path / "results")
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


@pytest.mark.parametrize("id", needed.READS)
def test_what_is_missing_is_told_with_what_makes_it(results, id):
    claim, names = CLAIMS[id], needed.READS[id]
    assert needed.missing(claim) == names
    with pytest.raises(DataError, match=f"{id} cannot be recorded") as told:
        needed.check(claim)
    for name in names:
        assert f"gnomon compare experiments/{name}.py --store runs/{name}" in told.value.do
        assert f"gnomon results runs/{name} --export {results}/{name}" in told.value.do


def test_what_is_there_is_not_missing(results):
    (results / "algorithmic").mkdir()
    (results / "algorithmic" / "records.jsonl").touch()
    assert needed.missing(CLAIMS["C06"]) == ("text", "algorithmic_more")
    for name in ("text", "algorithmic_more"):
        (results / name).mkdir()
        (results / name / "records.jsonl").touch()
    assert needed.missing(CLAIMS["C06"]) == ()
    needed.check(CLAIMS["C06"])
    needed.check(CLAIMS["C02"])


def test_an_entry_without_results_tells_how_they_are_made(results):
    (results / "claims").mkdir()
    found = entry(CLAIMS["C13"], results / "claims")
    assert (found.verdict.word, found.basis, found.numbers) == ("not measured yet", "none", None)
    assert found.missing == ("text",) and found.as_dict()["missing"] == ["text"]
    asked = [*(f"`{command}`" for command in experiments.commands("text")), "then `gnomon claims C13 --record`."]
    assert found.verdict.because.endswith(f": {', '.join(asked)}")
    (results / "text").mkdir()
    (results / "text" / "records.jsonl").touch()
    found = entry(CLAIMS["C13"], results / "claims")
    assert found.missing == () and "`gnomon claims C13 --record` makes one" in found.verdict.because

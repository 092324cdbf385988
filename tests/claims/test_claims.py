"""The list of claims: all are there, in both languages, with what settles them."""

import ast
import re
from pathlib import Path

import pytest

from gnomon.claims import CLAIMS, MODULES
from gnomon.claims.claim import Claim, Verdict
from gnomon.claims.ledger import thresholds, told_rule
from gnomon.claims.models import FACTS

HANGUL = re.compile("[\uac00-\ud7a3]")
RULES = Path(__file__).resolve().parents[2] / "gnomon" / "claims" / "rules"


def test_all_claims_are_there_in_order():
    assert list(CLAIMS) == [f"C{number:02}" for number in range(1, 36)]


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_says_all_of_itself(claim):
    assert len(HANGUL.findall(claim.korean)) > 10
    assert not HANGUL.search(claim.english) and len(claim.english) > 30
    assert claim.question.endswith(("?", "."))
    assert claim.section and len(claim.title) <= 50


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_without_numbers_it_says_what_finds_them(claim):
    verdict = claim.judge(None)
    assert verdict.word == "not measured yet" and f"`gnomon claims {claim.id} " in verdict.because


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.id)
def test_a_rule_has_a_file_of_its_own_with_its_thresholds(module):
    claim = module.CLAIM
    assert claim.rule.__module__ == f"gnomon.claims.rules.{claim.id.lower()}"
    assert thresholds(claim)
    assert told_rule(claim)


def test_every_file_of_a_rule_is_in_use():
    assert {path.stem for path in RULES.glob("c*.py")} == {module.CLAIM.id.lower() for module in MODULES}


@pytest.mark.parametrize("path", sorted(RULES.glob("c*.py")), ids=lambda path: path.stem)
def test_a_rule_sees_numbers_and_nothing_else(path):
    """It imports the types and intervals over seeds, so that its file is all that decides."""
    imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {node.names[0].name if isinstance(node, ast.Import) else node.module for node in imported} <= {
        *("gnomon.claims.claim", "gnomon.claims.intervals"),
        *("math", "typing", "collections.abc", "dataclasses", "statistics", "itertools"),
    }


def test_a_verdict_is_one_of_the_words_and_has_a_reason():
    with pytest.raises(ValueError):
        Verdict("true", "because")
    with pytest.raises(ValueError):
        Verdict("holds", "")


def test_a_verdict_that_holds_if_says_what_if():
    told = Verdict("holds if", "Proved. Computed, it holds if angles are within 1.5 of it: of 9 rows 3 repeat.")
    assert (told.condition, told.short) == ("if angles are within 1.5 of it", "holds if angles are within 1.5 of it")
    assert Verdict("holds if", "It holds of oscillation. More.").short == "holds of oscillation"
    assert Verdict("holds", "It holds if asked.").short == "holds"
    with pytest.raises(ValueError, match="what if"):
        Verdict("holds if", "Wavelengths are meant.")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.id)
def test_a_correction_is_told_in_words_and_is_no_threshold(module):
    claim = module.CLAIM
    assert all(isinstance(value, int | float) for value in thresholds(claim).values())
    if "CORRECTED" in (RULES / f"{claim.id.lower()}.py").read_text(encoding="utf-8"):
        assert len(claim.corrected.split()) > 10
    else:
        assert not claim.corrected


def test_evidence_states_the_shape_of_its_numbers():
    told = dict(id="C99", title="t", english="e", korean="k", document="D1", section="1", question="q?")
    with pytest.raises(ValueError, match="shape"):
        Claim(**told, evidence=dict, rule=CLAIMS["C02"].rule, shape={})


def test_the_table_of_models_has_the_basis_of_each_entry():
    for fact in FACTS:
        assert fact.source
        assert (fact.basis == "undisclosed") == (fact.found is None)
        assert (fact.standing == "undisclosed") == (fact.found is None and not fact.supposed)


def test_what_a_document_only_supposes_is_not_counted():
    """D2 1.1: suppose, for example, that a model such as BERT or GPT-2 was trained on up to 1024 tokens."""
    numbers = CLAIMS["C10"].evidence()
    assert numbers["supposed"] == ["BERT (D2)", "GPT-2 (D2)"]
    assert numbers["contradicted"] == ["Falcon-7B (D1)", "Falcon-40B (D1)"]
    assert (
        len(numbers["table"])
        == len(FACTS)
        == sum(len(numbers[each]) for each in ("confirmed", "contradicted", "undisclosed", "supposed"))
    )

"""The ledger's page says which rules are older than what they judge, and only what git tells."""

from dataclasses import replace

import pytest

from gnomon.claims import CLAIMS
from gnomon.claims.claim import Claim, Verdict
from gnomon.claims.history import Past
from gnomon.claims.ledger import Entry
from gnomon.claims.shapes import Whole
from gnomon.report import ledger

OLDER = "Each verdict is computed by a rule that was committed before the first record of its claim."
CORRECTED = "a limit that could not fail"


def rule(numbers):
    """Holds."""
    return Verdict("holds", "By rule.")


CLAIM = Claim(
    "C98", "size", "It is small.", "작다.", "D1", "1", "How large?", evidence=dict, rule=CLAIMS["C03"].rule,
    columns={"rows": ("dtype", "share")}, shape={"size": Whole()},
)  # fmt: skip
ENTRY = Entry(
    CLAIM, rule(None), "record", {"rows": [["float32", 1 - 1e-9]], "size": 3, "near": 1 - 2e-9}, Past("rule.py"),
    precedes="before",
)  # fmt: skip


def page(tmp_path, *entries: Entry) -> str:
    out = ledger.write(entries, tmp_path / "claims.html", command="gnomon claims")
    return out.read_text(encoding="utf-8")


def test_rules_that_are_all_older_are_said_to_be(tmp_path):
    assert OLDER in page(tmp_path, ENTRY)


@pytest.mark.parametrize("precedes", ["not before", "unknown", None])
def test_a_rule_that_is_not_known_to_be_older_is_not_said_to_be(tmp_path, precedes):
    text = page(tmp_path, ENTRY, replace(ENTRY, claim=replace(CLAIM, id="C99"), precedes=precedes))
    assert OLDER not in text
    assert "of 2 rules 1 was committed before the first record of the claim" in text
    assert "of 1 this is not known, or not so (C99)" in text


def test_a_rule_that_was_corrected_is_named_with_its_reason(tmp_path):
    claim = replace(CLAIM, id="C99", rule=rule)
    warned = ("the rule was corrected after its first record; reason: a limit that could not fail",)
    text = page(tmp_path, replace(ENTRY, claim=claim, precedes="not before", warnings=warned))
    assert OLDER not in text and "1 corrected after it, with the reason told there (C99)" in text
    assert warned[0] in text


def test_tables_of_numbers_have_their_columns_and_hide_no_difference_from_1(tmp_path):
    text = page(tmp_path, ENTRY)
    assert ">dtype</th>" in text and ">share</th>" in text
    assert "1 - 1e-09" in text and "1 - 2e-09" in text


def test_a_condition_stands_in_the_table_of_verdicts(tmp_path):
    text = page(tmp_path, replace(ENTRY, verdict=Verdict("holds if", "It holds if it is small: 3 of 5.")))
    assert "holds if it is small</td>" in text


def test_sections_that_are_given_stand_before_the_claims(tmp_path):
    from gnomon.report import taken_away

    more = taken_away.sections(None)
    out = ledger.write([ENTRY], tmp_path / "claims.html", command="gnomon claims", more=more)
    text = out.read_text(encoding="utf-8")
    assert {section.title for section in more} >= {"The scorecard", "The documents' tables, measured"}
    where = [text.index(f'id="{key}"') for key in ("ledger", *(section.key for section in more), "C98")]
    assert where == sorted(where)

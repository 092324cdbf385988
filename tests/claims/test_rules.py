"""Rules: other numbers, another verdict; and the sentences are made from the numbers."""

import ast
import inspect
import json

import pytest

from gnomon.claims import CLAIMS, MODULES
from gnomon.claims.claim import WORDS
from tests.claims.computed_numbers import (
    ALIKE8,
    APART8,
    APART512,
    C14,
    C15,
    CASES,
    EDGE8,
    EXAMPLES,
    NEAR8,
    NEAR512,
    other,
)
from tests.claims.tried import TRIED


@pytest.mark.parametrize(
    ("id", "change", "word", "said"), CASES, ids=[f"{case[0]}-{at}-{case[2]}" for at, case in enumerate(CASES)]
)
def test_other_numbers_another_verdict(id, change, word, said):
    verdict = CLAIMS[id].judge(EXAMPLES[id] | change)
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.id)
def test_a_rule_comes_out_every_way_that_it_names(module):
    """The words in its file, by the syntax tree, are those that some made-up numbers make it say."""
    claim = module.CLAIM
    tree = ast.parse(inspect.getsource(inspect.getmodule(claim.rule)))
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in WORDS}
    seen = {claim.judge(numbers).word for numbers in TRIED[claim.id]}
    assert seen == named and len(seen) >= 2


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.id)
def test_a_rule_is_a_pure_function_of_the_numbers(module):
    """It leaves them as they are, and says the same again, also of what went into a file and back."""
    for numbers in TRIED[module.CLAIM.id]:
        held = json.dumps(numbers, allow_nan=False)
        first = module.CLAIM.judge(numbers)
        assert json.dumps(numbers) == held
        assert module.CLAIM.judge(json.loads(held)) == first


def test_an_alias_within_the_places_of_one_width_is_told_beside_those_of_another():
    """Widths that were looked at farther are judged at both numbers of places."""
    wider = [
        ALIKE8, [8, 10**6, 10**9 - 1, 5, 1e-13, 1e-13],
        [16, 1000, 10**6 - 1, 7, 0.3, 0.3], [16, 10**6, 10**9 - 1, 8, 1e-9, 1e-9],
        APART512,
    ]  # fmt: skip
    numbers = C14 | dict(ranges=wider, neighbours=[NEAR8, [16, 0.06, 0.06], NEAR512])
    verdict = CLAIMS["C14"].judge(numbers)
    assert verdict.condition == "if the width is 8 or less within 10^6 places, 16 or less within 10^9 places"
    assert "within 10^6 places proved not to at 16, 512" in verdict.because


def test_a_wider_width_with_an_alias_is_no_reason_to_call_those_between_alike():
    rows = {8: ALIKE8, 16: [16, 1000, 10**6 - 1, 7, 0.3, 0.3], 32: [32, 1000, 10**6 - 1, 7, 1e-3, 1e-3]}
    near = [NEAR8, [16, 0.06, 0.06], [32, 0.04, 0.04]]
    verdict = CLAIMS["C14"].judge(C14 | dict(ranges=[*rows.values()], neighbours=near))
    assert verdict.condition == "if the width is 8 or less within 10^6 places"
    assert "within 10^6 places also at 32 and proved not to at 16" in verdict.because


def test_what_is_below_the_far_lags_is_not_judged():
    """At width 8 lag 6 is closer than lag 1: a lag that is not far says nothing of far places."""
    numbers = dict(ranges=[other(EDGE8, 1e-9), APART8], neighbours=[NEAR8], latest=C14["latest"][1:])
    assert CLAIMS["C14"].judge(numbers).word == "does not hold"


def test_over_all_lags_the_bound_is_that_of_the_widest_rounded_up():
    assert "10^374 at the latest, at width 512" in CLAIMS["C14"].judge(C14).because
    assert "half again by lag 10^200 for certain" in CLAIMS["C15"].judge(C15).because

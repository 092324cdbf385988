"""Every law on every encoding, variant and mask; and what a verdict means."""

import pytest

from gnomon.encoding import Property
from gnomon.encodings import ENCODINGS
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.laws import LAWS, Case, cases, judge, table


@pytest.mark.parametrize(
    "case", cases(), ids=lambda case: f"{case.label}-{'causal' if case.causal else 'bidirectional'}"
)
def test_laws(case):
    broken = [row for row in (judge(law, case) for law in LAWS.values()) if row.verdict == "BROKEN"]
    assert not broken


def test_every_property_has_a_law():
    assert {law.declares for law in LAWS.values()} >= set(Property)


def test_every_encoding_is_under_the_laws():
    assert {case.label for case in cases()} >= set(ENCODINGS)


class _Modest(Alibi):
    properties = Alibi.properties & ~Property.TRANSLATION_INVARIANT


class _Boastful(Sinusoidal):
    properties = Sinusoidal.properties | Property.TRANSLATION_INVARIANT


def test_a_property_that_holds_must_be_declared():
    case = Case("modest", lambda shape: _Modest(shape.heads))
    assert judge(LAWS["translation"], case).verdict == "BROKEN"


def test_a_property_that_is_declared_must_hold():
    case = Case("boastful", lambda shape: _Boastful(shape.width))
    assert judge(LAWS["translation"], case).verdict == "BROKEN"


def test_what_is_not_declared_fails_by_a_counterexample():
    case = Case("sinusoidal", lambda shape: Sinusoidal(shape.width))
    row = judge(LAWS["translation"], case)
    assert row.verdict == "fails as declared"
    assert row.error > 100 * row.tolerance and row.error != float("inf")


def test_unknown_names_are_refused():
    with pytest.raises(OptionError, match="did you mean 'rope'"):
        table(["ropes"])
    with pytest.raises(OptionError, match="did you mean 'translation'"):
        table(["rope"], ["translations"])

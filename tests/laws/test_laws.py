"""Every law on every encoding, variant and mask; and what a verdict means."""

import math

import pytest
import torch

from gnomon.encoding import Property
from gnomon.encodings import ENCODINGS, build
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.shaw import Shaw
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.errors import OptionError
from gnomon.laws import LAWS, SEARCH, Case, Law, Outcome, cases, judge, table
from gnomon.laws.case import gap
from gnomon.laws.suite.kernels import ALL, layouts


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


def counting(errors: dict[int, float], declares: Property | None = Property.CONTEXTUAL) -> tuple[Law, list[int]]:
    """A law with the given error at each seed, 0 at all others, and the seeds that it is asked for."""
    asked: list[int] = []

    def check(case: Case) -> Outcome:
        asked.append(case.seed)
        return Outcome(errors.get(case.seed, 0.0))

    return Law("counting", check, declares), asked


@pytest.mark.parametrize(
    "errors, verdict, seeds",
    [
        ({0: 1.0}, "fails as declared", [0]),
        ({2: 1.0}, "fails as declared", [0, 1, 2]),
        ({}, "BROKEN", [*range(SEARCH)]),
    ],
)
def test_a_counterexample_is_sought_once_at_each_seed(errors, verdict, seeds):
    law, asked = counting(errors)
    row = judge(law, Case("alibi", lambda shape: Alibi(shape.heads)))
    assert (row.verdict, row.seed, asked) == (verdict, seeds[-1], seeds)
    # What to do about it is said, where what was found is not a fault but a property.
    assert (row.reason is None) == (verdict != "BROKEN") and (row.reason is None or "add Property." in row.reason)


def test_a_counterexample_is_one_where_it_is_small():
    """What misses a law by more than its tolerance does not have the property, however little that is."""
    law, asked = counting({2: 5e-12})
    row = judge(law, Case("alibi", lambda shape: Alibi(shape.heads)))
    assert (row.verdict, row.error, row.reason) == ("fails as declared", 5e-12, None) and asked == [0, 1, 2]


def test_what_every_encoding_obeys_is_asked_once():
    law, asked = counting({0: 1.0}, declares=None)
    assert judge(law, Case("alibi", lambda shape: Alibi(shape.heads))).verdict == "BROKEN" and asked == [0]


def test_a_gap_is_between_equal_shapes():
    with pytest.raises(AssertionError, match="beside"):
        gap(torch.ones(1, 3), torch.ones(4, 3))
    assert gap(torch.ones(0, 3), torch.ones(0, 3)) == 0.0 and gap(torch.tensor([math.nan]), torch.ones(1)) == math.inf


@pytest.mark.parametrize("kind", [Alibi, T5, Shaw, Learned, Sinusoidal])
def test_kernels_meet_positions_of_every_kind(kind):
    """What a kernel knows without looking at data, in every combination that it tells apart."""
    met = [(queries != ALL, pos) for queries, pos in layouts(Case("any", lambda shape: build(kind, shape)))]
    whole, some = ([pos for part, pos in met if part is wanted] for wanted in (False, True))
    assert any(pos.step is None and pos.rows > 1 for pos in whole)
    assert any(pos.step is None and pos.segment is not None for pos in whole)
    assert any(pos.placed is not None for pos in whole)
    assert any(pos.step == 1 and pos.start > 0 and pos.segment is None for pos in whole)
    assert any(pos.step == 1 and pos.segment is not None for pos in whole)
    assert any(pos.step not in (None, 1) and pos.rows > 1 for pos in whole)
    assert any(pos.step is not None and pos.step < 0 for pos in whole)
    assert any(pos.step == 1 and pos.start is not None and pos.start != pos.turn for pos in some)
    assert any(pos.step not in (None, 1) for pos in some)


def test_a_domain_with_little_room_leaves_out_what_does_not_fit():
    case = Case("small", lambda shape: Learned(shape.width, max_positions=15))
    for _, pos in layouts(case):
        case.make().check_positions(pos)
    assert judge(LAWS["lowering"], case).verdict == "holds"

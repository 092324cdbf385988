"""Shapes: a claim's own numbers have them, and numbers that mean nothing do not."""

import json

import pytest

from gnomon.claims import CLAIMS, MODULES, runs
from gnomon.claims.ledger import entry
from gnomon.claims.shapes import Each, Text
from tests.claims.tried import EXAMPLES, TRIED

IDS = [module.CLAIM.id for module in MODULES]


@pytest.fixture(scope="module")
def numbers(found):
    """As a record keeps them: the evidence of every claim that is cheap, made-up numbers of the others."""
    return json.loads(json.dumps(EXAMPLES | found))


def places(value, at=()):
    """Every single value within numbers, by the keys that lead to it; of rows of the same kinds of values the first."""
    if isinstance(value, dict | list):
        seen = set()
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            kinds = tuple(map(type, inner)) if isinstance(inner, list) else key
            if kinds not in seen:
                yield from places(inner, (*at, key))
            seen.add(kinds)
    else:
        yield at, value


def put(numbers, at, value):
    """The same numbers with another value in a place."""
    if not at:
        return value
    changed = numbers.copy()
    changed[at[0]] = put(numbers[at[0]], at[1:], value)
    return changed


@pytest.mark.parametrize("id", IDS)
def test_what_is_found_has_the_shape_that_is_stated(numbers, id):
    CLAIMS[id].check(numbers[id])


@pytest.mark.parametrize("id", IDS)
def test_a_rule_is_tried_with_numbers_of_the_shape_that_is_stated(numbers, id):
    """Of others a claim makes no record, so that what a rule says of them is said of nothing."""
    for tried in TRIED[id]:
        CLAIMS[id].check(json.loads(json.dumps(numbers[id] | tried)))


@pytest.mark.parametrize("id", IDS)
def test_every_list_of_rows_has_its_columns_named(numbers, id):
    """And so has a list that is one row."""
    columns = CLAIMS[id].columns
    assert columns.keys() <= numbers[id].keys()
    for name, value in numbers[id].items():
        if isinstance(value, list) and (name in columns or isinstance(value[0], list)):
            rows = value if isinstance(value[0], list) else [value]
            assert {len(row) for row in rows} == {len(columns[name])}, name


@pytest.mark.parametrize("id", IDS)
def test_every_value_is_held_to_its_kind(numbers, id):
    """nan, infinities, numbers without end, lists, objects; True for a number, a number for text or True."""
    claim = CLAIMS[id]
    for at, value in places(numbers[id]):
        strange = [float("nan"), float("inf"), -float("inf"), 10**400, [], [1], {}, b"", ""]
        strange += [1, None] if isinstance(value, bool | str) else [True, False, "1"]
        for other in strange:
            with pytest.raises(ValueError, match=at[0]):
                claim.check(put(numbers[id], at, other))


@pytest.mark.parametrize("id", IDS)
def test_every_list_and_row_is_held_to_its_shape(numbers, id):
    claim = CLAIMS[id]
    for name, value in numbers[id].items():
        if not isinstance(value, list):
            continue
        for other in ("abc", {}, 3, True, [[]], [{}], [None]):
            with pytest.raises(ValueError, match=name):
                claim.check(numbers[id] | {name: other})
        if isinstance(value[0], list):
            for row in (value[0][:-1], [*value[0], value[0][-1]], [], "abc", None):
                with pytest.raises(ValueError, match=name):
                    claim.check(numbers[id] | {name: [*value, row]})


@pytest.mark.parametrize("id", IDS)
def test_no_verdict_is_drawn_from_lists_of_nothing(numbers, id):
    """A rule that says `all` says it of nothing: every list has to have something, but for C10's lists of models."""
    claim = CLAIMS[id]
    for name, value in numbers[id].items():
        if isinstance(value, list):
            if claim.shape[name] == Each(Text(), least=0):
                assert id == "C10"
            else:
                with pytest.raises(ValueError, match=name):
                    claim.check(numbers[id] | {name: []})


@pytest.mark.parametrize("id", IDS)
def test_numbers_are_neither_more_nor_fewer_than_stated(numbers, id):
    claim, held = CLAIMS[id], numbers[id]
    with pytest.raises(ValueError, match="'another', which nothing reads"):
        claim.check(held | {"another": 3})
    for name in held:
        with pytest.raises(ValueError, match=f"lack '{name}'"):
            claim.check({other: value for other, value in held.items() if other != name})


@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("C14", {"neighbours": [[8, 0.2, 0.1], [512, 0.026, 0.027]]}),
        ("C14", {"ranges": [[8, 1000, 999, 1000, 0.1, 0.1]]}),
        ("C14", {"ranges": [[8, 1000, 2000, 3000, 0.1, 0.1]]}),
        ("C14", {"ranges": [[8, 1000, 2000, 1500, -0.1, 0.1]]}),
        ("C15", {"far": [9, 3]}),
        ("C02", {"repeats": [["float32", "float32", 9, 3]]}),
        ("C34", {"errors": [["alibi", "only fall", "linear", 0.0]]}),
        ("C34", {"errors": [["sinusoidal", "only fall", "linear", 0.0]]}),
    ],
)
def test_values_that_contradict_each_other_are_refused(numbers, id, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        CLAIMS[id].check(numbers[id] | change)


def test_a_record_of_senseless_numbers_has_no_verdict(repository):
    """Also one whose rule would be content with them."""
    claim = repository.claim(5)
    repository.commit("rule.py")
    path = repository.record(claim)
    for size in (True, None, -1, 10**400, 1001, [], "3"):
        repository.edit(path, numbers={"size": size})
        found = entry(claim, repository.records)
        assert (found.verdict.word, found.basis, found.numbers) == ("not measured yet", "none", None)
        assert not found.damaged and "does not have the numbers that the rule reads: size is" in found.verdict.because


def test_what_has_another_shape_is_not_recorded(repository):
    claim = repository.claim(5)
    repository.commit("rule.py")
    repository.size = float("nan")
    with pytest.raises(ValueError, match="size is nan"):
        repository.record(claim)
    assert not repository.records.exists()


@pytest.mark.parametrize("ends", [(2.0, 1.0), (0.5, 0.9), (1.1, 2.0)])
def test_an_interval_lies_about_its_mean(ends):
    shape = runs.spread(Text())
    shape.check(["rope", 1.0, 0.5, 1.5, 3], "here")
    shape.check(["rope", 1.0, None, None, 1], "here")
    shape.check(["rope", None, None, None, 0], "here")
    with pytest.raises(ValueError, match="do not fall"):
        shape.check(["rope", 1.0, *ends, 3], "here")

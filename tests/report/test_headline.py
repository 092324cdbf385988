"""The findings in words stay true whatever the numbers are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.report.headline import headline
from gnomon.report.summary import summarise
from gnomon.report.wording import listing, nats, rise, span, thousands
from tests.report import fakes
from tests.report.fakes import record
from tests.report.test_summary import FLAT, exact


def said(*records):
    found = headline(summarise(records))
    return found.title, [str(finding) for finding in found.findings]


UP = (0.2, 0.3, 0.4, 1.5)


def test_all_hold():
    runs = [exact(name, loss=loss, rises=FLAT[1]) for name, loss in (("a", 1.7), ("b", 1.6), ("c", 1.8))]
    title, findings = said(*runs)
    assert title == (
        "Trained at length 128, all of b (1.60 nats per byte in range), a (1.70) and c (1.80) "
        "hold to 1024, the longest length measured."
    )
    assert findings == [
        "Lowest loss in range: b, 1.60; at 1024: b, 1.60.",
        "One seed each: how much another seed would differ is not known.",
    ]


def test_none_holds():
    title, findings = said(exact("a", loss=1.7, rises=UP), exact("b", loss=1.6, rises=(0.2, 0.2, 0.2, 0.3)))
    start = "Trained at length 128, no encoding holds past it:"
    assert title == f"{start} b (1.60 nats per byte in range) and a (1.70)."
    assert "a (1.70 in range) collapses past 128: +0.20 nats at 160 and +1.50 at 1024." in findings
    assert "b (1.60 in range) does not hold past 128: +0.20 nats at 160 and +0.30 at 1024." in findings


def test_some_hold_some_of_the_way():
    title, findings = said(
        exact("a", loss=1.7, rises=(0.0, 0.2, 0.4, 1.0)), exact("b", loss=1.6, rises=(0.0, 0.0, 0.0, 0.2))
    )
    assert title.endswith("no encoding holds to 1024; b (1.60 nats per byte in range) holds farthest, to 512.")
    assert "a (1.70 in range) holds to 160, then collapses: +0.20 nats at 256 and +1.00 at 1024." in findings
    assert "b (1.60 in range) holds to 512, then loses ground: +0.20 nats at 1024." in findings


def test_one_encoding_alone():
    assert said(exact("a", loss=1.7, rises=UP))[0] == (
        "Trained at length 128, a (1.70 nats per byte in range) does not hold past it."
    )
    assert said(exact("a", loss=1.7, rises=(0.0, *UP[1:])))[0].endswith("holds to 160, no farther.")
    assert "holds to 1024, the longest length measured" in said(exact("a", loss=1.7, rises=FLAT[1]))[0]


def test_mixed_with_refusals():
    title, findings = said(
        exact("alibi", loss=1.8, rises=FLAT[1]),
        exact("learned", loss=1.9, rises=(None,) * 4),
        exact("table", loss=1.9, rises=(0.0, 0.0, None, None)),
        exact("odd", loss=1.9, rises=(0.2, None, 0.3, None)),
    )
    assert title == (
        "Trained at length 128, alibi (1.80 nats per byte in range) holds to 1024, the longest length measured."
    )
    assert "learned (1.90 in range) refuses every longer length." in findings
    assert "table (1.90 in range) holds to 256 and refuses every longer length." in findings
    assert (
        "odd (1.90 in range) does not hold past 128: +0.20 nats at 160 and +0.30 at 512; it refuses 256 and 1024."
        in findings
    )


def test_a_loss_that_is_not_finite_is_not_called_a_refusal():
    made = exact("a", loss=1.7, rises=FLAT[1])
    made["lengths"][-1] = {"length": 1024, "status": "diverged", "reason": "not finite"}
    _, findings = said(made, exact("b", loss=1.7, rises=FLAT[1]))
    assert "a (1.70 in range) holds to 512 and has no finite loss at 1024." in findings


def test_failures():
    lost = [record("t5", seed, status=state, reason="x") for seed, state in enumerate(("failed", "diverged", "failed"))]
    title, findings = said(*lost)
    assert title == "Nothing to compare: no run finished (1 diverged and 2 failed)."
    assert findings == ["t5 has no finished run: 1 diverged and 2 failed."]
    title, findings = said(*lost, exact("a", loss=1.7, rises=UP), exact("b", loss=1.7, rises=UP))
    assert "no encoding that was measured past training holds past it" in title
    assert findings[-1].startswith("One seed")


def test_seeds_that_disagree():
    runs = [
        exact("a", seed, loss=1.7, rises=rises) for seed, rises in enumerate((FLAT[1], FLAT[1], (0.0, 0.2, 0.2, 0.2)))
    ]
    title, findings = said(*runs)
    assert "a (1.70 nats per byte in range) holds to 1024" in title
    assert findings[0] == (
        "a (1.70 in range) holds to 1024 in the median seed, not in every one: the seeds reach 160 to ≥1024."
    )
    assert findings[-1] == "Medians over 3 seeds."
    _, findings = said(*runs[1:])
    assert findings[0].startswith("a (1.70 in range; seeds reach 160 to ≥1024) holds to 160, then loses ground: ")


def test_a_rise_is_not_rounded_to_the_tolerance():
    _, findings = said(exact("a", loss=1.7, rises=(0.104, 0.104, 0.104, 0.2)))
    assert findings[0] == "a (1.70 in range) does not hold past 128: +0.104 nats at 160 and +0.20 at 1024."


def test_seeds_that_are_not_equally_many():
    assert said(record("rope"), record("rope", 1), record("alibi"))[1][-1] == "Medians over 1 to 2 seeds."


def only_to(run, longest):
    return run | {"lengths": [row for row in run["lengths"] if row["length"] <= longest]}


def test_nothing_longer_was_measured():
    title, findings = said(only_to(exact("a", loss=1.7, rises=FLAT[1]), 128))
    assert "no longer length was measured, so nothing is known of reach" in title
    assert not any("hold" in finding for finding in findings)
    title, findings = said(only_to(exact("a", loss=1.7, rises=FLAT[1]), 128), exact("b", loss=1.6, rises=FLAT[1]))
    assert "b (1.60" in title and "a (" not in title
    assert "a (1.70 in range) was not measured past 128." in findings


def test_the_longest_length_of_one_is_not_that_of_all():
    short = only_to(exact("a", loss=1.7, rises=FLAT[1]), 512)
    title, _ = said(short, exact("b", loss=1.6, rises=UP))
    assert "a (1.70 nats per byte in range) holds to 512, the longest length measured for it." in title
    title, _ = said(short, exact("b", loss=1.6, rises=FLAT[1]))
    assert title.endswith("hold to the longest length measured for each.")


def test_several_training_lengths():
    runs = [exact("a", loss=1.7, rises=(0.0, *UP[1:])), exact("b", loss=1.6, rises=UP, training=64)]
    runs[1]["lengths"][0]["paired_excess"] = 0.0
    title, findings = said(*runs)
    assert title.startswith("Trained at lengths 64 and 128, no encoding holds to the longest")
    assert not any(finding.startswith("Lowest loss") for finding in findings)


def test_no_loss_in_range():
    made = exact("a", loss=1.7, rises=FLAT[1])
    made["lengths"][1] = {"length": 128, "status": "refused", "reason": "x"}
    title, findings = said(made)
    assert title == "Nothing to compare: no finished run measured its training length."
    assert findings == ["a has no loss at its training length 128, so its reach is not known."]


def test_what_did_not_learn_holds_nowhere():
    idle = exact("none", loss=3.32, rises=FLAT[1])
    title, findings = said(idle, exact("a", loss=1.7, rises=FLAT[1]), exact("b", loss=1.6, rises=UP))
    assert title == "Trained at length 128, a (1.70 nats per byte in range) holds to 1024, the longest length measured."
    assert "none (3.32 in range) did not learn: byte frequencies alone give 3.30." in findings
    assert not any(finding.startswith("none") and "hold" in finding for finding in findings)
    title, findings = said(idle)
    assert title == "Nothing to compare: no encoding learned more than how often each byte occurs."
    assert findings[0] == "none (3.32 in range) did not learn: byte frequencies alone give 3.30."
    title, _ = said(idle, exact("a", loss=1.7, rises=UP), exact("b", loss=1.6, rises=UP))
    assert "no encoding that learned holds past it: b (1.60" in title


@pytest.mark.parametrize(("below", "learned"), [(-0.1, False), (0.0, False), (0.09, False), (0.11, True)])
def test_what_could_lose_all_it_knows_within_the_tolerance_did_not_learn(below, learned):
    title, _ = said(exact("a", loss=fakes.UNIGRAM - below, rises=FLAT[1]))
    assert ("holds to 1024" in title) == learned


def test_records_that_do_not_know_the_unigram_loss_are_judged_as_before():
    old = exact("none", loss=3.32, rises=FLAT[1])
    for data in ({key: value for key, value in old["data"].items() if key != "unigram_loss"}, None):
        title, findings = said(old | {"data": data})
        assert "none (3.32 nats per byte in range) holds to 1024" in title
        assert "learn" not in "".join(findings)


def test_seeds_that_did_not_learn_count_as_the_shortest():
    seeds = [exact("a", seed, loss=loss, rises=FLAT[1]) for seed, loss in enumerate((1.7, 1.7, 3.32))]
    title, findings = said(*seeds)
    assert "a (1.70 nats per byte in range) holds to 1024" in title
    assert "a (1.70 in range) did not learn in 1 of 3 seeds: byte frequencies alone give 3.30." in findings
    title, findings = said(*seeds[1:])
    assert title.startswith("Nothing to compare")
    assert findings[0] == "a (2.51 in range) did not learn in 1 of 2 seeds: byte frequencies alone give 3.30."


def test_the_lowest_loss_may_be_that_of_what_did_not_learn():
    _, findings = said(exact("none", loss=3.32, rises=FLAT[1]), exact("a", loss=1.7, rises=(1.0, 1.0, 1.0, 2.0)))
    assert "Lowest loss in range: a, 1.70; at 1024: none, 3.32." in findings


rises = st.lists(st.none() | st.floats(-0.5, 3.0), min_size=4, max_size=4)
state = st.sampled_from(["finished"] * 4 + ["failed", "diverged"])
stores = st.lists(st.tuples(st.sampled_from("abcd"), state, st.floats(0.5, 4.0), rises), min_size=1, max_size=6)


@given(stores)
def test_whatever_the_numbers_the_words_fit_them(store):
    runs = [
        exact(name, seed, loss=loss, rises=rises)
        if status == "finished"
        else record(name, seed, profile=FLAT, status=status)
        for seed, (name, status, loss, rises) in enumerate(store)
    ]
    summary = summarise(runs)
    found = headline(summary)
    sentences = [found.title, *map(str, found.findings)]
    for sentence in sentences:
        assert sentence.endswith(".") and "None" not in sentence and "nan" not in sentence and "  " not in sentence
        # A reach in words never stands without a loss in range.
        if re.search(r"\bholds? (to|past|no)\b", sentence):
            assert re.search(r"\(\d\.\d\d", sentence), sentence
    holders = {series.label for series in summary.series if series.holds}
    named = set(re.findall(r"\b([abcd]) \(", found.title))
    if "longest length measured" in found.title and "no encoding" not in found.title:
        assert named == holders
    else:
        assert not holders
    for series in summary.done:
        spoken = [str(finding) for finding in found.findings if finding.series is series]
        if not series.holds:
            assert spoken
        if series.reach:
            collapsed = any(re.search("collapses", sentence) for sentence in spoken)
            assert collapsed == (not series.holds and series.worst_excess() >= 1.0), spoken


def test_the_made_up_stores_read_well():
    title, findings = said(*fakes.one_seed())
    assert title.startswith("Trained at length 128, alibi (1.8")
    assert any(finding.startswith("sinusoidal") and "collapses past 128" in finding for finding in findings)
    assert any(finding.startswith("learned") and "refuses every longer length" in finding for finding in findings)


def test_wording():
    assert [listing(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert (nats(1.005, 1), nats(-0.5)) == ("1.0", "−0.50")
    assert (rise(0.123), rise(-0.123), rise(-0.001), rise(0.0)) == ("+0.12", "−0.12", "0.00", "0.00")
    assert (thousands(1234567), thousands(None)) == ("1\u202f234\u202f567", "–")
    assert (span([3, 3]), span([1, 2000])) == ("3", "1 to 2\u202f000")


@pytest.mark.parametrize("name", ["one_seed", "three_seeds", "troubled"])
def test_no_finding_is_said_twice(name):
    _, findings = said(*getattr(fakes, name)())
    assert len(findings) == len(set(findings))

"""The documents' tables, rebuilt: numbers say whether a word agrees, and another number says the other."""

import json
import math
import re
from pathlib import Path

import pytest

from gnomon.claims import costs, experiments
from gnomon.claims.adjectives import ADJECTIVES, JUDGED, Adjective, Beside, Within
from gnomon.claims.comparison import WORDS, compared
from gnomon.claims.scorecard import scorecard
from gnomon.lab.experiment import Problem
from tests.claims.made_up import keep, right, text, texts

OF = {column.key: column for column in JUDGED}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where results lie, and no benchmarks do."""
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    monkeypatch.setattr(costs, "FILE", tmp_path / "results.json")
    return tmp_path


def row(*asked: Within | Beside, labels: tuple[str, ...] = ("alibi",)):
    card = scorecard(None, [OF[each.column] for each in asked])
    [found] = compared(card, [Adjective("A method", labels, "D1", "a word", "낱말", asked)])
    return found


HOLDS = Within("text_2x", high=0.1)


@pytest.mark.parametrize(
    ("rises", "word"),
    [
        ((0.02, 0.03, 0.04), "agrees"),
        ((0.5, 0.52, 0.54), "differs"),
        ((0.02, 0.1, 0.18), "inconclusive"),
        ((0.02,), "inconclusive"),
    ],
)
def test_a_number_is_judged_by_its_whole_interval(folder, rises, word):
    keep(folder, text=texts({"alibi": rises}))
    found = row(HOLDS)
    assert found.word == word
    assert f"{sum(rises) / len(rises):.3g}" in found.measured


def test_what_was_not_measured_is_said_to_be_so(folder):
    assert row(HOLDS).word == "not measured here" and row(HOLDS).measured == "-"
    keep(folder, text=texts({"rope": (0.1, 0.2)}))
    assert row(HOLDS).word == row(Beside("text_2x", ("rope",))).word == "not measured here"
    assert row(Beside("text_2x", ("alibi",)), labels=("rope",)).word == "not measured here"


def test_what_did_not_learn_decides_nothing(folder):
    keep(folder, text=[*texts({"alibi": (0.0, 0.0)}), text("alibi", 2, 0.0, loss=3.25)])
    found = row(HOLDS)
    assert found.word == "inconclusive" and found.measured == "text 2x 2/3"
    assert "1 of 3 runs: did not learn" in found.parts[0].found


BETTER = Beside("text_2x", ("rope",))


@pytest.mark.parametrize(
    ("alibi", "rope", "word"),
    [
        ((0.1, 0.4, 0.7), (0.5, 0.8, 1.12), "agrees"),
        ((0.5, 0.8, 1.1), (0.1, 0.4, 0.72), "differs"),
        # Surely better, by less than counts.
        ((0.1, 0.4, 0.7), (0.13, 0.43, 0.731), "differs"),
        ((0.1, 0.4, 0.7), (0.5, 0.3, 1.3), "inconclusive"),
    ],
)
def test_beside_another_the_difference_is_paired_by_seed_and_has_to_count(folder, alibi, rope, word):
    keep(folder, text=texts({"alibi": alibi, "rope": rope}))
    assert row(BETTER).word == word
    worse = row(Beside("text_2x", ("alibi",), "worse"), labels=("rope",))
    assert worse.word == word and "worse than alibi by" in worse.parts[0].found


def test_where_more_is_better_more_is_better(folder):
    def runs(name: str, share: float) -> list:
        return [right(Problem("copy"), name, seed, {20: 1.0, 40: share + seed / 100}, trained=20) for seed in range(3)]

    asked = Beside("copy_2x", ("rope",))
    keep(folder, algorithmic=[*runs("alibi", 0.9), *runs("rope", 0.1)])
    assert row(asked).word == "agrees"
    keep(folder, algorithmic=[*runs("alibi", 0.1), *runs("rope", 0.9)])
    assert row(asked).word == "differs"


def test_beside_several_it_has_to_be_so_beside_each(folder):
    both = Beside("text_2x", ("rope", "t5"))
    keep(folder, text=texts({"alibi": (0.1, 0.11), "rope": (0.5, 0.52), "t5": (0.6, 0.61)}))
    assert row(both).word == "agrees"
    keep(folder, text=texts({"alibi": (0.1, 0.11), "rope": (0.5, 0.52), "t5": (0.01, 0.02)}))
    assert row(both).word == "differs"


def test_a_ratio_is_of_the_same_seeds(folder):
    asked = Within("step", low=1, high=1.25, over=("rope",))

    def timed(times: dict[str, float]) -> str:
        runs = [text(name, seed, 0.0, ms=ms * (1 + seed)) for name, ms in times.items() for seed in range(2)]
        keep(folder, text=runs)
        return row(asked).word

    assert timed({"none": 1.0, "rope": 2.0, "alibi": 2.2}) == "agrees"
    assert timed({"none": 1.0, "rope": 2.0, "alibi": 3.0}) == "differs"
    assert timed({"none": 1.0, "rope": 2.0, "alibi": 1.0}) == "differs"


def test_a_word_of_several_encodings_agrees_where_all_do(folder):
    keep(folder, text=texts({"seqpe": (0.01, 0.02, 0.015), "chain": (0.9, 0.92, 0.93)}))
    found = row(HOLDS, labels=("seqpe", "chain"))
    assert found.word == "inconclusive" and [part.word for part in found.parts] == ["agrees", "differs"]
    assert found.measured.startswith("seqpe: text 2x 0.015") and "; chain: text 2x 0.917" in found.measured
    keep(folder, text=texts({"seqpe": (0.01, 0.02, 0.015)}))
    assert row(HOLDS, labels=("seqpe", "chain")).word == "agrees", "what was not measured has no say"


def test_the_rows_are_words_of_the_tables():
    methods = {each.method for each in ADJECTIVES if each.table.startswith("D1")}
    assert methods == {"Sinusoidal", "Relative", "RoPE", "ALiBi", "SeqPE"}
    for each in ADJECTIVES:
        assert re.search("[가-힣]", each.korean) and re.fullmatch("D[12] .+", each.table) and each.asked and each.labels
        for asked in each.asked:
            assert asked.column in OF and asked.told
            if isinstance(asked, Within):
                assert math.isfinite(asked.low) or math.isfinite(asked.high)


def test_all_of_it_without_results_is_not_measured_but_for_code_and_facts():
    found = compared(scorecard(None, JUDGED))
    assert len(found) == len(ADJECTIVES)
    known = {each.adjective.english for each in found if each.word != "not measured here"}
    asked = {each.english for each in ADJECTIVES if {one.column for one in each.asked} & {"code", "models"}}
    assert known == asked
    told = json.loads(json.dumps([each.as_dict() for each in found]))
    assert {each["word"] for each in told} <= {*WORDS} and all(each["parts"] for each in told)


def test_what_is_needed_and_not_enough_can_only_differ(folder):
    keep(folder, text=texts({"alibi": (0.02, 0.03, 0.04), "rope": (0.9, 0.91, 0.92)}))
    asked = Within("text_2x", high=0.1, enough=False)
    assert "needed and not enough" in asked.told
    assert [row(asked, labels=(name,)).word for name in ("alibi", "rope")] == ["inconclusive", "differs"]

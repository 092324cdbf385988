"""C24 and C25: made-up runs, each verdict that they can give, and what a change of one number does to it."""

import json

import pytest

from gnomon.claims import c24, c25, experiments
from gnomon.claims.claim import WORDS

SPREAD = (-0.01, 0.0, 0.01)
"""What three seeds differ by."""


def cue(label, start, elsewhere, sequences=12800, parameters=100, seeds=SPREAD):
    """Rows of C24, right in the middle and at the end in equal parts."""
    return [
        [label, seed, sequences, parameters, start, elsewhere + by, elsewhere + by] for seed, by in enumerate(seeds)
    ]


SOME = (-0.1, 0.0, 0.1)
C24 = dict(
    chance=0.25,
    by_encoding=[
        *cue("learned", 1.0, 0.5), *cue("sinusoidal", 1.0, 0.6), *cue("rope", 0.99, 0.95), *cue("none", 0.5, 0.5),
    ],
    anywhere=[*cue("learned", 1.0, 0.99), *cue("sinusoidal", 1.0, 0.99)],
    by_data=[
        row
        for label, elsewhere in (("learned", 0.5), ("sinusoidal", 0.6))
        for row in [*cue(label, 1.0, elsewhere), *cue(label, 0.95, elsewhere - 0.2, 256), *cue(label, 0.6, 0.5, 64)]
    ],
    by_size=[
        row
        for label, elsewhere in (("learned", 0.5), ("sinusoidal", 0.6))
        for row in [*cue(label, 1.0, elsewhere), *cue(label, 1.0, elsewhere - 0.1, parameters=900)]
    ],
)  # fmt: skip


def without(name, label):
    return [row for row in C24[name] if row[0] != label]


CASES_24 = [
    ({}, "holds", "learned 1.00, 0.50, 0.50, a fall of 0.500 [0.475, 0.525]"),
    ({}, "holds", "Not learned at the start: no positions."),
    ({}, "holds", "learned (not learned at 64) 0.150 [0.150, 0.150] from 12,800 to 256 sequences"),
    ({}, "holds", "sinusoidal 0.100 [0.100, 0.100] from 100 to 900 parameters"),
    (dict(by_encoding=[*cue("learned", 1.0, 0.97), *cue("sinusoidal", 1.0, 0.98)]), "does not hold", "find the cue as"),
    (dict(by_encoding=cue("learned", 1.0, 0.85, seeds=SOME)), "inconclusive", "not told by these seeds"),
    (dict(by_encoding=cue("learned", 0.89, 0.2)), "inconclusive", "No absolute encoding has learned"),
    (dict(by_encoding=[["learned", 0, 9, 9, None, None, None], *cue("rope", 1.0, 0.9)]), "inconclusive", "No absolute"),
    (dict(by_encoding=cue("learned", 1.0, 0.2, seeds=(0.0,))), "inconclusive", "0.800, one seed"),
    (dict(by_encoding=[*without("by_encoding", "sinusoidal"), *cue("sinusoidal", 1.0, 0.97)]), "holds if",
     "of a fall elsewhere of learned positions and of the place as its reason and of relative"),
    (dict(by_encoding=[*without("by_encoding", "rope"), *cue("rope", 1.0, 0.2)]), "holds if",
     "not of relative encodings falling less. Right"),
    (dict(by_encoding=without("by_encoding", "rope")), "holds if", "open: relative encodings falling less. Right"),
    (dict(anywhere=[*cue("learned", 1.0, 0.6), *cue("sinusoidal", 1.0, 0.99)]), "holds if",
     "not of the place as its reason. Right"),
    (dict(anywhere=cue("learned", 1.0, 0.99)), "holds if", "open: the place as its reason. Right"),
    (dict(anywhere=cue("learned", 0.8, 0.99)), "holds if", "Trained with it anywhere none learned it."),
    (dict(by_data=[*cue("learned", 1.0, 0.5), *cue("learned", 1.0, 0.6, 256)]), "holds if",
     "not of a larger fall with less data. Right"),
    (dict(by_data=[*cue("learned", 1.0, 0.5), *cue("learned", 1.0, 0.5, 256, seeds=SOME)]), "holds if",
     "open: a larger fall with less data. Right"),
    (dict(by_data=[*cue("learned", 1.0, 0.3), *cue("learned", 1.0, 0.4, 256)]), "holds if", "It has no room to grow"),
    (dict(by_data=[*cue("rope", 1.0, 0.9), *cue("rope", 1.0, 0.2, 256)]), "holds if",
     "open: a larger fall with less data. Right"),
    (dict(by_size=[*cue("learned", 1.0, 0.5), *cue("learned", 1.0, 0.6, parameters=900)]), "holds if",
     "not of a larger fall with more parameters. Right"),
    (dict(by_size=cue("learned", 1.0, 0.5)), "holds if", "learned at no two numbers of parameters"),
]  # fmt: skip


def steps(label, *reached, budgets=(125, 250, 500, 1000), distances=8):
    """Rows of C25: of each seed the budget from which on 0.95 is right, and 0.4 before it; None: at none."""
    return [
        [label, seed, budget, 0.95 if least is not None and budget >= least else 0.4, *[0.5] * (distances - 1), 0.7]
        for seed, least in enumerate(reached)
        for budget in budgets
    ]


SUM = [*steps("learned", None, None, None), *steps("learned scale=3", 500, 500, 1000)]
CASES_25 = [
    ([*SUM, *steps("rope", 125, 125, 250), *steps("t5", 125, 125, 250)], "holds", "rope 2.000 [2.000, 2.000], t5"),
    ([*SUM, *steps("rope", 125, 125, 250)], "holds", "over 1,000; learned scale=3 500, 500, 1,000;"),
    ([*SUM, *steps("rope", 125, 125, 250)], "holds", "learned scale=3 0.50 and 0.70 after 125 steps"),
    ([*steps("learned", 1000, 1000, None), *steps("rope", 250, 250, 500)], "holds", "needs, at least, more than rope"),
    ([*SUM, *steps("rope", 125, 125, 250), *steps("alibi", None, None, 1000)], "holds", "alibi over 1,000,"),
    (
        [*SUM, *steps("rope", 125, 125, 250), *steps("t5", 500, 500, 1000), *steps("shaw", 125, 500, 1000)],
        "holds if", "if rope is meant by relative: no slower than t5; not told apart from shaw.",
    ),
    ([*SUM, *steps("t5", 500, 500, 1000)], "does not hold", "more than t5 0.000 [0.000, 0.000]"),
    ([*SUM, *steps("t5", 1000, 1000, 1000)], "does not hold", "t5 -0.667 [-2.101, 0.768]"),
    ([*SUM, *steps("t5", 125, 500, 1000)], "inconclusive", "more than t5 0.667"),
    ([*SUM, *steps("t5", 125, 500, None), *steps("none", 125, 125, 125)], "inconclusive", "No relative encoding has"),
    ([*steps("learned", 125, 125, 125), *steps("t5", 125, 125, 125)], "inconclusive", "The smallest budget is enough"),
    (steps("t5", 125, 125, 125), "inconclusive", "There is no such sum."),
    ([*steps("learned", 500), *steps("t5", 125)], "inconclusive", "2.000, one seed"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "word", "said"), CASES_24)
def test_c24_follows_its_numbers(change, word, said):
    numbers = C24 | change | {"sources": [["shortcut", "0" * 64, 1]]}
    c24.CLAIM.check(json.loads(json.dumps(numbers)))
    verdict = c24.CLAIM.judge(numbers)
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize(("rows", "word", "said"), CASES_25)
def test_c25_follows_its_numbers(rows, word, said):
    numbers = {"runs": rows, "sources": [["distance", "0" * 64, 1]]}
    c25.CLAIM.check(json.loads(json.dumps(numbers)))
    verdict = c25.CLAIM.judge(numbers)
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize("cases", [CASES_24, CASES_25], ids=["C24", "C25"])
def test_a_rule_comes_out_every_way(cases):
    assert {word for _, word, _ in cases} == {*WORDS[:4]}


def test_the_order_of_rows_says_nothing():
    whole, turned = (c25.CLAIM.judge({"runs": rows}).word for rows in (CASES_25[0][0], CASES_25[0][0][::-1]))
    assert whole == turned
    turned = {name: rows[::-1] if isinstance(rows, list) else rows for name, rows in C24.items()}
    assert c24.CLAIM.judge(turned).word == c24.CLAIM.judge(C24).word


def told(label, seed, options, sizes, groups, status="finished"):
    """What a record has that these claims read."""
    model, training = dict(width=sizes[0], depth=sizes[1]), dict(steps=10, batch=4, length=24)
    task = {"kind": "problem", "name": "shortcut", "options": options}
    length = {"length": 24, "chance_exact": 0.25, "groups": [dict(name=name, exact=share) for name, share in groups]}
    return {
        "label": label,
        "status": status,
        "parameters": {"total": sizes[0] * sizes[1], "encoding": 0},
        "experiment": {"seed": seed, "task": task, "model": model, "training": training},
        "lengths": [length] if status == "finished" else [],
    }


def test_c24_sorts_runs_into_parts_and_keeps_those_that_have_failed(monkeypatch):
    right = [("start", 1.0), ("middle", 0.5), ("end", 0.4)]
    made = [told(label, 0, {"cue": "start"}, (64, 2), right) for label in ("rope", "learned")]
    made += [told("learned", 1, {"cue": "start"}, (64, 2), (), "diverged")]
    made += [told("learned", 0, {"cue": "start", "sequences": n}, (64, 2), right) for n in (8, 4000)]
    made += [told("learned", 0, {"cue": "start", "sequences": 8}, (128, 4), right)]
    made += [told("learned", 0, {"cue": "anywhere"}, (64, 2), right)]
    monkeypatch.setattr(experiments, "records", lambda name: made)
    monkeypatch.setattr(experiments, "sources", lambda *names: [["shortcut", "0" * 64, len(made)]])
    numbers = c24.evidence()
    c24.CLAIM.check(numbers)
    whole = ["learned", 0, 40, 128, 1.0, 0.5, 0.4]
    assert numbers["by_encoding"] == [whole, ["learned", 1, 40, 128, None, None, None], ["rope", *whole[1:]]]
    assert [row[2] for row in numbers["by_data"]] == [40, 8, 40, 40]
    assert [row[2:4] for row in numbers["by_size"]] == [[8, 128], [8, 512]]
    assert numbers["anywhere"] == [whole]

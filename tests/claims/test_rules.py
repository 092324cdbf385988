"""Rules: other numbers, another verdict; and the sentences are made from the numbers."""

import pytest

from gnomon.claims import CLAIMS, MODULES
from gnomon.claims.claim import WORDS

C01 = dict(
    width=512, shortest_wavelength=6.3, longest_wavelength=60000.0, wavelengths_grow=True, dtype="float32",
    smallest_step_first=0.0005, smallest_step_last=4.7,
)  # fmt: skip
C02 = dict(
    width=512, proved_over_reals=True, pairs=32640, rational_pairs=384,
    repeats=[["float32", "float32", 0, 2048], ["bfloat16", "bfloat16", 1407, 2048]],
)  # fmt: skip
C03 = dict(
    proved_not_negative=True, negative_witness=[-3, 3, 1], positions=4096,
    collisions=[["float64", 0, 512], ["float32", 93, 512]],
)  # fmt: skip
C04 = dict(exact=True, witness=[1, 0, 10, 128], certified_gap=1e-12, nearest_integer_miss=0.45)
C05 = dict(values_exist=True, furthest=10**9, loss_rise_low=None, loss_rise_high=None)
C10 = dict(confirmed=["MPT-7B (D1)"], contradicted=["Falcon-7B (D1)"], undisclosed=["GPT-4 (D1)"])
C14 = dict(first=1000, last=10**9, widths=[[8, 1966637, 0.99999983, 0.88], [512, 1016, 0.23, 0.97]])
C15 = dict(last=8192, far=[100000, 999999], widths=[[512, 43, 0.49, 0.15], [32, 4, 0.5, 0.77]])
C18 = dict(
    share_identity=[1.0], share_same_rotation=[1.0, 1.0], share_two_rotations=[0.13, 0.1], share_general=[0.2, 0.05],
    shift=10**7, rope_float64=6e-10, rope_float32=0.4, rope_bfloat16=4.0,
)  # fmt: skip
C19 = dict(
    width=14, height=14, below_over_right_1d=3.4, below_over_right_2d=1.0, rank_1d=0.58, rank_2d=0.83,
)  # fmt: skip
C29 = dict(bidirectional=1e-15, causal_one_layer=2e-15, causal_two_layers=0.2)
C34 = dict(
    errors=[
        ["sinusoidal", "linear", 0.0], ["sinusoidal", "at 7", 0.86],
        ["alibi", "linear", 0.0], ["alibi", "at 7", 1.8],
    ]
)  # fmt: skip

CASES = [
    ("C01", C01, {}, "holds"),
    ("C01", C01, dict(wavelengths_grow=False), "does not hold"),
    ("C01", C01, dict(longest_wavelength=9999.0), "does not hold"),
    ("C01", C01, dict(shortest_wavelength=11.0), "does not hold"),
    ("C01", C01, dict(smallest_step_last=0.04), "holds if"),
    ("C02", C02, {}, "holds if"),
    ("C02", C02, dict(repeats=[["float32", "float32", 0, 2048]]), "holds"),
    ("C02", C02, dict(repeats=[["float32", "float32", 1, 2048]]), "does not hold"),
    ("C02", C02, dict(proved_over_reals=False), "does not hold"),
    ("C03", C03, {}, "holds if"),
    ("C03", C03, dict(negative_witness=None), "holds if"),
    ("C03", C03, dict(negative_witness=None, collisions=[["float64", 0, 512]]), "holds"),
    ("C03", C03, dict(proved_not_negative=False), "does not hold"),
    ("C04", C04, {}, "holds"),
    ("C04", C04, dict(exact=False, witness=None), "holds if"),
    ("C04", C04, dict(exact=False, witness=None, certified_gap=1e-6), "does not hold"),
    ("C04", C04, dict(exact=False, witness=None, certified_gap=None, nearest_integer_miss=None), "does not hold"),
    ("C05", C05, {}, "not measured yet"),
    ("C05", C05, dict(values_exist=False), "does not hold"),
    ("C05", C05, dict(loss_rise_low=0.01, loss_rise_high=0.09), "holds"),
    ("C05", C05, dict(loss_rise_low=0.05, loss_rise_high=0.2), "inconclusive"),
    ("C05", C05, dict(loss_rise_low=1.2, loss_rise_high=1.5), "does not hold"),
    ("C10", C10, {}, "does not hold"),
    ("C10", C10, dict(contradicted=[]), "inconclusive"),
    ("C10", C10, dict(contradicted=[], undisclosed=[]), "holds"),
    ("C14", C14, {}, "holds if"),
    ("C14", C14, dict(widths=[[8, 1966637, 0.99999983, 0.88]]), "holds"),
    ("C14", C14, dict(widths=[[8, 1966637, 0.87, 0.88]]), "does not hold"),
    ("C14", C14, dict(widths=[[8, 1016, 0.23, 0.97], [512, 1966637, 0.99, 0.88]]), "inconclusive"),
    ("C15", C15, {}, "holds"),
    ("C15", C15, dict(widths=[[512, 43, 0.49, 0.15], [32, 4, 0.5, 0.07]]), "holds if"),
    ("C15", C15, dict(widths=[[512, 43, 0.49, 0.15], [32, None, 0.0, 0.77]]), "holds if"),
    ("C15", C15, dict(widths=[[512, None, 0.0, 0.01]]), "does not hold"),
    ("C18", C18, {}, "holds if"),
    ("C18", C18, dict(share_two_rotations=[1.0, 1.0]), "holds"),
    ("C18", C18, dict(share_same_rotation=[1.0, 0.9]), "holds if"),
    ("C18", C18, dict(share_identity=[0.9]), "does not hold"),
    ("C18", C18, dict(share_general=[0.2, 0.7]), "does not hold"),
    ("C18", C18, dict(rope_float64=1e-3), "does not hold"),
    ("C19", C19, {}, "holds"),
    ("C19", C19, dict(rank_2d=0.6), "holds if"),
    ("C19", C19, dict(below_over_right_2d=1.3), "holds if"),
    ("C19", C19, dict(below_over_right_1d=1.0, rank_2d=0.6), "does not hold"),
    ("C29", C29, {}, "holds if"),
    ("C29", C29, dict(causal_two_layers=1e-15), "holds"),
    ("C29", C29, dict(bidirectional=1e-3), "does not hold"),
    ("C34", C34, {}, "holds"),
    ("C34", C34, dict(errors=[*C34["errors"][:1], ["sinusoidal", "at 7", 0.1], *C34["errors"][2:]]), "holds if"),
    ("C34", C34, dict(errors=[*C34["errors"][:3], ["alibi", "at 7", 0.1]]), "holds if"),
    (
        "C34", C34,
        dict(errors=[["sinusoidal", "at 7", 0.1], ["alibi", "linear", 0.0], ["alibi", "at 7", 0.1]]),
        "does not hold",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("id", "numbers", "change", "word"), CASES, ids=[f"{case[0]}-{at}-{case[3]}" for at, case in enumerate(CASES)]
)
def test_other_numbers_another_verdict(id, numbers, change, word):
    verdict = CLAIMS[id].judge(numbers | change)
    assert verdict.word == word
    assert any(letter.isdigit() for letter in verdict.because)


def test_every_rule_is_seen_to_change():
    words = {}
    for id, _, _, word in CASES:
        words.setdefault(id, set()).add(word)
    assert set(words) == {module.CLAIM.id for module in MODULES}
    assert all(len(found) >= 2 for found in words.values())
    assert set().union(*words.values()) <= set(WORDS)


def test_a_condition_names_the_numbers_that_set_it():
    assert "width is 8 or less" in CLAIMS["C14"].judge(C14).because
    wider = C14 | dict(widths=[*C14["widths"], [16, 596274, 0.98, 0.93]])
    assert "width is 16 or less" in CLAIMS["C14"].judge(wider).because
    assert "1,407 of 2,048" in CLAIMS["C02"].judge(C02).because
    assert "Falcon-7B" in CLAIMS["C10"].judge(C10).because
    assert "-3 and 3" in CLAIMS["C03"].judge(C03).because

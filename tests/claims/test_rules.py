"""Rules: other numbers, another verdict; and the sentences are made from the numbers."""

import ast
import inspect

import pytest

from gnomon.claims import CLAIMS, MODULES
from gnomon.claims.claim import WORDS

C01 = dict(
    width=512, shortest_wavelength=6.3, longest_wavelength=60000.0, wavelengths_grow=True, places=8192,
    steps=[["float32", 1, 1, 0, 0], ["bfloat16", 1, 53, 0, 7251]],
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
C05 = dict(values_exist=True, furthest=10**9, length=128, runs=[["sinusoidal", n, True, 2.0, 1.2] for n in range(3)])
C10 = dict(
    confirmed=["MPT-7B (D1)"], contradicted=["Falcon-7B (D1)"], undisclosed=["GPT-4 (D1)"], supposed=["BERT (D2)"]
)  # fmt: skip
NEAR8, NEAR512 = [8, 0.116, 0.117], [512, 0.026, 0.027]
EDGE8, APART8 = [8, 128, 999, 628, 0.06, 0.06], [8, 1000, 10**6 - 1, 9, 0.2, 0.3]
ALIKE8 = [8, 1000, 10**6 - 1, 169646, 1e-12, 2e-12]
ALIKE512, APART512 = [512, 1000, 10**6 - 1, 1017, 0.01, 0.02], [512, 1000, 10**6 - 1, 1016, 0.77, 0.78]
C14 = dict(ranges=[EDGE8, ALIKE8, APART512], neighbours=[NEAR8, NEAR512], latest=[[8, 13, 7.5], [512, 28, 373.5]])
C15_512, C15_32 = [512, 43, 0.49, 0.15, 980812, 2e-4], [32, 4, 0.5, 0.77, 357645, 1e-3]
C15 = dict(
    last=8192, far=[100000, 999999], widths=[C15_512, C15_32], returns=[[512, True, 199.2], [32, True, 12.5]]
)  # fmt: skip
C18 = dict(
    share_identity=[1.0], share_same_rotation=[1.0, 1.0], share_two_rotations=[0.13, 0.1], share_general=[0.2, 0.05],
    rope_places=32, rope_float64=[[1, 2.4e-15], [10**7, 6e-10]], rope_float32=0.4, rope_bfloat16=4.0,
    rope_float32_from_float64_angles=1.8e-7, rope_bfloat16_from_float64_angles=9e-3,
    trained_share=[["sinusoidal", 0.3, 0.2, 0.4, 3]],
)  # fmt: skip
C19 = dict(
    width=14, height=14, below_over_right_1d=3.4, below_over_right_2d=1.0, rank_1d=0.58, rank_2d=0.83,
)  # fmt: skip
C29 = dict(bidirectional=1e-15, causal_one_layer=2e-15, causal_two_layers=0.2)
FALLS, PEAKS = ["sinusoidal", "only fall", "linear", 0.0], ["sinusoidal", "peak", "at 7", 0.86]
LINEAR, OTHER = ["alibi", "only fall", "linear", 0.0], ["alibi", "peak", "at 7", 1.8]
C34 = dict(errors=[FALLS, PEAKS, LINEAR, OTHER], nearest_formula=[["at 7", "rope", 0.95]])


def rises(*values):
    """Runs of C05, each with another rise of the loss."""
    return [["sinusoidal", seed, True, 2.0, value] for seed, value in enumerate(values)]


def other(row, value):
    """A row with another last value."""
    return [*row[:-1], value]


CASES = [
    ("C01", C01, {}, "holds if", "if wavelengths are meant, or values are stored in bfloat16:"),
    ("C01", C01, dict(steps=C01["steps"][:1]), "holds if", "if wavelengths are meant:"),
    ("C01", C01, dict(steps=C01["steps"][1:]), "holds", "1 and 53 in bfloat16"),
    ("C01", C01, dict(steps=[["bfloat16", 2, 604, 23, 8104]]), "does not hold", "neighbours alike"),
    ("C01", C01, dict(wavelengths_grow=False), "does not hold", "do not grow"),
    ("C01", C01, dict(longest_wavelength=9999.0), "does not hold", "9,999"),
    ("C01", C01, dict(shortest_wavelength=11.0), "does not hold", "11.00"),
    ("C02", C02, {}, "holds if", "1,407 of 2,048 rows"),
    ("C02", C02, dict(repeats=[["float32", "float32", 0, 2048]]), "holds", "none of 1 ways"),
    ("C02", C02, dict(repeats=[["float32", "float32", 1, 2048]]), "does not hold", "1 of 2,048 rows"),
    ("C02", C02, dict(proved_over_reals=False), "does not hold", "at width 512"),
    ("C03", C03, {}, "holds if", "if positions are not negative and values are not rounded to float32: -3 and 3"),
    ("C03", C03, dict(negative_witness=None), "holds if", "if values are not rounded to float32: of 4,096"),
    ("C03", C03, dict(negative_witness=None, collisions=[["float64", 0, 512]]), "holds", "no two of 4,096"),
    ("C03", C03, dict(proved_not_negative=False), "does not hold", "0 to 4,095"),
    ("C04", C04, {}, "holds", "Place 1 in dimension 0 equals place 10 in dimension 128"),
    ("C04", C04, dict(exact=False, witness=None), "holds if", "within 1.0e-12"),
    ("C04", C04, dict(exact=False, witness=None, certified_gap=1e-6), "does not hold", "1.0e-06 apart"),
    (
        "C04", C04, dict(exact=False, witness=None, certified_gap=None, nearest_integer_miss=None),
        "does not hold", "none was found",
    ),
    ("C05", C05, {}, "does not hold", "up to 1,000,000,000. At 128 bytes"),
    ("C05", C05, dict(values_exist=False), "does not hold", "missing or not finite"),
    ("C05", C05, dict(runs=rises(0.04, 0.05, 0.06)), "holds", "rises by 0.050 [0.025, 0.075] nats"),
    ("C05", C05, dict(runs=rises(0.0, 0.05, 0.1)), "inconclusive", "0.050 [-0.074, 0.174]"),
    ("C05", C05, dict(runs=rises(1.1, 1.2, 1.3)), "does not hold", "1.200 [0.952, 1.448]"),
    ("C05", C05, dict(runs=rises(0.05)), "inconclusive", "0.050, one seed"),
    ("C05", C05, dict(runs=rises(0.05, 0.05, None)), "inconclusive", "of 3 trained models 1 know no more"),
    ("C05", C05, dict(runs=[*rises(0.05), ["sinusoidal", 1, False, 3.3, 0.05]]), "inconclusive", "of 2 trained"),
    ("C10", C10, {}, "does not hold", "1 contradicted (Falcon-7B (D1))"),
    ("C10", C10, dict(contradicted=[]), "inconclusive", "of 1 nothing is disclosed (GPT-4 (D1))"),
    ("C10", C10, dict(contradicted=[], undisclosed=[]), "holds", "Of 1 assertions 1 are confirmed"),
    ("C10", C10, dict(contradicted=[], undisclosed=[], supposed=[]), "holds", "not counted: none"),
    (
        "C14", C14, {}, "holds if",
        "if the width is 8 or less within 10^6 places: of the widths looked at, within 10^6 places proved not to at",
    ),
    ("C14", C14, dict(ranges=[ALIKE8], neighbours=[NEAR8]), "holds", "1 - 2.0e-12 at lag 169,646 of 10^6"),
    ("C14", C14, dict(ranges=[EDGE8, APART8], neighbours=[NEAR8]), "holds if", "if texts are longer than 10^6 places."),
    ("C14", C14, dict(ranges=[APART8], neighbours=[NEAR8], latest=[]), "does not hold", "0.700000 at lag 9"),
    ("C14", C14, dict(ranges=[APART8, ALIKE512]), "inconclusive", "Width does not decide it"),
    ("C14", C14, dict(ranges=[other(ALIKE8, 0.1165), APART512]), "inconclusive", "Bounds meet at width 8."),
    ("C15", C15, {}, "holds", "first rise after lag 43, 49% of steps rise"),
    ("C15", C15, dict(widths=[[512, 43, 0.49, 0.01, 9, 0], C15_32]), "holds", "far out 0.01 at lag 9"),
    (
        "C15", C15, dict(returns=[[512, True, 199.2], [32, False, None]]),
        "holds if", "of oscillation at widths 512, 32 and of no limit 0 at widths 512.",
    ),
    (
        "C15", C15, dict(widths=[C15_512, [32, None, 0.0, 0.77, 9, 0.1]]),
        "holds if", "of oscillation at widths 512 and of no limit 0 at widths 512, 32.",
    ),
    ("C15", C15, dict(widths=[[32, 4, 0.2, 0.7, 9, 0]], returns=[[32, False, None]]), "does not hold", "no return"),
    ("C18", C18, {}, "holds if", "if W_Q and W_K are the same rotation:"),
    ("C18", C18, {}, "holds if", "by 1.8e-07 with tables in float32 and 9.0e-03 in bfloat16, angles in float64"),
    ("C18", C18, dict(share_two_rotations=[1.0, 1.0]), "holds", "1.00 with two rotations"),
    ("C18", C18, dict(share_same_rotation=[1.0, 0.9]), "holds if", "if W_Q and W_K are the identity:"),
    ("C18", C18, dict(share_identity=[0.9]), "does not hold", "0.900 of the position-position term"),
    ("C18", C18, dict(share_general=[0.2, 0.7]), "does not hold", "0.70 with general ones"),
    ("C18", C18, dict(rope_float64=[[1, 2.4e-15], [10**7, 1e-8]]), "does not hold", "1.0e-08 of 8.9e-09 at shift"),
    ("C18", C18, dict(rope_float64=[[1, 1e-12], [10**7, 6e-10]]), "does not hold", "1.0e-12 of 2.9e-14 at shift 1)"),
    ("C19", C19, {}, "holds", "3.40 times as far"),
    ("C19", C19, dict(rank_2d=0.6), "holds if", "if the two neighbours are meant."),
    ("C19", C19, dict(below_over_right_2d=1.3), "holds if", "of the order of all distances."),
    ("C19", C19, dict(below_over_right_1d=1.0, rank_2d=0.6), "does not hold", "0.58 and 0.60"),
    ("C29", C29, {}, "holds if", "if attention is bidirectional"),
    ("C29", C29, dict(causal_two_layers=1e-15), "holds", "1.0e-15 after two"),
    ("C29", C29, dict(bidirectional=1e-3), "does not hold", "to 1.0e-03"),
    ("C34", C34, {}, "holds if", "if kernels that peak are meant: sinusoidal positions miss kernels that peak and"),
    ("C34", C34, dict(errors=[PEAKS, LINEAR, OTHER]), "holds", "sinusoidal: at 7 86%"),
    ("C34", C34, dict(errors=[FALLS, LINEAR, OTHER]), "holds if", "of ALiBi:"),
    (
        "C34", C34, dict(errors=[FALLS, PEAKS, LINEAR, other(OTHER, 0.1)]),
        "holds if", "of sinusoidal positions, not of ALiBi:",
    ),
    ("C34", C34, dict(errors=[FALLS, other(PEAKS, 0.1), LINEAR, other(OTHER, 0.1)]), "does not hold", "at 7 10%"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("id", "numbers", "change", "word", "said"),
    CASES,
    ids=[f"{case[0]}-{at}-{case[3]}" for at, case in enumerate(CASES)],
)
def test_other_numbers_another_verdict(id, numbers, change, word, said):
    verdict = CLAIMS[id].judge(numbers | change)
    assert verdict.word == word
    assert said in verdict.because


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.id)
def test_a_rule_comes_out_every_way_that_it_names(module):
    """The words in its file, by the syntax tree, are those that some numbers above make it say."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(module.CLAIM.rule)))
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in WORDS}
    seen = {word for id, _, _, word, _ in CASES if id == module.CLAIM.id}
    assert seen == named and len(seen) >= 2


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
    numbers = dict(ranges=[other(EDGE8, 1e-9), APART8], neighbours=[NEAR8], latest=[])
    assert CLAIMS["C14"].judge(numbers).word == "does not hold"


def test_over_all_lags_the_bound_is_that_of_the_widest_rounded_up():
    assert "10^374 at the latest, at width 512" in CLAIMS["C14"].judge(C14).because
    assert "half again by lag 10^200 for certain" in CLAIMS["C15"].judge(C15).because

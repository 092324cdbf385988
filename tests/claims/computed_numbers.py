"""Made-up numbers of the claims that need no trained model, and what their rules make of others."""

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
C10 = dict(
    confirmed=["MPT-7B (D1)"], contradicted=["Falcon-7B (D1)"], undisclosed=["GPT-4 (D1)"], supposed=["BERT (D2)"]
)  # fmt: skip
NEAR8, NEAR512 = [8, 0.116, 0.117], [512, 0.026, 0.027]
EDGE8, APART8 = [8, 128, 999, 628, 0.06, 0.06], [8, 1000, 10**6 - 1, 1009, 0.2, 0.3]
ALIKE8 = [8, 1000, 10**6 - 1, 169646, 1e-12, 2e-12]
ALIKE512, APART512 = [512, 1000, 10**6 - 1, 1017, 0.01, 0.02], [512, 1000, 10**6 - 1, 1016, 0.77, 0.78]
C14 = dict(
    ranges=[EDGE8, ALIKE8, APART512], neighbours=[NEAR8, NEAR512], latest=[[8, 13, 7.5], [512, 28, 373.5]],
    first_closer_than_neighbours=[[8, None], [512, 6]],
)  # fmt: skip
C15_512, C15_32 = [512, 43, 0.49, 0.15, 980812, 2e-4], [32, 4, 0.5, 0.77, 357645, 1e-3]
C15 = dict(
    last=8192, far=[100000, 999999], widths=[C15_512, C15_32], returns=[[512, True, 199.2], [32, True, 12.5]]
)  # fmt: skip
C29 = dict(bidirectional=1e-15, causal_one_layer=2e-15, causal_two_layers=0.2)
FALLS, PEAKS = ["sinusoidal", "only fall", "linear", 0.0], ["sinusoidal", "peak", "at 7", 0.86]
LINEAR, OTHER = ["alibi", "only fall", "linear", 0.0], ["alibi", "peak", "at 7", 1.8]
C34 = dict(errors=[FALLS, PEAKS, LINEAR, OTHER], nearest_formula=[["at 7", "rope", 0.95]])

EXAMPLES = {
    "C01": C01, "C02": C02, "C03": C03, "C04": C04, "C10": C10, "C14": C14, "C15": C15, "C29": C29, "C34": C34
}  # fmt: skip
"""The numbers that a rule reads."""


def other(row, value):
    """A row with another last value."""
    return [*row[:-1], value]


CASES = [
    ("C01", {}, "holds if", "if wavelengths are meant, or values are stored in bfloat16:"),
    ("C01", dict(steps=C01["steps"][:1]), "holds if", "if wavelengths are meant:"),
    ("C01", dict(steps=C01["steps"][1:]), "holds", "1 and 53 in bfloat16"),
    ("C01", dict(steps=[["bfloat16", 2, 604, 23, 8104]]), "does not hold", "neighbours alike"),
    ("C01", dict(wavelengths_grow=False), "does not hold", "do not grow"),
    ("C01", dict(longest_wavelength=9999.0), "does not hold", "9,999"),
    ("C01", dict(shortest_wavelength=11.0), "does not hold", "11.00"),
    ("C02", {}, "holds if", "1,407 of 2,048 rows"),
    ("C02", dict(repeats=[["float32", "float32", 0, 2048]]), "holds", "none of 1 ways"),
    ("C02", dict(repeats=[["float32", "float32", 1, 2048]]), "does not hold", "1 of 2,048 rows"),
    ("C02", dict(proved_over_reals=False), "does not hold", "at width 512"),
    ("C03", {}, "holds if", "if positions are not negative and values are not rounded to float32: -3 and 3"),
    ("C03", dict(negative_witness=None), "holds if", "if values are not rounded to float32: of 4,096"),
    ("C03", dict(negative_witness=None, collisions=[["float64", 0, 512]]), "holds", "no two of 4,096"),
    ("C03", dict(proved_not_negative=False), "does not hold", "0 to 4,095"),
    ("C04", {}, "holds", "Place 1 in dimension 0 equals place 10 in dimension 128"),
    ("C04", dict(exact=False, witness=None), "holds if", "within 1.0e-12"),
    ("C04", dict(exact=False, witness=None, certified_gap=1e-6), "does not hold", "1.0e-06 apart"),
    (
        "C04", dict(exact=False, witness=None, certified_gap=None, nearest_integer_miss=None),
        "does not hold", "none was found",
    ),
    ("C10", {}, "does not hold", "1 contradicted (Falcon-7B (D1))"),
    ("C10", dict(contradicted=[]), "inconclusive", "of 1 nothing is disclosed (GPT-4 (D1))"),
    ("C10", dict(contradicted=[], undisclosed=[]), "holds", "Of 1 assertions 1 are confirmed"),
    ("C10", dict(contradicted=[], undisclosed=[], supposed=[]), "holds", "not counted: none"),
    (
        "C14", {}, "holds if",
        "if the width is 8 or less within 10^6 places: of the widths looked at, within 10^6 places proved not to at",
    ),
    ("C14", dict(ranges=[ALIKE8], neighbours=[NEAR8]), "holds", "1 - 2.0e-12 at lag 169,646 of 10^6"),
    ("C14", dict(ranges=[EDGE8, APART8], neighbours=[NEAR8]), "holds if", "if texts are longer than 10^6 places."),
    (
        "C14", dict(ranges=[APART8], neighbours=[NEAR8], latest=[[512, 28, 373.5]]),
        "does not hold", "0.700000 at lag 1,009",
    ),
    ("C14", dict(ranges=[APART8, ALIKE512]), "inconclusive", "Width does not decide it"),
    ("C14", dict(ranges=[other(ALIKE8, 0.1165), APART512]), "inconclusive", "Bounds meet at width 8."),
    ("C15", {}, "holds", "first rise after lag 43, 49% of steps rise"),
    ("C15", dict(widths=[[512, 43, 0.49, 0.01, 9, 0], C15_32]), "holds", "far out 0.01 at lag 9"),
    (
        "C15", dict(returns=[[512, True, 199.2], [32, False, None]]),
        "holds if", "of oscillation at widths 512, 32 and of no limit 0 at widths 512.",
    ),
    (
        "C15", dict(widths=[C15_512, [32, None, 0.0, 0.77, 9, 0.1]]),
        "holds if", "of oscillation at widths 512 and of no limit 0 at widths 512, 32.",
    ),
    ("C15", dict(widths=[[32, 4, 0.2, 0.7, 9, 0]], returns=[[32, False, None]]), "does not hold", "no return"),
    ("C29", {}, "holds if", "if attention is bidirectional"),
    ("C29", dict(causal_two_layers=1e-15), "holds", "1.0e-15 after two"),
    ("C29", dict(bidirectional=1e-3), "does not hold", "to 1.0e-03"),
    ("C34", {}, "holds if", "if kernels that peak are meant: sinusoidal positions miss kernels that peak and"),
    ("C34", dict(errors=[PEAKS, LINEAR, OTHER]), "holds", "sinusoidal: at 7 86%"),
    ("C34", dict(errors=[FALLS, LINEAR, OTHER]), "holds if", "of ALiBi:"),
    (
        "C34", dict(errors=[FALLS, PEAKS, LINEAR, other(OTHER, 0.1)]),
        "holds if", "of sinusoidal positions, not of ALiBi:",
    ),
    ("C34", dict(errors=[FALLS, other(PEAKS, 0.1), LINEAR, other(OTHER, 0.1)]), "does not hold", "at 7 10%"),
]  # fmt: skip

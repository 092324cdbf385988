"""Made-up numbers of C06, C08, C09, C11, C17, C18, C31, C32 and C35, and what their rules make of others."""

from gnomon.claims import c06, c09, c11, c17, c18, c32, c35, costs

SOURCES = [["text", "0" * 64, 36]]
UNKNOWN = [None, None, None, 0]


def between(low, high):
    """An interval over three seeds."""
    return [(low + high) / 2, low, high, 3]


LESS, ALIKE, ACROSS = between(-0.9, -0.3), between(-0.05, 0.05), between(-0.3, 0.1)
MORE, OPEN = between(0.2, 0.5), between(-0.1, 0.3)
"""Of shares: more right, and open."""
PLACES = [[label, 0, True, 1.7, 1.2, 1.3] for label in c06.ABSOLUTE]
KNOWN = [[label, 0, True, 1.0, 0.1] for label in c06.ABSOLUTE]


def c06_of(rises, longer, learned=True):
    """Numbers of C06 in which all encodings of distance differ alike."""
    return dict(
        rises=[[label, other, 128, *rises] for label in c06.RELATIVE for other in c06.ABSOLUTE],
        longer=[[label, other, *longer] for label in c06.RELATIVE for other in c06.ABSOLUTE],
        patterns=[*([label, 0, learned, 1.0, 0.9] for label in c06.RELATIVE), *KNOWN],
    )


def but(rows, label, values):
    """The same rows, those of one label with other values at the end."""
    return [[*row[: -len(values)], *values] if row[0] == label else row for row in rows]


C06 = dict(
    trained=64, twice=128, longest=512, sources=SOURCES,
    text=[*([label, 0, True, 1.7, 0.01, 0.02] for label in c06.RELATIVE), *PLACES], **c06_of(LESS, MORE),
)  # fmt: skip
TIMES = [
    [name, what, ratio, 0.02, 3]
    for name, ratio in (("sinusoidal", 1.0), ("rope", 1.05), ("alibi", 1.1), ("seqpe", 1.2), ("chain", 1.15))
    for what in costs.TIMES
]
C08 = dict(
    about=["a processor", 2, "0" * 40, "2026-01-01T00:00:00"], times=TIMES,
    memory=[[name, "a causal layer", 2**25] for name in ("sinusoidal", "rope", "alibi", "seqpe", "chain")],
    statements=[
        ["sinusoidal", 50, 60], ["alibi", 20, 30], ["shaw", 70, 90], ["transformer_xl", 80, 100], ["rope", 100, 350],
    ],
)  # fmt: skip
C09 = dict(
    trained=64, twice=128, longest=512, sources=SOURCES, text=[["alibi", 0, True, 1.8, 0.01, 0.02]],
    rise=between(0.0, 0.05), order=between(-1.0, -0.9), heads=[[0, 0, 0, 0.25, 2.5], [0, 0, 1, 0.0625, 9.0]],
    memory=[[name, "a causal layer", (52 + (name != "alibi")) * 2**20] for name in c09.NAMES],
    statements=[["alibi", 20, 30], ["sinusoidal", 50, 60]], parameters=0, about=C08["about"],
)  # fmt: skip
C11 = dict(
    trained=64, near=72, twice=128, longest=512, sources=SOURCES,
    text=[[name, 0, True, 1.9, 0.0, 0.0, 0.3] for name in (*c11.NAMES, *c11.BESIDE)],
    rises=[
        [name, length, *ends]
        for name in c11.NAMES
        for length, ends in ((72, between(0.0, 0.02)), (128, between(0.0, 0.09)), (512, between(0.2, 0.4)))
    ],
    domains=[["seqpe", 99999], ["chain", None]],
)  # fmt: skip
ABSOLUTE, RELATIVE = (0.5, 0.2, 0.3, 0.4, 1.5), (0.0, 1e-13, 1e-12, 1e-12, 0.0)
C17 = dict(
    by=5, sources=SOURCES,
    trained=[
        *([n, 0, True, kind, *(ABSOLUTE if kind == "absolute" else RELATIVE)] for n, kind in c17.KINDS.items()),
        ["seqpe", 0, True, "other", 0.0, 0.1, 0.1, 0.2, 0.3],
    ],
    untrained=[
        *([n, "causal", kind, kind == "relative", 0.1 * (kind == "absolute")] for n, kind in c17.KINDS.items()),
        ["rope(scaling=dynamic)", "causal", "relative", False, 0.1],
    ],
)  # fmt: skip
C18 = dict(
    width=512, places=512, seeds=[0, 1], share_expected_of_random=0.1,
    share_identity=[1.0], share_same_rotation=[1.0, 1.0], share_two_rotations=[0.13, 0.1], share_general=[0.2, 0.05],
    rope_places=32, rope_float64=[[1, 2.4e-15], [10**7, 6e-10]], rope_float32=0.4, rope_bfloat16=4.0,
    rope_float32_from_float64_angles=1.8e-7, rope_bfloat16_from_float64_angles=9e-3, sources=SOURCES,
    trained=[[label, 0, True, 0.3, 0.1, 0.5, 0.2] for label in c18.ADDED],
    trained_share=[[label, *between(0.2, 0.4)] for label in c18.ADDED],
)  # fmt: skip
C31 = dict(
    tokens=64, at=32, to=64.0, harm=between(0.2, 0.4), sources=SOURCES,
    untrained=[["bidirectional", 0, 1.0, 1.0, 1.0], ["causal", 0, 0.0, 1.0, 1.0]],
    trained=[["learned", 0, True, 0.0, 1.0, 0.3, 0.3], ["rope", 0, True, 0.0, 1.0, 0.1, 0.0]],
)  # fmt: skip
C32 = dict(
    trained=64, length=128, encodings=2, sources=SOURCES, order=between(0.6, 0.8),
    runs=[["sinusoidal", 0, True, 0.4, 0.6, 0.3, 1.5], ["learned", 0, True, 0.5, 0.6, 0.3, 1.5]],
    excess=[["sinusoidal", *between(0.05, 0.15)], ["learned", *between(0.1, 0.3)]],
)  # fmt: skip


def c35_of(loss, answers):
    """Differences of C35 that are alike in all comparisons."""
    beside = [(part, name, rival) for name in c35.NAMES for part, of in (("order", c35.ORDER), ("lengths", c35.LENGTHS))
              for rival in of]  # fmt: skip
    return [
        [part, measure, name, rival, *ends]
        for part, name, rival in beside
        for measure, ends in (("loss", loss), ("answers", answers))
    ]


C35 = dict(
    trained=64, twice=128, sources=SOURCES, text=[[name, 0, True, 1.8, 0.1] for name in c35.ALL],
    answers=[["copy", "seqpe", 0, True, 1.0, 0.3], ["sort", "seqpe", 0, False, 0.4, 0.3]],
    differences=c35_of(LESS, ALIKE),
)  # fmt: skip

EXAMPLES = {
    "C06": C06, "C08": C08, "C09": C09, "C11": C11, "C17": C17, "C18": C18, "C31": C31, "C32": C32, "C35": C35
}  # fmt: skip
"""Numbers of the shape that each claim states."""


def trained(learned):
    """Numbers of C18 with another share of the trained models with learned positions."""
    return dict(trained_share=but(C18["trained_share"], "learned", learned))


SHORT = [[name, what, 3.0 if name == "seqpe" else ratio, spread, n] for name, what, ratio, spread, n in TIMES]
WORST = [[*row[:2], 3.0, *row[3:]] if row[0] != "sinusoidal" else row for row in TIMES]
COMPLEX = dict(statements=[*C08["statements"][:2], ["shaw", 60, 74], ["transformer_xl", 80, 74]])

CASES = [
    ("C06", {}, "holds", "shaw 0.01 and 0.02, transformer_xl"),
    ("C06", dict(rises=but(C06["rises"], "t5", ALIKE)), "holds if", "(shaw, transformer_xl, deberta), patterns within"),
    ("C06", dict(rises=but(C06["rises"], "t5", ALIKE)), "holds if", "Not of text past the training length (t5)."),
    ("C06", dict(rises=but(C06["rises"], "t5", UNKNOWN)), "holds if", "Open: text past the training length (t5)."),
    ("C06", c06_of(LESS, ALIKE), "holds if", "Not of patterns past training (shaw, transformer_xl, t5, deberta)."),
    ("C06", c06_of(ALIKE, OPEN, learned=False), "does not hold", "shaw 1.00 and 0.90 (0 of 1 learned)"),
    (
        "C06",
        c06_of(ACROSS, OPEN) | dict(patterns=[[*row[:2], False, *row[3:]] for row in C06["patterns"]]),
        "inconclusive", "learned 1.00 and 0.10 (0 of 1 learned)",
    ),
    ("C08", {}, "holds", "rope 1.05 to 1.05"),
    ("C08", dict(times=SHORT), "holds if", "Not of SeqPE's overhead."),
    ("C08", dict(times=but(TIMES, "rope", [1.3, 0.2, 3])), "holds if", "Open: RoPE's overhead."),
    ("C08", dict(times=but(TIMES, "alibi", [1.1, None, 1])), "holds if", "the speed of ALiBi"),
    ("C08", dict(times=but(TIMES, "chain", [0.8, 0.0, 3])), "holds if", "Not of the overhead of the document's chain."),
    ("C08", COMPLEX, "holds if", "Not of the code of Shaw's, the code of Transformer-XL's."),
    ("C08", dict(times=WORST) | COMPLEX, "does not hold", "seqpe 3.00 to 3.00"),
    ("C09", {}, "holds", "0.025 [0.000, 0.050] over 3 seeds nats (allowed: 0.1)"),
    ("C09", dict(rise=between(0.05, 0.2)), "holds if", "Open: its reach."),
    ("C09", dict(rise=between(0.15, 0.2)), "holds if", "Not of its reach."),
    ("C09", dict(order=between(-0.7, -0.3)), "holds if", "Not of its slopes."),
    ("C09", dict(order=UNKNOWN), "holds if", "of its reach, its memory, its code."),
    ("C09", dict(memory=but(C09["memory"], "alibi", [60 * 2**20])), "holds if", "more than sinusoidal in"),
    ("C09", dict(parameters=4), "holds if", "Not of its code."),
    (
        "C09",
        dict(rise=between(0.5, 0.6), order=ALIKE, parameters=4, memory=but(C09["memory"], "rope", [1])),
        "does not hold", "more than rope in a causal layer",
    ),
    ("C11", {}, "holds", "seqpe up to 99,999, chain anywhere"),
    ("C11", dict(rises=but(C11["rises"], "seqpe", between(0.9, 1.1))), "holds if", "Not of seqpe adapting."),
    ("C11", dict(rises=but(C11["rises"], "chain", between(0.0, 0.05))), "holds if", "Not of chain being limited."),
    ("C11", dict(rises=but(C11["rises"], "chain", UNKNOWN)), "holds if", "Open: chain adapting, chain being limited."),
    (
        "C11",
        dict(rises=[[*row[:2], *between(*((0.5, 0.6) if row[1] == 72 else (0, 0.01)))] for row in C11["rises"]]),
        "does not hold", "chain 0.55 [0.50, 0.60]",
    ),
    ("C11", dict(rises=[[*row[:2], *between(0.0, 0.3)] for row in C11["rises"]]), "inconclusive", "0.15 [0.00, 0.30]"),
    ("C17", {}, "holds", "nor do variants: rope(scaling=dynamic)"),
    ("C17", dict(trained=but(C17["trained"], "rope", [1e-6, 0.0])), "holds if", "Not of rope."),
    ("C17", dict(trained=but(C17["trained"], "learned", [0.001, 0.0])), "holds if", "of sinusoidal, shaw,"),
    ("C17", dict(trained=but(C17["trained"], "learned", [None] * 5)), "holds if", "Not asked: learned."),
    ("C17", dict(untrained=but(C17["untrained"], "rope", [False, 0.1])), "holds if", "Not of rope."),
    ("C17", dict(untrained=but(C17["untrained"], "learned", [True, 0.0])), "holds if", "Not of learned."),
    ("C17", dict(trained=[[*row[:4], *[1e-5] * 5] for row in C17["trained"]]), "does not hold", "1.0e-05"),
    ("C17", dict(trained=[[*row[:4], *[None] * 5] for row in C17["trained"]]), "inconclusive", "unknown"),
    ("C18", {}, "holds if", "if W_Q and W_K are the same rotation:"),
    ("C18", {}, "holds if", "is 0.30 of sinusoidal positions [0.20, 0.40, 3 seeds], so that an absolute part remains"),
    ("C18", trained(between(0.8, 0.95)), "holds if", "which leaves open whether"),
    ("C18", trained(UNKNOWN), "holds if", "of learned positions is not known"),
    (
        "C18", trained(between(0.93, 0.95)),
        "holds if", "if W_Q and W_K are the same rotation, and of projections that were not trained:",
    ),
    (
        "C18", trained(between(0.93, 0.95)) | dict(share_two_rotations=[1.0]),
        "holds if", "of projections that were not trained:",
    ),
    ("C18", dict(share_two_rotations=[1.0, 1.0]), "holds", "1.00 with two rotations"),
    ("C18", dict(share_general=[0.2, 0.7]), "does not hold", "0.70 with general ones"),
    ("C18", {}, "holds if", "by 1.8e-07 with tables in float32 and 9.0e-03 in bfloat16, angles in float64"),
    ("C18", dict(share_same_rotation=[1.0, 0.9]), "holds if", "if W_Q and W_K are the identity:"),
    ("C18", dict(share_identity=[0.9]), "does not hold", "0.900 of the position-position term"),
    ("C18", dict(rope_float64=[[1, 2.4e-15], [10**7, 1e-8]]), "does not hold", "1.0e-08 of 8.9e-09 at shift"),
    ("C18", dict(rope_float64=[[1, 1e-12], [10**7, 6e-10]]), "does not hold", "1.0e-12 of 2.9e-14 at shift 1)"),
    ("C31", {}, "holds if", "if attention is bidirectional: behind a causal mask the past is safe."),
    ("C31", dict(harm=between(0.0, 0.05)), "holds if", "if attention is bidirectional and a changed bit disturbs."),
    ("C31", dict(harm=between(0.05, 0.2)), "holds if", "if attention is bidirectional; whether it is poison is open."),
    ("C31", dict(trained=[["learned", 0, True, 0.0, 0.9, 0.3, 0.3]]), "does not hold", "90% of those after it"),
    ("C31", dict(untrained=but(C31["untrained"], "bidirectional", [0.5])), "does not hold", "50% of the outputs"),
    (
        "C31",
        dict(trained=[["learned", 0, True, 1.0, 1.0, 0.3, 0.3]], untrained=but(C31["untrained"], "causal", [1.0] * 3)),
        "holds", "100% of those before it",
    ),
    ("C31", dict(trained=[["learned", 0, False, None, None, None, None]]), "inconclusive", "nothing is known"),
    ("C32", {}, "holds", "of a head that looks at every key alike 0.30"),
    ("C32", dict(order=between(0.1, 0.3)), "holds if", "Not of a loss that goes with it."),
    ("C32", dict(order=UNKNOWN), "holds if", "Open: a loss that goes with it."),
    ("C32", dict(excess=but(C32["excess"], "sinusoidal", LESS)), "holds if", "Not of attention drawn under sinusoidal"),
    ("C32", dict(order=ALIKE, excess=[[n, *LESS] for n in c32.ABSOLUTE]), "does not hold", "-0.60 [-0.90, -0.30]"),
    ("C32", dict(order=between(0.2, 0.7), excess=[[n, *OPEN] for n in c32.ABSOLUTE]), "inconclusive", "[0.20, 0.70]"),
    ("C35", {}, "holds", "order, seqpe less sinusoidal: -0.60 [-0.90, -0.30] nats, +0.00"),
    ("C35", dict(differences=c35_of(ALIKE, MORE)), "holds", "some run did not learn, by encoding: seqpe: sort."),
    ("C35", dict(differences=c35_of(LESS, UNKNOWN)), "holds", "nats, unknown right"),
    ("C35", dict(differences=c35_of(LESS, OPEN)), "holds", "+0.10 [-0.10, +0.30] right"),
    ("C35", dict(differences=c35_of(LESS, between(-0.5, -0.2))), "does not hold", "-0.35 [-0.50, -0.20] right"),
    ("C35", dict(differences=c35_of(ALIKE, ALIKE)), "does not hold", "lengths under seqpe beside alibi, order under"),
    ("C35", dict(differences=c35_of(ALIKE, OPEN)), "inconclusive", "+0.10 [-0.10, +0.30] right"),
    ("C35", dict(differences=c35_of(LESS, between(-0.3, 0.3))), "inconclusive", "Open: order under seqpe beside"),
    ("C35", dict(differences=[*c35_of(ALIKE, ALIKE)[2:], *c35_of(LESS, MORE)[:2]]), "holds if", "of order under seqpe"),
]  # fmt: skip

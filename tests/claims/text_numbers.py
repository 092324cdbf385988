"""Made-up numbers of C05, C07, C12, C13, C26 and C30, and what other numbers make of their verdicts."""

from typing import Any

from gnomon.claims import c26

SOURCES = [["text", "0" * 64, 60]]
SEEDS = (0, 1, 2)
WIDE = (-0.4, 0.0, 0.4)
"""What is added to the numbers of three seeds: an interval of 1 on either side; NARROW one of 0.025."""
NARROW = (-0.01, 0.0, 0.01)


def rows(label: str, *values: float, spread: tuple[float, ...] = NARROW, learned: bool = True, loss: float = 2.0):
    """Rows of three runs: the loss at the training length, then these values, each with the seed's own shift."""
    return [[label, seed, learned, loss, *(value + spread[seed] for value in values)] for seed in SEEDS]


def sinusoidal(twice: float, far: float, **more: Any) -> dict[str, Any]:
    """Runs of C13: its rises at 72, 80, 96, 128, 256 and 512 bytes."""
    return {"runs": rows("sinusoidal", twice / 2, twice / 2, twice / 2, twice, far, far, **more)}


def absolute(waves: float, table: float, at_twice: float = 3.5, **more: Any) -> dict[str, Any]:
    """Runs of C26: losses a little past training, and at twice its length."""
    made = (("sinusoidal", waves), ("learned", table))
    return {"runs": [row for name, near in made for row in rows(name, near, near, at_twice, **more)]}


def copies(near: float, later: float = 0.0, learned: bool = True) -> list[list]:
    """Rows of C26: the share of right copies at 20, 22 and 25 letters, and chance."""
    return [[label, seed, learned, 1.0, near, later, 0.0] for label in c26.ABSOLUTE for seed in SEEDS]


def tables(untrained: float, clamp: float, wrap: float = 1.5, near: float | None = None, **more: Any) -> dict[str, Any]:
    """Runs of C12: rises a little past the table, at twice and at eight times the training length."""
    first = rows("an untrained row", untrained if near is None else near, untrained, untrained + 0.1, **more)
    return {"runs": [*first, *rows("clamping", clamp, clamp, clamp), *rows("wrapping", wrap, wrap, wrap)]}


def rotated(plain: tuple[float, float], yarn: tuple[float, float], **more: Any) -> dict[str, Any]:
    """Runs of C07: rises at twice and at eight times the training length, then what the options cost within it."""
    mine = [*rows("rope", *plain, 0.0, 0.0, **more), *rows("rope yarn", *yarn, 0.01, 0.05)]
    others = [*rows("alibi", 0.0, 0.0, 0.0, 0.0), *rows("sinusoidal", 1.0, 2.5, 0.0, 0.0)]
    return {"runs": [*mine, *others, *rows("t5", 0.5, plain[1], 0.0, 0.0, spread=WIDE)]}


def waves(fast: float, slow: float, rise: float = 1.2, spread: tuple[float, ...] = NARROW, **more: Any) -> dict:
    """Runs of C30: the rise, and how much the loss falls where fast waves are held, and slow ones."""
    made = [[*row[:5], fast + spread[row[1]], slow] for row in rows("sinusoidal", rise, **more)]
    return {"runs": [*made, *([*row[:5], 0.02, 1.0] for row in rows("rope", 0.9))]}


EXAMPLES = {
    "C05": dict(
        width=512, furthest=10**9, places=63, parameters=0, largest_error=8e-8, values_exist=True, trained_at=64,
        length=128, runs=rows("sinusoidal", 1.2), sources=SOURCES,
    ),
    "C07": dict(
        trained_at=64, lengths=[128, 512], shifts=[["rope", seed, 1e4, 3e-12] for seed in SEEDS],
        **rotated((0.9, 2.0), (0.05, 0.06)), sources=SOURCES,
    ),
    "C12": dict(
        trained_at=64, lengths=[72, 128, 512], refused=[[seed, 6, 6] for seed in SEEDS], **tables(1.2, 1.0),
        sources=SOURCES,
    ),
    "C13": dict(trained_at=64, lengths=[72, 80, 96, 128, 256, 512], **sinusoidal(1.2, 1.5), sources=SOURCES),
    "C26": dict(
        trained_at=64, lengths=[72, 80, 128], byte_frequencies=3.3, **absolute(3.4, 3.5), copied=[20, 22, 25],
        answers=copies(0.0), sources=SOURCES,
    ),
    "C30": dict(
        trained_at=64, length=128, **waves(0.8, 0.2),
        bands=[["sinusoidal", 0, 6.3, 47.0, -0.8, 0.9]], unseen=[[6.3, 47.0, 0.95], [62.8, 471.0, 1.0]],
        sources=SOURCES,
    ),
}  # fmt: skip

CASES = [
    ("C05", {}, "does not hold", "of 3 trained models rises by 1.200 [1.175, 1.225] nats"),
    ("C05", dict(values_exist=False), "does not hold", "missing or not finite"),
    ("C05", dict(runs=rows("sinusoidal", 0.05)), "holds", "0.050 [0.025, 0.075]"),
    ("C05", dict(runs=rows("sinusoidal", 0.05, spread=WIDE)), "inconclusive", "0.050 [-0.944, 1.044]"),
    ("C05", dict(runs=rows("sinusoidal", 0.0, learned=False)), "inconclusive", "of 3 trained models 3 know no more"),
    ("C05", dict(runs=rows("sinusoidal", 0.0)[:1]), "inconclusive", "one seed"),
    ("C05", dict(runs=[*rows("sinusoidal", 0.05)[:2], ["sinusoidal", 2, True, 2.0, None]]), "inconclusive",
     "of 3 trained models 1 know no more"),
    ("C05", dict(runs=[*rows("sinusoidal", 0.05)[:1], ["sinusoidal", 1, False, 3.3, 0.05]]), "inconclusive",
     "of 2 trained"),
    ("C07", {}, "holds if", "if frequencies are scaled by yarn: Shifts up to 10,000 change outputs"),
    ("C07", rotated((0.05, 0.06), (0.2, 0.3)), "holds", "at 128 and 512: plain 0.050 [0.025, 0.075], 0.060 [0"),
    ("C07", rotated((0.05, 0.3), (0.3, 0.3)), "holds if", "if texts are at most twice as long as those of tr"),
    ("C07", rotated((0.9, 2.0), (0.05, 0.3)), "holds if", "of training and frequencies are scaled by yarn:"),
    ("C07", rotated((0.9, 2.0), (0.3, 0.3)), "holds if", "of products that follow distance, not of long contexts"),
    ("C07", rotated((0.1, 0.1), (0.3, 0.3)), "holds if", "of products that follow distance; intervals leave long"),
    ("C07", {}, "holds if", "at 512 rises less than under sinusoidal; more than under alibi; not to be told from t5."),
    ("C07", rotated((0.0, 0.0), (0.0, 0.0), learned=False), "inconclusive", "not learned by seed 0, seed 1, seed 2"),
    ("C07", dict(shifts=[["rope", 0, 5.0, 1e-3]]), "does not hold", "change outputs of trained models by 1.0e-03"),
    ("C12", {}, "holds", "refuses every place past it in 3 runs of 3. Rise of the loss, nats a byte, at 72 and 128"),
    ("C12", {}, "holds", "At 512: an untrained row 1.30; clamping 1.00; wrapping 1.50."),
    ("C12", tables(1.2, 0.05), "holds if", "if nothing stands in for the missing row: clamping does."),
    ("C12", tables(0.05, 1.0), "does not hold", "Untrained rows are as good as trained ones."),
    ("C12", dict(refused=[[0, 6, 6], [1, 5, 6]]), "does not hold", "refused (seed 1: 5 of 6)"),
    ("C12", tables(1.2, 1.0, near=0.05), "inconclusive", "What an untrained row costs, intervals leave open."),
    ("C12", tables(0.5, 1.0, spread=WIDE), "inconclusive", "0.500 [-0.494, 1.494]"),
    ("C12", tables(1.2, 1.0, learned=False), "inconclusive", "an untrained row, seed 0; an untrained"),
    ("C13", {}, "holds", "at 128 1.200 [1.175, 1.225], x 3.32 [3.24, 3.40]"),
    ("C13", sinusoidal(0.05, 0.06), "does not hold", "It does not fail at 128 bytes, nor at 512."),
    ("C13", sinusoidal(0.3, 0.5), "holds if", "of failing, not of an explosion at 128 or 512 bytes."),
    ("C13", sinusoidal(0.3, 1.5), "holds if", "of failing, and of an explosion at 512 bytes, not of an expl"),
    ("C13", sinusoidal(0.69, 1.5), "holds if", "and of an explosion at 512 bytes; whether it explodes elsewhere"),
    ("C13", sinusoidal(0.05, 0.5), "holds if", "if texts are eight times as long as those of training, of fa"),
    ("C13", sinusoidal(0.05, 1.5), "holds if", "as those of training, where perplexity explodes:"),
    ("C13", sinusoidal(0.5, 0.6, spread=WIDE), "inconclusive", "Intervals lie across what is failing."),
    ("C13", sinusoidal(1.2, 1.5, learned=False), "inconclusive", "Of 3 models 3 have not learned the text in range"),
    ("C26", {}, "holds", "Loss of text under sinusoidal positions over byte frequencies (3.300 nats): at 64, the "
     "training length, -1.300 [-1.300, -1.300]; at 72 +0.100 [+0.075, +0.125]"),
    ("C26", dict(answers=None), "holds", "Answers were not measured."),
    ("C26", absolute(3.0, 3.5), "holds if", "of text under learned positions and of copies under sinusoidal positions "
     "and of copies under learned positions, not of text under sinusoidal positions."),
    ("C26", absolute(3.2, 3.5), "holds if", "copies under learned positions, open of text under sinusoidal positions."),
    ("C26", absolute(3.0, 3.0) | dict(answers=None), "holds if", "of text under sinusoidal positions at 128 bytes, of "
     "text under learned positions at 128 bytes, and a little past the training length of none."),
    ("C26", absolute(3.0, 3.0, at_twice=3.1) | dict(answers=None), "does not hold", "at 128 -0.200 [-0.225, -0.175]"),
    ("C26", absolute(3.0, 3.0, at_twice=3.1) | dict(answers=copies(0.9, 0.5)), "does not hold", "at 22 0.900"),
    ("C26", absolute(3.0, 3.0, at_twice=3.1) | dict(answers=copies(0.9)), "holds if", "of copies under sinusoidal "
     "positions at 25 letters, of copies under learned positions at 25 letters, and a little past"),
    ("C26", absolute(3.4, 3.5, learned=False) | dict(answers=None), "inconclusive", "seed 0, 1, 2."),
    ("C26", absolute(3.0, 3.0, spread=WIDE) | dict(answers=None), "inconclusive", "-0.300 [-1.294, +0.694]"),
    ("C26", absolute(3.0, 3.0) | dict(answers=copies(0.0, learned=False)), "inconclusive", "Not learned in range, of"),
    ("C26", dict(byte_frequencies=None, answers=None), "inconclusive", "no loss past it"),
    ("C30", {}, "holds", "the fast waves (wavelengths up to 47) brings 0.800 [0.775, 0.825], holding the slow ones "
     "0.200 [0.200, 0.200]; the fast lead by 0.600"),
    ("C30", {}, "holds", "RoPE: Holding the fast waves brings 0.020"),
    ("C30", waves(-0.1, 1.0), "holds if", "of combinations never seen, not of fast waves that carry the loss."),
    ("C30", waves(0.4, 1.0), "holds if", "of fast waves that carry some of the loss, less of it than slow"),
    ("C30", waves(0.4, 0.4), "holds if", "not for certain more of it than slow ones, and of comb"),
    ("C30", dict(unseen=[[6.3, 47.0, 0.3]]), "holds if", "of fast waves that carry the loss, not of com"),
    ("C30", waves(-0.1, 1.0) | dict(unseen=[[6.3, 47.0, 0.3]]), "does not hold", "Of positions past training 30%"),
    ("C30", waves(0.1, 1.0), "inconclusive", "What holding the fast waves brings, intervals leave open."),
    ("C30", waves(0.8, 0.2, rise=0.1), "inconclusive", "there may be nothing to carry."),
    ("C30", waves(0.8, 0.2, learned=False), "inconclusive", "or not measured past it: seed 0, 1, 2."),
]  # fmt: skip

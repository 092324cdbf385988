"""Made-up numbers of every claim: an example of the shape that it states, and all that its rule is tried with.

Those of a claim lie beside the tests of its evidence; here they are made whole, and side by side.
"""

from typing import Any

from gnomon.claims import CLAIMS, c20
from tests.claims import computed_numbers, relative, text_numbers
from tests.claims import test_trained_answers as answers
from tests.claims import test_trained_data as data
from tests.claims import test_trained_depth as depth
from tests.claims import test_trained_masked as masked
from tests.claims import test_trained_shortcut as shortcut

Numbers = dict[str, Any]

SOURCES = [["made up", "0" * 64, 3]]


def numbers16(rows: list) -> Numbers:
    runs = [
        ["learned", 0, answers.PLAIN, "absolute", True, 1.0, 0.1],
        ["alibi", 0, "copy", "relative", False, 0.5, None],
    ]
    return dict(factor=2.5, runs=runs, addition=rows, others=answers.COPY, sources=SOURCES)


def numbers19(change: Numbers) -> Numbers:
    more = dict(
        dimensions=128, neighbours_found_1d=0.5, neighbours_found_2d=1.0, rope_below_over_right_1d=3.0,
        rope_below_over_right_2d=1.0, rope_rank_1d=0.5, rope_rank_2d=0.8,
    )  # fmt: skip
    return data.GEOMETRY | more | change | {"sources": SOURCES}


def numbers20(rows: list) -> Numbers:
    return dict(near=128, far=512, stamped=c20.STAMPED, counted=c20.COUNTED, runs=rows, sources=SOURCES)


def numbers21(sinusoidal: dict, learned: dict, without: list | None) -> Numbers:
    swept = masked.sweep("sinusoidal", sinusoidal) + masked.sweep("learned", learned)
    return dict(guess=3.3, runs=swept + (masked.none() if without is None else without), sources=SOURCES)


def numbers22(text: list, binding: list) -> Numbers:
    return dict(guess=3.3, chance=0.5, masked=text, pairs=binding, sources=SOURCES)


def numbers27(rows: list) -> Numbers:
    runs = [
        ["learned", 0, "absolute", True, 1.0, 0.1, 0.4, 0.8],
        ["alibi", 0, "relative", False, None, None, None, None],
    ]
    return dict(task="addition shift=4", shift=4, runs=runs, encodings=rows, sources=SOURCES)


TRIED: dict[str, list[Numbers]] = {
    "C16": [numbers16(rows) for rows, *_ in answers.CASES_16],
    "C19": [numbers19(change) for change, *_ in data.CASES_19],
    "C20": [numbers20(rows) for rows, *_ in data.CASES_20],
    "C21": [numbers21(*each) for *each, _, _ in masked.CASES_21],
    "C22": [numbers22(*each) for *each, _, _ in masked.CASES_22],
    "C23": [depth.numbers23(**change) for change, *_ in depth.CASES_23],
    "C24": [shortcut.C24 | change | {"sources": SOURCES} for change, *_ in shortcut.CASES_24],
    "C25": [dict(runs=rows, sources=SOURCES) for rows, *_ in shortcut.CASES_25],
    "C27": [numbers27(rows) for rows, *_ in answers.CASES_27],
    "C28": [depth.numbers28(*curves, **more) for curves, more, *_ in depth.CASES_28],
    "C33": [dict(runs=rows, sources=SOURCES) for rows, *_ in data.CASES_33],
}
for where in (computed_numbers, relative, text_numbers):
    for id, change, *_ in where.CASES:
        TRIED.setdefault(id, []).append(where.EXAMPLES[id] | change)

EXAMPLES = computed_numbers.EXAMPLES | {id: each[0] for id, each in TRIED.items()}
"""One of each claim; of those in `computed_numbers` only what the rule reads."""

assert TRIED.keys() == CLAIMS.keys()

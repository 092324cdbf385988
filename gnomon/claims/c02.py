"""C02: no two positions have the same vector."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c02
from gnomon.claims.shapes import Row, Rows, Text, Truth, Whole

WIDTH, PLACES = 512, 8192


def evidence() -> Numbers:
    """The theorem over the reals, where the document's step fails, and repeated rows by how numbers are formed."""
    import torch

    from gnomon.analysis.duplicates import duplicates
    from gnomon.analysis.forms import waves
    from gnomon.analysis.stored import PRECISIONS, angles, dtype, holds, waved
    from gnomon.analysis.theorems import section
    from gnomon.encodings.sinusoidal import Sinusoidal

    encoding = Sinusoidal(WIDTH)
    found, proved = waves(encoding), section(encoding, "theorem1").numbers
    rows = []
    for way in PRECISIONS:
        if holds(way, PLACES - 1):
            values = waved(found, angles(found, torch.arange(PLACES), way))
            rows += [[name, way, duplicates(values.to(dtype(name))).count, PLACES] for name in PRECISIONS]
    return {
        "width": WIDTH,
        "proved_over_reals": proved["holds_on_whole_positions"],
        "pairs": proved["pairs"],
        "rational_pairs": proved["rational_pairs"],
        "repeats": rows,
    }


CLAIM = Claim(
    id="C02",
    title="no two positions have the same vector",
    english="Two different positions never have the same vector; this is shown by contradiction, from a ratio of "
    "frequencies that cannot be rational.",
    korean="서로 다른 두 위치의 벡터는 결코 같을 수 없다. 주파수의 비가 유리수일 수 없다는 데서 모순을 끌어내어 "
    "증명한다.",
    document="D1",
    section="2, 3 [증명 1]",
    question="Is it true over the reals, is each step of the argument, and how many rows repeat in floating point, "
    "for each precision of the angle and of the table?",
    evidence=evidence,
    rule=c02.rule,
    columns={"repeats": ("stored in", "angles in", "rows equal to an earlier one", "rows")},
    shape={
        "width": Whole(1),
        "proved_over_reals": Truth(),
        "pairs": Whole(),
        "rational_pairs": Whole(),
        "repeats": Rows(Row((Text(), Text(), Whole(), Whole(1)), rising=((2, 3),))),
    },
)

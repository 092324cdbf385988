"""C03: in one dimension no two positions have the same value."""

from math import inf

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c03
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

WIDTH, PLACES = 512, 4096


def evidence() -> Numbers:
    """The theorem over the reals with the closest pairs of some dimensions, its failure below 0, and in floats."""
    import torch

    from gnomon.analysis.duplicates import collisions
    from gnomon.analysis.forms import waves
    from gnomon.analysis.stored import PRECISIONS, angles, dtype, waved
    from gnomon.analysis.theorems import section
    from gnomon.encodings.sinusoidal import Sinusoidal

    encoding = Sinusoidal(WIDTH)
    found, proved = waves(encoding), section(encoding, "theorem2", PLACES - 1).numbers
    values = waved(found, angles(found, torch.arange(PLACES), "float64"))
    shared = {name: collisions(values.to(dtype(name))) for name in PRECISIONS}
    mirror = proved["mirror"]
    return {
        "width": WIDTH,
        "positions": PLACES,
        "proved_not_negative": proved["holds_on_whole_positions_from_0"]
        and all(low > 0 for *_, low, _ in proved["closest"]),
        "closest": proved["closest"],
        "negative_witness": None if mirror is None else [mirror[1], mirror[2], mirror[0]],
        "collisions": [[name, int((of > 0).sum()), WIDTH] for name, of in shared.items()],
        "most_places_in_a_dimension": [[name, int(of.max())] for name, of in shared.items()],
    }


CLAIM = Claim(
    id="C03",
    title="one dimension never repeats a value",
    english="In any one dimension two different positions never have the same value, since pi is transcendental.",
    korean="어느 한 차원에서도 서로 다른 두 위치의 값은 같을 수 없다. 원주율이 초월수이기 때문이다.",
    document="D1",
    section="4 [증명 2]",
    question="Is it true over the reals, of sines and cosines, from 0 on and below, and in how many dimensions do "
    "places share a value in floating point?",
    evidence=evidence,
    rule=c03.rule,
    columns={
        "closest": ("dimension", "wave", "place", "place", "apart at least", "at most"),
        "negative_witness": ("place", "place", "dimension"),
        "collisions": ("stored in", "dimensions with a shared value", "of"),
        "most_places_in_a_dimension": ("stored in", "places with the value of an earlier one"),
    },
    shape={
        "width": Whole(1),
        "positions": Whole(1),
        "proved_not_negative": Truth(),
        "closest": Rows(Row((Whole(), Text(), Whole(), Whole(), Real(0), Real(0)), rising=((4, 5),))),
        "negative_witness": Row((Whole(-inf), Whole(-inf), Whole()), none=True),
        "collisions": Rows(Row((Text(), Whole(), Whole(1)), rising=((1, 2),))),
        "most_places_in_a_dimension": Rows(Row((Text(), Whole()))),
    },
)

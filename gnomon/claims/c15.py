"""C15: the product of two position vectors oscillates with distance."""

import math
from typing import TYPE_CHECKING

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c15
from gnomon.claims.shapes import Real, Row, Rows, Truth, Whole

if TYPE_CHECKING:
    from gnomon.analysis.forms import Waves

WIDTHS = (512, 128, 64, 32)
LAST = 8192
"""Lags of which each step is proved to rise or to fall."""
FAR = 1_000_000
"""Lags up to which the product is followed."""


def evidence() -> Numbers:
    """For each width: the first lag after which the product rises, the share of steps that do, the most that it comes
    back to in the last decade of lags, and whether it is proved to come back as near to its first value as one likes.
    """
    from gnomon.analysis.cosine_sums import returns, rising
    from gnomon.analysis.forms import waves
    from gnomon.encodings.sinusoidal import Sinusoidal

    rows, back = [], []
    for width in WIDTHS:
        found = waves(Sinusoidal(width))
        steps = rising(found, LAST + 1)
        decade = max((each for each in returns(found, FAR) if each.end > each.begin), key=lambda each: each.begin)
        rows.append([width, steps.first, steps.share, decade.largest, decade.at, decade.mean])
        back.append([width, *returns_to_half(found)])
    return {"last": LAST, "far": [decade.begin, decade.end], "widths": rows, "returns": back}


def returns_to_half(waves: "Waves") -> tuple[bool, float | None]:
    """Whether the product comes back, and log10 of a lag by which it is at half of its first value again, once below.

    Where each sine has its cosine it is the sum of cos(w_m k) over m pairs. Cut the circle into N arcs: of the lags 0,
    K, 2 K, ..., N^m K two have every angle in the same arcs, so that at their difference, which is K or more, each is
    within 1 / N of a turn and the sum above m cos(2 pi / N), which is m / 2 for N = 6. K is here the first lag at which
    it is below m / 2. N is arbitrary, and so is how near the sum comes to m.
    """
    if not waves.is_whole:
        return False, None
    pairs, lag = len(waves.frequencies), 1
    while sum(math.cos(w * lag) for w in waves.frequencies) > pairs / 2:
        lag += 1
    return True, math.log10(lag) + pairs * math.log10(6)


CLAIM = Claim(
    id="C15",
    title="PE·PE oscillates and has no limit 0",
    english="The product of two position vectors rises and falls with their distance; it need not fall all the way "
    "and does not go to 0.",
    korean="두 위치 벡터의 내적은 거리에 따라 오르내릴 뿐, 꾸준히 줄어들지도 0으로 수렴하지도 않는다.",
    document="D2",
    section="1.2 (3)",
    question="After which lag does the product first rise, at what share of steps does it rise, and does it come back "
    "however far out one begins?",
    evidence=evidence,
    rule=c15.rule,
    columns={
        "widths": ("width", "first rise", "steps that rise", "far out, largest", "at lag", "mean"),
        "returns": ("width", "proved", "log10 of a lag with half of it"),
    },
    shape={
        "last": Whole(1),
        "far": Row((Whole(), Whole()), rising=((0, 1),)),
        "widths": Rows(Row((Whole(1), Whole(none=True), Real(0, 1), Real(-1, 1), Whole(), Real(-1, 1)))),
        "returns": Rows(Row((Whole(1), Truth(), Real(0, none=True)))),
    },
)

"""C15: the product of two position vectors oscillates with distance."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c15

WIDTHS = (512, 128, 64, 32)
LAST = 8192
"""Lags of which each step is proved to rise or to fall."""
FAR = 1_000_000
"""Lags up to which the product is followed."""


def evidence() -> Numbers:
    """For each width: the first lag after which the product rises, the share of lags at which it does, and the most
    that it comes back to in the last decade of lags, as a share of its value at lag 0."""
    from gnomon.analysis.cosine_sums import returns, rising
    from gnomon.analysis.forms import waves
    from gnomon.encodings.sinusoidal import Sinusoidal

    rows, far = [], []
    for width in WIDTHS:
        found = waves(Sinusoidal(width))
        steps, back = rising(found, LAST + 1), returns(found, FAR)
        decade = max((each for each in back if each.end > each.begin), key=lambda each: each.begin)
        rows.append([width, steps.first, steps.share, decade.largest])
        far.append([width, decade.at, decade.mean])
    return {"last": LAST, "far": [decade.begin, decade.end], "widths": rows, "far_at_lag_and_mean": far}


CLAIM = Claim(
    id="C15",
    title="PE·PE oscillates and has no limit 0",
    english="The product of two position vectors rises and falls with their distance; it need not fall all the way "
    "and does not go to 0.",
    korean="두 위치 벡터의 내적은 거리에 따라 오르내릴 뿐, 꾸준히 줄어들지도 0으로 수렴하지도 않는다.",
    document="D2",
    section="1.2 (3)",
    question="After which lag does the product first rise, at what share of lags does it rise, and how near does it "
    "come to its first value far out?",
    evidence=evidence,
    rule=c15.rule,
)

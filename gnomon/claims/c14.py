"""C14: far positions can look alike."""

import math

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c14
from gnomon.claims.shapes import Real, Row, Rows, Whole

PLACES = {width: 10**12 for width in range(2, 41, 2)} | {64: 10**9, 128: 10**9, 512: 10**9}
"""Of each width, the number of places whose lags are all looked at: more where a lattice lists what can be close. Every
even width up to 40, since a wider one may have an alias that a narrower one lacks."""
BEGINS = (128, 10**3, 10**6, 10**9)
"""Lags from which the closest is asked for: a training length, and powers of ten."""


def evidence() -> Numbers:
    """For each width, between proved bounds: what the closest lag of each range lacks to a similarity of 1, and what
    neighbours lack; the first lag closer than neighbours; and a lag by which a far one is, for certain."""
    from gnomon.analysis.closest import closest, first_closer_than_neighbour, pieces
    from gnomon.analysis.forms import waves
    from gnomon.encodings.sinusoidal import Sinusoidal

    ranges, neighbours, firsts, by_then = [], [], [], []
    for width, places in PLACES.items():
        found, last = waves(Sinusoidal(width)), places - 1
        near = _lacks(closest(found, 1, 1).distance, width)
        neighbours.append([width, *near])
        best = pieces(found, [begin for begin in BEGINS if begin < last], last)
        ranges += [[width, each.first, each.last, each.lag, *_lacks(each.distance, width)] for each in best]
        firsts.append([width, first_closer_than_neighbour(found, last)])
        by_then.append([width, *latest(len(found.frequencies), near[0])])
    return {"ranges": ranges, "neighbours": neighbours, "first_closer_than_neighbours": firsts, "latest": by_then}


def _lacks(distance: tuple[float, float], width: int) -> tuple[float, float]:
    """Bounds of 1 - similarity from those of the distance: |PE(p) - PE(p + k)|^2 = width (1 - similarity)."""
    low, high = (bound * bound / width for bound in distance)
    return math.nextafter(low * (1 - 2**-52), 0), math.nextafter(high * (1 + 2**-52), math.inf)


def latest(pairs: int, lacks: float) -> tuple[int, float]:
    """Arcs N with 1 - cos(2 pi / N) < `lacks`, and log10 of a lag by which a far lag is closer than that.

    Cut the circle into N arcs. Of the lags 0, K, 2 K, ..., N^m K two have the angles of all m pairs in the same arcs;
    their difference is a lag from K on at which every angle is within 1 / N of a turn. K is where far lags begin.
    """
    arcs = math.floor(2 * math.pi / math.acos(1 - lacks)) + 1
    return arcs, pairs * math.log10(arcs) + math.log10(c14.FAR)


CLAIM = Claim(
    id="C14",
    title="far positions can look alike",
    english="Sinusoidal positions are periodic, so in very long texts two places far apart can have nearly the same "
    "vector, and a far token be taken for a near one.",
    korean="사인파 위치는 주기적이므로, 아주 긴 글에서는 멀리 떨어진 두 자리가 거의 같은 벡터를 가질 수 있고, 먼 "
    "토큰이 가까운 토큰으로 오인될 수 있다.",
    document="D2",
    section="1.2 (2)",
    question="Of all far lags, which is the closest, and are two places that far apart more alike than neighbours? "
    "That no closer lag was skipped is proved, if cosines of float64 are right to 4e-16.",
    evidence=evidence,
    rule=c14.rule,
    cheap=False,
    columns={
        "ranges": ("width", "from lag", "to lag", "closest", "1 - similarity at least", "at most"),
        "neighbours": ("width", "1 - similarity at least", "at most"),
        "first_closer_than_neighbours": ("width", "lag"),
        "latest": ("width", "arcs", "log10 of the lag"),
    },
    shape={
        "ranges": Rows(Row((Whole(1), Whole(1), Whole(1), Whole(1), Real(0, 2), Real(0, 2)), ((1, 3, 2), (4, 5)))),
        "neighbours": Rows(Row((Whole(1), Real(0, 2), Real(0, 2)), ((1, 2),))),
        "first_closer_than_neighbours": Rows(Row((Whole(1), Whole(2, none=True)))),
        "latest": Rows(Row((Whole(1), Whole(1), Real(0)))),
    },
)

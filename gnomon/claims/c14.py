"""C14: far positions can look alike."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c14

WIDTHS = (8, 16, 32, 64, 128, 512)
FIRST = 1_000
"""The lag from which on two places are called far."""
LAST = 1_000_000_000
"""The lag up to which all are looked at."""


def evidence() -> Numbers:
    """For each width: the closest far lag, its similarity, and that of neighbours; and the first lag closer than 1."""
    from gnomon.analysis.closest import closest, first_closer_than_neighbour
    from gnomon.analysis.forms import waves
    from gnomon.encodings.sinusoidal import Sinusoidal

    rows, firsts = [], []
    for width in WIDTHS:
        found = waves(Sinusoidal(width))
        best = closest(found, FIRST, LAST)
        rows.append([width, best.lag, best.similarity[0], closest(found, 1, 1).similarity[1]])
        firsts.append([width, first_closer_than_neighbour(found, LAST)])
    return {"first": FIRST, "last": LAST, "widths": rows, "first_lag_closer_than_neighbours": firsts}


CLAIM = Claim(
    id="C14",
    title="far positions can look alike",
    english="Sinusoidal positions are periodic, so two places far apart can have nearly the same vector and be taken "
    "for each other.",
    korean="사인파 위치는 주기적이므로, 멀리 떨어진 두 자리가 거의 같은 벡터를 가져 서로 혼동될 수 있다.",
    document="D2",
    section="1.2 (2)",
    question="Of all far lags, which is the closest, and are two places that far apart more alike than neighbours? "
    "That no closer lag was skipped is proved.",
    evidence=evidence,
    rule=c14.rule,
    cheap=False,
)

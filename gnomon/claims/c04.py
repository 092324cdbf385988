"""C04: different positions can share a value in different dimensions."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c04
from gnomon.claims.shapes import Real, Row, Text, Truth, Whole

WIDTH = 512
CLOSE = 1e-12
"""How near a whole position is asked to come, where the values are not equal."""


def evidence() -> Numbers:
    """An exact pair, how often such pairs come, a search that always ends, and what the document's step misses."""
    from gnomon.analysis.forms import waves
    from gnomon.analysis.near_values import match, worst_nearest
    from gnomon.analysis.theorem_two_dimensions import count_shared, shared_values
    from gnomon.encodings.sinusoidal import Sinusoidal

    found = waves(Sinusoidal(WIDTH))
    shared = shared_values(found)
    first = next((pair for pair in shared if pair.p != pair.q), None)
    # Dimensions 0 and 2 are sines of the two fastest waves, whose ratio is irrational.
    near = match(found, 0, 1, 2, CLOSE)
    place, missed = worst_nearest(found, 0, 2, 8191)
    return {
        "width": WIDTH,
        "exact": first is not None,
        "witness": None if first is None else [first.p, first.fast, first.q, first.slow],
        "pairs_of_dimensions": len(shared),
        "equal_values_up_to_8191": count_shared(found, 8191),
        "certified_position": str(near.position),
        "certified_gap": near.error[1],
        "nearest_integer_place": place,
        "nearest_integer_miss": missed.error[0],
    }


CLAIM = Claim(
    id="C04",
    title="two dimensions can share a value",
    english="Two different positions can have the same value, each in another dimension; one can construct them.",
    korean="서로 다른 두 위치가 각기 다른 차원에서 같은 값을 가질 수 있으며, 그런 예를 구성할 수 있다.",
    document="D1",
    section="5 [증명 3]",
    question="Is there a pair that is equal exactly? How close does a certified search come where there is none, and "
    "does the nearest whole number of the document come close?",
    evidence=evidence,
    rule=c04.rule,
    columns={"witness": ("place", "dimension", "place", "dimension")},
    shape={
        "width": Whole(1),
        "exact": Truth(),
        "witness": Row((Whole(), Whole(), Whole(), Whole()), none=True),
        "pairs_of_dimensions": Whole(),
        "equal_values_up_to_8191": Whole(),
        "certified_position": Text(),
        "certified_gap": Real(0, none=True),
        "nearest_integer_place": Whole(none=True),
        "nearest_integer_miss": Real(0, none=True),
    },
)

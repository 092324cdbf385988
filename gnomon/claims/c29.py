"""C29: attention without positions does not see order."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c29
from gnomon.claims.shapes import Real, Whole


def evidence() -> Numbers:
    """The largest change of an output, in float64, when tokens change places: bidirectional, and causal by depth."""
    from gnomon.analysis.permutation import causal_depths, without_positions

    both = without_positions(count=100)
    one, two, four = causal_depths((1, 2, 4), count=50)
    return {
        "bidirectional": both.equivariance,
        "mean_over_tokens": both.pooled,
        "permutations": both.tried,
        "causal_one_layer": one,
        "causal_two_layers": two,
        "causal_four_layers": four,
        "causal_permutations": 50,
    }


CLAIM = Claim(
    id="C29",
    title="attention without positions sees no order",
    english="Without positions attention does not notice in which order its tokens come.",
    korean="위치 정보가 없으면 어텐션은 토큰이 어떤 순서로 오는지 알아채지 못한다.",
    document="D2",
    section="6.1",
    question="When tokens change places, do outputs only change places with them, without a mask and behind a causal "
    "one?",
    evidence=evidence,
    rule=c29.rule,
    shape={
        "bidirectional": Real(0),
        "mean_over_tokens": Real(0),
        "permutations": Whole(1),
        "causal_one_layer": Real(0),
        "causal_two_layers": Real(0),
        "causal_four_layers": Real(0),
        "causal_permutations": Whole(1),
    },
)

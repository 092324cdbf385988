"""C25: a masked model with absolute positions is slow to learn how influence depends on distance."""

from gnomon.claims import experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c25
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

NAME = "distance"
DISTANCES = range(1, 9)
"""Those that the experiment asks for, in tokens."""
SHARE = Real(0, 1, none=True)
"""Share of answers that are right; missing where a run did not come to its end."""


def evidence() -> Numbers:
    """Answers right after every budget of steps, over all distances and at each, of every run."""
    rows = [
        [
            record["label"],
            experiments.seed(record),
            record["experiment"]["training"]["steps"],
            experiments.at(record, length := experiments.trained_at(record), "exact"),
            *(experiments.group(record, length, f"distance {distance}") for distance in DISTANCES),
        ]
        for record in experiments.records(NAME)
    ]
    return {"runs": sorted(rows, key=lambda row: row[:3]), "sources": experiments.sources(NAME)}


CLAIM = Claim(
    id="C25",
    title="masked models learn distances slowly",
    english="A masked language model with absolute positions is slow to learn how influence depends on distance.",
    korean="절대 위치를 쓰는 마스크 언어 모델은 거리에 따라 영향이 달라진다는 것을 더디게 배운다.",
    document="D2",
    section="4.2",
    question="Where the answer depends on a token k places away, how often is it right for each k, and after how "
    "many steps?",
    evidence=evidence,
    rule=c25.rule,
    cheap=False,
    columns={
        "runs": ("encoding", "seed", "steps", "right", *(f"right at distance {distance}" for distance in DISTANCES)),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "runs": Rows(Row((Text(), Whole(), Whole(1), SHARE, *[SHARE] * len(DISTANCES)))),
        "sources": experiments.SOURCES,
    },
)

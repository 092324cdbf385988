"""C28: lost in the middle, and whether the fading of positions goes with it."""

from gnomon.claims import c23, experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c28
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

NAME = "needle"
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Those that the task measures."""


def evidence() -> Numbers:
    """How often the needle is found, by encoding, seed, length and depth; how well places are read at the input and in
    what the last layer reads, in the same models and in those of C23. All runs, also those that did not learn."""
    found = experiments.records(NAME)
    first = next(each for each in found if each["status"] == "finished")
    lengths = experiments.trained_at(first), max(row["length"] for row in first["lengths"])
    return {
        "length": lengths[0],
        "longer": lengths[1],
        "guessing": experiments.at(first, lengths[0], "chance_exact"),
        "runs": [
            [each["label"], experiments.seed(each), *(experiments.at(each, at, "exact") for at in lengths), *read(each)]
            for each in found
        ],
        "depths": [
            [each["label"], experiments.seed(each), at, depth, right]
            for each in found
            for at in lengths
            for depth in DEPTHS
            if (right := experiments.group(each, at, f"depth {depth:g}")) is not None
        ],
        "text": [[each["label"], experiments.seed(each), *read(each)] for each in experiments.records(c23.NAME)],
        "sources": experiments.sources(NAME, c23.NAME),
    }


def read(record: Record) -> tuple[float | None, float | None]:
    """R^2 of a linear guess of the place: at the input, and in what the last layer reads."""
    found = experiments.probe(record, "dilution")
    return (None, None) if found is None else tuple(found["layers"][at]["r2"]["mean"] for at in (0, -2))


SHARE = Real(0, 1, none=True)
R2 = Real(most=1 + 1e-9, none=True)

CLAIM = Claim(
    id="C28",
    title="lost in the middle comes from dilution",
    english="That models overlook what stands in the middle of a long text is partly due to the fading of "
    "positions.",
    korean="모델이 긴 글의 가운데를 놓치는 현상은 부분적으로 위치 정보가 옅어지는 데서 온다.",
    document="D2",
    section="3.2",
    question="How often is a needle found by its depth in the text, and does the fading of C23 predict it across "
    "models?",
    evidence=evidence,
    rule=c28.rule,
    cheap=False,
    columns={
        "runs": ("encoding", "seed", "right in range", "right past it", "R^2 at the input", "R^2 at the last layer"),
        "depths": ("encoding", "seed", "length", "depth", "right"),
        "text": ("encoding", "seed", "R^2 at the input", "R^2 at the last layer"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "length": Whole(1),
        "longer": Whole(1),
        "guessing": Real(0, 1),
        "runs": Rows(Row((Text(), Whole(), SHARE, SHARE, R2, R2))),
        "depths": Rows(Row((Text(), Whole(), Whole(1), Real(0, 1), Real(0, 1)))),
        "text": Rows(Row((Text(), Whole(), R2, R2))),
        "sources": experiments.SOURCES,
    },
)  # fmt: skip

"""C19: distances on a grid that is read row by row."""

from gnomon.claims import experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c19
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

WIDTH, ROWS, COLUMNS = 128, 14, 14
RANK = Real(-1 - 1e-9, 1 + 1e-9)
"""A correlation, and rounding."""
SHARE = Real(0, 1, none=True)
"""Share of answers that are right; missing where a run did not come to its end."""

NAME = "images"
GROUPS = ("as trained", "7 right", "7 down", "3 wider")


def evidence() -> Numbers:
    """Distances of vectors, flattened and with two axes, beside those on the grid: sinusoidal first, then RoPE. What
    models have right that were trained with patches numbered row by row, or at their row and column."""
    from gnomon.analysis.grids import section
    from gnomon.encodings.rope import Rope
    from gnomon.encodings.sinusoidal import Sinusoidal

    found = section(Sinusoidal(WIDTH), ROWS, COLUMNS).numbers
    rope = section(Rope(64), ROWS, COLUMNS).numbers
    return {
        "width": COLUMNS,
        "height": ROWS,
        "dimensions": WIDTH,
        "below_over_right_1d": found["line_below_over_right"],
        "below_over_right_2d": found["plane_below_over_right"],
        "rank_1d": found["line_correlation"],
        "rank_2d": found["plane_correlation"],
        "neighbours_found_1d": found["line_neighbours"],
        "neighbours_found_2d": found["plane_neighbours"],
        "rope_below_over_right_1d": rope["line_below_over_right"],
        "rope_below_over_right_2d": rope["plane_below_over_right"],
        "rope_rank_1d": rope["line_correlation"],
        "rope_rank_2d": rope["plane_correlation"],
        "digits": digits(),
        "sources": experiments.sources(NAME),
    }


def digits() -> list[list]:
    """The answers right of every run, in each group."""
    from gnomon.lab.measures import learned

    return [
        [
            record["label"],
            experiments.seed(record),
            record["experiment"]["task"]["options"]["positions"],
            bool(learned(record)),
            *(experiments.group(record, experiments.trained_at(record), name) for name in GROUPS),
        ]
        for record in experiments.records(NAME)
    ]


CLAIM = Claim(
    id="C19",
    title="flattening an image distorts its distances",
    english="Read row by row, the right neighbour of a patch is one place away and the lower one a whole row; "
    "positions on one axis do not reflect Euclidean distance.",
    korean="이미지를 한 줄로 펴면 오른쪽 이웃은 한 칸, 아래쪽 이웃은 한 행만큼 떨어진다. 1차원 위치는 유클리드 "
    "거리를 반영하지 못한다.",
    document="D2",
    section="2.3",
    question="How far are both neighbours in the vectors, and how do all distances rank beside Euclidean ones, "
    "flattened and with two axes? What does a trained model lose by flattening, on a wider canvas and where a digit is "
    "moved, with a convolutional net beside?",
    evidence=evidence,
    rule=c19.rule,
    cheap=False,
    columns={
        "digits": ("encoding", "seed", "positions", "learned", *GROUPS),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "width": Whole(1),
        "height": Whole(1),
        "dimensions": Whole(1),
        "below_over_right_1d": Real(0),
        "below_over_right_2d": Real(0),
        "rank_1d": RANK,
        "rank_2d": RANK,
        "neighbours_found_1d": Real(0, 1),
        "neighbours_found_2d": Real(0, 1),
        "rope_below_over_right_1d": Real(0),
        "rope_below_over_right_2d": Real(0),
        "rope_rank_1d": RANK,
        "rope_rank_2d": RANK,
        "digits": Rows(Row((Text(), Whole(), Text(), Truth(), SHARE, SHARE, SHARE, SHARE))),
        "sources": experiments.SOURCES,
    },
)

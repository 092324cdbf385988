"""C11: whether SeqPE adapts to long texts, and ends somewhere."""

import math

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c11
from gnomon.claims.shapes import Row, Rows, Text, Whole

NAMES = ("seqpe", "chain")
BESIDE = ("sinusoidal", "rope", "alibi")
"""Told of too, since the document compares them."""


def evidence() -> Numbers:
    """The rise of the loss of both at three lengths, of each run and over seeds; how far their positions go."""
    from gnomon.lab import build
    from gnomon.lab.experiment import Experiment

    found = experiments.records(runs.TEXT)
    at = runs.lengths(found)
    ends = (at.near, at.twice, at.longest)
    text = runs.rows(found, lambda run: runs.here(run, "paired_loss"), *map(runs.rise, ends), of=(*NAMES, *BESIDE))
    domains = []
    for name in NAMES:
        record = next(record for record in found if record["label"] == name)
        last = build.encoding(Experiment.from_json(record["experiment"])).domain.highest
        domains.append([name, int(last) if math.isfinite(last) else None])
    return {
        "trained": at.trained,
        "near": at.near,
        "twice": at.twice,
        "longest": at.longest,
        "text": text,
        "rises": [
            [name, length, *runs.over_seeds(runs.of(text, name, column, only_learned=True))]
            for name in NAMES
            for column, length in enumerate(ends, 4)
        ],
        "domains": domains,
        "sources": experiments.sources(runs.TEXT),
    }


CLAIM = Claim(
    id="C11",
    title="SeqPE adapts to long texts, extrapolates little",
    english="SeqPE learns positions as a sequence and adapts to long contexts; being learned, it does not reach "
    "arbitrarily far as sinusoidal values do.",
    korean="SeqPE는 위치를 하나의 수열로 학습하여 긴 문맥에 적응하지만, 학습되는 방식이라 사인파 값처럼 한없이 "
    "뻗어 나가지는 못한다.",
    document="D1",
    section="최신 Position 기술 5",
    question="How does the loss grow past the training length for `seqpe` (the digits of one position, as in the "
    "paper) and for `chain` (each position from the one before it, as the document tells it)?",
    evidence=evidence,
    rule=c11.rule,
    cheap=False,
    columns={
        "text": (
            *runs.RUN_COLUMNS, "loss within training", "rise just past it", "rise at twice", "rise at the longest"
        ),
        "rises": ("encoding", "length", *runs.INTERVAL_COLUMNS),
        "domains": ("encoding", "last position"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained": Whole(1),
        "near": Whole(1),
        "twice": Whole(1),
        "longest": Whole(1),
        "text": Rows(Row((*runs.RUN, *[runs.MAYBE] * 4)), begins=(*NAMES, *BESIDE)),
        "rises": Rows(runs.spread(Text(), Whole(1)), begins=NAMES),
        "domains": Rows(Row((Text(), Whole(none=True))), begins=NAMES),
        "sources": experiments.SOURCES,
    },
)  # fmt: skip

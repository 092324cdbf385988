"""C32: whether far tokens draw attention past the training length, and the loss goes with it."""

from collections.abc import Mapping, Sequence

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c32
from gnomon.claims.shapes import Row, Rows, Text, Whole

ABSOLUTE = c32.ABSOLUTE


def evidence() -> Numbers:
    """The share of attention on keys farther away than any in training, beside that of a head which looks at all alike
    and the rise of the loss at that length: of each run, and over seeds."""
    found = experiments.records(runs.TEXT)
    at = runs.lengths(found)
    rows = runs.rows(
        found, *(lambda run, column=column: shares(run)[column] for column in range(3)), runs.rise(at.twice)
    )
    excess = {
        label: {row[1]: row[3] - row[5] for row in rows if row[0] == label and row[2] and row[3] is not None}
        for label in ABSOLUTE
    }
    return {
        "trained": at.trained,
        "length": at.twice,
        "encodings": len({row[0] for row in rows if _counts(row)}),
        "runs": rows,
        "excess": [[label, *runs.over_seeds(more)] for label, more in excess.items()],
        "order": runs.over_seeds(orders(rows)),
        "sources": experiments.sources(runs.TEXT),
    }


def shares(record: Record) -> list[float | None]:
    """The share of attention on keys farther away than any in training: the mean over heads, the most of one, and that
    of a head which looks at every key alike."""
    probed = experiments.probe(record, "beyond")
    if probed is None:
        return [None] * 3
    heads = [head["mean"] for layer in probed["layers"] for head in layer]
    return [sum(heads) / len(heads), max(heads), probed["uniform"]["mean"]]


def orders(rows: Sequence[Sequence]) -> Mapping[int, float]:
    """Of each seed the rank correlation, over encodings, of that share and the rise; of seeds with three or more."""
    import torch

    from gnomon.analysis.nearness import spearman

    seeds: dict[int, list[Sequence]] = {}
    for row in rows:
        if _counts(row):
            seeds.setdefault(row[1], []).append(row)
    return {
        seed: spearman(*torch.tensor([[row[3], row[6]] for row in of], dtype=torch.float64).T)
        for seed, of in seeds.items()
        if len(of) > 2
    }


def _counts(row: Sequence) -> bool:
    """Whether a run has learned, and has both numbers."""
    return row[runs.LEARNED] and row[3] is not None and row[6] is not None


CLAIM = Claim(
    id="C32",
    title="far tokens distract past training length",
    english="Past the training length, far and irrelevant tokens draw attention to themselves.",
    korean="훈련 길이를 넘으면 멀고 무관한 토큰이 주의를 끌어간다.",
    document="D2",
    section="1.2 (3)",
    question="What share of attention goes to keys farther away than the training length, by encoding, and does "
    "it go with the loss?",
    evidence=evidence,
    rule=c32.rule,
    cheap=False,
    columns={
        "runs": (*runs.RUN_COLUMNS, "share far away", "most of a head", "if all alike", "rise of the loss"),
        "excess": ("encoding", *runs.INTERVAL_COLUMNS),
        "order": runs.INTERVAL_COLUMNS,
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained": Whole(1),
        "length": Whole(1),
        "encodings": Whole(),
        "runs": Rows(Row((*runs.RUN, runs.SHARE, runs.SHARE, runs.SHARE, runs.MAYBE)), begins=ABSOLUTE),
        "excess": Rows(runs.spread(Text()), begins=ABSOLUTE),
        "order": runs.spread(),
        "sources": experiments.SOURCES,
    },
)

"""C21: the norm of positions that are added to the content, from too small to too large."""

from typing import Any

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c21
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

EXPERIMENT, TASK = "entanglement", "masked"
NORM = Real(0, none=True)
SHARE = Real(none=True)
"""Of the variance of a logit; one term may undo another, so a share may be negative or above 1."""


def evidence() -> Numbers:
    """Loss, ratio of norms and shares of the logit's variance of every run of the sweep."""
    from gnomon.lab import measures

    records = [r for r in experiments.records(EXPERIMENT) if r["experiment"]["task"].get("name") == TASK]
    guesses = [loss for loss in map(measures.unigram_loss, records) if loss is not None]
    return {
        "guess": guesses[0] if guesses else None,
        "runs": [_row(record) for record in records],
        "sources": experiments.sources(EXPERIMENT),
    }


def _row(record: Record) -> list[Any]:
    name, options = record["experiment"]["encoding"], record["experiment"]["options"]
    scale = None if name == "none" else float(options.get("scale", 1.0))
    ratio, shares = _as_it_is(record)
    loss = runs.here(record, "loss")
    return [record["label"], runs.seed(record), name, scale, loss, ratio, *shares, runs.learned(record)]


def _as_it_is(record: Record) -> tuple[float | None, list[float | None]]:
    """The ratio of norms and the four shares, of the model as it was trained."""
    found = experiments.probe(record, "entanglement")
    for each in found["factors"] if found else ():
        if each["factor"] == 1.0:
            return each["ratio"]["mean"], [share["mean"] for share in each["shares"]]
    return None, [None] * 4


CLAIM = Claim(
    id="C21",
    title="the sum of content and position entangles",
    english="Adding positions to contents mixes them: positions of too small a norm are ignored, of too large a "
    "norm they drown the words.",
    korean="내용에 위치를 더하면 둘이 섞인다. 위치의 노름이 너무 작으면 무시되고, 너무 크면 단어의 뜻을 덮어 버린다.",
    document="D2",
    section="3; 3.1",
    question="Over ratios of the two norms in training, what is the loss on masked text, and what shares of the "
    "logits' variance come from contents and from positions?",
    evidence=evidence,
    rule=c21.rule,
    cheap=False,
    columns={
        "runs": (
            "label",
            "seed",
            "encoding",
            "scale",
            "loss, nats a masked byte",
            "norm of positions over content",
            "content-content",
            "content-place",
            "place-content",
            "place-place",
            "better than byte frequencies",
        ),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "guess": Real(0),
        "runs": Rows(Row((Text(), Whole(), Text(), NORM, NORM, NORM, *[SHARE] * 4, Truth()))),
        "sources": experiments.SOURCES,
    },
)

"""C22: content and position kept apart, as DeBERTa does, beside their sum, as in BERT."""

from typing import Any

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c22
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

MASKED, PAIRS = "masked", "entanglement"
"""The experiments: masked text, and one part of the other, pairs that bind when adjacent."""


def evidence() -> Numbers:
    """Every run: its loss on masked text; its share of right answers on pairs, by the budget of steps."""
    from gnomon.lab import measures

    masked = [record for record in experiments.records(MASKED) if not _task(record)["options"].get("whole_words")]
    pairs = [record for record in experiments.records(PAIRS) if _task(record)["name"] == "adjacency"]
    guesses = [loss for loss in map(measures.unigram_loss, masked) if loss is not None]
    chances = [chance for record in pairs if (chance := runs.here(record, "chance_exact")) is not None]
    return {
        "guess": guesses[0] if guesses else None,
        "chance": chances[0] if chances else None,
        "masked": [_masked(record) for record in masked],
        "pairs": [_pair(record) for record in pairs],
        "sources": experiments.sources(MASKED, PAIRS),
    }


def _task(record: Record) -> dict[str, Any]:
    return record["experiment"]["task"]


def _masked(record: Record) -> list[Any]:
    found = (runs.here(record, "loss"), runs.here(record, "token_accuracy"))
    return [record["label"], runs.seed(record), *found, runs.learned(record), record["cost"]["ms_per_step"]]


def _pair(record: Record) -> list[Any]:
    steps = record["experiment"]["training"]["steps"]
    return [record["label"], runs.seed(record), steps, runs.here(record, "exact"), runs.learned(record)]


CLAIM = Claim(
    id="C22",
    title="keeping them apart beats the sum",
    english="Attention that keeps contents and positions apart, as DeBERTa does, beats their sum, as in BERT.",
    korean="DeBERTa처럼 내용과 위치를 따로 두는 어텐션이 BERT처럼 둘을 더하는 방식보다 낫다.",
    document="D2",
    section="3.1",
    question="At the same steps, what is the masked-language loss of the sum, of c2p, of p2c and of both; and how "
    "often, after how many steps, is a pair of words right that binds only when adjacent?",
    evidence=evidence,
    rule=c22.rule,
    cheap=False,
    columns={
        "masked": (
            "label",
            "seed",
            "loss, nats a masked byte",
            "share of masked bytes right",
            "better than byte frequencies",
            "ms a step",
        ),
        "pairs": ("label", "seed", "steps", "share right", "learned"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "guess": Real(0),
        "chance": Real(0, 1),
        "masked": Rows(
            Row((Text(), Whole(), Real(0, none=True), Real(0, 1, none=True), Truth(), Real(0, none=True))),
            begins=(c22.APART, *c22.SUMS),
        ),
        "pairs": Rows(Row((Text(), Whole(), Whole(1), Real(0, 1, none=True), Truth())), begins=(c22.APART, *c22.SUMS)),
        "sources": experiments.SOURCES,
    },
)

"""C17: what a shift of all positions changes under absolute positions, and under relative ones."""

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c17
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth

BY = 5
"""The document's shift."""
KINDS = {
    **dict.fromkeys(("learned", "sinusoidal"), "absolute"),
    **dict.fromkeys(("shaw", "transformer_xl", "t5", "deberta", "rope", "alibi"), "relative"),
}
"""What the document calls so; what it tells nothing of is another."""
CHANGE = Real(0, none=True)


def evidence() -> Numbers:
    """What the probe found of every trained model, and what the law of translation says of untrained ones."""
    from gnomon.laws import table

    found = experiments.records(runs.TEXT)
    columns = (lambda run: KINDS.get(run["label"], "other"), *(lambda run, at=at: shift(run)[at] for at in range(5)))
    return {
        "by": BY,
        "trained": runs.rows(found, *columns),
        "untrained": [
            [
                row.encoding,
                row.masking,
                KINDS.get(row.encoding.partition("(")[0], "other"),
                row.error <= row.tolerance,
                row.error,
            ]
            for row in table(laws=["translation"])
        ],
        "sources": experiments.sources(runs.TEXT),
    }


def shift(record: Record) -> list[float | None]:
    """What a shift by BY changes of what enters, of attention in the layers where that is least and most, of the output
    and of the loss; None where the encoding has no such positions, or the run did not finish."""
    probed = experiments.probe(record, "translation")
    made = next((each for each in probed["shifts"] if each["by"] == BY), None) if probed else None
    if made is None:
        return [None] * 5
    attention = [layer["mean"] for layer in made["attention"]]
    loss = made["loss"] and made["loss"]["mean"]
    return [made["inputs"]["mean"], min(attention), max(attention), made["output"]["mean"], loss]


CLAIM = Claim(
    id="C17",
    title="a shift changes what absolute models see",
    english="Moving a sentence by five places changes every vector, output and attention pattern of a model with "
    "absolute positions; under relative schemes nothing changes.",
    korean="문장을 다섯 칸 밀면 절대 위치 모델의 모든 벡터와 출력, 어텐션 패턴이 달라지지만, 상대적 방식에서는 "
    "아무것도 달라지지 않는다.",
    document="D2",
    section="2; 2.1",
    question="By how much do outputs and attention weights change when all positions move by 5, for every "
    "encoding, untrained and trained?",
    evidence=evidence,
    rule=c17.rule,
    cheap=False,
    columns={
        "trained": (*runs.RUN_COLUMNS, "kind", "what enters", "attention, least", "most", "output", "loss, nats"),
        "untrained": ("encoding", "mask", "kind", "stays", "change of a logit"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "by": Real(0),
        "trained": Rows(Row((*runs.RUN, Text(), CHANGE, CHANGE, CHANGE, CHANGE, runs.MAYBE)), begins=tuple(KINDS)),
        "untrained": Rows(Row((Text(), Text(), Text(), Truth(), Real(0))), begins=tuple(KINDS)),
        "sources": experiments.SOURCES,
    },
)

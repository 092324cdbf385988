"""C07: RoPE's products follow distance, and it copes well with long contexts, plain or scaled."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c07
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

LABEL = "rope"
JUDGED = (lengths.TWICE, lengths.FAR)


def evidence() -> Numbers:
    """What shifts change in trained models, and how much the loss rises past training: of RoPE, plain and scaled, and
    of the other encodings, every run."""
    found = experiments.records(runs.TEXT)
    trained, *past = lengths.at(found[0], 1, *JUDGED)
    rope = [record for record in found if record["label"] == LABEL]
    others = sorted({record["label"] for record in found} - {LABEL})
    return {
        "trained_at": trained,
        "lengths": past,
        "shifts": [row for record in rope for row in _shifts(record)],
        "runs": [*_rows(found, LABEL), *scaled(found), *(row for label in others for row in _rows(found, label))],
        "sources": experiments.sources(runs.TEXT),
    }


def scaled(found: Sequence[Record]) -> Iterator[list[Any]]:
    """The rows of each scheme: at each length stretched to it, or as it is where it measures the length itself."""
    first = next((record for record in found if record["label"] == LABEL), None)
    asked = [] if first is None else first["experiment"]["measure"].get("variants") or []
    for scheme in dict.fromkeys(options["scaling"] for options in asked):
        mine = [options for options in asked if options["scaling"] == scheme]
        chosen = [_stretched(mine, ratio) for ratio in JUDGED]
        if None not in chosen:
            for row in _rows(found, LABEL, chosen):
                yield [f"{LABEL} {scheme}", *row[1:]]


def _stretched(variants: Sequence[Mapping[str, Any]], ratio: float) -> Mapping[str, Any] | None:
    if len(variants) == 1:
        return variants[0]
    return next((options for options in variants if options["factor"] == ratio), None)


def _rows(found: Sequence[Record], label: str, options: Sequence[Mapping[str, Any] | None] = (None, None)) -> list:
    """Rises past training, then what the same options cost within it."""
    past = [lengths.rise(ratio, some) for ratio, some in zip(JUDGED, options, strict=True)]
    within = [lengths.rise(1, some) for some in options]
    return runs.rows(found, lengths.loss(), *past, *within, of=(label,))


def _shifts(record: Record) -> Iterator[list[Any]]:
    found = experiments.probe(record, "translation")
    for shift in () if found is None else found["shifts"]:
        yield [LABEL, experiments.seed(record), shift["by"], shift["output"]["mean"]]


CLAIM = Claim(
    id="C07",
    title="RoPE sees distance and is strong on long texts",
    english="Under RoPE the product of a query and a key follows their distance; it copes well with long "
    "contexts, and has become the usual choice of large language models.",
    korean="RoPE에서는 쿼리와 키의 내적이 둘 사이의 거리를 따르고, 긴 문맥을 잘 다루며, 대형 언어 모델의 "
    "통상적인 선택이 되었다.",
    document="D1",
    section="최신 Position 기술 3",
    question="Does the translation law hold, and how does the loss grow past the training length, plain and with "
    "linear, NTK and YaRN scaling? C10 has the models that use it.",
    evidence=evidence,
    rule=c07.rule,
    cheap=False,
    columns={
        "shifts": ("encoding", "seed", "shift", "relative change of outputs"),
        "runs": (
            *lengths.RUN_COLUMNS,
            *(f"rise at {ratio:g} times the length" for ratio in JUDGED),
            *(f"rise within training, stretched {ratio:g} times" for ratio in JUDGED),
        ),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained_at": Whole(1),
        "lengths": lengths.LENGTHS,
        "shifts": Rows(Row((Text(), Whole(), Real(0), Real(0)))),
        "runs": Rows(Row((*lengths.RUN, *(lengths.NATS for _ in JUDGED * 2))), begins=(LABEL,)),
        "sources": experiments.SOURCES,
    },
)

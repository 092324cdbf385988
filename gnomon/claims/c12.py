"""C12: past its table a learned position has no row, or an untrained one."""

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c12
from gnomon.claims.shapes import Row, Rows, Whole

LONG = "learned"
"""A table with a row for every place that is measured; those past the training length were never trained."""
SHORT = "learned beyond=clamp max_positions={}"
"""A table that ends with the texts of training."""
JUDGED = (lengths.NEAR, lengths.TWICE, lengths.FAR)


def evidence() -> Numbers:
    """How much the loss rises past the table, under each way to go on; and whether a table refuses that is told to."""
    found = experiments.records(runs.TEXT)
    trained, *past = lengths.at(found[0], 1, *JUDGED)
    short = SHORT.format(trained)
    tables = [record for record in found if record["label"] == short]
    rows = [*_rows(found, LONG, c12.UNTRAINED), *_rows(found, short, "clamping")]
    for options in _variants(tables):
        rows += _rows(found, short, _policy(options), options)
    return {
        "trained_at": trained,
        "lengths": past,
        "runs": rows,
        "refused": [[experiments.seed(record), *_refused(record)] for record in tables],
        "sources": experiments.sources(runs.TEXT),
    }


def _variants(tables: Sequence[Record]) -> list[Mapping[str, Any]]:
    """Other ways to go on, of which each has a rise: all but the one that refuses."""
    asked = tables[0]["experiment"]["measure"].get("variants") or ()
    return [options for options in asked if options["beyond"] != "raise"]


def _policy(options: Mapping[str, Any]) -> str:
    if options["beyond"] == "interpolate":
        return f"interpolation over {options['longest']}"
    return {"wrap": "wrapping"}[options["beyond"]]


def _rows(
    found: Sequence[Record], label: str, policy: str, options: Mapping[str, Any] | None = None
) -> list[list[Any]]:
    rises = [lengths.rise(ratio, options) for ratio in JUDGED]
    return [[policy, *row[1:]] for row in runs.rows(found, lengths.loss(), *rises, of=(label,))]


def _refused(record: Record) -> tuple[int, int]:
    """How many lengths past its end a table refuses when it is told to, and how many there are."""
    found = next((each["lengths"] for each in record.get("variants") or () if each["options"]["beyond"] == "raise"), ())
    past = [row for row in found if row["length"] > experiments.trained_at(record)]
    return sum(row["status"] == "refused" for row in past), len(past)


CLAIM = Claim(
    id="C12",
    title="past its table a learned position is nothing",
    english="A table of learned positions has no row, or an untrained one, for a place beyond those of training.",
    korean="학습된 위치 표에는 훈련 범위를 벗어난 자리에 해당하는 행이 없거나, 있더라도 학습되지 않은 행이다.",
    document="D2",
    section="1.1",
    question="What does the loss become past the training length when such a place is refused, read from an "
    "untrained row, clamped, wrapped or interpolated?",
    evidence=evidence,
    rule=c12.rule,
    cheap=False,
    columns={
        "runs": (
            "past the table",
            *lengths.RUN_COLUMNS[1:],
            *(f"rise at {ratio:g} times the length" for ratio in JUDGED),
        ),
        "refused": ("seed", "lengths that are refused", "lengths past the table"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained_at": Whole(1),
        "lengths": lengths.LENGTHS,
        "runs": Rows(Row((*lengths.RUN, *(lengths.NATS for _ in JUDGED))), begins=(c12.UNTRAINED,)),
        "refused": Rows(Row((Whole(), Whole(), Whole()))),
        "sources": experiments.SOURCES,
    },
)

"""C23: positions that are added once fade with depth, those that enter every layer stay."""

import math

from gnomon.claims import experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c23
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

NAME = "dilution"


def evidence() -> Numbers:
    """By encoding, seed and layer: how well places are read in the stream, what share of it they set, and what share of
    the layer's logits. All runs, also those that learned nothing or did not finish."""
    found = experiments.records(NAME)
    return {
        "depth": found[0]["experiment"]["model"]["depth"],
        "runs": [[each["label"], experiments.seed(each), kind(each), loss(each)] for each in found],
        "layers": [row for each in found for row in layers(each)],
        "sources": experiments.sources(NAME),
    }


def kind(record: Record) -> str:
    """Where positions enter: `once`, at the input; `every layer`; or `none` do."""
    from gnomon.encoding import Site
    from gnomon.lab import build, tasks
    from gnomon.lab.experiment import Experiment

    experiment = Experiment.from_json(record["experiment"])
    sites = build.encoding(experiment, tasks.named(experiment.task.name).causal).sites
    return "none" if not sites else "once" if sites == [Site.EMBEDDINGS] else "every layer"


def loss(record: Record) -> float | None:
    """At the training length; None of a run that did not finish."""
    return experiments.at(record, experiments.trained_at(record), "loss")


def layers(record: Record) -> list[list]:
    """A row of what enters each layer; the last is of what leaves the last one, which has no logits."""
    stream, logits = (experiments.probe(record, name) for name in ("dilution", "distance"))
    if stream is None or logits is None:
        return []
    found = []
    for at, layer in enumerate(stream["layers"]):
        heads = logits["layers"][at] if at < len(logits["layers"]) else []
        places, distance = (_mean([head[name]["mean"] for head in heads]) for name in ("places", "distance"))
        read = layer["r2"]["mean"], layer["share"]["mean"]
        found.append([record["label"], experiments.seed(record), at, *read, places, distance])
    return found


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


SHARE = Real(-1, 1 + 1e-9)
"""Of a variance, less what chance gives: it may be a little below 0."""
OF_LOGITS = Real(-1, 1 + 1e-9, none=True)

CLAIM = Claim(
    id="C23",
    title="positions added once fade with depth",
    english="Positions that are added once, at the input, fade from layer to layer; those that enter every layer "
    "stay.",
    korean="입력에서 한 번만 더한 위치 정보는 층을 지날수록 옅어지고, 모든 층에 주입한 위치 정보는 남는다.",
    document="D2",
    section="3.2",
    question="How well does a linear probe read the position from each layer of a deep trained model, how much of a "
    "layer's variance does the position explain, and how much of its attention?",
    evidence=evidence,
    rule=c23.rule,
    cheap=False,
    columns={
        "runs": ("encoding", "seed", "positions enter", "loss"),
        "layers": (
            "encoding", "seed", "layers passed", "R^2 of a guess", "share of the stream", "logits: places",
            "logits: distance",
        ),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "depth": Whole(2),
        "runs": Rows(Row((Text(), Whole(), Text(), Real(0, none=True))), begins=("none",)),
        "layers": Rows(Row((Text(), Whole(), Whole(), Real(most=1 + 1e-9), SHARE, OF_LOGITS, OF_LOGITS))),
        "sources": experiments.SOURCES,
    },
)  # fmt: skip

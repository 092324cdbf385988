"""C09: how far ALiBi reaches, what its slopes do, and what it takes."""

from collections.abc import Iterator, Mapping, Sequence

from gnomon.claims import costs, experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c09
from gnomon.claims.shapes import Real, Row, Rows, Whole

NAME = "alibi"
NAMES = (NAME, "sinusoidal", "rope", "shaw", "transformer_xl")


def evidence() -> Numbers:
    """The rise of its loss, how far each head looks beside its slope, and what it costs beside others."""
    found, cost = experiments.records(runs.TEXT), costs.measured()
    at = runs.lengths(found)
    own = [record for record in found if record["label"] == NAME]
    text = runs.rows(own, lambda run: runs.here(run, "paired_loss"), runs.rise(at.twice), runs.rise(at.longest))
    heads = [row for record in sorted(own, key=runs.seed) for row in looked(record)]
    return {
        "trained": at.trained,
        "twice": at.twice,
        "longest": at.longest,
        "text": text,
        "rise": runs.over_seeds(runs.of(text, NAME, 5, only_learned=True)),
        "heads": heads,
        "order": runs.over_seeds(orders(heads)),
        "about": costs.about(cost),
        "memory": costs.memory(cost, NAMES),
        "statements": costs.statements(NAMES),
        "parameters": max((record["parameters"]["encoding"] or 0 for record in own), default=0),
        "sources": experiments.sources(runs.TEXT),
    }


def looked(record: Record) -> Iterator[list]:
    """Of each head its seed, layer and number, its slope, and how many tokens away it looks on average."""
    from gnomon.encodings.alibi import slopes

    probed = experiments.probe(record, "attended")
    if probed is None or not runs.learned(record):
        return
    of = slopes(record["experiment"]["model"]["heads"])
    for layer, each in enumerate(probed["layers"]):
        for head, (slope, tokens) in enumerate(zip(of, each, strict=True)):
            yield [runs.seed(record), layer, head, slope, tokens["mean"]]


def orders(heads: Sequence[Sequence]) -> Mapping[int, float]:
    """Of each seed the rank correlation of slope and tokens, the mean over its layers."""
    import torch

    from gnomon.analysis.nearness import spearman

    layers: dict[int, dict[int, list[Sequence]]] = {}
    for row in heads:
        layers.setdefault(row[0], {}).setdefault(row[1], []).append(row)
    found = {
        seed: [spearman(*torch.tensor([row[3:] for row in each], dtype=torch.float64).T) for each in of.values()]
        for seed, of in layers.items()
    }
    return {seed: sum(each) / len(each) for seed, each in found.items()}


CLAIM = Claim(
    id="C09",
    title="ALiBi extrapolates; its slopes set the reach",
    english="ALiBi copes very well with texts longer than those of training, is simple and light on memory; a "
    "head with a small slope looks far, one with a large slope near.",
    korean="ALiBi는 훈련보다 긴 글을 매우 잘 다루고 단순하며 메모리를 적게 쓴다. 기울기가 작은 헤드는 멀리, 큰 "
    "헤드는 가까이를 본다.",
    document="D1",
    section="최신 Position 기술 4",
    question="How does the loss grow with length, how far does each head look on average beside its slope, and "
    "what does it cost?",
    evidence=evidence,
    rule=c09.rule,
    cheap=False,
    columns={
        "text": (*runs.RUN_COLUMNS, "loss within training", "rise at twice", "rise at the longest"),
        "rise": runs.INTERVAL_COLUMNS,
        "heads": ("seed", "layer", "head", "slope", "tokens"),
        "order": runs.INTERVAL_COLUMNS,
        "about": costs.ABOUT_COLUMNS,
        "memory": costs.MEMORY_COLUMNS,
        "statements": costs.STATEMENT_COLUMNS,
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained": Whole(1),
        "twice": Whole(1),
        "longest": Whole(1),
        "text": Rows(Row((*runs.RUN, runs.MAYBE, runs.MAYBE, runs.MAYBE)), begins=(NAME,)),
        "rise": runs.spread(),
        "heads": Rows(Row((Whole(), Whole(), Whole(), Real(0), Real(0)))),
        "order": runs.spread(),
        "about": costs.ABOUT,
        "memory": costs.MEMORY_ROWS,
        "statements": costs.STATEMENT_ROWS,
        "parameters": Whole(),
        "sources": experiments.SOURCES,
    },
)

"""C31: what one token at an undefined position disturbs."""

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c31
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

NAME = "learned"
"""The encoding of which a position can be undefined: a row of its table that training never reached."""
TOKENS, WIDTH, HEADS, DEPTH, VOCABULARY = 32, 32, 4, 2, 64
"""The sizes of the untrained models."""
SEEDS = (0, 1, 2, 3, 4)
CHANGED = Real(0, 1)
FOUND = Real(0, 1, none=True)
PARTS = ("before it changed", "itself changed", "after it changed")


def evidence() -> Numbers:
    """The share of outputs that change, before and after the token: untrained with both masks, trained behind a causal
    one, there with by how much and what it costs."""
    found = experiments.records(runs.TEXT)
    trained = runs.rows(found, *(lambda run, at=at: parts(run)[at] for at in range(4)))
    probed = next((found for record in found if (found := experiments.probe(record, "perturbed"))), None)
    return {
        "tokens": probed["length"] if probed else TOKENS,
        "at": probed["at"] if probed else TOKENS // 2,
        "to": probed["to"] if probed else float(TOKENS),
        "untrained": [[mask, seed, *untrained(mask, seed)] for mask in ("bidirectional", "causal") for seed in SEEDS],
        "trained": trained,
        "harm": runs.over_seeds(runs.of(trained, NAME, 6, only_learned=True)),
        "sources": experiments.sources(runs.TEXT),
    }


def parts(record: Record) -> list[float | None]:
    """Of a trained model: the shares of outputs before and after the token that change, by how much those after do, and
    by how much their loss rises."""
    probed = experiments.probe(record, "perturbed")
    if probed is None:
        return [None] * 4
    earlier, later = probed["earlier"], probed["later"]
    loss = later["loss"] and later["loss"]["mean"]
    return [earlier["changed"]["mean"], later["changed"]["mean"], later["size"]["mean"], loss]


def untrained(mask: str, seed: int) -> list[float]:
    """Of an untrained model with a table of one place more than its tokens: the shares of outputs that change before
    the middle token, at it and after it, where that is put at the last place."""
    import torch

    from gnomon.encodings.learned import Learned
    from gnomon.lab.probes.perturbed import perturbed
    from gnomon.lab.probes.reading import Reader
    from gnomon.lab.task import Batch
    from gnomon.masks import BIDIRECTIONAL, CAUSAL
    from gnomon.transformer import Transformer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoding, seen = Learned(WIDTH, TOKENS + 1), CAUSAL if mask == "causal" else BIDIRECTIONAL
        model = Transformer(VOCABULARY, WIDTH, DEPTH, HEADS, encoding, mask=seen).double().eval()
        tokens = torch.randint(VOCABULARY, (4, TOKENS))
    found = perturbed(Reader(model), Batch(tokens, tokens), TOKENS // 2, float(TOKENS))
    return [part.changed.mean for part in (found.earlier, found.itself, found.later)]


CLAIM = Claim(
    id="C31",
    title="one undefined position poisons everything",
    english="One position without a meaning disturbs the whole computation, since every token attends to every other.",
    korean="모든 토큰이 서로를 참조하므로, 의미 없는 위치 하나가 계산 전체를 어지럽힌다.",
    document="D2",
    section="1.1",
    question="With one position disturbed, how many outputs change, and by how much, bidirectional and causal "
    "(where earlier rows must be equal to the bit)?",
    evidence=evidence,
    rule=c31.rule,
    cheap=False,
    awaits="What it costs a bidirectional model that was trained.",
    columns={
        "untrained": ("mask", "seed", *PARTS),
        "trained": (*runs.RUN_COLUMNS, PARTS[0], PARTS[2], "change after it", "rise of the loss after it"),
        "harm": runs.INTERVAL_COLUMNS,
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "tokens": Whole(1),
        "at": Whole(),
        "to": Real(),
        "untrained": Rows(Row((Text(), Whole(), CHANGED, CHANGED, CHANGED)), begins=("bidirectional", "causal")),
        "trained": Rows(Row((*runs.RUN, FOUND, FOUND, runs.MAYBE, runs.MAYBE)), begins=(NAME,)),
        "harm": runs.spread(),
        "sources": experiments.SOURCES,
    },
)

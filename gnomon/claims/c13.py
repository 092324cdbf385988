"""C13: models with sinusoidal positions fail past the training length."""

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c13
from gnomon.claims.shapes import Row, Rows, Whole


def evidence() -> Numbers:
    """How much the loss of the same bytes rises over that at the training length, at each length past it, every run.

    A position of a causal model is read alike whatever comes after it, and of each length only the last bytes are
    scored: so this is the loss by position too.
    """
    found = experiments.records(runs.TEXT)
    trained, *past = lengths.at(found[0], 1, *lengths.RATIOS)
    return {
        "trained_at": trained,
        "lengths": past,
        "runs": runs.rows(found, lengths.loss(), *map(lengths.rise, lengths.RATIOS), of=("sinusoidal",)),
        "sources": experiments.sources(runs.TEXT),
    }


CLAIM = Claim(
    id="C13",
    title="sinusoidal models fail past training length",
    english="A model with sinusoidal positions fails on texts longer than those of training: its perplexity explodes.",
    korean="사인파 위치를 쓰는 모델은 훈련보다 긴 글에서 실패하며, 퍼플렉서티가 폭발적으로 커진다.",
    document="D2",
    section="1; 1.2",
    question="What is the loss on the same targets at each length, and by position, past the training length?",
    evidence=evidence,
    rule=c13.rule,
    cheap=False,
    columns={
        "runs": (*lengths.RUN_COLUMNS, *(f"rise at {ratio:g} times the length" for ratio in lengths.RATIOS)),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained_at": Whole(1),
        "lengths": lengths.LENGTHS,
        "runs": Rows(Row((*lengths.RUN, *(lengths.NATS for _ in lengths.RATIOS)))),
        "sources": experiments.SOURCES,
    },
)

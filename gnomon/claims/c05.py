"""C05: sinusoidal positions reach past the training length."""

from typing import TYPE_CHECKING

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c05
from gnomon.claims.shapes import Real, Row, Rows, Truth, Whole

if TYPE_CHECKING:
    from gnomon.encoding import Encoding

WIDTH = 512
FURTHEST = 10**9
EXACT = 1e-6
"""How far a value in float32 may be from the formula: its own rounding is 6e-8, and that of an angle of 10^9 in float64
is 1.2e-7 at most."""


def evidence() -> Numbers:
    """Whether the vectors that a model adds are there and right, far out, and what trained models make of them."""
    found = experiments.records(runs.TEXT)
    trained, length = lengths.at(found[0], 1, lengths.TWICE)
    return {
        **values(),
        "trained_at": trained,
        "length": length,
        "runs": runs.rows(found, lengths.loss(), lengths.rise(lengths.TWICE), of=("sinusoidal",)),
        "sources": experiments.sources(runs.TEXT),
    }


def values() -> Numbers:
    """Whether the vectors are there and right, without parameters."""
    from gnomon.encodings.sinusoidal import Sinusoidal

    encoding = Sinusoidal(WIDTH)
    places, off = error(encoding)
    return {
        "width": WIDTH,
        "furthest": max(places),
        "places": len(places),
        "parameters": sum(each.numel() for each in encoding.parameters()),
        "largest_error": off,
        "values_exist": off is not None and off <= EXACT,
    }


def error(encoding: "Encoding") -> tuple[list[int], float | None]:
    """Whole places up to FURTHEST, and how far what the encoding adds in float32 is from its formula at any of them,
    by interval arithmetic; None where it does not take these places, or gives what is not within [-1, 1]."""
    import torch

    from gnomon.analysis.forms import waves
    from gnomon.analysis.stored import exact
    from gnomon.positions import Positions

    places = torch.logspace(0, 9, 64, dtype=torch.float64).round().long().unique()
    pos = Positions(places.double()[None, :, None])
    if encoding.domain.highest < places.max():
        return places.tolist(), None
    with torch.no_grad():
        added = encoding.embed(torch.zeros(1, len(places), WIDTH), pos)[0].double()
    if not bool((added.abs() <= 1).all()):
        return places.tolist(), None
    return places.tolist(), float((added - exact(waves(encoding), places)[0]).abs().max())


CLAIM = Claim(
    id="C05",
    title="sinusoidal positions can extrapolate",
    english="Sinusoidal positions need no parameters and can be applied to contexts longer than any seen in training.",
    korean="사인파 위치는 파라미터가 필요 없고, 학습 때 본 적 없는 긴 문맥에도 적용할 수 있다.",
    document="D1",
    section="최신 Position 기술 1",
    question="Do values exist at any position, and can a trained model use them at twice the training length?",
    evidence=evidence,
    rule=c05.rule,
    cheap=False,
    columns={
        "runs": (*lengths.RUN_COLUMNS, "rise at twice the length"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "width": Whole(1),
        "furthest": Whole(1),
        "places": Whole(1),
        "parameters": Whole(),
        "largest_error": Real(0, none=True),
        "values_exist": Truth(),
        "trained_at": Whole(1),
        "length": Whole(1),
        "runs": Rows(Row((*lengths.RUN, lengths.NATS))),
        "sources": experiments.SOURCES,
    },
)

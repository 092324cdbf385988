"""C26: a little past the training length, models with absolute positions fall to the level of guessing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c26
from gnomon.claims.shapes import Real, Row, Rows, Shape, Whole
from gnomon.errors import DataError

ABSOLUTE = ("sinusoidal", "learned")
PAST = (lengths.NEAR, lengths.NEARER, lengths.TWICE)
ANSWERS = "algorithmic"
"""The experiment in which letters are copied."""
WHERE = ("the training length", "the next length", "the one after")
"""Lengths that are asked of copies: those past training are about 1.1 and 1.25 times it."""


def evidence() -> Numbers:
    """The loss of bytes past the training length beside that of byte frequencies, every run; and how many copies are
    right, where the experiment with them has results."""
    from gnomon.lab import measures

    found = experiments.records(runs.TEXT)
    trained, *past = lengths.at(found[0], 1, *PAST)
    guesses = [guess for guess in map(measures.unigram_loss, found) if guess is not None]
    copied, answers = copies()
    return {
        "trained_at": trained,
        "lengths": past,
        "byte_frequencies": guesses[0] if guesses else None,
        "runs": runs.rows(found, lengths.loss(), *map(lengths.loss, PAST), of=ABSOLUTE),
        "copied": copied,
        "answers": answers,
        "sources": experiments.sources(runs.TEXT, *([ANSWERS] if answers else [])),
    }


def copies() -> tuple[list[int] | None, list[list[Any]] | None]:
    """The training length of copying and the next LONGER lengths, and a row of each run that copies letters under
    absolute positions; None where there are no results of any."""
    try:
        records = experiments.records(ANSWERS)
    except DataError:
        return None, None
    found = [record for label in ABSOLUTE for record in _copying(records, label)]
    if not found:
        return None, None
    trained = experiments.trained_at(found[0])
    past = [length for length in sorted(found[0]["experiment"]["measure"]["lengths"]) if length > trained]
    asked = [trained, *past[: len(WHERE) - 1]]
    return asked, [_copied(record, asked) for record in found]


def _copying(records: Sequence[Record], label: str) -> list[Record]:
    """The runs by seed, also those that did not finish; whatever the size of a table."""
    found = [
        record
        for record in records
        if record["experiment"]["encoding"] == label
        and record["experiment"]["task"].get("name") == "copy"
        and record["experiment"]["training"].get("randomised") is None
        and not record["experiment"]["task"].get("options")
    ]
    return sorted(found, key=experiments.seed)


def _copied(record: Record, asked: Sequence[int]) -> list[Any]:
    right = [experiments.at(record, length, "exact") for length in asked]
    chance = experiments.at(record, asked[1], "chance_exact")
    return [record["experiment"]["encoding"], experiments.seed(record), runs.learned(record), *right, chance]


@dataclass(frozen=True)
class Unless:
    """Nothing, or what is of a shape."""

    shape: Shape

    def check(self, value: Any, where: str) -> None:
        """ValueError for another value."""
        if value is not None:
            self.shape.check(value, where)


CLAIM = Claim(
    id="C26",
    title="a little past training length: mere guessing",
    english="On texts only a little longer than those of training, models with absolute positions fall to the "
    "level of guessing.",
    korean="훈련보다 아주 조금 긴 글에서도 절대 위치 모델의 성능은 찍는 수준으로 떨어진다.",
    document="D2",
    section="1.1",
    question="How does the loss just past the training length compare with the entropy of byte frequencies, and "
    "accuracy with chance?",
    evidence=evidence,
    rule=c26.rule,
    cheap=False,
    columns={
        "runs": (*lengths.RUN_COLUMNS, *(f"loss at {ratio:g} times the length" for ratio in PAST)),
        "answers": (*runs.RUN_COLUMNS, *(f"right at {where}" for where in WHERE), "chance"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained_at": Whole(1),
        "lengths": lengths.LENGTHS,
        "byte_frequencies": Real(0, none=True),
        "runs": Rows(Row((*lengths.RUN, *(lengths.NATS for _ in PAST))), begins=ABSOLUTE),
        "copied": Unless(lengths.LENGTHS),
        "answers": Unless(Rows(Row((*runs.RUN, *(runs.SHARE for _ in WHERE), runs.SHARE)))),
        "sources": experiments.SOURCES,
    },
)

"""What the runs of one kind of task are judged by, and what that is called."""

from collections.abc import Mapping
from dataclasses import dataclass

from gnomon.lab.measures import HOLDS, TOLERANCE, has_answers, judged_by_loss


@dataclass(frozen=True)
class Yardstick:
    """Text is judged by the loss on the same targets, a task with answers by how many of them are right, or by its loss
    where few are right as a whole."""

    main: str
    """The quantity that reach is read from: a key of a record's lengths."""
    quantities: Mapping[str, str]
    """The quantities that a figure can show, in words."""
    titles: Mapping[str, str]
    """The title of the figure for each; `{unit}` is what a nat is counted per."""
    across: str
    """What the lengths are lengths of."""
    shown: str
    """What a number of the figure is called where it is pointed at."""
    signal: str
    """The parameter of the figure that chooses the quantity."""
    limits: Mapping[str, float]
    """Where a dotted line is drawn: what lies beyond it does not hold."""
    shares: tuple[str, ...] = ()
    """The quantities that are shares, drawn from 0 to 1; their axis does not follow the data."""
    heading: str = "Loss against length"
    """Over the figure."""
    answers: bool = False
    """Whether it is of tasks with answers."""
    rises: bool = False
    """Whether more of the main quantity is better."""


_TEXT = {
    "paired_loss": "the same targets at every length",
    "paired_excess": "their rise over the training length",
    "loss": "non-overlapping windows",
    "sliding_loss": "a sliding window",
}
TEXT = Yardstick(
    main="paired_loss",
    quantities=_TEXT,
    titles={key: f"Loss on {words} (nats per {{unit}})" for key, words in _TEXT.items()}
    | {"paired_excess": "Rise over the loss at the training length, on the same targets (nats per {unit})"},
    across="length of the window",
    shown="nats",
    signal="quantity",
    limits={"paired_excess": TOLERANCE},
)
ANSWERS = Yardstick(
    main="exact",
    quantities={"exact": "right answers", "token_accuracy": "right tokens", "loss": "loss"},
    titles={
        "exact": "Answers that are right in every token (share)",
        "token_accuracy": "Tokens of answers that are right (share)",
        "loss": "Loss on answers (nats per token)",
    },
    across="length of the content",
    shown="share or nats",
    signal="answered",
    limits={"exact": HOLDS},
    shares=("exact", "token_accuracy"),
    heading="Right answers against length",
    answers=True,
    rises=True,
)
MASKED = Yardstick(
    main="loss",
    quantities={"loss": "loss", "token_accuracy": "right tokens"},
    titles={"loss": "Loss on hidden tokens (nats per token)", "token_accuracy": "Hidden tokens that are right (share)"},
    across="length of the window",
    shown="nats or share",
    signal="hidden",
    limits={},
    shares=("token_accuracy",),
    answers=True,
)


def of(record: Mapping[str, object]) -> Yardstick:
    """What a run is judged by."""
    if not has_answers(record):
        return TEXT
    return MASKED if judged_by_loss(record) else ANSWERS

"""C06: encodings of distance on other lengths, and on patterns that come again."""

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c06
from gnomon.claims.shapes import Row, Rows, Text, Whole

RELATIVE = ("shaw", "transformer_xl", "t5", "deberta")
ABSOLUTE = ("learned", "sinusoidal")
PATTERN = "repeated"
"""The task, of whatever size: scored is the second occurrence of a pattern."""


def evidence() -> Numbers:
    """The rise of the loss on text and the share of second occurrences that are right, of each run; and how encodings
    of distance differ in both from those of places, paired by seed."""
    found, both = experiments.records(runs.TEXT), (*RELATIVE, *ABSOLUTE)
    at = runs.lengths(found)
    ends = (at.twice, at.longest)
    text = runs.rows(found, lambda run: runs.here(run, "paired_loss"), *map(runs.rise, ends), of=both)
    tasks = runs.by_task(runs.ALGORITHMIC)
    again = [run for name, each in tasks.items() if name.split()[0] == PATTERN for run in each]
    patterns = runs.rows(again, runs.right, runs.right_past, of=both)

    def apart(rows: list, label: str, other: str, column: int) -> list:
        return runs.apart(*(runs.of(rows, name, column, only_learned=True) for name in (label, other)))

    return {
        "trained": at.trained,
        "twice": at.twice,
        "longest": at.longest,
        "text": text,
        "patterns": patterns,
        "rises": [
            [label, other, length, *apart(text, label, other, column)]
            for label in RELATIVE
            for other in ABSOLUTE
            for column, length in enumerate(ends, 4)
        ],
        "longer": [[label, other, *apart(patterns, label, other, 4)] for label in RELATIVE for other in ABSOLUTE],
        "sources": experiments.sources(runs.TEXT, *runs.ALGORITHMIC),
    }


CLAIM = Claim(
    id="C06",
    title="relative positions: lengths and repeated patterns",
    english="Encodings of the distance between tokens carry over to other lengths better than encodings of the "
    "place, and learn patterns that come again well.",
    korean="토큰 사이의 거리를 나타내는 방식은 자리를 나타내는 방식보다 다른 길이에 더 잘 적응하며, 되풀이되는 "
    "패턴도 잘 배운다.",
    document="D1",
    section="최신 Position 기술 2",
    question="How does the loss grow past the training length, and how often is the second occurrence of a "
    "pattern right, for Shaw, Transformer-XL, T5 and DeBERTa beside learned and sinusoidal positions?",
    evidence=evidence,
    rule=c06.rule,
    cheap=False,
    columns={
        "text": (*runs.RUN_COLUMNS, "loss within training", "rise at twice", "rise at the longest"),
        "patterns": (*runs.RUN_COLUMNS, "right within training", "right past it"),
        "rises": ("encoding", "less that of", "length", *runs.INTERVAL_COLUMNS),
        "longer": ("encoding", "less that of", *runs.INTERVAL_COLUMNS),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained": Whole(1),
        "twice": Whole(1),
        "longest": Whole(1),
        "text": Rows(Row((*runs.RUN, runs.MAYBE, runs.MAYBE, runs.MAYBE)), begins=(*RELATIVE, *ABSOLUTE)),
        "patterns": Rows(Row((*runs.RUN, runs.SHARE, runs.SHARE)), begins=(*RELATIVE, *ABSOLUTE)),
        "rises": Rows(runs.spread(Text(), Text(), Whole(1)), begins=RELATIVE),
        "longer": Rows(runs.spread(Text(), Text()), begins=RELATIVE),
        "sources": experiments.SOURCES,
    },
)

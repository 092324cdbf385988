"""C35: whether SeqPE tells order better, and adapts to lengths more flexibly, than older encodings."""

from collections.abc import Mapping, Sequence

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c35
from gnomon.claims.shapes import Row, Rows, Text, Truth, Whole

NAMES = ("seqpe", "chain")
ORDER, LENGTHS = ("sinusoidal", "alibi"), ("rope", "alibi")
"""Beside which encodings the document calls it better, at order and at lengths."""
ALL = (*NAMES, *dict.fromkeys((*ORDER, *LENGTHS)))
WITHOUT_ORDER = ("sort", "count")
"""Tasks whose answer is the same in whatever order the input comes."""


def evidence() -> Numbers:
    """Of each run the loss on text within training and its rise, and right answers to each task; and how both differ
    from other encodings. Of tasks the mean over those that both encodings have, seed by seed."""
    found = experiments.records(runs.TEXT)
    at = runs.lengths(found)
    text = runs.rows(found, lambda run: runs.here(run, "paired_loss"), runs.rise(at.twice), of=ALL)
    tasks = {name: each for name, each in runs.by_task(runs.ALGORITHMIC).items()}
    answers = [
        [task, *row]
        for task, each in tasks.items()
        for row in runs.rows(each, runs.right, runs.right_past)
        if row[0] in ALL
    ]
    ordered = [row for row in answers if row[0].split()[0] not in WITHOUT_ORDER]
    differences = []
    for label in NAMES:
        for rival in ORDER:
            losses = (runs.of(text, name, 3) for name in (label, rival))
            differences.append(["order", "loss", label, rival, *runs.apart(*losses)])
            differences.append(["order", "answers", label, rival, *over_tasks(ordered, label, rival, 4)])
        for rival in LENGTHS:
            rises = (runs.of(text, name, 4, only_learned=True) for name in (label, rival))
            differences.append(["lengths", "loss", label, rival, *runs.apart(*rises)])
            differences.append(["lengths", "answers", label, rival, *over_tasks(answers, label, rival, 5, True)])
    return {
        "trained": at.trained,
        "twice": at.twice,
        "text": text,
        "answers": answers,
        "differences": differences,
        "sources": experiments.sources(runs.TEXT, *runs.ALGORITHMIC),
    }


def over_tasks(answers: Sequence[Sequence], label: str, rival: str, column: int, learned: bool = False) -> list:
    """The interval of the difference of two encodings over seeds, of each the mean over tasks; `learned`: over those
    that every run of both has learned."""
    pairs = []
    for task in dict.fromkeys(row[0] for row in answers):
        rows = [row for row in answers if row[0] == task and row[1] in (label, rival)]
        if {row[1] for row in rows} == {label, rival} and (not learned or all(row[3] for row in rows)):
            pairs.append([{row[2]: row[column] or 0.0 for row in rows if row[1] == name} for name in (label, rival)])
    if not pairs:
        return runs.apart({}, {})
    return runs.apart(*(_mean([pair[side] for pair in pairs]) for side in (0, 1)))


def _mean(of: Sequence[Mapping[int, float]]) -> Mapping[int, float]:
    """Of each seed that all have, the mean."""
    seeds = set.intersection(*(set(each) for each in of))
    return {seed: sum(each[seed] for each in of) / len(of) for seed in sorted(seeds)}


CLAIM = Claim(
    id="C35",
    title="SeqPE: better order, more flexible lengths",
    english="SeqPE carries the order of tokens better than sinusoidal positions and ALiBi, and adapts to lengths "
    "more flexibly than RoPE and ALiBi.",
    korean="SeqPE는 사인파와 ALiBi보다 순서를 더 잘 나타내고, RoPE와 ALiBi보다 다양한 길이에 더 유연하게 적응한다.",
    document="D1",
    section="최신 Position 기술 5",
    question="In the comparisons of C06, C07, C09, C11 and C16, where do `seqpe` and `chain` stand?",
    evidence=evidence,
    rule=c35.rule,
    cheap=False,
    columns={
        "text": (*runs.RUN_COLUMNS, "loss within training", "rise at twice"),
        "answers": ("task", *runs.RUN_COLUMNS, "right within training", "right past it"),
        "differences": ("in", "measure", "encoding", "less that of", *runs.INTERVAL_COLUMNS),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained": Whole(1),
        "twice": Whole(1),
        "text": Rows(Row((*runs.RUN, runs.MAYBE, runs.MAYBE)), begins=ALL),
        "answers": Rows(Row((Text(), Text(), Whole(), Truth(), runs.SHARE, runs.SHARE))),
        "differences": Rows(runs.spread(Text(), Text(), Text(), Text()), begins=("order", "lengths")),
        "sources": experiments.SOURCES,
    },
)

"""C16: addition at 2.5 times the training length, under absolute positions and encodings of distance."""

from collections.abc import Iterable, Sequence

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c16
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

FACTOR = 2.5
ADDITION = "addition"
NAMES = (ADDITION, "algorithmic", "algorithmic_more")
KINDS = {
    **dict.fromkeys(("learned", "sinusoidal"), "absolute"),
    **dict.fromkeys(("alibi", "shaw", "transformer_xl", "t5", "deberta"), "relative"),
}
"""Which encodings the document means; it tells RoPE and SeqPE apart from relative encodings."""

RUNS = ("encoding", "seed", "task", "kind", "learned", "right in range", "right at 2.5 times")
ENCODINGS = (
    "task", "encoding", "kind", "runs", "learned", "right at 2.5 times", "low", "high",
    "more than the better absolute one", "low", "high",
)  # fmt: skip
COMPARED = Rows(Row((Text(), Text(), Text(), Whole(1), Whole(), *(runs.MAYBE for _ in range(6)))))
"""Ends of an interval by Student's t may lie beyond what a share can be."""


def evidence() -> Numbers:
    """Every run of the experiments, and intervals over those of each encoding and task that learned it in range."""
    made = [_run(record) for name in NAMES for record in experiments.records(name) if not _shifted(record)]
    return {
        "factor": FACTOR,
        "runs": made,
        "addition": compared(run for run in made if run[2].split()[0] == ADDITION),
        "others": compared(run for run in made if run[2].split()[0] != ADDITION),
        "sources": experiments.sources(*NAMES),
    }


def compared(made: Iterable[Sequence]) -> list[list]:
    """Rows of ENCODINGS from rows of RUNS. An interval is over the runs that learned; None where they are not two.

    The better absolute encoding is that of the same seed, of those that learned.
    """
    found: dict[str, dict[tuple[str, str], list[Sequence]]] = {}
    for run in made:
        found.setdefault(run[2], {}).setdefault((run[0], run[3]), []).append(run)
    rows = []
    for task, encodings in found.items():
        best: dict[int, float] = {}
        for (_, kind), each in encodings.items():
            if kind == "absolute":
                for seed, right in right_of(each).items():
                    best[seed] = max(right, best.get(seed, 0.0))
        for (label, kind), each in encodings.items():
            right = right_of(each)
            lead = runs.apart(right, {} if kind == "absolute" else best)
            rows.append([task, label, kind, len(each), len(right), *runs.over_seeds(right)[:3], *lead[:3]])
    return rows


def right_of(made: Iterable[Sequence]) -> dict[int, float]:
    """The share of right answers past training by seed, of the runs that learned; a length that is refused has none."""
    return {seed: past or 0.0 for _, seed, _, _, learned, _, past in made if learned}


def task_of(record: Record) -> str:
    """What its task is called: `addition order=reversed`."""
    from gnomon.lab.naming import task_label

    return task_label(record["experiment"]["task"])


def kind_of(record: Record) -> str:
    """Whether its encoding is one that the document calls absolute, or relative; positions drawn anew are another."""
    experiment = record["experiment"]
    drawn = experiment["training"].get("randomised") is not None
    return "other" if drawn else KINDS.get(experiment["encoding"], "other")


def _run(record: Record) -> list:
    """A row of RUNS."""
    right = [experiments.at(record, length, "exact") for length in lengths.at(record, 1, FACTOR)]
    told = [record["label"], experiments.seed(record), task_of(record), kind_of(record)]
    return [*told, runs.learned(record), *right]


def _shifted(record: Record) -> bool:
    """Whether it is of C27, which asks for one length."""
    return bool(record["experiment"]["task"]["options"].get("measured_shifts"))


CLAIM = Claim(
    id="C16",
    title="addition at 2.5 times the length",
    english="Absolute positions already fail at plain addition at 2.5 times the training length; ALiBi and "
    "relative encodings are much freer of it.",
    korean="절대 위치는 훈련 길이의 2.5배만 되어도 단순한 덧셈에 실패하고, ALiBi와 상대적 방식은 이 문제에서 "
    "훨씬 자유롭다.",
    document="D2",
    section="1.3",
    question="How often is the whole answer right, by length, in addition (plain, reversed, with index hints), "
    "multiplication, copying, reversing, sorting and counting?",
    evidence=evidence,
    rule=c16.rule,
    cheap=False,
    columns={
        "runs": RUNS,
        "addition": ENCODINGS,
        "others": ENCODINGS,
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "factor": Real(1),
        "runs": Rows(Row((Text(), Whole(), Text(), Text(), Truth(), runs.SHARE, runs.SHARE))),
        "addition": COMPARED,
        "others": COMPARED,
        "sources": experiments.SOURCES,
    },
)

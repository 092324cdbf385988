"""C27: operands after more or fewer blanks than in training."""

from collections.abc import Iterable, Sequence
from math import fsum

from gnomon.claims import experiments, runs
from gnomon.claims.c16 import kind_of, task_of
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c27
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole
from gnomon.errors import DataError

NAME = "addition"
CHANGE = Real(-1, 1, none=True)
RUNS = ("encoding", "seed", "kind", "learned", "right as trained", "right after fewer", "right after more", "lost")
ENCODINGS = (
    "encoding", "kind", "runs", "learned", "right as trained", "lost", "low", "high", "lost after fewer",
    "lost after more",
)  # fmt: skip


def evidence() -> Numbers:
    """Every run that was measured at other shifts, and intervals over those of each encoding that learned the task.

    DataError where there is none, or they are not all of one task.
    """
    found = [record for record in experiments.records(NAME) if _shifts(record)]
    tasks = sorted({task_of(record) for record in found})
    if len(tasks) != 1:
        raise DataError(
            f"the results of {NAME} have one task whose operands are shifted",
            given=", ".join(tasks) or "none",
            do=f"run one form of experiments/{NAME}.py in a store of its own, and export its results",
        )
    made = [_run(record) for record in found]
    return {
        "task": tasks[0],
        "shift": found[0]["experiment"]["task"]["options"]["shift"],
        "runs": made,
        "encodings": compared(made),
        "sources": experiments.sources(NAME),
    }


def compared(made: Iterable[Sequence]) -> list[list]:
    """Rows of ENCODINGS from rows of RUNS: means, and the interval of what is lost, over the runs that learned; None
    where they are not two."""
    found: dict[tuple[str, str], list[Sequence]] = {}
    for run in made:
        found.setdefault((run[0], run[2]), []).append(run)
    rows = []
    for (label, kind), each in found.items():
        learned = [run for run in each if run[3]]
        right = _mean(run[4] for run in learned)
        fewer, more = (_mean(run[4] - run[at] for run in learned) for at in (5, 6))
        lost = runs.over_seeds({run[1]: run[7] for run in learned})
        rows.append([label, kind, len(each), len(learned), right, *lost[:3], fewer, more])
    return rows


def _shifts(record: Record) -> list[int]:
    """The other shifts at which it was measured."""
    return [*record["experiment"]["task"]["options"].get("measured_shifts", ())]


def _run(record: Record) -> list:
    """A row of RUNS, of the training length; a run that did not finish has not learned."""
    trained, shift = experiments.trained_at(record), record["experiment"]["task"]["options"]["shift"]
    told = [record["label"], experiments.seed(record), kind_of(record)]
    if record["status"] != "finished" or experiments.at(record, trained, "exact") is None:
        return [*told, False, None, None, None, None]
    right = {each: experiments.group(record, trained, f"shift {each}") for each in (shift, *_shifts(record))}
    fewer = _mean(share for each, share in right.items() if each < shift)
    more = _mean(share for each, share in right.items() if each > shift)
    lost = right[shift] - _mean(share for each, share in right.items() if each != shift)
    return [*told, runs.learned(record), right[shift], fewer, more, lost]


def _mean(values: Iterable[float]) -> float | None:
    values = [*values]
    return fsum(values) / len(values) if values else None


CLAIM = Claim(
    id="C27",
    title="digits are learned by index, not by value",
    english="Absolute models learn the place in the input and not the place value of a digit: shifted operands "
    "break them.",
    korean="절대 위치 모델은 숫자의 자릿값이 아니라 입력에서의 순번을 외우므로, 피연산자를 밀면 무너진다.",
    document="D2",
    section="1.3",
    question="Trained at one offset or padding of the operands, how often is the sum right at others?",
    evidence=evidence,
    rule=c27.rule,
    cheap=False,
    columns={"runs": RUNS, "encodings": ENCODINGS, "sources": experiments.SOURCE_COLUMNS},
    shape={
        "task": Text(),
        "shift": Whole(),
        "runs": Rows(Row((Text(), Whole(), Text(), Truth(), runs.SHARE, runs.SHARE, runs.SHARE, CHANGE))),
        "encodings": Rows(
            Row((Text(), Text(), Whole(1), Whole(), runs.SHARE, CHANGE, runs.MAYBE, runs.MAYBE, CHANGE, CHANGE))
        ),
        "sources": experiments.SOURCES,
    },
)

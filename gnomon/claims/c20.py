"""C20: positions on a time axis tie a model to absolute time."""

from gnomon.claims import experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c20
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

NAME = "time"
STAMPED, COUNTED = "ecg at irregular moments", "ecg at irregular moments, counted"
SHARE = Real(0, 1, none=True)
"""Share of answers that are right; missing where a run did not come to its end."""


def evidence() -> Numbers:
    """Answers right at the time of training, and with every moment later, of every run."""
    from gnomon.lab.measures import learned

    found = experiments.records(NAME)
    [(near, far)] = {tuple(sorted(_options(record)["shifts"])) for record in found}
    rows = []
    for record in found:
        kind = _options(record)["sampling"]
        groups = [f"{kind}, as trained", f"{kind}, {near} later", f"{kind}, {far} later"]
        right = (experiments.group(record, experiments.trained_at(record), name) for name in groups)
        rows.append([record["label"], experiments.seed(record), task(record), bool(learned(record)), *right])
    return {
        "near": near,
        "far": far,
        "stamped": STAMPED,
        "counted": COUNTED,
        "runs": rows,
        "sources": experiments.sources(NAME),
    }


def task(record: experiments.Record) -> str:
    """What a run was trained on: the set or the recording, and how its samples lie."""
    options = _options(record)
    name = options.get("set") or record["experiment"]["task"]["name"]
    irregular = " at irregular moments" if options["sampling"] == "irregular" else ""
    return name + irregular + (", counted" if options["positions"] == "count" else "")


def _options(record: experiments.Record) -> dict:
    return record["experiment"]["task"]["options"]


CLAIM = Claim(
    id="C20",
    title="time series: models over-fit the date",
    english="Positions on a time axis tie a model to absolute time, though a pattern must be recognised whenever "
    "it comes.",
    korean="시간 축의 위치는 모델을 절대 시각에 묶어 둔다. 그러나 패턴은 언제 나타나든 알아볼 수 있어야 한다.",
    document="D2",
    section="2.3",
    question="Trained on one part of the time axis, how much accuracy is lost on a shifted part, by encoding, "
    "and with time stamps as real-valued positions?",
    evidence=evidence,
    rule=c20.rule,
    cheap=False,
    columns={
        "runs": (
            "encoding",
            "seed",
            "task",
            "learned",
            "right as trained",
            "right at the nearer time",
            "at the farther",
        ),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "near": Whole(1),
        "far": Whole(1),
        "stamped": Text(),
        "counted": Text(),
        "runs": Rows(Row((Text(), Whole(), Text(), Truth(), SHARE, SHARE, SHARE))),
        "sources": experiments.SOURCES,
    },
)

"""C33: with absolute positions each place learns a pattern anew, which takes more data."""

from gnomon.claims import experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c33
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

NAME = "efficiency"
KINDS = {"images": "digits", "distance": "a token at a distance"}
SHARE = Real(0, 1, none=True)
"""Share of answers that are right; missing where a run did not come to its end."""


def evidence() -> Numbers:
    """Answers right with each amount of data, of every run."""
    from gnomon.lab.measures import learned

    found = experiments.records(NAME)
    of_all = max(filter(_seen, found), key=lambda record: _options(record)["share"])
    pictures = of_all["data"]["pictures"]["train"] / _options(of_all)["share"]
    rows = []
    for record in found:
        options = _options(record)
        amount = options["sequences"] if "sequences" in options else round(options["share"] * pictures)
        right = experiments.at(record, experiments.trained_at(record), "exact")
        label = record["label"] + (" flattened" if options.get("positions") == "flat" else "")
        task = KINDS[record["experiment"]["task"]["name"]]
        rows.append([label, experiments.seed(record), task, amount, bool(learned(record)), right])
    return {"runs": rows, "sources": experiments.sources(NAME)}


def _options(record: experiments.Record) -> dict:
    return record["experiment"]["task"]["options"]


def _seen(record: experiments.Record) -> bool:
    """Whether the record is of pictures, and says how many there were."""
    return bool((record["data"] or {}).get("pictures"))


CLAIM = Claim(
    id="C33",
    title="each place learns a pattern anew",
    english="With absolute positions a pattern has to be learned again at every place, so more data is needed.",
    korean="절대 위치에서는 자리마다 같은 패턴을 다시 배워야 하므로 데이터가 더 많이 든다.",
    document="D2",
    section="2.1",
    question="How does the share of right answers grow with the amount of data, by encoding, with a convolutional net "
    "beside?",
    evidence=evidence,
    rule=c33.rule,
    cheap=False,
    columns={
        "runs": ("encoding", "seed", "task", "amount of data", "learned", "right"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "runs": Rows(Row((Text(), Whole(), Text(), Whole(1), Truth(), SHARE))),
        "sources": experiments.SOURCES,
    },
)

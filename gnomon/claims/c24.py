"""C24: a cue that always stands at the start is learned by its place and missed elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gnomon.claims import experiments
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c24
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

NAME = "shortcut"
GROUPS = ("start", "middle", "end")
SHARE = Real(0, 1, none=True)
"""Share of answers that are right; missing where a run did not come to its end."""

RUNS = Rows(Row((Text(), Whole(), Whole(1), Whole(1), SHARE, SHARE, SHARE)))
COLUMNS = ("encoding", "seed", "different sequences", "parameters", *(f"right at the {name}" for name in GROUPS))


def evidence() -> Numbers:
    """Answers right with the cue at the start, in the middle and at the end, of every run: all encodings with all data,
    and the sweeps. The size of the first is the one that most runs have."""
    found = sorted(experiments.records(NAME), key=lambda record: (record["label"], experiments.seed(record)))
    usual = Counter(map(_size, found)).most_common(1)[0][0]
    at_start = [record for record in found if _option(record, "cue") == "start"]
    whole = [record for record in at_start if _size(record) == usual and _option(record, "sequences") is None]
    of_size = [record for record in at_start if _size(record) == usual]
    return {
        "chance": min(row["chance_exact"] for record in found for row in record["lengths"] if "chance_exact" in row),
        "by_encoding": _rows(whole),
        "anywhere": _rows(record for record in found if _option(record, "cue") == "anywhere"),
        "by_data": _rows(_several(of_size, lambda record: _option(record, "sequences"))),
        "by_size": _rows(_several(at_start, _size, lambda record: _option(record, "sequences"))),
        "sources": experiments.sources(NAME),
    }


def _rows(found: Iterable[experiments.Record]) -> list[list]:
    return [
        [
            record["label"],
            experiments.seed(record),
            _different(record),
            record["parameters"]["total"],
            *(experiments.group(record, experiments.trained_at(record), name) for name in GROUPS),
        ]
        for record in found
    ]


def _several(
    found: Sequence[experiments.Record],
    what: Callable[[experiments.Record], Any],
    alike: Callable[[experiments.Record], Any] = lambda record: None,
) -> list[experiments.Record]:
    """Those of an encoding, and otherwise alike, of which there are several kinds."""
    kinds = defaultdict(set)
    for record in found:
        kinds[record["label"], alike(record)].add(what(record))
    return [record for record in found if len(kinds[record["label"], alike(record)]) > 1]


def _option(record: experiments.Record, name: str) -> Any:
    return record["experiment"]["task"]["options"].get(name)


def _size(record: experiments.Record) -> tuple[int, int]:
    model = record["experiment"]["model"]
    return model["width"], model["depth"]


def _different(record: experiments.Record) -> int:
    """How many different sequences training had: those that there are, or as many as it drew."""
    training = record["experiment"]["training"]
    drawn = training["steps"] * training["batch"]
    amount = _option(record, "sequences")
    return drawn if amount is None else min(amount, drawn)


CLAIM = Claim(
    id="C24",
    title="a cue learned by its place fails elsewhere",
    english="A cue that always stands at the start is learned by its place and is missed elsewhere, the more so "
    "with less data and more parameters.",
    korean="언제나 앞머리에 놓이는 단서는 자리로 기억되어 다른 곳에서는 놓치게 되며, 데이터가 적고 파라미터가 "
    "많을수록 심하다.",
    document="D2",
    section="4; 4.1",
    question="Trained with the cue at places 0 to 5, how far does accuracy fall with the cue in the middle or at "
    "the end, over amounts of data and sizes of model?",
    evidence=evidence,
    rule=c24.rule,
    cheap=False,
    columns={
        **dict.fromkeys(("by_encoding", "anywhere", "by_data", "by_size"), COLUMNS),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "chance": Real(0, 1),
        **dict.fromkeys(("by_encoding", "anywhere", "by_data", "by_size"), RUNS),
        "sources": experiments.SOURCES,
    },
)

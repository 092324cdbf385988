"""The rules of published orderings: what each says is larger than what, and when our runs show it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from gnomon.claims.intervals import Interval, difference, interval

Word = Literal["reproduced", "contradicted", "inconclusive", "not measured here"]
WORDS: tuple[Word, ...] = get_args(Word)

HOLDS = 0.1
"""Nats a byte by which the loss may rise where a model holds: the tolerance of the lab."""
RIGHT = 0.9
"""Share of answers that are right, from which on a model of a task with answers holds: that of the lab."""
FAILS = 0.1
"""Share of answers that are right, below which nothing has been carried over: one in ten."""


class More(NamedTuple):
    """That one number, of a label or a bound, is larger than another."""

    one: str | float
    than: str | float


class Finding(NamedTuple):
    """A word, and the numbers that carry it."""

    word: Word
    because: str


EXPECTED: dict[str, tuple[More, ...]] = {
    "P01": (More(HOLDS, "alibi at 2 times"), More(HOLDS, "alibi at 8 times")),
    "P02": (More("t5", "alibi"), More("rope", "t5"), More("sinusoidal", "rope")),
    "P03": (More("sinusoidal", HOLDS),),
    "P04": (More("t5", "alibi"), More("alibi", "sinusoidal"), More("none", "sinusoidal")),
    "P05": (More("t5", "alibi"), More("none", "alibi"), More("alibi", "sinusoidal")),
    "P06": (
        More("randomised learned, unique", "randomised learned, repeated"),
        More("randomised learned, unique", "none, unique"),
    ),
    "P07": (More(FAILS, "none, unique"), More(FAILS, "none, repeated")),
    "P08": (More("none", RIGHT),),
    "P09": (More("none", RIGHT),),
    "P10": (More("reversed, hints", "reversed"), More("reversed", "plain")),
    "P11": (More(FAILS, "the best, plain"), More(FAILS, "the best, reversed")),
    "P12": (More("linear", "yarn"),),
    "P13": (More("linear", "ntk"),),
    "P14": (More("sinusoidal", "shaw"),),
    "P15": (
        More("relative_bias axes=2", "rope axes=2"),
        More("rope axes=2", "learned"),
        More("learned", "none"),
    ),
    "P16": (More("learned", "rope_mixed axes=2"),),
    "P17": (More("deberta terms=c2p", "deberta"), More("deberta terms=p2c", "deberta")),
    "P18": (More("learned", "deberta"),),
    "P19": (More("sinusoidal", "learned"), More("learned", "none")),
    "P20": (More("rope", 0.0), More("alibi", 0.0)),
}
"""What each ordering says of its numbers; of a loss, or of what is lost, the larger is the worse."""


def rule(id: str, rows: Sequence[Sequence]) -> Finding:
    """From rows [label, seed, number], None where a run has no number that counts.

    Each of what is expected is judged by the 95 % interval of the difference over the seeds that both have, seed by
    seed: it is so above 0, against it below 0, open across, and open where one of the two has no number. Reproduced
    where all are so, contradicted where one is against it, inconclusive otherwise; not measured here where one of the
    labels has no run at all.
    """
    asked = EXPECTED[id]
    labels = dict.fromkeys(side for each in asked for side in each if isinstance(side, str))
    if missing := [label for label in labels if all(row[0] != label for row in rows)]:
        return Finding("not measured here", f"There are no runs of: {'; '.join(missing)}.")
    numbers = {label: {row[1]: row[2] for row in rows if row[0] == label and row[2] is not None} for label in labels}
    runs = {label: sum(row[0] == label for row in rows) for label in labels}
    apart = {each: _apart(each, numbers) for each in asked}
    told = " ".join([_numbers(numbers, runs), *(_told(each, found) for each, found in apart.items())])
    if any(found is not None and found.high < 0 for found in apart.values()):
        return Finding("contradicted", told)
    if all(found is not None and found.low > 0 for found in apart.values()):
        return Finding("reproduced", told)
    return Finding("inconclusive", told)


def _apart(asked: More, numbers: dict[str, dict[int, float]]) -> Interval | None:
    """The interval of what the first has more; None where no seed has both."""
    one, than = (numbers[side] if isinstance(side, str) else None for side in asked)
    seeds = set.intersection(*({*each} for each in (one, than) if each is not None))
    if not seeds:
        return None
    one, than = (
        dict.fromkeys(seeds, side) if each is None else each for each, side in zip((one, than), asked, strict=True)
    )
    return difference(one, than)


def _numbers(numbers: dict[str, dict[int, float]], runs: dict[str, int]) -> str:
    told = [
        (f"{label} {interval([*of.values()]).mean:.3f}" if of else f"{label} none")
        + (f" ({len(of)} of {runs[label]} runs have a number)" if len(of) < runs[label] else "")
        for label, of in numbers.items()
    ]
    return f"Means: {'; '.join(told)}."


def _told(asked: More, found: Interval | None) -> str:
    one, than = (side if isinstance(side, str) else f"{side:g}" for side in asked)
    return f"{one} less {than}: {'no seed has both' if found is None else found.text}."

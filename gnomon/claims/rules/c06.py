"""The rule of C06: encodings of distance beside those of places, on other lengths and on patterns that come again."""

from gnomon.claims.claim import Numbers, Verdict

NATS = 0.1
"""Nats a byte by which a loss has to rise less. Up to that much a loss counts as holding in the lab, so that two rises
which differ by no more are alike."""
SHARE = 0.1
"""The share of all answers that has to be right more often: one in ten, which is what separates LEARNED (nine in ten)
from all of them."""


def rule(numbers: Numbers) -> Verdict:
    """Each encoding of distance is asked three things beside both encodings of places, by 95 % intervals over the seeds
    that learned, paired by seed. Text: whether its loss rises less by NATS at twice the training length and at the
    longest. Patterns: whether every run of it learned them within training; if not, that is known where every run of
    the encodings of places did, and open where the task was too much for these too. Longer patterns: whether it has
    SHARE more right past training, the mean over lengths. A difference is so where every comparison says it, not so
    where one says the opposite, open otherwise; also open where fewer than two seeds learned. Where both are at their
    best, or at their worst, no advantage is seen, and that counts as none.

    Holds where all three are so of every encoding of distance; holds of those of which it is so; does not hold where
    none is and one is known not to be; inconclusive where all is open."""
    labels = [*dict.fromkeys(row[0] for row in numbers["rises"])]
    found = {
        "text past the training length": {label: _less(numbers["rises"], label) for label in labels},
        "patterns within training": {label: _known(numbers["patterns"], label, labels) for label in labels},
        "patterns past training": {label: _more(numbers["longer"], label) for label in labels},
    }
    told = _told(numbers)
    answers = [answer for each in found.values() for answer in each.values()]
    if all(answer is True for answer in answers):
        return Verdict("holds", told)
    so, no, rest = (_listed(found, wanted) for wanted in (True, False, None))
    told = " ".join(filter(None, [f"Not of {no}." * bool(no), f"Open: {rest}." * bool(rest), told]))
    if so:
        return Verdict("holds if", f"It holds of {so}. {told}")
    return Verdict("does not hold" if no else "inconclusive", told)


def _less(rows: list, label: str) -> bool | None:
    """Whether it rises less than each encoding of places at each length."""
    ends = [(low, high) for name, _, _, _, low, high, _ in rows if name == label]
    if any(low is not None and low > -NATS for low, _ in ends):
        return False
    return True if all(high is not None and high < -NATS for _, high in ends) else None


def _more(rows: list, label: str) -> bool | None:
    """Whether it has more right than each encoding of places."""
    ends = [(low, high) for name, _, _, low, high, _ in rows if name == label]
    if any(high is not None and high < SHARE for _, high in ends):
        return False
    return True if all(low is not None and low > SHARE for low, _ in ends) else None


def _known(runs: list, label: str, relative: list) -> bool | None:
    """Whether every run of it learned; where not, False if every run of encodings of places did."""
    if all(learned for name, _, learned, *_ in runs if name == label):
        return True
    return False if all(learned for name, _, learned, *_ in runs if name not in relative) else None


def _listed(found: dict, wanted: bool | None) -> str:
    """The parts of which it is so, each with the encodings of which it is."""
    named = {part: [label for label, answer in each.items() if answer is wanted] for part, each in found.items()}
    return ", ".join(f"{part} ({', '.join(labels)})" for part, labels in named.items() if labels)


def _told(numbers: Numbers) -> str:
    """What each encoding has found, in two sentences."""
    labels = [*dict.fromkeys(row[0] for row in numbers["text"])]
    rises = ", ".join(
        f"{label} {_mean(numbers['text'], label, 4)} and {_mean(numbers['text'], label, 5)}" for label in labels
    )
    patterns = ", ".join(
        f"{label} {_mean(numbers['patterns'], label, 3)} and {_mean(numbers['patterns'], label, 4)} "
        f"({_count(numbers['patterns'], label)} learned)"
        for label in labels
    )
    return (
        f"Trained on {numbers['trained']} bytes, the loss at {numbers['twice']} and {numbers['longest']} rises by "
        f"(nats, means): {rises}. Right of second occurrences, within training and past it: {patterns}."
    )


def _mean(rows: list, label: str, column: int) -> str:
    values = [row[column] for row in rows if row[0] == label and row[column] is not None]
    return f"{sum(values) / len(values):.2f}" if values else "unknown"


def _count(rows: list, label: str) -> str:
    found = [row[2] for row in rows if row[0] == label]
    return f"{sum(found)} of {len(found)}"

"""The rule of C26: a little past the training length, models with absolute positions fall to the level of guessing."""

from typing import Literal, NamedTuple

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, by_seed, difference, interval

MARGIN = 0.1
"""Nats a byte below byte frequencies up to which a model of text is guessing: the lab says of a model that is no
farther below, at its training length, that it has learned nothing (`gnomon.lab.measures.learned`). It covers too that
the bytes which are scored are some of those that the frequencies are scored on."""
LUCK = 0.05
"""How many answers more than chance may be right, of a model that is guessing: one in twenty. A right copy of twenty
letters is no luck, and whoever still copies one in twenty has not forgotten how; below that nobody would use it."""

State = Literal["guessing", "better", "open"]


class Case(NamedTuple):
    """One encoding at one kind of question: how it stands a little past its training, and how farther out."""

    of: str
    near: State
    later: State
    there: str
    """What farther out means."""
    told: str


def rule(numbers: Numbers) -> Verdict:
    """By cases: text, and copied letters where they were measured, under sinusoidal and under learned positions, as
    intervals over all seeds. On text a model is guessing where its loss lies above byte frequencies less MARGIN, and
    knows better where it lies below; of copies where the share that is right lies up to chance and LUCK, and above. A
    case is open where its interval lies across, or where a run has not learned the task within its training. A little
    past is 9/8 of the training length on text, where all bytes that are scored lie past it, and 11/10 on copies.

    Holds where every case is guessing a little past the training length, holds of those cases that are where some are;
    where none is and each knows better: holds if texts are so much longer that some are guessing (twice on text, 5/4 on
    copies), and does not hold where none is there either. Inconclusive where none is and some are open."""
    cases = [
        *(_text(numbers, label) for label in dict.fromkeys(row[0] for row in numbers["runs"])),
        *(_copies(numbers, label) for label in dict.fromkeys(row[0] for row in numbers["answers"] or ())),
    ]
    told = " ".join(case.told for case in cases)
    if not numbers["answers"]:
        told += " Answers were not measured."
    guessing, better, open_ = (
        [case for case in cases if case.near == state] for state in ("guessing", "better", "open")
    )
    if len(guessing) == len(cases):
        return Verdict("holds", told)
    if guessing:
        rest = [f"{word} {_named(each)}" for word, each in (("not of", better), ("open of", open_)) if each]
        return Verdict("holds if", f"It holds of {_named(guessing)}, {', '.join(rest)}. {told}")
    if open_:
        return Verdict("inconclusive", told)
    if late := [case for case in better if case.later == "guessing"]:
        where = ", of ".join(f"{case.of} at {case.there}" for case in late)
        return Verdict("holds if", f"It holds of {where}, and a little past the training length of none. {told}")
    return Verdict("does not hold", told)


def _text(numbers: Numbers, label: str) -> Case:
    """By the loss of bytes past the training length, less that of byte frequencies."""
    runs, lengths, guess = numbers["runs"], numbers["lengths"], numbers["byte_frequencies"]
    name, there = f"text under {label} positions", f"{lengths[-1]} bytes"
    mine = [row for row in runs if row[0] == label]
    lost = [row[1] for row in mine if not row[2] or None in row]
    if lost or guess is None:
        why = f"Not learned in range, or no loss past it, of {name}: seed {', '.join(map(str, lost)) or 'all'}."
        return Case(name, "open", "open", there, why)
    above = [interval([row[4 + at] - guess for row in mine]) for at in range(len(lengths))]
    trained = interval([row[3] - guess for row in mine])
    states = ["guessing" if each.low >= -MARGIN else "better" if each.high < -MARGIN else "open" for each in above]
    at = "; ".join(f"at {length} {_signed(each)}" for length, each in zip(lengths, above, strict=True))
    told = (
        f"Loss of {name} over byte frequencies ({guess:.3f} nats): at {numbers['trained_at']}, the training length, "
        f"{_signed(trained)}; {at}."
    )
    return Case(name, states[0], states[-1], there, told)


def _copies(numbers: Numbers, label: str) -> Case:
    """By the share of copies that are right, less chance."""
    rows, (trained, near, later) = numbers["answers"], numbers["copied"]
    name, there = f"copies under {label} positions", f"{later} letters"
    mine = [row for row in rows if row[0] == label]
    lost = [row[1] for row in mine if not row[2] or None in row]
    if lost:
        why = f"Not learned in range, of {name}: seed {', '.join(map(str, lost))}."
        return Case(name, "open", "open", there, why)
    chance = by_seed(mine, label, 6)
    above = [difference(by_seed(mine, label, at), chance) for at in (4, 5)]
    states = ["guessing" if each.high <= LUCK else "better" if each.low > LUCK else "open" for each in above]
    told = (
        f"Right of {name}, over chance: at {trained} letters, trained, {interval([row[3] for row in mine]).text}; "
        f"at {near} {above[0].text}; at {later} {above[1].text}."
    )
    return Case(name, states[0], states[1], there, told)


def _named(cases: list[Case]) -> str:
    return " and of ".join(case.of for case in cases)


def _signed(found: Interval) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"

"""The rule of C13: models with sinusoidal positions fail past the training length, and their perplexity explodes."""

from math import exp

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, interval

FAILS = 0.1
"""Nats a byte above the loss at the training length, on the same bytes, from which on a model fails: the rise up to
which the lab lets it count as holding (`gnomon.lab.measures.TOLERANCE`). Whoever cuts the text to the training length
has no rise, so a model that has one is worse for reading on."""
EXPLODES = 2
"""How many times the perplexity has to be that at the training length, to explode: twice as many bytes to doubt
between, at every byte; for a word of five letters and its space that is 2^6 = 64 times the perplexity of a word. Nobody
would call a perplexity exploded that has not even doubled."""


def rule(numbers: Numbers) -> Verdict:
    """By the rise of the loss over that at the training length, on the same bytes, as intervals over all seeds, at
    twice and at eight times the training length. A model fails where the rise lies above FAILS, and does not where it
    lies up to it; the perplexity explodes where its ratio, exp of the rise, lies at EXPLODES or above, and does not
    where below. Holds where it explodes at both lengths, does not hold where the model fails at neither; holds of
    failing where it fails at both, with what is known of explosion; holds if texts are that long where it fails at the
    longer alone. Inconclusive where intervals lie across, or a run has not learned the text in range."""
    runs, lengths, trained = numbers["runs"], numbers["lengths"], numbers["trained_at"]
    if told := _unusable(runs):
        return Verdict("inconclusive", told)
    found = {length: interval([row[4 + at] for row in runs]) for at, length in enumerate(lengths)}
    told = (
        f"Rise of the loss over that at {trained} bytes ({interval([row[3] for row in runs]).text} nats), with the "
        f"ratio of perplexities: {'; '.join(f'at {length} {_told(each)}' for length, each in found.items())}."
    )
    judged = [2 * trained, 8 * trained]
    fails = [length for length in judged if found[length].low > FAILS]
    holds = [length for length in judged if found[length].high <= FAILS]
    explodes = [length for length in judged if _ratio(found[length].low) >= EXPLODES]
    calm = [length for length in judged if _ratio(found[length].high) < EXPLODES]
    if explodes == judged:
        return Verdict("holds", told)
    if holds == judged:
        return Verdict("does not hold", f"It does not fail at {judged[0]} bytes, nor at {judged[1]}. {told}")
    if fails == judged:
        exploded = f", and of an explosion at {explodes[0]} bytes" if explodes else ""
        no = f", not of an explosion at {' or '.join(map(str, calm))} bytes" if calm else ""
        rest = "" if len(explodes) + len(calm) == 2 else "; whether it explodes elsewhere, intervals leave open"
        return Verdict("holds if", f"It holds of failing{exploded}{no}{rest}. {told}")
    if fails == judged[1:]:
        exploded = ", where perplexity explodes" if explodes else ", of failing"
        return Verdict("holds if", f"It holds if texts are eight times as long as those of training{exploded}: {told}")
    return Verdict("inconclusive", f"Intervals lie across what is failing. {told}")


def _unusable(runs: list) -> str:
    """Why the runs decide nothing; empty where they do."""
    lost = [row[1] for row in runs if not row[2] or None in row]
    if not lost:
        return ""
    seeds = ", ".join(map(str, lost))
    return (
        f"Of {len(runs)} models {len(lost)} have not learned the text in range, or have no loss past it: seed {seeds}."
    )


def _told(rise: Interval) -> str:
    ratios = ", ".join(f"{_ratio(each):.2f}" for each in (rise.low, rise.high))
    return f"{rise.text}, x {_ratio(rise.mean):.2f} [{ratios}]"


def _ratio(rise: float) -> float:
    """That of perplexities; a float cannot hold those of larger rises."""
    return exp(rise) if rise < 700 else float("inf")

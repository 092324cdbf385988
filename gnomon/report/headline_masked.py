"""The findings in words on masked text: who has the lowest loss on what is hidden, and what longer windows do to it."""

from gnomon.lab.measures import TOLERANCE
from gnomon.report.headline_answers import percent
from gnomon.report.summary import Series, Summary
from gnomon.report.wording import listing, nats, rise

NAMED = 3
"""Encodings that the title names."""


def title(summary: Summary) -> str:
    """The lowest losses in range, of those that have learned more than how often each byte occurs."""
    judged = [series for series in summary.series if series.reach]
    if not judged:
        idle = any(series.did_not_learn for series in summary.series)
        why = "no encoding learned more than how often each byte occurs" if idle else "nothing was measured"
        return f"Nothing to compare: {why}."
    order = sorted(judged, key=lambda series: series.in_range().median)
    names = [f"{series.label} ({_here(series)})" for series in order[:NAMED]]
    trained = listing([str(length) for length in summary.trained])
    if len(order) == 1:
        return f"Trained on {summary.task} at length {trained}: {names[0]}."
    return f"Trained on {summary.task} at length {trained}, the lowest losses have {listing(names)}."


def fate(series: Series) -> str:
    """Up to where the loss of a series stays, and what it is beyond."""
    past = [length for length in series.measured() if length > series.reach.length]
    held = f"holds to {series.reach.length}" if series.reach.length > series.training else "does not hold"
    if not past:
        return f"({_here(series)}) {held}: longer windows are refused."
    rises = [series.stat("loss", length).median - series.in_range().median for length in past]
    far = listing([f"{rise(value)} nats at {length}" for value, length in zip(rises, past, strict=True)])
    return f"({_here(series)}) {held} within {TOLERANCE:g} nats: {far}."


def _here(series: Series) -> str:
    right = series.stat("token_accuracy", series.training)
    told = "" if right is None else f", {percent(right.median)} of bytes right"
    return f"{nats(series.in_range().median, 3)} nats{told}"

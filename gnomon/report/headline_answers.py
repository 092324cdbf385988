"""The findings in words on a task with answers. Who has not learned the task in range is said so, and is not ranked."""

from collections.abc import Sequence

from gnomon.lab.measures import HOLDS, LEARNED
from gnomon.report.summary import Series, Summary
from gnomon.report.wording import listing

FALLEN = 0.5
"""Share of right answers past training below which the report says that an encoding fails."""


def title(summary: Summary) -> str:
    """Who holds, and how far; or that nobody has learned the task."""
    judged = [series for series in summary.ranked() if series.reach]
    longer = [series for series in judged if any(length > series.training for length in series.lengths())]
    idle = any(series.did_not_learn for series in summary.series)
    if not judged:
        why = f"no encoding learned {summary.task} within its training length" if idle else "nothing was measured"
        return f"Nothing to compare: {why}."
    trained = f"Trained on {summary.task} up to length {listing([str(length) for length in summary.trained])}"
    if not longer:
        return f"{trained}; no longer length was measured, so nothing is known of reach. {_right(judged)} there."
    holders = [series for series in longer if series.holds]
    hold = "holds" if len(holders or longer) == 1 else "hold"
    if holders:
        return f"{trained}, {_right(holders)} {hold} to the longest length measured, {holders[0].reach.length}."
    nobody = f"no encoding{' that learned' if idle else ''}"
    top = longer[0].reach.length
    if all(series.reach.length == series.training for series in longer):
        return f"{trained}, {nobody} holds past it: {_right(longer)}."
    best = [series for series in longer if series.reach.length == top]
    verb = ("holds" if len(best) == 1 else "hold") + " farthest," * (len(longer) > 1)
    return f"{trained}, {nobody} holds to {summary.lengths[-1]}; {_right(best)} {verb} to {top}."


def fate(series: Series) -> str:
    """Where a series that learned the task fails, by how much, and how much it gets right at the end."""
    start = f"({percent(series.in_range().median)} right in range"
    spread = series.reach.spread
    start += f"; seeds reach {spread})" if spread else ")"
    if series.holds:
        return f"{start} holds to {series.reach.length} in the median seed, not in every one."
    held = f" holds to {series.reach.length}, then" if series.reach.length > series.training else ""
    ahead = [length for length in series.lengths() if length > series.reach.length]
    gaps = series.gaps()
    found = [(length, stat.median) for length in ahead if (stat := series.stat("exact", length))]
    refused = [str(length) for length in ahead if length in gaps]
    missing = f"is not measured at {listing(refused)}: {gaps[int(refused[0])].state}" if refused else ""
    if not found:
        return f"{start}{held} {missing}."
    ends = [found[0], found[-1]] if len(found) > 1 else found
    verb = "fails" if found[-1][1] < FALLEN else "loses ground"
    past = "" if held else f" past {series.training}"
    numbers = listing([f"{percent(value)} right at {length}" for length, value in ends])
    return f"{start}{held} {verb}{past}: {numbers}{f'; it {missing}' if missing else ''}."


def unlearned(series: Series) -> str:
    """How many answers are right at the training length, beside what guessing gives."""
    idle, runs = len(series.unlearned), len(series.runs)
    here, chance = series.in_range(), series.stat("chance_exact", series.training)
    some = f" in {idle} of {runs} seeds" if idle < runs else ""
    guess = "" if chance is None else f" (guessing: {percent(chance.median)})"
    return (
        f"did not learn the task{some}: {percent(here.median)} of the answers are right at length {series.training}"
        f"{guess}, fewer than {percent(LEARNED)}; what it does past training says nothing."
    )


def best(summary: Summary) -> str:
    """Who gets most right at the longest length, of those that learned the task."""
    judged = [series for series in summary.ranked() if series.reach]
    longest = summary.lengths[-1]
    at_end = [(stat.median, series) for series in judged if (stat := series.stat("exact", longest))]
    if len(judged) < 2 or not at_end or longest <= max(summary.trained):
        return ""
    share, series = max(at_end, key=lambda pair: pair[0])
    return f"Most right at {longest}: {series.label}, {percent(share)}." if share >= 1 - HOLDS else ""


def percent(share: float) -> str:
    """A share in whole percent; what is not 0 or 100 is not rounded to it."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _right(listed: Sequence[Series]) -> str:
    return listing([f"{series.label} ({percent(series.in_range().median)} right in range)" for series in listed])

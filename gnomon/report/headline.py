"""The findings in words, computed from the numbers: which encodings hold past the training length, and which do not.

A reach never stands without the loss in range, and a model that has learned no more than how often each byte occurs
has none: it has nothing to lose at any length.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gnomon.lab.measures import TOLERANCE
from gnomon.report import headline_answers, headline_masked
from gnomon.report.summary import COLLAPSE, Series, Summary
from gnomon.report.wording import listing, nats, plural, rise
from gnomon.report.yardstick import ANSWERS, MASKED


@dataclass(frozen=True)
class Finding:
    """A sentence, and the series that it begins with the name of, if any."""

    text: str
    series: Series | None = None

    def __str__(self) -> str:
        return f"{self.series.label} {self.text}" if self.series else self.text


@dataclass(frozen=True)
class Headline:
    title: str
    findings: tuple[Finding, ...]


def headline(summary: Summary) -> Headline:
    """The title sentence and the sentences under it, as plain text."""
    judged = [series for series in summary.ranked() if series.reach]
    longer = [series for series in judged if _asked_beyond(series)]
    answers, masked = summary.yardstick is ANSWERS, summary.yardstick is MASKED
    fate, idle = (headline_answers.fate, headline_answers.unlearned) if answers else (_fate, _unlearned)
    fate = headline_masked.fate if masked else fate
    findings = [Finding(fate(series), series) for series in longer if not series.holds or series.reach.spread]
    findings += [Finding(_unmeasured(series), series) for series in judged if longer and series not in longer]
    findings += [Finding(idle(series), series) for series in summary.done if series.unlearned]
    findings += [
        Finding(_unjudged(series), series) for series in summary.done if not series.reach and not series.unlearned
    ]
    findings += [Finding(_lost(series), series) for series in summary.series if series.lost]
    if judged:
        top = headline_answers.best(summary) if answers else "" if masked else _lowest(summary)
        findings += [Finding(text) for text in (top, _sampling(summary)) if text]
    if not summary.done or not summary.yardstick.answers:
        return Headline(_title(summary, judged, longer), tuple(findings))
    return Headline((headline_masked if masked else headline_answers).title(summary), tuple(findings))


def _title(summary: Summary, judged: list[Series], longer: list[Series]) -> str:
    if not summary.done:
        return f"Nothing to compare: no run finished ({_count_lost(summary.series)})."
    if not judged:
        return f"Nothing to compare: {_nothing(summary)}."
    one = len(summary.trained) == 1
    trained = f"Trained at length{'' if one else 's'} {listing([str(length) for length in summary.trained])}"
    if not longer:
        return f"{trained}; no longer length was measured, so nothing is known of reach. {_losses(summary, judged)}."
    holders = [series for series in longer if series.holds]
    if holders:
        everyone = "all of " if len(holders) == len(summary.series) > 2 else ""
        return f"{trained}, {everyone}{_losses(summary, holders)} {_hold(holders)} {_to_the_end(summary, holders)}."
    if all(series.reach.length == series.training for series in longer):
        past = "it" if one else "its own"
        if len(longer) == 1:
            return f"{trained}, {_losses(summary, longer)} does not hold past it."
        return f"{trained}, {_nobody(summary, longer)} holds past {past}: {_losses(summary, longer)}."
    if not one:
        return f"{trained}, {_nobody(summary, longer)} holds to the longest length measured for it."
    top = longer[0].reach.length
    best = [series for series in longer if series.reach.length == top]
    if len(longer) == 1:
        return f"{trained}, {_losses(summary, best)} holds to {top}, no farther."
    return (
        f"{trained}, {_nobody(summary, longer)} holds to {summary.lengths[-1]}; "
        f"{_losses(summary, best)} {_hold(best)} farthest, to {top}."
    )


def _nothing(summary: Summary) -> str:
    """Why no series has a reach."""
    idle = [series for series in summary.done if series.did_not_learn]
    if not idle:
        return "no finished run measured its training length"
    which = "" if len(idle) == len(summary.done) else " that was measured at its training length"
    return f"no encoding{which} learned more than how often each {summary.unit} occurs"


def _hold(subjects: Sequence[Series]) -> str:
    return "holds" if len(subjects) == 1 else "hold"


def _to_the_end(summary: Summary, holders: Sequence[Series]) -> str:
    ends = {series.reach.length for series in holders}
    if len(ends) > 1:
        return "to the longest length measured for each"
    whose = "" if ends == {summary.lengths[-1]} else " for it" if len(holders) == 1 else " for them"
    return f"to {ends.pop()}, the longest length measured{whose}"


def _nobody(summary: Summary, longer: Sequence[Series]) -> str:
    """Nothing is said of encodings that did not learn, or were not measured past their training length."""
    idle = sum(series.did_not_learn for series in summary.series)
    if len(longer) + idle < len(summary.series):
        return f"no encoding that {'learned and ' if idle else ''}was measured past training"
    return f"no encoding{' that learned' if idle else ''}"


def _losses(summary: Summary, listed: Iterable[Series]) -> str:
    """'alibi (1.63 nats per byte in range) and t5 (1.70)'."""
    names = []
    for series in listed:
        unit = "" if names else f" nats per {summary.unit} in range"
        names.append(f"{series.label} ({nats(series.in_range().median)}{unit})")
    return listing(names)


def _asked_beyond(series: Series) -> bool:
    return any(length > series.training for length in series.lengths())


def _fate(series: Series) -> str:
    """What becomes of a series that fails at some length, in the median or in a seed: where, and by how much."""
    held = series.reach.length > series.training
    loss, seeds = nats(series.in_range().median), series.reach.spread
    start = f"({loss} in range{f'; seeds reach {seeds}' if seeds and not series.holds else ''})"
    start += f" holds to {series.reach.length}" if held else ""
    if series.holds:
        return f"{start} in the median seed, not in every one: the seeds reach {seeds}."
    ahead = [length for length in series.lengths() if length > series.reach.length]
    gaps = series.gaps()
    missing = [length for length in ahead if length in gaps]
    excess = [(length, stat.median) for length in ahead if (stat := series.stat("paired_excess", length))]
    if not excess:
        return f"{start} {'and ' if held else ''}{_missing(series, missing)}."
    verb = "collapses" if series.worst_excess() >= COLLAPSE else "loses ground" if held else "does not hold"
    ends = [excess[0], excess[-1]] if len(excess) > 1 else excess
    numbers = listing([f"{_rise(value)}{'' if i else ' nats'} at {length}" for i, (length, value) in enumerate(ends)])
    what = f"{start}, then {verb}" if held else f"{start} {verb} past {series.training}"
    return f"{what}: {numbers}" + (f"; it {_missing(series, missing)}." if missing else ".")


def _rise(value: float) -> str:
    """One digit more where two would round a rise to the tolerance that it is judged by."""
    return rise(value, 3 if round(value, 2) == TOLERANCE else 2)


def _missing(series: Series, lengths: Sequence[int]) -> str:
    """'refuses every longer length', 'has no finite loss at 512'; `lengths` are gaps past the reach."""
    gaps = series.gaps()
    refused = [str(length) for length in lengths if gaps[length].state == "refused"]
    broken = [str(length) for length in lengths if gaps[length].state != "refused"]
    if len(refused) > 1 and refused == [str(length) for length in series.lengths() if length > series.reach.length]:
        return "refuses every longer length"
    words = [f"refuses {listing(refused)}"] if refused else []
    words += [f"has no finite loss at {listing(broken)}"] if broken else []
    return listing(words)


def _unmeasured(series: Series) -> str:
    here = series.in_range().median
    shown = f"{headline_answers.percent(here)} right" if series.yardstick is ANSWERS else nats(here)
    return f"({shown} in range) was not measured past {series.training}."


def _lowest(summary: Summary) -> str:
    """Who has the lowest loss in range and at the longest length; only where lengths can be compared."""
    judged = [series for series in summary.ranked() if series.in_range()]
    if len(summary.trained) > 1 or len(judged) < 2:
        return ""
    best = min(judged, key=lambda series: series.in_range().median)
    sentence = f"Lowest loss in range: {best.label}, {nats(best.in_range().median)}"
    at_end = [(stat.median, series) for series in judged if (stat := series.stat("paired_loss", summary.lengths[-1]))]
    if at_end and summary.lengths[-1] > summary.trained[0]:
        loss, series = min(at_end, key=lambda pair: pair[0])
        sentence += f"; at {summary.lengths[-1]}: {series.label}, {nats(loss)}"
    return sentence + "."


def _sampling(summary: Summary) -> str:
    counts = summary.seeds
    if counts == [1]:
        return "One seed each: how much another seed would differ is not known."
    return (
        f"Medians over {counts[-1]} seeds." if len(counts) == 1 else f"Medians over {counts[0]} to {counts[-1]} seeds."
    )


def _unlearned(series: Series) -> str:
    """The loss beside that of byte frequencies; how many seeds where it is not all of them."""
    idle, runs = len(series.unlearned), len(series.runs)
    start = f"({nats(series.in_range().median)} in range) did not learn" + (
        f" in {idle} of {runs} seeds" if idle < runs else ""
    )
    return f"{start}: byte frequencies alone give {nats(series.unigram_loss)}."


def _unjudged(series: Series) -> str:
    what = "right or wrong answers" if series.yardstick is ANSWERS else "loss"
    return f"has no {what} at its training length {series.training}, so its reach is not known."


def _lost(series: Series) -> str:
    finished = f"{plural(len(series.runs), 'finished run')}; in addition" if series.runs else "no finished run:"
    return f"has {finished} {_count_lost([series])}."


def _count_lost(listed: Iterable[Series]) -> str:
    states = [record["status"] for series in listed for record in series.lost]
    return listing([f"{states.count(state)} {state}" for state in sorted(set(states))])

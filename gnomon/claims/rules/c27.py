"""The rule of C27: operands that are shifted, and models that know digits by their index."""

from gnomon.claims.claim import Numbers, Verdict

BREAKS = 0.5
"""The share of all answers that a model has to lose to be broken by a shift: of the nine in ten and more that it had
right, less than half is left."""


def rule(numbers: Numbers) -> Verdict:
    """By 95 % intervals, over the seeds that learned the task at the shift of training, two at least, of the share of
    right answers that is lost at other shifts. An encoding breaks where it is BREAKS or more, and keeps where it is
    below. Holds where each absolute encoding that learned breaks, one of distance keeps, and none of distance breaks;
    holds of absolute encodings by name where others of them keep; holds of the break alone where one of distance breaks
    too, or none is known to keep, since then the index is not shown to be the cause; does not hold where every absolute
    one keeps. Inconclusive where the interval of an absolute one covers both, or none of them learned the task."""
    rows = numbers["encodings"]
    absolute, distance = _broken(rows, "absolute"), _broken(rows, "relative")
    breaks = [name for name, broken in absolute.items() if broken]
    told = f"{numbers['task']}, trained after {numbers['shift']} blanks: {'; '.join(map(_each, rows))}."
    if not absolute or None in absolute.values():
        return Verdict("inconclusive", told)
    if not breaks:
        return Verdict("does not hold", f"No absolute encoding that learned it breaks. {told}")
    named = f"{' and '.join(breaks)} positions"
    if others := [name for name, broken in distance.items() if broken]:
        cause = f"the index is not its only cause, since {' and '.join(others)} breaks too"
        return Verdict("holds if", f"It holds of the break alone, under {named}: {cause}. {told}")
    if False not in distance.values():
        cause = "that the index is its cause is open, since no encoding of distance is known to keep"
        return Verdict("holds if", f"It holds of the break alone, under {named}: {cause}. {told}")
    if len(breaks) < len(absolute):
        return Verdict("holds if", f"It holds of {named}: others keep. {told}")
    return Verdict("holds", told)


def _broken(rows: list, asked: str) -> dict[str, bool | None]:
    """Whether each encoding of a kind that learned the task breaks; None where its interval covers both."""
    learned = [(name, low, high) for name, kind, *_, low, high, _, _ in rows if kind == asked and low is not None]
    return {name: low >= BREAKS if (low >= BREAKS) == (high >= BREAKS) else None for name, low, high in learned}


def _each(row: list) -> str:
    encoding, _, runs, learned, right, lost, low, high, fewer, more = row
    if low is None:
        return f"{encoding} has learned it in {learned} of {runs} runs"
    return (
        f"{encoding} {right:.2f} right, {lost:.2f} less at other shifts ({low:.2f} to {high:.2f}; {fewer:.2f} less "
        f"after fewer blanks, {more:.2f} after more; {learned} of {runs} runs)"
    )

"""The rule of C05: sinusoidal positions reach past the training length."""

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import interval

RISE = 0.1
"""Nats a token: by how much the loss may rise at twice the training length. A reader who cut the text to the training
length would have no rise at all."""

CORRECTED = (
    "the part that waited for trained models is judged now, by the rise of each of them at twice the training length; "
    "the limit is the one that was set when there were none, and models that have not learned the text are no evidence"
)


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where a value is missing. Else by how much the loss of trained models rises at twice the training
    length, as an interval over all seeds: holds where it lies up to RISE, does not hold where above, inconclusive where
    across, or where a run has not learned the text within the training length."""
    if not numbers["values_exist"]:
        return Verdict("does not hold", f"Values are missing or not finite up to {numbers['furthest']:,}.")
    exist = f"Values exist: all are finite and within [-1, 1], at places up to {numbers['furthest']:,}."
    runs = numbers["runs"]
    usable = [rise for _, _, learned, _, rise in runs if learned and rise is not None]
    if len(usable) < len(runs):
        lost = f"of {len(runs)} trained models {len(runs) - len(usable)} know no more than byte frequencies"
        return Verdict("inconclusive", f"{exist} Whether a model can use them is open: {lost}, or have no loss there.")
    found = interval(usable)
    told = (
        f"{exist} At {numbers['length']} bytes, twice the training length, the loss of {found.seeds} trained models "
        f"rises by {found.text} nats a byte (allowed: {RISE:g})."
    )
    if found.high <= RISE:
        return Verdict("holds", told)
    return Verdict("does not hold" if found.low > RISE else "inconclusive", told)

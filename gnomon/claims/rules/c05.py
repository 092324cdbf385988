"""The rule of C05: sinusoidal positions reach past the training length."""

from gnomon.claims.claim import Numbers, Verdict

RISE = 0.1
"""Nats a token: by how much the loss may rise at twice the training length."""


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where a value is missing. Where a trained model's rise of the loss is known, by its interval:
    holds where it lies below RISE, does not hold where above, inconclusive where across. Not measured yet where
    it is not known."""
    if not numbers["values_exist"]:
        return Verdict("does not hold", f"Values are missing or not finite up to {numbers['furthest']:,}.")
    exist = f"Values exist: all are finite and within [-1, 1], at places up to {numbers['furthest']:,}."
    low, high = numbers["loss_rise_low"], numbers["loss_rise_high"]
    if low is None or high is None:
        return Verdict("not measured yet", f"{exist} Whether a model can use them waits for C13.")
    told = f"{exist} At twice the training length the loss rises by {low:.3f} to {high:.3f} nats (allowed: {RISE:g})."
    if high <= RISE:
        return Verdict("holds", told)
    return Verdict("does not hold" if low > RISE else "inconclusive", told)

"""The rule of C31: what one token at an undefined position disturbs."""

from gnomon.claims.claim import Numbers, Verdict

ALL = 0.99
"""The share of tokens whose outputs have to change, for all of them to: in float64 a change that is there may still
leave one of a hundred as it was."""
HARM = 0.1
"""Nats a byte by which the loss of the tokens after it has to rise, for the noise to be called poison: the lab counts a
loss as holding up to that much above another."""


def rule(numbers: Numbers) -> Verdict:
    """An output has changed where a bit of it has; which outputs do is a property of a model, so that all runs and
    seeds are asked, and the run that says most against it is judged. Of learned positions, one token put at the first
    place past training: does not hold where without a mask some output stays as it was, or behind a causal mask some
    of a later token. Holds where causal outputs before it change as well; holds if attention is bidirectional where
    they are equal to the bit. Whether it is poison is judged by the 95 % interval over seeds of the rise of the loss of
    the later tokens: where it lies up to HARM, only changes of bits are meant; where across, that is open, and told.
    Inconclusive where no trained model was asked.
    """
    free = [row for row in numbers["untrained"] if row[0] == "bidirectional"]
    causal = [row for row in numbers["untrained"] if row[0] == "causal"]
    trained = [row for row in numbers["trained"] if row[0] == "learned" and row[3] is not None]
    told = _told(numbers, trained)
    if not trained:
        return Verdict("inconclusive", f"No trained model of learned positions could be asked. {told}")
    everywhere = min(min(row[2:]) for row in free)
    before = [row[2] for row in causal] + [row[3] for row in trained]
    after = [row[4] for row in causal] + [row[4] for row in trained]
    if everywhere < ALL or min(after) < ALL or 0 < max(before) < ALL:
        return Verdict("does not hold", told)
    if min(before) >= ALL:
        return Verdict("holds", told)
    _, low, high, _ = numbers["harm"]
    if low is None or low <= HARM < high:
        return Verdict("holds if", f"It holds if attention is bidirectional; whether it is poison is open. {told}")
    if high <= HARM:
        return Verdict("holds if", f"It holds if attention is bidirectional and a changed bit disturbs. {told}")
    return Verdict("holds if", f"It holds if attention is bidirectional: behind a causal mask the past is safe. {told}")


def _told(numbers: Numbers, trained: list) -> str:
    free = [row for row in numbers["untrained"] if row[0] == "bidirectional"]
    least = min(min(row[2:]) for row in free)
    labels = dict.fromkeys(row[0] for row in numbers["trained"] if row[3] is not None)
    each = [
        f"{label} {_mean(numbers['trained'], label, 5)} and {_mean(numbers['trained'], label, 6)} nats"
        for label in labels
    ]
    earlier, later = ([row[at] for row in trained] for at in (3, 4))
    ends = (
        f"behind a causal mask, in trained models, {max(earlier):.0%} of those before it at most and "
        f"{min(later):.0%} of those after it at least"
        if trained
        else "nothing is known of trained models"
    )
    return (
        f"With token {numbers['at']} of {numbers['tokens']} put at {numbers['to']:g}, {least:.0%} of the outputs "
        f"change without a mask (untrained, {len(free)} seeds, at least); {ends}. The loss of the latter rises by "
        f"{_interval(numbers['harm'])} nats (poison: more than {HARM:g}). Relative change of later outputs, and of "
        f"their loss: {', '.join(each) or 'unknown'}."
    )


def _mean(rows: list, label: str, column: int) -> str:
    values = [row[column] for row in rows if row[0] == label and row[column] is not None]
    return f"{sum(values) / len(values):.2g}" if values else "unknown"


def _interval(row: list) -> str:
    mean, low, high, seeds = row
    if mean is None:
        return "an unknown number of"
    return f"{mean:.2f}, one seed," if low is None else f"{mean:.2f} [{low:.2f}, {high:.2f}, {seeds} seeds]"

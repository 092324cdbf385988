"""The rule of C11: whether SeqPE adapts to long texts, and ends somewhere."""

from gnomon.claims.claim import Numbers, Verdict

RISE = 0.1
"""Nats a byte by which the loss may rise and still hold: the lab's own tolerance."""


def rule(numbers: Numbers) -> Verdict:
    """Of SeqPE as published, which reads the digits of a position, and of the chain as which the document tells of it,
    by 95 % intervals over the seeds that learned. It adapts where the rise of the loss lies up to RISE at the first
    measured length past training and at twice training; not so where it lies above at one of them. It is limited where
    the rise at the longest measured length lies above RISE, and not as far as was measured where it lies up to it.
    Holds where both adapt and are limited; holds of the parts that are so; does not hold where none is and one is known
    not to be; inconclusive where all is open. How far positions of each are defined is told beside it."""
    found = {}
    for label, near, twice, longest in _rises(numbers):
        found[f"{label} adapting"] = _all(_holds(near), _holds(twice))
        held = _holds(longest)
        found[f"{label} being limited"] = None if held is None else not held
    told = _told(numbers)
    so, no, rest = ([part for part, answer in found.items() if answer is wanted] for wanted in (True, False, None))
    if len(so) == len(found):
        return Verdict("holds", told)
    others = [f"Not of {', '.join(no)}." * bool(no), f"Open: {', '.join(rest)}." * bool(rest)]
    told = " ".join(filter(None, [*others, told]))
    if so:
        return Verdict("holds if", f"It holds of {', '.join(so)}. {told}")
    return Verdict("does not hold" if no else "inconclusive", told)


def _rises(numbers: Numbers) -> list:
    """Of each label the intervals at the three lengths."""
    labels = [*dict.fromkeys(row[0] for row in numbers["rises"])]
    return [[label, *(row[2:] for row in numbers["rises"] if row[0] == label)] for label in labels]


def _holds(interval: list) -> bool | None:
    _, low, high, _ = interval
    return None if low is None or low <= RISE < high else high <= RISE


def _all(*answers: bool | None) -> bool | None:
    return False if False in answers else None if None in answers else True


def _told(numbers: Numbers) -> str:
    each = [
        f"{label} {', '.join(_interval(interval) for interval in intervals)}"
        for label, *intervals in _rises(numbers)
    ]  # fmt: skip
    losses = {}
    for label, _, _, loss, *_ in numbers["text"]:
        losses.setdefault(label, []).extend([loss] * (loss is not None))
    known = ", ".join(f"{label} {sum(found) / len(found):.2f}" for label, found in losses.items() if found)
    ends = ", ".join(
        f"{label} {'anywhere' if last is None else f'up to {last:,}'}" for label, last in numbers["domains"]
    )
    return (
        f"Trained on {numbers['trained']} bytes, the loss at {numbers['near']}, {numbers['twice']} and "
        f"{numbers['longest']} rises by (nats, allowed {RISE:g}): {'; '.join(each)}. Loss within training: {known}. "
        f"Positions are defined: {ends}."
    )


def _interval(row: list) -> str:
    mean, low, high, _ = row
    if mean is None:
        return "unknown"
    return f"{mean:.2f}, one seed" if low is None else f"{mean:.2f} [{low:.2f}, {high:.2f}]"

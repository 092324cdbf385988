"""The rule of C35: whether SeqPE tells order better, and adapts to lengths more flexibly, than older encodings."""

from gnomon.claims.claim import Numbers, Verdict

NATS = 0.1
"""Nats a byte from which on two losses, or two rises, differ: up to that much a loss counts as holding in the lab."""
SHARE = 0.1
"""The share of all answers from which on two encodings differ in what they get right: one in ten, which is what
separates a task that counts as learned from one without a mistake."""

UNITS = {"loss": "nats", "answers": "right"}


def rule(numbers: Numbers) -> Verdict:
    """Of SeqPE as published, and of the chain as which the document tells of it, beside each encoding that the
    document names. Order: the loss on text within training, and the right answers there to tasks whose answers depend
    on order. Lengths: the rise of the loss at twice training, and the right answers past training to tasks that both
    learned. Each difference is a 95 % interval over seeds, paired. It is better where one of the two measures is better
    by NATS or SHARE and the other is not worse by as much; not better where neither is, or one is worse; open
    otherwise. At their best both are alike, and that is not better. Holds where all is better; holds of what is; does
    not hold where nothing is and something is known not to be; inconclusive where all is open."""
    cells = dict.fromkeys((part, label, rival) for part, _, label, rival, *_ in numbers["differences"])
    found = {
        f"{part} under {label} beside {rival}": _better(
            [_stands(row) for row in numbers["differences"] if (row[0], row[2], row[3]) == (part, label, rival)]
        )
        for part, label, rival in cells
    }
    told = _told(numbers)
    so, no, rest = ([cell for cell, answer in found.items() if answer is wanted] for wanted in (True, False, None))
    if len(so) == len(found):
        return Verdict("holds", told)
    others = [f"Not of {', '.join(no)}." * bool(no), f"Open: {', '.join(rest)}." * bool(rest)]
    told = " ".join(filter(None, [*others, told]))
    if so:
        return Verdict("holds if", f"It holds of {', '.join(so)}. {told}")
    return Verdict("does not hold" if no else "inconclusive", told)


def _stands(row: list) -> tuple | None:
    """Whether it is better, and whether it is worse, None of what is open; None of what could not be compared."""
    _, measure, _, _, mean, low, high, _ = row
    if mean is None:
        return None
    if low is None:
        return None, None
    least, low, high = (NATS, -high, -low) if measure == "loss" else (SHARE, low, high)
    better = True if low > least else False if high <= least else None
    return better, True if high < -least else False if low >= -least else None


def _better(stands: list) -> bool | None:
    known = [each for each in stands if each is not None]
    better, worse = [each for each, _ in known], [each for _, each in known]
    if True in worse:
        return False
    if True in better:
        return None if None in worse else True
    return None if None in better or not known else False


def _told(numbers: Numbers) -> str:
    each = {}
    for part, measure, label, rival, *interval in numbers["differences"]:
        each.setdefault((part, label, rival), []).append(f"{_interval(interval)} {UNITS[measure]}")
    cells = "; ".join(f"{part}, {label} less {rival}: {', '.join(of)}" for (part, label, rival), of in each.items())
    unlearned = {}
    for task, label, _, learned, *_ in numbers["answers"]:
        if not learned:
            unlearned.setdefault(label, {})[task] = None
    left = "; ".join(f"{label}: {', '.join(tasks)}" for label, tasks in unlearned.items())
    return (
        f"Differences in loss at {numbers['trained']} bytes, or in its rise from there to {numbers['twice']}, and in "
        f"the share right: {cells}. Tasks that some run did not learn, by encoding: {left or 'none'}."
    )


def _interval(row: list) -> str:
    mean, low, high, _ = row
    if mean is None:
        return "unknown"
    return f"{mean:+.2f}, one seed" if low is None else f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"

"""The rule of C32: whether far tokens draw attention past the training length, and the loss goes with it."""

from gnomon.claims.claim import Numbers, Verdict

GOES = 0.5
"""The rank correlation from which on the loss goes with the attention: of a dozen encodings in no order one order in
twenty has as much."""

ABSOLUTE = ("sinusoidal", "learned")
"""Of whom the document says it."""


def rule(numbers: Numbers) -> Verdict:
    """By 95 % intervals over seeds. Far tokens draw attention under an encoding where the share that falls on keys
    farther away than any in training, the mean over queries that have one and over heads, exceeds that of a head which
    looks at every key alike; not so where it lies below: then the model looks there less than one that knows nothing.
    Both absolute encodings are asked. The loss goes with it where the rank correlation over encodings, seed by seed, of
    that share and the rise of the loss is GOES or more; not so where it lies below. Holds where all three are so; holds
    of those that are; does not hold where none is and one is known not to be; inconclusive where all is open, or fewer
    than two seeds learned."""
    found = {f"attention drawn under {label} positions": _above(_row(numbers, label), 0) for label in ABSOLUTE}
    found["a loss that goes with it"] = _above(numbers["order"], GOES)
    told = _told(numbers)
    so, no, rest = ([part for part, answer in found.items() if answer is wanted] for wanted in (True, False, None))
    if len(so) == len(found):
        return Verdict("holds", told)
    others = [f"Not of {', '.join(no)}." * bool(no), f"Open: {', '.join(rest)}." * bool(rest)]
    told = " ".join(filter(None, [*others, told]))
    if so:
        return Verdict("holds if", f"It holds of {', '.join(so)}. {told}")
    return Verdict("does not hold" if no else "inconclusive", told)


def _row(numbers: Numbers, label: str) -> list:
    return next((row[1:] for row in numbers["excess"] if row[0] == label), [None] * 4)


def _above(interval: list, least: float) -> bool | None:
    _, low, high, _ = interval
    return None if low is None or low < least <= high else low >= least


def _told(numbers: Numbers) -> str:
    labels = dict.fromkeys(row[0] for row in numbers["runs"] if row[3] is not None)
    each = {label: (_mean(numbers["runs"], label, 3), _mean(numbers["runs"], label, 6)) for label in labels}
    ranked = sorted(each, key=lambda label: -each[label][0])
    listed = ", ".join(f"{label} {each[label][0]:.2f} ({_nats(each[label][1])})" for label in ranked)
    uniform = [row[5] for row in numbers["runs"] if row[5] is not None]
    even = f"{sum(uniform) / len(uniform):.2f}" if uniform else "unknown"
    excess = "; ".join(f"{label} {_interval(_row(numbers, label))}" for label in ABSOLUTE)
    return (
        f"At {numbers['length']} bytes, trained on {numbers['trained']}, the share of attention on keys farther away "
        f"than any in training (rise of the loss, nats): {listed or 'unknown'}; of a head that looks at every key "
        f"alike {even}. More than that: {excess}. Rank correlation of share and rise over {numbers['encodings']} "
        f"encodings: {_interval(numbers['order'])}."
    )


def _mean(rows: list, label: str, column: int) -> float | None:
    values = [row[column] for row in rows if row[0] == label and row[column] is not None]
    return sum(values) / len(values) if values else None


def _nats(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.2f}"


def _interval(row: list) -> str:
    mean, low, high, _ = row
    if mean is None:
        return "unknown"
    return f"{mean:.2f}, one seed" if low is None else f"{mean:.2f} [{low:.2f}, {high:.2f}]"

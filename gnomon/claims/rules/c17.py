"""The rule of C17: what a shift of all positions changes under absolute positions, and under relative ones."""

from gnomon.claims.claim import Numbers, Verdict

SEEN = 0.01
"""The relative change from which on something has changed: a hundredth, of vectors, of the weights of attention and of
outputs. Below it nobody would speak of another pattern."""
NOTHING = 1e-9
"""Up to which it has not: float64 leaves about 1e-12 of an equality after a few layers, and one rounding in float32 is
6e-8."""


def rule(numbers: Numbers) -> Verdict:
    """The change is a property of a model and no estimate, so it is judged by the run in which it is least, or most,
    and not by an interval; of each encoding all seeds are asked, also of runs that did not learn. Absolute positions
    change all where in every run what enters, the attention of each layer and the output change by SEEN or more; not so
    where something changes by less than that in one. Relative ones change nothing where in every run all of it stays
    within NOTHING; not so where something does not. The law says the same of untrained models at their default options:
    absolute ones break it, relative ones keep it, under each mask. Holds where all of it is so; holds of those
    encodings of which it is so; does not hold where it is so of none and one is known not to be; inconclusive where no
    run could be asked. Variants of relative encodings that change, since they read how long a text is, are told."""
    found = {
        label: _answer([row for row in numbers["trained"] if row[0] == label], kind)
        for label, kind in _kinds(numbers).items()
    }
    for name, _, kind, kept, _ in numbers["untrained"]:
        if name in found and kept != (kind == "relative"):
            found[name] = False
    told = _told(numbers)
    so, no, rest = ([label for label, answer in found.items() if answer is wanted] for wanted in (True, False, None))
    if len(so) == len(found):
        return Verdict("holds", told)
    others = [f"Not of {', '.join(no)}." * bool(no), f"Not asked: {', '.join(rest)}." * bool(rest)]
    told = " ".join(filter(None, [*others, told]))
    if so:
        return Verdict("holds if", f"It holds of {', '.join(so)}. {told}")
    return Verdict("does not hold" if no else "inconclusive", told)


def _kinds(numbers: Numbers) -> dict:
    """The kind of each encoding that the document calls absolute or relative."""
    return {row[0]: row[3] for row in numbers["trained"] if row[3] in ("absolute", "relative")}


def _answer(rows: list, kind: str) -> bool | None:
    changes = [row[4:8] for row in rows if None not in row[4:8]]
    if not changes:
        return None
    if kind == "absolute":
        return min(min(each) for each in changes) >= SEEN
    return max(max(each) for each in changes) <= NOTHING


def _told(numbers: Numbers) -> str:
    kinds = _kinds(numbers)
    absolute, relative = (
        [label for label, kind in kinds.items() if kind == wanted] for wanted in ("absolute", "relative")
    )
    changes = {label: [row for row in numbers["trained"] if row[0] == label and row[4] is not None] for label in kinds}
    each = [
        f"{label} {min(row[4] for row in rows):.2g} of what enters, {min(row[5] for row in rows):.2g} of attention and "
        f"{min(row[7] for row in rows):.2g} of the output at least, the loss by {_mean(rows, 8)} nats"
        for label in absolute
        if (rows := changes[label])
    ]
    most = {label: max(max(row[4:8]) for row in changes[label]) for label in relative if changes[label]}
    others = {
        label: max(row[7] for row in rows)
        for label in dict.fromkeys(row[0] for row in numbers["trained"] if row[3] == "other")
        if (rows := [row for row in numbers["trained"] if row[0] == label and row[7] is not None])
    }
    law = [(name, kind, kept) for name, _, kind, kept, _ in numbers["untrained"]]
    stay = sum(kept for name, kind, kept in law if name in relative)
    change = sum(not kept for name, kind, kept in law if name in absolute)
    variants = dict.fromkeys(name for name, kind, kept in law if kind == "relative" and name not in kinds and not kept)
    return (
        f"A shift by {numbers['by']:g} changes in trained models: {'; '.join(each) or 'unknown'}. Under relative ones "
        f"at most: {', '.join(f'{label} {value:.1e}' for label, value in most.items()) or 'unknown'}. Other outputs, "
        f"at most: {', '.join(f'{label} {value:.2g}' for label, value in others.items()) or 'none'}. Untrained, by the "
        f"law, {stay} cases of relative ones stay as they are and {change} of absolute ones do not"
        f"{'; nor do variants: ' + ', '.join(variants) if variants else ''}."
    )


def _mean(rows: list, column: int) -> str:
    values = [row[column] for row in rows if row[column] is not None]
    return f"{sum(values) / len(values):.2f}" if values else "unknown"

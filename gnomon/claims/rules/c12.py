"""The rule of C12: past its table a learned position is nothing."""

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, interval

KEEPS = 0.1
"""Nats a byte by which the loss may rise over that at the training length, on the same bytes, under a way to go on that
still has a meaning for the model: the rise up to which the lab lets a model count as holding
(`gnomon.lab.measures.TOLERANCE`). It adds a tenth to the perplexity of a byte."""

UNTRAINED = "an untrained row"


def rule(numbers: Numbers) -> Verdict:
    """A place past the table has no row where every run refuses it. An untrained row is nothing where the loss of
    models that read one rises by more than KEEPS a little past the training length and at twice that, as intervals over
    all seeds; it is something where it rises by no more than that at both. Clamping, wrapping and interpolation are
    other ways to go on, with rows that were trained.

    Does not hold where some run does not refuse such a place, or an untrained row is something. Where it is nothing:
    holds if nothing stands in for the missing row, where some other way keeps the loss within KEEPS at both
    lengths; holds where none does. Inconclusive where the interval of the untrained row lies across, or a run has not
    learned the text within the training length."""
    runs, lengths = numbers["runs"], numbers["lengths"]
    judged = lengths[:2]
    if taken := [
        f"seed {seed}: {refused} of {asked}" for seed, refused, asked in numbers["refused"] if refused < asked
    ]:
        return Verdict("does not hold", f"Not every length past the table is refused ({'; '.join(taken)}).")
    lost = [f"{row[0]}, seed {row[1]}" for row in runs if not row[2] or None in row[3 : 4 + len(judged)]]
    if any(each.startswith(UNTRAINED) for each in lost) or len(lost) == len(runs):
        return Verdict("inconclusive", f"Not learned in range, or no loss past it: {'; '.join(lost)}.")
    found = {}
    for policy in dict.fromkeys(row[0] for row in runs):
        mine = [row for row in runs if row[0] == policy]
        if not any(not row[2] or None in row[3 : 4 + len(judged)] for row in mine):
            found[policy] = [interval([row[4 + at] for row in mine]) for at in range(len(judged))]
    told = (
        f"A table of {numbers['trained_at']} rows, as long as texts of training, refuses every place past it in "
        f"{len(numbers['refused'])} runs of {len(numbers['refused'])}. Rise of the loss, nats a byte, at {judged[0]} "
        f"and {judged[1]} bytes: {'; '.join(_told(*each) for each in found.items())}.{_far(runs, lengths)}"
    )
    told += f" Not learned, or no loss past training: {'; '.join(lost)}." if lost else ""
    untrained = found[UNTRAINED]
    if all(each.high <= KEEPS for each in untrained):
        return Verdict("does not hold", f"Untrained rows are as good as trained ones. {told}")
    if not all(each.low > KEEPS for each in untrained):
        return Verdict("inconclusive", f"What an untrained row costs, intervals leave open. {told}")
    kept = [name for name, ends in found.items() if name != UNTRAINED and all(each.high <= KEEPS for each in ends)]
    if kept:
        return Verdict(
            "holds if", f"It holds if nothing stands in for the missing row: {' or '.join(kept)} does. {told}"
        )
    return Verdict("holds", told)


def _told(policy: str, rises: list[Interval]) -> str:
    return f"{policy} {' and '.join(each.text for each in rises)}"


def _far(runs: list, lengths: list) -> str:
    """Means at the longest length, of all that were measured there."""
    policies = dict.fromkeys(row[0] for row in runs)
    far = {name: [row[-1] for row in runs if row[0] == name and row[-1] is not None] for name in policies}
    means = "; ".join(f"{name} {sum(each) / len(each):.2f}" for name, each in far.items() if each)
    return f" At {lengths[-1]}: {means}." if means else ""

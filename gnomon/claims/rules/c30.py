"""The rule of C30: fast waves over-fit, and past the training length their phases come in combinations never seen."""

from typing import NamedTuple

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, difference, interval

RELIEF = 0.1
"""Nats a byte by which the loss past the training length has to fall when waves are held inside their trained range,
for them to have carried some of it: below that the lab lets a model count as holding (`gnomon.lab.measures.TOLERANCE`),
so there would be nothing to carry. Holding added waves also hides the order of the tokens that are held, so what it
brings is what it mends less what it hides; of RoPE it hides distances beyond those of training alone."""
UNSEEN = 0.5
"""The share of positions past training, up to twice its length, that have to bring a combination never seen: more than
half of them."""

LABEL, SEED, LEARNED, RISE, FAST, SLOW = 0, 1, 2, 4, 5, 6


class Carried(NamedTuple):
    """What holding waves brings, over all seeds."""

    rise: Interval
    fast: Interval
    slow: Interval
    lead: Interval
    """Fast less slow, seed by seed."""


def rule(numbers: Numbers) -> Verdict:
    """Of models with sinusoidal positions, past the training length, as intervals over all seeds. Fast waves are the
    fastest quarter, which all turn once or more within the training length; slow ones are the others. The fast carry
    the loss where holding them at the last trained position brings RELIEF or more, and more than holding the slow
    ones does; they carry some of it where it brings RELIEF or more, and less than that; they do not where it brings
    less than RELIEF. A combination of their phases was never seen where it lies farther from each trained one than
    neighbours lie from one another; combinations are new where UNSEEN of the positions past training have such.

    Holds where the fast waves carry the loss and combinations are new; holds of what is so where one is, or where the
    fast waves carry some of the loss; does not hold where neither is. Inconclusive where the interval of the fast waves
    lies across, where the loss does not rise by more than RELIEF, so that there is nothing to carry, or where a run has
    not learned the text within the training length. RoPE is told and decides nothing: the claim is of sinusoidal."""
    rows = {name: [row for row in numbers["runs"] if row[LABEL] == name] for name in ("sinusoidal", "rope")}
    lost = [row[SEED] for row in rows["sinusoidal"] if not row[LEARNED] or None in row]
    if lost:
        return Verdict(
            "inconclusive", f"Not learned in range, or not measured past it: seed {', '.join(map(str, lost))}."
        )
    found = _carried(rows["sinusoidal"])
    share, longest = numbers["unseen"][0][2], numbers["unseen"][0][1]
    told = (
        f"At {numbers['length']} bytes the loss of sinusoidal models, trained at {numbers['trained_at']}, rises by "
        f"{found.rise.text} nats. {_told(found, longest)} Of positions past training {share:.0%} bring fast phases in "
        "a combination never seen."
    )
    if rows["rope"] and not any(not row[LEARNED] or None in row for row in rows["rope"]):
        told += f" RoPE: {_told(_carried(rows['rope']), None)}"
    if found.rise.low <= RELIEF:
        return Verdict("inconclusive", f"The loss does not rise for certain, so there may be nothing to carry. {told}")
    new = share >= UNSEEN
    combined = "combinations never seen"
    if found.fast.high < RELIEF:
        if new:
            return Verdict("holds if", f"It holds of {combined}, not of fast waves that carry the loss. {told}")
        return Verdict("does not hold", told)
    if found.fast.low < RELIEF:
        return Verdict("inconclusive", f"What holding the fast waves brings, intervals leave open. {told}")
    if found.lead.low > 0:
        if new:
            return Verdict("holds", told)
        return Verdict("holds if", f"It holds of fast waves that carry the loss, not of {combined}. {told}")
    less = "less of it than slow ones" if found.lead.high < 0 else "not for certain more of it than slow ones"
    beside = f", and of {combined}" if new else f", not of {combined}"
    return Verdict("holds if", f"It holds of fast waves that carry some of the loss, {less}{beside}. {told}")


def _carried(rows: list) -> Carried:
    fast, slow = ({row[SEED]: row[column] for row in rows} for column in (FAST, SLOW))
    rise = interval([row[RISE] for row in rows])
    return Carried(rise, interval([*fast.values()]), interval([*slow.values()]), difference(fast, slow))


def _told(found: Carried, longest: float | None) -> str:
    waves = "" if longest is None else f" (wavelengths up to {longest:.0f})"
    return (
        f"Holding the fast waves{waves} brings {found.fast.text}, holding the slow ones {found.slow.text}; the fast "
        f"lead by {found.lead.text}."
    )

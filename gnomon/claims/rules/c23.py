"""The rule of C23: positions that are added once fade with depth, those that enter every layer stay."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, by_seed, difference, interval

GAIN = 0.1
"""Nats by which a model has to be better than one without positions: of one that has not learned to use them it says
nothing that they fade. It is what the lab calls learned."""
FALL = 0.1
"""The loss of R^2 that counts as fading: a tenth of what there is to tell of a place."""
HALF = 0.5
"""What has to remain, of a signal over its noise or of a share of the logits: below that more is gone than is left."""
PRESENT = 0.02
"""How much more of the logits places have to set, in the shallower layers, than without positions, so that there is
something to lose."""

PARTS = (
    "what can be read of positions added once",
    "the signal to noise of positions added once",
    "what attention makes of positions added once",
    "what attention makes of positions that enter every layer",
)

Values = Mapping[int, float]
"""A number of each seed."""


class Change(NamedTuple):
    """The means before and after, and the interval of what each seed changes."""

    before: float
    after: float
    interval: Interval

    @property
    def text(self) -> str:
        return f"{self.before:.2f} to {self.after:.2f} ({self.interval.text})"


def rule(numbers: Numbers) -> Verdict:
    """Judged by 95 % intervals over seeds, of encodings under which a model is better by GAIN than without positions.

    Added once, a position is in the residual stream and nowhere else, so there it is judged: from the input to what the
    last layer reads. It fades as something to be read where the R^2 of a linear guess falls by FALL or more, and
    as a signal where less than HALF of its signal to noise remains. What enters at every layer need not be in the
    stream at all, and is judged by what attention makes of it: the share of a query's logits that the places of the
    two tokens set, in the deeper half of the layers over the shallower. It stays where HALF of it remains. Positions
    added once are asked the same, and fade there where less remains; only encodings whose places set PRESENT more in
    the shallower half than without positions are asked. The stream under encodings of every layer is told, and not
    judged.

    Holds where all four parts are so of every encoding asked; holds of the parts, and the encodings, of which it is so;
    does not hold where no part of the first half is so of any encoding, nor the second half; inconclusive where
    intervals cover both, or models of either kind did not learn to use positions."""
    runs, layers, depth = numbers["runs"], numbers["layers"], numbers["depth"]
    kinds = {label: kind for label, _, kind, _ in runs}
    gains = {label: _gain(runs, label) for label, kind in kinds.items() if kind != "none"}
    used = [label for label, gain in gains.items() if gain is not None and gain.low >= GAIN]
    once, every = ([label for label in used if kinds[label] == kind] for kind in ("once", "every layer"))
    stream = {label: _stream(layers, label, depth) for label in kinds}
    noise = {label: _noise(layers, label, depth) for label in used}
    logits = {label: _attention(layers, label, depth) for label in used if _present(layers, label, depth)}
    told = _told(kinds, gains, used, depth, (stream, noise, logits))
    if not once or not every:
        return Verdict("inconclusive", f"Positions of both kinds have to be in use. {told}")
    parts = [
        _part(stream, once, lambda change: _below(change, -FALL)),
        _part(noise, once, lambda change: _below(change, HALF)),
        _part(logits, once, lambda change: _below(change, HALF)),
        _part(logits, every, lambda change: _above(change, HALF)),
    ]
    if all(found and {*found.values()} == {"yes"} for found in parts):
        return Verdict("holds", told)
    held = [_of(name, found, "yes") for name, found in zip(PARTS, parts, strict=True) if "yes" in found.values()]
    if held:
        return Verdict("holds if", f"It holds of {' and of '.join(held)}: {_rest(parts)}. {told}")
    asked = [found for found in parts[:3] if found]
    if asked and all({*found.values()} == {"no"} for found in asked):
        return Verdict("does not hold", f"No part of it is so of {_and(once)}. {told}")
    return Verdict("inconclusive", told)


def _gain(runs: Sequence, label: str) -> Interval | None:
    """By how many nats a model is better than without positions."""
    own, without = by_seed(runs, label, 3), by_seed(runs, "none", 3)
    return difference(without, own) if own.keys() & without.keys() else None


def _at(layers: Sequence, label: str, at: int, column: int) -> Values:
    return by_seed([row for row in layers if row[2] == at], label, column)


def _change(before: Values, after: Values, change: Callable[[float, float], float]) -> Change | None:
    """None where no seed has both, or something would remain of nothing."""
    both = sorted(before.keys() & after.keys())
    if not both or (change is _remains and min(before[seed] for seed in both) <= 0):
        return None
    means = (math.fsum(values[seed] for seed in both) / len(both) for values in (before, after))
    return Change(*means, interval([change(before[seed], after[seed]) for seed in both]))


def _remains(before: float, after: float) -> float:
    return after / before


def _falls(before: float, after: float) -> float:
    return after - before


def _stream(layers: Sequence, label: str, depth: int) -> Change | None:
    """R^2 of a linear guess: at the input, and in what the last layer reads."""
    return _change(_at(layers, label, 0, 3), _at(layers, label, depth - 1, 3), _falls)


def _noise(layers: Sequence, label: str, depth: int) -> Change | None:
    """Signal to noise there: the share of the variance that places set, over the rest."""
    signals = []
    for at in (0, depth - 1):
        shares = {seed: max(share, 0.0) for seed, share in _at(layers, label, at, 4).items()}
        signals.append({seed: share / (1 - share) for seed, share in shares.items() if share < 1})
    return _change(*signals, _remains)


def _half(layers: Sequence, label: str, which: range) -> Values:
    """What places set of the logits, the mean over layers."""
    each = [_at(layers, label, at, 5) for at in which]
    seeds = set.intersection(*({*values} for values in each))
    return {seed: math.fsum(values[seed] for values in each) / len(each) for seed in seeds}


def _attention(layers: Sequence, label: str, depth: int) -> Change | None:
    """The same in the shallower and in the deeper half of the layers."""
    halves = range(depth // 2), range(depth // 2, depth)
    return _change(*(_half(layers, label, which) for which in halves), _remains)


def _present(layers: Sequence, label: str, depth: int) -> bool:
    own, without = (_half(layers, name, range(depth // 2)) for name in (label, "none"))
    return bool(own.keys() & without.keys()) and difference(own, without).low >= PRESENT


def _below(change: Change, limit: float) -> str:
    """Whether the interval lies up to a limit, above it, or across."""
    return "yes" if change.interval.high <= limit else "no" if change.interval.low > limit else "open"


def _above(change: Change, limit: float) -> str:
    return "yes" if change.interval.low >= limit else "no" if change.interval.high < limit else "open"


def _part(found: Mapping[str, Change | None], labels: Sequence[str], judge: Callable[[Change], str]) -> dict[str, str]:
    return {label: judge(found[label]) for label in labels if found.get(label) is not None}


def _of(name: str, found: Mapping[str, str], state: str) -> str:
    """A part, and under which encodings, where it is not so of all."""
    of = [label for label, its in found.items() if its == state]
    return name if len(of) == len(found) else f"{name} under {_and(of)}"


def _rest(parts: Sequence[Mapping[str, str]]) -> str:
    """What is otherwise, what is open, and what could not be asked."""
    told = []
    for state, word in (("no", "not so of"), ("open", "open of")):
        named = [_of(name, found, state) for name, found in zip(PARTS, parts, strict=True) if state in found.values()]
        told += [f"{word} {' and of '.join(named)}"] * bool(named)
    lacking = [name for name, found in zip(PARTS, parts, strict=True) if not found]
    told += [f"not asked of {' and of '.join(lacking)}"] * bool(lacking)
    return "; ".join(told)


def _told(
    kinds: Mapping[str, str],
    gains: Mapping[str, Interval | None],
    used: Sequence[str],
    depth: int,
    found: tuple[Mapping[str, Change | None], ...],
) -> str:
    """The numbers, in sentences."""

    def each(changes: Mapping[str, Change | None], kind: str = "") -> str:
        named = [label for label in used if kind in ("", kinds[label])]
        return ", ".join(f"{label} {changes[label].text}" for label in named if changes.get(label)) or "of none"

    stream, noise, logits = found
    nothing = stream.get("none")
    idle = {label: gain for label, gain in gains.items() if label not in used}
    gone = [f"{label} ({gain.text})" if gain else f"{label} (no run)" for label, gain in idle.items()]
    told = [
        f"R^2 of a linear guess of the place, from the input to what the last of {depth} layers reads (the change): "
        f"{each(stream, 'once')}",
        f"Not judged, since it need not be there: {each(stream, 'every layer')}",
        f"Without positions: {nothing.text if nothing else 'not known'}",
        f"Signal to noise (and what remains of it): {each(noise, 'once')}",
        f"Share of the logits that places set, from the shallower to the deeper half (what remains): {each(logits)}",
    ]
    told += [f"Not for certain {GAIN:g} nats better than without positions: {', '.join(gone)}"] * bool(gone)
    return ". ".join(told) + "."


def _and(named: Sequence[str]) -> str:
    return " and ".join([", ".join(named[:-1])] * (len(named) > 1) + [*named[-1:]])

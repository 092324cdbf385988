"""The rule of C20: whether positions on a time axis tie a model to absolute time."""

from collections.abc import Sequence

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, difference, interval

LOST = 0.1
"""How many of all answers have to be lost at a later time, for a model to be tied to the time of its training: one in
ten."""

ABSOLUTE = ("learned", "sinusoidal")
"""The encodings whose positions are those of the document: of a place and not of a distance."""
RELATIVE = ("shaw", "transformer_xl", "t5", "deberta", "rope", "alibi")
KEPT = (
    f"no more than {LOST:g} of all answers are lost at a later time, or no more of them than by encodings of distance"
)

TASK, LEARNED, PLAIN, NEAR, FAR = range(2, 7)


def rule(numbers: Numbers) -> Verdict:
    """Of each absolute encoding on each task of which every run has learned the task at the time of training: tied,
    where the interval of the answers lost at the farther time lies above LOST, and where, seed by seed, more than LOST
    are lost than by the middle one of the encodings of distance that have learned it; free, where either lies below;
    otherwise open. Holds where all are tied, holds of those that are; does not hold where all are free; inconclusive
    where none is tied and some are open, or none has learned a task. What is lost at the nearer time, by all others,
    and what real time stamps are worth beside counting, is told and decides nothing."""
    rows, cells = numbers["runs"], {}
    for task in _several(rows, TASK):
        runs = _by_encoding(rows, task)
        for encoding in ABSOLUTE:
            if encoding in runs and _learned(runs[encoding]):
                cells[task, encoding] = _word(runs, encoding)
    told = _told(numbers)
    tied, free, unknown = ([cell for cell, word in cells.items() if word == of] for of in ("tied", "free", "open"))
    if tied and len(tied) == len(cells):
        return Verdict("holds", told)
    if tied:
        rest = [f"not of {_cells(free)}"] * bool(free) + [f"open of {_cells(unknown)}"] * bool(unknown)
        return Verdict("holds if", f"It holds of {_cells(tied)}; {', '.join(rest)}. {told}")
    if free and not unknown:
        return Verdict("does not hold", f"Of {_cells(free)}: {KEPT}. {told}")
    if not cells:
        return Verdict("inconclusive", f"No absolute encoding has learned a task in every run. {told}")
    return Verdict("inconclusive", f"Whether {_cells(unknown)} lose is not told by these seeds. {told}")


def _word(runs: dict[str, list], encoding: str) -> str:
    lost = _lost(runs[encoding], FAR)
    found = [interval([*lost.values()])]
    if beside := _middle(runs):
        found += [difference(lost, beside)] if lost.keys() & beside.keys() else []
    if all(each.low > LOST for each in found):
        return "tied"
    return "free" if any(each.high < LOST for each in found) else "open"


def _middle(runs: dict[str, list]) -> dict[int, float]:
    """By seed, what the middle one of the encodings of distance loses that have learned the task."""
    each = [_lost(runs[name], FAR) for name in RELATIVE if name in runs and _learned(runs[name])]
    seeds = set.intersection(*(set(lost) for lost in each)) if each else set()
    return {seed: _median([lost[seed] for lost in each]) for seed in sorted(seeds)}


def _median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _several(rows: Sequence[Sequence], column: int) -> list:
    return [*dict.fromkeys(row[column] for row in rows)]


def _by_encoding(rows: Sequence[Sequence], task: str) -> dict[str, list]:
    """The runs of a task by encoding, whatever its options."""
    found: dict[str, list] = {}
    for row in rows:
        if row[TASK] == task:
            found.setdefault(row[0].split()[0], []).append(row)
    return found


def _learned(rows: Sequence[Sequence]) -> bool:
    return all(row[LEARNED] and None not in row for row in rows)


def _lost(rows: Sequence[Sequence], column: int) -> dict[int, float]:
    return {row[1]: row[PLAIN] - row[column] for row in rows}


def _cells(cells: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{encoding} on {task}" for task, encoding in cells)


def _told(numbers: Numbers) -> str:
    """What each absolute encoding loses, the most that another loses, and who has not learned the task, by task."""
    rows, parts = numbers["runs"], []
    for task in _several(rows, TASK):
        runs = _by_encoding(rows, task)
        learned = {name: each for name, each in runs.items() if _learned(each)}
        absolute = [f"{name} {_both(learned[name])}" for name in ABSOLUTE if name in learned]
        others = {name: _mean(each, FAR) for name, each in learned.items() if name not in ABSOLUTE}
        most = max(others, key=lambda name: abs(others[name]), default=None)
        lost = [*absolute, *([f"of {len(others)} others {most} the most, {others[most]:.3f}"] if most else [])]
        missing = [name for name in runs if name not in learned]
        parts.append(
            f"{task}: {'; '.join(lost) or 'none has learned it'}"
            + (f"; not learned by every seed: {', '.join(missing)}" if missing else "")
            + "."
        )
    head = f"Of all answers lost {numbers['near']} and {numbers['far']} intervals later."
    return " ".join([head, *parts, *_stamps(rows, numbers["stamped"], numbers["counted"])])


def _both(rows: Sequence[Sequence]) -> str:
    far: Interval = interval([*_lost(rows, FAR).values()])
    return f"{_mean(rows, NEAR):.3f} and {far.text}"


def _mean(rows: Sequence[Sequence], column: int) -> float:
    return interval([*_lost(rows, column).values()]).mean


def _stamps(rows: Sequence[Sequence], stamped: str, counted: str) -> list[str]:
    """What is gained where irregular samples are read at their moments, and not counted, of all answers."""
    time, count = _by_encoding(rows, stamped), _by_encoding(rows, counted)
    right = {
        name: [{row[1]: row[PLAIN] for row in runs[name]} for runs in (time, count)] for name in time.keys() & count
    }
    known = {name: each for name, each in sorted(right.items()) if None not in [*each[0].values(), *each[1].values()]}
    gains = [f"{name} {difference(*each).text}" for name, each in known.items() if each[0].keys() & each[1].keys()]
    return [
        f"More answers right with the moments of irregular samples than with their count: {'; '.join(gains)}."
    ] * bool(gains)

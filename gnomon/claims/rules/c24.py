"""The rule of C24: a cue that always stands at the start is learned by its place and missed elsewhere."""

from collections.abc import Sequence

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, difference, interval

LEARNED = 0.9
"""Share of answers right where the cue stands as in training, in every run, from which on an encoding has learned the
task: that of the lab. What has not says nothing of other places."""
FALL = 0.1
"""By how much fewer answers have to be right elsewhere to be called a fall: as many as a model that has learned the
task may miss."""
MORE = 0.05
"""By how much a fall has to grow over a sweep to count at all: half of the least fall."""
ROOM = 0.1
"""How far above a guess answers elsewhere have to be, for a fall to have room to grow: as much as the least fall."""

ABSOLUTE = ("learned", "sinusoidal")
RELATIVE = ("shaw", "transformer_xl", "t5", "deberta", "rope", "alibi")

LABEL, SEED, SEQUENCES, PARAMETERS, START, MIDDLE, END = range(7)


def rule(numbers: Numbers) -> Verdict:
    """Of the absolute encodings that have learned the task at the start: does not hold where none falls elsewhere by
    FALL, inconclusive where none has learned it or no fall is known. Else parts are judged: the fall; its place as the
    reason (trained with the cue anywhere, the same encodings do not fall); that relative encodings fall less; that the
    fall grows with less data and with more parameters, by ends of the sweeps. Holds where all parts do, else holds of
    those that do. Everything by intervals over seeds, two encodings or two ends seed by seed."""
    runs = _by_label(numbers["by_encoding"])
    falls = {label: interval([*_falls(rows).values()]) for label, rows in runs.items() if _learned(rows)}
    asked = [label for label in ABSOLUTE if label in falls]
    unlearned = [label for label in runs if label not in falls]
    told = _told(runs, falls) + (f" Not learned at the start: {_names(unlearned)}." if unlearned else "")
    if not asked:
        return Verdict("inconclusive", f"No absolute encoding has learned the task where it was trained. {told}")
    if all(falls[label].high < FALL for label in asked):
        return Verdict("does not hold", f"Elsewhere {_names(asked)} positions find the cue as well. {told}")
    down = [label for label in asked if falls[label].low > FALL]
    if not down:
        return Verdict("inconclusive", f"Whether answers fall by {FALL:g} is not told by these seeds. {told}")
    whole = len(down) == len(ABSOLUTE)
    parts = {
        "a fall elsewhere" if whole else f"a fall elsewhere of {_names(down)} positions": ("yes", ""),
        "the place as its reason": _reason(_by_label(numbers["anywhere"]), down),
        "relative encodings falling less": _freer(runs, falls, down),
        "a larger fall with less data": _grown(numbers["by_data"], down, SEQUENCES, numbers["chance"]),
        "a larger fall with more parameters": _grown(numbers["by_size"], down, PARAMETERS, numbers["chance"]),
    }
    told = " ".join([told, *(text for _, text in parts.values() if text)])
    holds, not_so, unknown = ([part for part, (word, _) in parts.items() if word == of] for of in ("yes", "no", "open"))
    if whole and len(holds) == len(parts):
        return Verdict("holds", told)
    rest = [f"not of {' or '.join(not_so)}"] * bool(not_so) + [f"open: {', '.join(unknown)}"] * bool(unknown)
    return Verdict("holds if", f"It holds of {' and of '.join(holds)}; {'; '.join(rest) or 'that is all'}. {told}")


def _reason(anywhere: dict[str, list], down: Sequence[str]) -> tuple[str, str]:
    """Whether those that fall do not when the cue was anywhere in training."""
    found = {label: interval([*_falls(anywhere[label]).values()]) for label in down if _learned(anywhere.get(label))}
    text = (
        f"Trained with the cue anywhere: {_falling(found)}." if found else "Trained with it anywhere none learned it."
    )
    if any(each.low > FALL for each in found.values()):
        return "no", text
    return "yes" if len(found) == len(down) and all(each.high < FALL for each in found.values()) else "open", text


def _freer(runs: dict[str, list], falls: dict[str, Interval], down: Sequence[str]) -> tuple[str, str]:
    """Whether relative encodings fall less, by the means of both kinds in each seed."""
    relative = [label for label in RELATIVE if label in falls]
    if not relative:
        return "open", "No relative encoding has learned the task."
    apart = difference(_mean_falls(runs, down), _mean_falls(runs, relative))
    text = f"Absolute less relative ({_names(relative)}): {apart.text}."
    return "yes" if apart.low > 0 else "no" if apart.high < MORE else "open", text


def _grown(rows: Sequence[Sequence], down: Sequence[str], column: int, chance: float) -> tuple[str, str]:
    """Whether the fall grows from the end of a sweep that is said to be better to the other."""
    found, room, texts = {}, True, []
    for label, each in _by_label(rows).items():
        amounts = sorted({row[column] for row in each}, reverse=column == SEQUENCES)
        at = {amount: [row for row in each if row[column] == amount] for amount in amounts}
        learned = [amount for amount in amounts if _learned(at[amount])]
        lost = [amount for amount in amounts if amount not in learned]
        name = "sequences" if column == SEQUENCES else "parameters"
        text = f"{label}" + (f" (not learned at {', '.join(f'{amount:,}' for amount in lost)})" if lost else "")
        if len(learned) < 2:
            texts.append(f"{text} learned at no two numbers of {name}")
            continue
        better, worse = learned[0], learned[-1]
        grown = difference(_falls(at[worse]), _falls(at[better]))
        texts.append(f"{text} {grown.text} from {better:,} to {worse:,} {name}")
        if label in down:
            found[label] = grown
            elsewhere = [(row[MIDDLE] + row[END]) / 2 for row in at[better]]
            room = room and sum(elsewhere) / len(elsewhere) > chance + ROOM
    text = f"The fall grows by: {'; '.join(texts)}."
    if not found:
        return "open", text
    if all(each.low > 0 for each in found.values()):
        return "yes", text
    if not room:
        return (
            "open",
            f"{text} It has no room to grow: elsewhere answers are little better than a guess from the first.",
        )
    return "no" if all(each.high < MORE for each in found.values()) else "open", text


def _by_label(rows: Sequence[Sequence]) -> dict[str, list]:
    found: dict[str, list] = {}
    for row in rows:
        found.setdefault(row[LABEL], []).append(row)
    return found


def _learned(rows: Sequence[Sequence] | None) -> bool:
    return bool(rows) and all(row[START] is not None and row[START] >= LEARNED for row in rows)


def _falls(rows: Sequence[Sequence]) -> dict[int, float]:
    """By seed, how many fewer answers are right elsewhere than at the start: the mean of middle and end."""
    return {row[SEED]: row[START] - (row[MIDDLE] + row[END]) / 2 for row in rows}


def _mean_falls(runs: dict[str, list], labels: Sequence[str]) -> dict[int, float]:
    """The mean fall of some encodings, of each seed that all of them have."""
    each = [_falls(runs[label]) for label in labels]
    shared = set.intersection(*(set(falls) for falls in each))
    return {seed: sum(falls[seed] for falls in each) / len(each) for seed in sorted(shared)}


def _told(runs: dict[str, list], falls: dict[str, Interval]) -> str:
    """Answers that are right at the start, in the middle and at the end, and the fall."""
    told = []
    for label, fall in falls.items():
        start, middle, end = (sum(row[at] for row in runs[label]) / len(runs[label]) for at in (START, MIDDLE, END))
        told.append(f"{label} {start:.2f}, {middle:.2f}, {end:.2f}, a fall of {fall.text}")
    return f"Right at the start, in the middle, at the end: {'; '.join(told) or 'none that has learned it'}."


def _falling(found: dict[str, Interval]) -> str:
    return ", ".join(f"{label} falls by {each.text}" for label, each in found.items())


def _names(labels: Sequence[str]) -> str:
    return ", ".join("no positions" if label == "none" else label for label in labels)

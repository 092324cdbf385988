"""The rule of C16: addition at 2.5 times the training length, under absolute positions and encodings of distance."""

from gnomon.claims.claim import Numbers, Verdict

FAILS = 0.5
"""The share of right answers up to which an encoding fails: more answers are wrong than right, of a model that had nine
in ten right within its training."""
MUCH = 0.2
"""How much more of all answers an encoding has to get right than the better absolute one, to be much freer of failing:
less than a fifth is not much, whatever its interval."""


def rule(numbers: Numbers) -> Verdict:
    """By 95 % intervals over the seeds that learned the task within training, two at least, in each way to write an
    addition. Absolute positions fail where the share of right answers of each that learned lies up to FAILS, and do not
    where that of one lies above. An encoding of distance is much freer where its lead over the better absolute one,
    seed by seed, is MUCH or more, and not where it is below. Holds where, however addition is written, absolute ones
    fail and each of distance that learned is much freer; holds if (which way to write it, which encodings) where some
    are so; holds of absolute positions alone where they fail and none of distance is freer; does not hold where
    absolute ones do not fail. Inconclusive where intervals cover both, or one of the two kinds did not learn the task.
    """
    rows = numbers["addition"]
    ways = {name: _way([row for row in rows if row[0] == name]) for name in _tasks(rows)}
    told = " ".join([*(_told(rows, name) for name in ways), *_others(numbers["others"])])
    found = [each for each, _ in ways.values()]
    freer = {name: encodings for name, (_, encodings) in ways.items() if encodings}
    if all(each == "all" for each in found):
        return Verdict("holds", told)
    if freer:
        meant = ", or ".join(f"the task is {name} and the encoding {' or '.join(each)}" for name, each in freer.items())
        return Verdict("holds if", f"It holds if {meant}: there absolute positions fail. {told}")
    if alone := [name for name, (each, _) in ways.items() if each == "absolute alone"]:
        where = " and ".join(alone)
        return Verdict("holds if", f"It holds of absolute positions alone, on {where}: they fail, others too. {told}")
    if "none" in found:
        return Verdict("does not hold", f"Absolute positions do not fail. {told}")
    return Verdict("inconclusive", told)


def _tasks(rows: list) -> list[str]:
    return [*dict.fromkeys(row[0] for row in rows)]


def _way(rows: list) -> tuple[str, list[str]]:
    """Of what it holds in one way to write addition, and which encodings are much freer than the absolute ones."""
    absolute = [row[6:8] for row in rows if row[2] == "absolute" and row[6] is not None]
    leads = {row[1]: row[9:] for row in rows if row[2] == "relative" and row[9] is not None}
    if any(low > FAILS for low, _ in absolute):
        return "none", []
    if not absolute or not leads or any(high > FAILS for _, high in absolute):
        return "unknown", []
    freer = [name for name, (low, _) in leads.items() if low >= MUCH]
    if freer:
        return "all" if len(freer) == len(leads) else "some", freer
    return "absolute alone" if all(high < MUCH for _, high in leads.values()) else "unknown", []


def _told(rows: list, task: str) -> str:
    """The numbers of one way to write addition, in a sentence."""
    return f"On {task}: {'; '.join(_each(row) for row in rows if row[0] == task and row[2] != 'other')}."


def _each(row: list) -> str:
    _, encoding, _, runs, learned, mean, low, high, _, least, most = row
    if low is None:
        return f"{encoding} has learned it in {learned} of {runs} runs"
    lead = "" if least is None else f", {least:+.2f} to {most:+.2f} beside absolute"
    return f"{encoding} {mean:.2f} right ({low:.2f} to {high:.2f}{lead}, {learned} of {runs} runs)"


def _others(rows: list) -> list[str]:
    """The means of other tasks over the encodings of each kind that learned them, in a sentence."""
    told = [f"{name} {_mean(rows, name, 'absolute')} and {_mean(rows, name, 'relative')}" for name in _tasks(rows)]
    return [f"Right on other tasks, absolute and of distance: {', '.join(told)}."] if told else []


def _mean(rows: list, task: str, asked: str) -> str:
    means = [mean for name, _, kind, _, _, mean, *_ in rows if (name, kind) == (task, asked) and mean is not None]
    return f"{sum(means) / len(means):.2f}" if means else "not learned"

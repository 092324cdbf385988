"""The rule of C14: far positions can look alike."""

from gnomon.claims.claim import Numbers, Verdict

FAR = 1_000
"""The lag from which on two places are called far: about as long as the texts (1,024) of the documents' example."""

CORRECTED = (
    "it said of widths that they are free of it though only lags up to 10^9 had been looked at, and over all lags none "
    "is; it kept one bound of each similarity, which can prove 'more alike' but not 'less'"
)


def rule(numbers: Numbers) -> Verdict:
    """A far place is taken for a near one where some lag from FAR on is proved closer than lag 1: more alike than
    neighbours, so no threshold is chosen. Within each number of places that was looked through: holds where that is so
    at every width; holds if the width is small, where it is so at the narrowest ones and proved not to be at others;
    holds if texts are longer, where it is so at none and the return of a sum of waves proves it beyond; does not hold
    where it is so at none and nothing is proved beyond; inconclusive where bounds meet, or it is so at some widths and
    not at the narrowest."""
    near = {width: (low, high) for width, low, high in numbers["neighbours"]}
    far = [row for row in numbers["ranges"] if row[1] >= FAR]
    last = {width: max(to for w, _, to, *_ in far if w == width) for width in near}
    parts, others, shown, undecided, some, all_alike = [], [], {max(near)}, [], [], True
    for reach in sorted(set(last.values())):
        states = {
            width: _state([row for row in far if row[0] == width and row[2] <= reach], near[width])
            for width in sorted(last)
            if last[width] >= reach
        }
        alike, apart = ([width for width, state in states.items() if state is asked] for asked in (True, False))
        undecided += [width for width, state in states.items() if state is None]
        all_alike, some = all_alike and not apart, [*some, *alike]
        narrow = [width for width in alike if not apart or width < min(apart)]
        shown |= {*narrow[-1:], *apart[:1]}
        if alike:
            within = f"within {_power(reach + 1)} places"
            parts.append(f"{max(narrow)} or less {within}" if narrow else "")
            also = f"also at {_listed(alike[len(narrow) :])} and " if len(alike) > len(narrow) else ""
            others += [f"{within} {also}proved not to at {_listed(apart)}"] if apart else []
    told = _closest(far, near, shown) + _beyond(numbers["latest"])
    if undecided:
        return Verdict("inconclusive", f"Bounds meet at width {_listed(undecided)}. {told}")
    if all_alike:
        return Verdict("holds", told)
    if some and all(parts):
        widths = f"the width is {', '.join(parts)}"
        return Verdict("holds if", f"It holds if {widths}: of the widths looked at, {'; '.join(others)}. {told}")
    if some:
        return Verdict("inconclusive", f"Width does not decide it: {'; '.join(others)}. {told}")
    if {width for width, *_ in numbers["latest"]} >= set(near):
        reach = _power(min(last.values()) + 1)
        return Verdict("holds if", f"It holds if texts are longer than {reach} places. {told}")
    return Verdict("does not hold", told)


def _state(rows: list, near: tuple) -> bool | None:
    """Whether some lag is closer than neighbours: rows and `near` are bounds of what a similarity lacks to 1."""
    low, high = near
    if any(most < low for *_, most in rows):
        return True
    return False if all(least >= high for *_, least, _ in rows) else None


def _closest(far: list, near: dict, shown: set) -> str:
    said = []
    for width in sorted(shown):
        _, _, _, lag, _, most = min((row for row in far if row[0] == width), key=lambda row: row[-1])
        places = _power(max(to for w, _, to, *_ in far if w == width) + 1)
        said.append(f"width {width}: {_alike(most)} at lag {lag:,} of {places}, {_alike(near[width][1])} at lag 1")
    return f"The similarity of the closest lag from {FAR:,} on, proved, beside that of neighbours: {'; '.join(said)}."


def _beyond(latest: list) -> str:
    if not latest:
        return ""
    width, _, power = max(latest)
    return (
        " Over all lags it happens at every even width, again and again, since a sum of waves comes back as near to "
        f"its first value as one likes: for the first time at lag 10^{int(power) + 1} at the latest, at width {width}."
    )


def _alike(lacks: float) -> str:
    return f"1 - {lacks:.1e}" if lacks < 1e-4 else f"{1 - lacks:.6f}"


def _power(number: int) -> str:
    text = str(number)
    return f"10^{len(text) - 1}" if text == "1" + "0" * (len(text) - 1) else f"{number:,}"


def _listed(widths: list) -> str:
    return ", ".join(map(str, dict.fromkeys(widths)))

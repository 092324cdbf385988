"""Uniqueness: which positions get equal rows in floating point, which come nearest, and where rounding begins."""

from collections.abc import Callable

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_held, check_size
from gnomon.analysis.duplicates import PAIRWISE, Nearest, collisions, duplicates, nearest
from gnomon.analysis.forms import Waves, form, scaled, vectors, waves
from gnomon.analysis.rounded_rows import Kept, kept_each, nearest_reals
from gnomon.analysis.stored import PRECISIONS, Precision, angles, dtype, holds, waved, without_waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.section import Figure, Line, Lines, Section, Table, Value, does_not_apply

KEY, TITLE = "uniqueness", "Uniqueness"
QUESTION = "Does every position have a row of its own, over the real numbers and as floating point stores it?"
_POINTS = 500

Cells = dict[tuple[Precision | None, Precision], Kept]
"""What is left of the rows, by the precision of the angle (None: there is none) and that of the table."""


@checked
def section(encoding: Encoding, positions: int = 8192, progress: Callable[[float], None] | None = None) -> Section:
    """Which of places 0 .. positions - 1 are told apart, in every precision and way of forming the angle.

    For an encoding that has a vector for each place, and for RoPE, whose rows are the cosines and sines of its angles.
    OptionError for fewer than 2 positions, or more than memory holds.
    """
    check_size(positions, "places whose rows are compared", 2)
    found = waves(encoding)
    if found is not None and found.frequencies:
        return _of_waves(encoding, found, positions, progress)
    if form(encoding) != "vector" or encoding.domain.axes != 1 or scaled(encoding) is not None:
        return does_not_apply(KEY, TITLE, QUESTION, _why_not(encoding))
    return _of_vectors(encoding, positions)


def _why_not(encoding: Encoding) -> str:
    why = without_waves(encoding)
    if form(encoding) == "bias" and encoding.domain.axes in (None, 1):
        return f"{why} From which distance on all have one bias is told in the section on the kernel."
    return why


def _of_waves(
    encoding: Encoding, found: Waves, positions: int, progress: Callable[[float], None] | None
) -> Section:  # fmt: skip
    ways = tuple(way for way in PRECISIONS if holds(way, positions - 1))
    cells = {(of.way, of.stored): of for of in kept_each(found, positions, ways, PRECISIONS, progress)}
    shared = _shared_values(found, positions)
    near = nearest_reals(found, positions)
    return Section(
        KEY,
        TITLE,
        QUESTION,
        _answer(found, cells, shared, near, positions),
        tables=_tables(cells, shared, positions),
        figures=_figures(cells, shared, positions),
        numbers={
            "positions": positions,
            "nearest_lag_reals": near.pair[1] - near.pair[0],
            "nearest_pair_reals": list(near.pair),
            "nearest_distance_reals": near.distance,
            "kept": [_plain(of) for of in cells.values()],
            "cannot_hold": [way for way in PRECISIONS if way not in ways],
            "collisions": {name: of.tolist() for name, of in shared.items()},
        },
    )


def _shared_values(found: Waves, positions: int) -> dict[Precision, Tensor]:
    """`collisions` in each precision, of angles formed in float64."""
    values = waved(found, angles(found, torch.arange(positions), "float64"))
    shared = {name: collisions(values.to(dtype(name))) for name in PRECISIONS if name != "float64"}
    # What is equal in float64 is equal in float32 too, so most dimensions need no second look.
    again = shared["float32"].nonzero()[:, 0]
    finest = torch.zeros_like(shared["float32"])
    finest[again] = collisions(values[:, again])
    return {"float64": finest, **shared}


def _of_vectors(encoding: Encoding, positions: int) -> Section:
    """Of an encoding whose rows are not computed from angles."""
    n = int(min(positions, encoding.domain.highest + 1))
    check_held(max(n, 2), encoding.width or 1)
    rows = vectors(encoding, torch.arange(n, dtype=torch.float64))
    cells, shared = {}, {}
    for name in PRECISIONS:
        table = rows.to(dtype(name))
        again = duplicates(table)
        pair = (int(again.first[0]), int(again.rows[0])) if again.count else (0, 0)
        close = Nearest(0.0, pair) if again.count or n < 2 else nearest(table[:PAIRWISE])
        cells[None, name] = Kept(None, name, again, close, None, 0)
        shared[name] = collisions(table)
    rows = [
        (of.stored, of.duplicates.count, _first(of), "{}, {}".format(*of.nearest.pair), of.nearest.distance)
        for of in cells.values()
    ]
    table = Table(
        f"Rows of the first {n:,} positions, by the precision that stores them",
        ("stored in", "duplicates", "first", "nearest", "distance"),
        tuple(rows),
        "First: the first row that is equal to an earlier one. An encoding that is trained is shown as it was built.",
    )
    most = max(of.duplicates.count for of in cells.values())
    less = f" It has no more than {n:,} positions." * (n < positions)
    found = (
        f"No two of the first {n:,} rows are equal, in any precision: the nearest are "
        f"{cells[None, 'float64'].nearest.pair[0]} and {cells[None, 'float64'].nearest.pair[1]}, "
        f"{cells[None, 'float64'].nearest.distance:.3g} apart."
        if not most
        else "Rows equal to an earlier one: "
        + ", ".join(f"{of.duplicates.count:,} of {n:,} in {of.stored}" for of in cells.values())
        + "."
    )
    limit = f" The nearest pair is that of the first {PAIRWISE:,} positions." * (n > PAIRWISE)
    return Section(
        KEY,
        TITLE,
        QUESTION,
        f"{found}{less}{limit} No formula keeps trained rows apart: this is what the rows as built are like.",
        tables=(table,),
        figures=(_shared(shared, n),),
        numbers={
            "positions": n,
            "kept": [_plain(of) for of in cells.values()],
            "collisions": {name: of.tolist() for name, of in shared.items()},
        },
    )


def _plain(of: Kept) -> dict[str, Value | list]:
    return {
        "angle": of.way,
        "stored": of.stored,
        "duplicates": of.duplicates.count,
        "first_duplicate": int(of.duplicates.rows[0]) if of.duplicates.count else None,
        "equal_to": int(of.duplicates.first[0]) if of.duplicates.count else None,
        "nearest": list(of.nearest.pair),
        "distance": of.nearest.distance,
        "first_off": of.first_off,
        "looked_for_off": of.looked,
    }


def _first(of: Kept) -> str | None:
    return f"{int(of.duplicates.rows[0])} = {int(of.duplicates.first[0])}" if of.duplicates.count else None


def _answer(
    found: Waves, cells: Cells, shared: dict[Precision, Tensor], near: Nearest, positions: int
) -> str:  # fmt: skip
    words = [_plainly(cells)]
    if found.frequencies[0] == 1:
        why = (
            "the fastest pair turns by one radian a position, and a whole number of radians is never a whole number of "
            "turns, since pi is irrational."
            if 0 in found.whole_pairs
            else "sin p = sin q only where p - q or p + q is a multiple of pi, and of whole numbers that is 0 alone, "
            "since pi is irrational."
        )
        words.append(f"Over the real numbers no two whole positions have one row: {why}")
    a, b = near.pair
    words.append(
        f"Of rows up to {positions - 1:,} places apart the nearest are those {b - a} apart, at a distance of "
        f"{near.distance:.3g}."
        if found.is_whole
        else f"Of the first {positions:,} rows over the real numbers the nearest are {a} and {b}, at a distance of "
        f"{near.distance:.3g}: a sine has no cosine, so how far apart rows are depends on their places too."
    )
    clean = [of for of in cells.values() if not of.duplicates.count]
    dirty = [of for of in cells.values() if of.duplicates.count]
    by_way = {way: [of for of in dirty if of.way == way] for way in PRECISIONS}
    if clean:
        ways = dict.fromkeys(of.way for of in clean if not by_way[of.way])
        words.append(
            f"Of the first {positions:,} rows in floating point, none is equal to an earlier one where the angle is "
            f"formed in {_listed(ways)}, whatever precision stores it."
            if ways
            else f"{len(clean)} of {len(cells)} ways to form and store the first {positions:,} rows keep them apart."
        )
    for way, many in by_way.items():
        if many:
            least, most = (pick(of.duplicates.count for of in many) for pick in (min, max))
            first = min(many, key=lambda of: int(of.duplicates.rows[0]))
            range_ = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            words.append(f"With angles in {way} {range_} rows are duplicates, the first {_first(first)}.")
    if len(cells) < len(PRECISIONS) ** 2:
        missing = [way for way in PRECISIONS if (way, way) not in cells]
        words.append(f"{_listed(missing)} has no number as large as the last position.")
    alike = {name: int((of > 0).sum()) for name, of in shared.items()}
    words.append(
        "One dimension alone is another matter: of "
        f"{len(shared['float64'])} dimensions some value comes twice in "
        + ", ".join(f"{count} in {name}" for name, count in alike.items())
        + "."
    )
    return " ".join(words)


def _plainly(cells: Cells) -> str:
    """The answer as stored, in a few words."""
    dirty = {of.way for of in cells.values() if of.duplicates.count}
    clean = [way for way in dict.fromkeys(of.way for of in cells.values()) if way not in dirty]
    if not dirty:
        return "Yes, in every precision" + " that has numbers so large" * (len(cells) < len(PRECISIONS) ** 2) + "."
    if clean:
        return f"Yes, if its angles are formed in {_listed(clean)}."
    return "As floating point stores it, no."


def _listed(names) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def _tables(cells: Cells, shared: dict[Precision, Tensor], positions: int) -> tuple[Table, ...]:
    def square(title: str, value: Callable[[Kept], Value], note: str) -> Table:
        rows = []
        for way in PRECISIONS:
            of = [cells.get((way, stored)) for stored in PRECISIONS]
            rows.append((way, *("cannot hold" if each is None else value(each) for each in of)))
        return Table(title, ("angle in", *PRECISIONS), tuple(rows), note)

    held = "Rows: the precision of positions, frequencies and angles. Columns: that of the stored sines and cosines."
    return (
        square(f"Rows equal to an earlier one, of {positions:,}", lambda of: of.duplicates.count, held),
        square("The first row equal to an earlier one", _first, "-: none."),
        square("Distance of the nearest two rows", lambda of: of.nearest.distance, ""),
        square(
            "The nearest two rows", lambda of: f"{of.nearest.pair[0]}, {of.nearest.pair[1]}", "Of equals, one pair."
        ),
        square(
            "The first position off by more than one unit in the last place",
            lambda of: of.first_off,
            "Against the exact value, in any dimension; a unit is that of the stored precision. -: none. In float64 "
            "against interval arithmetic, over the first positions only.",
        ),
        _dimensions(shared, positions),
    )


def _dimensions(shared: dict[Precision, Tensor], positions: int) -> Table:
    width = len(shared["float64"])
    chosen = dict.fromkeys(round(at * (width - 1) / 9) for at in range(10))
    return Table(
        f"Places of {positions:,} whose value in one dimension is that of an earlier place",
        ("dimension", *PRECISIONS),
        tuple((column, *(int(shared[name][column]) for name in PRECISIONS)) for column in chosen),
        "The angle is formed in float64.",
    )


def _figures(cells: Cells, shared: dict[Precision, Tensor], positions: int) -> tuple[Figure, ...]:
    lines = []
    for way in PRECISIONS:
        # Whatever stores them, rows of one way are mostly equal at the same places: one line for all that are.
        alike: dict[tuple[int, ...], list[str]] = {}
        for of in cells.values():
            if of.way == way and of.duplicates.count:
                alike.setdefault(tuple(of.duplicates.rows.tolist()), []).append(of.stored)
        for places, stored in alike.items():
            counts = torch.zeros(positions, dtype=torch.int64)
            counts[list(places)] = 1
            at = torch.linspace(0, positions - 1, min(positions, _POINTS), dtype=torch.float64).round().to(torch.int64)
            label = way if len(stored) == len(PRECISIONS) else f"{way}, stored {_listed(stored)}"
            lines.append(Line(label, (at + 1).tolist(), counts.cumsum(0)[at].tolist()))
    growing = Lines(
        "Rows equal to an earlier one, as positions grow",
        "positions",
        "duplicate rows",
        tuple(lines),
        note="By the precision of the angle, whatever stores it where nothing else is said. Ways without a duplicate "
        "have no line.",
    )
    return (*((growing,) if lines else ()), _shared(shared, positions))


def _shared(shared: dict[Precision, Tensor], positions: int) -> Lines:
    lines = []
    for name, of in shared.items():
        at = dict.fromkeys(round(i * (len(of) - 1) / 1999) for i in range(2000)) if len(of) > 2000 else range(len(of))
        lines.append(Line(name, list(at), [float(of[column]) / positions for column in at]))
    return Lines(
        "Places whose value in one dimension is that of an earlier place",
        "dimension",
        f"share of {positions:,} places",
        tuple(lines),
    )

"""Uniqueness: which positions get equal rows in floating point, which come nearest, and where rounding begins."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.forms import Waves, form, vectors, waves
from gnomon.analysis.section import Figure, Line, Lines, Section, Table, Value, does_not_apply
from gnomon.analysis.stored import (
    FURTHEST,
    PRECISIONS,
    Precision,
    angles,
    dtype,
    exact,
    holds,
    reference,
    unit,
    waved,
    without_waves,
)
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.errors import OptionError

TITLE = "Uniqueness"
QUESTION = "Does every position have a row of its own, over the real numbers and as floating point stores it?"
_BLOCK, _COLUMNS, _MOST = 256, 16, 2**28
_WALKED = 2**16
_PAIRWISE = 8192
_POINTS = 500
_SLACK = 1e-9


@dataclass(frozen=True)
class Duplicates:
    """Rows that are equal to an earlier one.

    rows:  their places, in order, `[m]` int64.
    first: of each, the first row that it is equal to, `[m]` int64.
    """

    rows: Tensor
    first: Tensor

    @property
    def count(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Nearest:
    """The pair of rows with the least Euclidean distance; of equals, one."""

    distance: float
    pair: tuple[int, int]


@dataclass(frozen=True)
class Kept:
    """What is left of the first n positions when their angles are formed in one precision and stored in another.

    way:        the precision of positions, frequencies and angles; None where nothing is computed from angles.
    stored:     the precision of the rows.
    first_off:  the first position of whose row a number is off by more than one unit in its last place; None: none.
    looked:     how many positions were looked at for it.
    """

    way: Precision | None
    stored: Precision
    duplicates: Duplicates
    nearest: Nearest
    first_off: int | None
    looked: int


@checked
def duplicates(rows: Tensor) -> Duplicates:
    """Which rows of `[n, w]` are equal to an earlier one, compared as numbers: exact, in time and memory of n w."""
    if rows.dim() != 2:
        raise OptionError("rows are those of a table", given=list(rows.shape), allowed="[n, w]")
    generator = torch.Generator().manual_seed(0)
    while True:
        first = _representatives(_fingerprints(rows, generator))
        again = (first != torch.arange(len(rows))).nonzero()[:, 0]
        if all((rows[part] == rows[first[part]]).all() for part in again.split(_BLOCK)):
            return Duplicates(again, first[again])


@checked
def nearest(rows: Tensor) -> Nearest:
    """The two rows of `[n, w]`, n from 2 to 8192, that are nearest to each other: all pairs, in float64.

    Products of matrices find who may be nearest, differences decide. OptionError for other n.
    """
    if rows.dim() != 2 or not 2 <= len(rows) <= _PAIRWISE:
        raise OptionError("pairs of rows", given=list(rows.shape), allowed=f"[n, w], n from 2 to {_PAIRWISE}")
    rows = rows.to(torch.float64)
    square = rows.square().sum(dim=1)
    slack = 4 * rows.shape[1] * torch.finfo(torch.float64).eps * float(square.max())
    best = _neighbours(rows, 1)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        apart = square[start : start + _BLOCK, None] + square[start:] - 2 * (block @ rows[start:].T)
        # Of a block and what follows it: each pair once, the earlier row first.
        apart.masked_fill_(torch.ones_like(apart, dtype=torch.bool).tril(), torch.inf)
        while float(apart.min()) <= best.distance**2 + slack:
            a, b = divmod(int(apart.argmin()), apart.shape[1])
            apart[a, b] = torch.inf
            distance = float((block[a] - rows[start + b]).norm())
            if distance < best.distance:
                best = Nearest(distance, (start + a, start + b))
    return best


@checked
def lag_distances(found: Waves, lags: Tensor) -> Float[Tensor, " n"]:
    """The distance of rows p and p + k over the reals, for lags k `[n]`: it depends on k alone.

    sqrt(sum_m 2 (1 - cos w_m k)) over the pairs that have both a sine and a cosine; one that has not (the last of an
    odd width) is left out, so that no two rows are nearer than this.
    """
    have = [m for m in range(len(found.frequencies)) if not found.columns or _both(found, m)]
    w = torch.tensor([found.frequencies[m] for m in have], dtype=torch.float64)
    parts = [(part.to(torch.float64)[:, None] * w / 2).sin().square().sum(dim=1) for part in lags.split(_BLOCK)]
    return 2 * torch.cat(parts).sqrt() if parts else lags.to(torch.float64)


@checked
def kept(found: Waves, n: int, way: Precision, stored: Precision) -> Kept:
    """What floating point keeps of positions 0 .. n - 1. OptionError for a precision that has no number n - 1."""
    return _kept(found, n, (way,), (stored,))[0]


@checked
def collisions(stored: Tensor) -> Tensor:
    """How many places of `stored` `[n, w]` have, in each dimension, the value of an earlier place: `[w]` int64."""
    if stored.dim() != 2:
        raise OptionError("values of a table", given=list(stored.shape), allowed="[n, w]")
    if stored.element_size() == 2:
        return torch.cat([_collisions_of_16_bits(columns) for columns in stored.T.split(_COLUMNS)])
    ordered = stored.T.contiguous().sort(dim=1).values
    return (ordered[:, 1:] == ordered[:, :-1]).sum(dim=1)


@checked
def section(encoding: Encoding, positions: int = 8192, progress: Callable[[float], None] | None = None) -> Section:
    """Which of places 0 .. positions - 1 are told apart, in every precision and way of forming the angle.

    For an encoding that has a vector for each place, and for RoPE, whose rows are the cosines and sines of its angles.
    OptionError for fewer than 2 positions, or more than memory holds.
    """
    if positions < 2:
        raise OptionError("two rows at least are compared", given=positions, allowed="2 or more")
    found = waves(encoding)
    if found is not None and found.frequencies:
        return _of_waves(encoding, found, positions, progress)
    if form(encoding) != "vector" or encoding.domain.axes != 1:
        return does_not_apply("uniqueness", TITLE, QUESTION, _why_not(encoding))
    return _of_vectors(encoding, positions)


def _why_not(encoding: Encoding) -> str:
    why = without_waves(encoding)
    if form(encoding) == "bias":
        return f"{why} Whether two distances have one bias is asked in the section on the kernel."
    return why


# Rows of waves.


def _kept(
    found: Waves,
    n: int,
    ways: tuple[Precision, ...],
    storeds: tuple[Precision, ...],
    progress: Callable[[float], None] | None = None,
) -> list[Kept]:
    """As `kept`, for each way with each stored precision: what they share is made once."""
    if not 2 <= n < FURTHEST or n * _width(found) > _MOST:
        raise OptionError(
            "all rows are held at once",
            given=f"{n} positions of {_width(found)} numbers",
            allowed=f"2 to {min(FURTHEST, _MOST // max(_width(found), 1))} positions",
            do="ask for fewer positions",
        )
    found = _sorted(found)
    cells = [(way, name) for way in ways for name in storeds]
    tables = {cell: torch.empty(n, _width(found), dtype=dtype(cell[1])) for cell in cells}
    off: dict[tuple[Precision, Precision], int | None] = dict.fromkeys(cells)
    strayed = dict.fromkeys(cells, 0.0)
    for start in range(0, n, _BLOCK):
        places = torch.arange(start, min(start + _BLOCK, n))
        right = reference(found, places)
        units = {name: unit(right, name) for name in storeds}
        for way in ways:
            values = waved(found, angles(found, places, way))
            for name in storeds:
                part = tables[way, name][start : start + len(places)]
                error = (part.copy_(values).to(torch.float64) - right).abs_()
                if name != "float64" and off[way, name] is None:
                    wrong = (error > units[name]).any(dim=1).nonzero()
                    off[way, name] = start + int(wrong[0]) if len(wrong) else None
                strayed[way, name] = max(strayed[way, name], float(error.square_().sum(dim=1).max()) ** 0.5)
    made = []
    for done, (way, name) in enumerate(cells):
        table, looked = tables.pop((way, name)), n
        again = duplicates(table)
        if name == "float64":
            off[way, name], looked = _walked(found, table)
        close = _nearest(found, table, again, strayed[way, name])
        made.append(Kept(way, name, again, close, off[way, name], looked))
        if progress is not None:
            progress((done + 1) / len(cells))
    return made


def _sorted(found: Waves) -> Waves:
    """The same waves, all sines first: rows in whose order nobody is interested are made without moving numbers."""
    return replace(found, columns=tuple(sorted(found.columns, key=lambda column: (column[0] == "cos", column[1]))))


def _width(found: Waves) -> int:
    return len(found.columns) or 2 * len(found.frequencies)


def _both(found: Waves, m: int) -> bool:
    return ("sin", m) in found.columns and ("cos", m) in found.columns


def _walked(found: Waves, table: Tensor) -> tuple[int | None, int]:
    """The first row of float64 that is off by more than one unit, and how many were looked at.

    The truth has to be finer than float64: interval arithmetic, place after place.
    """
    most = min(len(table), max(_WALKED // _width(found), 2))
    for start in range(0, most, 8):
        high, low = exact(found, torch.arange(start, min(start + 8, most)))
        off = ((table[start : start + len(high)] - high) - low).abs() > unit(high, "float64")
        wrong = off.any(dim=1).nonzero()
        if len(wrong):
            return start + int(wrong[0]), start + int(wrong[0]) + 1
    return None, most


def _nearest(found: Waves, table: Tensor, again: Duplicates, strayed: float) -> Nearest:
    """The nearest pair among rows that lie within `strayed` of where they belong.

    Where they belong, rows at one lag have one distance, so lags are gone through from the nearest on, until none can
    hold a nearer pair. Angles that are far off would let in most lags: there, all pairs are compared.
    """
    if again.count:
        return Nearest(0.0, (int(again.first[0]), int(again.rows[0])))
    lags = torch.arange(1, len(table))
    apart, order = lag_distances(found, lags).sort()
    best = _neighbours(table, int(lags[order[0]]))
    candidates = int((apart <= best.distance + 2 * strayed + _SLACK).sum())
    if candidates > len(table) // 8 and len(table) <= _PAIRWISE and table.shape[1] > 8:
        return nearest(table)
    for at in range(1, len(lags)):
        if float(apart[at]) > best.distance + 2 * strayed + _SLACK:
            break
        other = _neighbours(table, int(lags[order[at]]))
        best = other if other.distance < best.distance else best
    return best


def _neighbours(rows: Tensor, lag: int) -> Nearest:
    """The nearest pair of rows that are `lag` apart."""
    best = Nearest(float("inf"), (0, lag))
    block = max(_BLOCK, _BLOCK * 512 // max(rows.shape[1], 1))
    for start in range(0, len(rows) - lag, block):
        stop = min(start + block, len(rows) - lag)
        apart = rows[start + lag : stop + lag].to(torch.float64) - rows[start:stop].to(torch.float64)
        least, at = apart.square_().sum(dim=1).min(dim=0)
        if float(least) ** 0.5 < best.distance:
            best = Nearest(float(least) ** 0.5, (start + int(at), start + int(at) + lag))
    return best


# Equal rows.


def _fingerprints(rows: Tensor, generator: torch.Generator) -> Tensor:
    """A number of 64 bits for each row, `[n]` int64: equal for equal rows, and hardly ever for others."""
    kind = {8: torch.int64, 4: torch.int32, 2: torch.int16}[rows.element_size()]
    by = torch.randint(-(2**62), 2**62, (rows.shape[1],), generator=generator) * 2 + 1
    # Adding zero makes +0 of -0, which are equal numbers.
    parts = [((part + 0.0).view(kind) * by).sum(dim=1) for part in rows.split(_BLOCK)]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.int64)


def _collisions_of_16_bits(columns: Tensor) -> Tensor:
    """`collisions` of columns `[w, n]`, by marking which of 65536 values occur."""
    values = (columns + 0.0).view(torch.int16).to(torch.int64) + 2**15
    occurs = torch.zeros(len(values), 2**16, dtype=torch.bool).scatter_(1, values, True)
    return columns.shape[1] - occurs.sum(dim=1)


def _representatives(keys: Tensor) -> Tensor:
    """Of each place the first that has the same key, `[n]` int64."""
    _, which = keys.unique(return_inverse=True)
    first = torch.full((len(keys),), len(keys))
    first.scatter_reduce_(0, which, torch.arange(len(keys)), reduce="amin")
    return first[which]


# The section.


def _of_waves(
    encoding: Encoding, found: Waves, positions: int, progress: Callable[[float], None] | None
) -> Section:  # fmt: skip
    ways = tuple(way for way in PRECISIONS if holds(way, positions - 1))
    cells = {(of.way, of.stored): of for of in _kept(found, positions, ways, PRECISIONS, progress)}
    shared = _shared_values(found, positions)
    lags = lag_distances(found, torch.arange(1, positions))
    return Section(
        "uniqueness",
        TITLE,
        QUESTION,
        _answer(found, cells, shared, lags, positions),
        tables=_tables(cells, shared, positions),
        figures=_figures(cells, shared, positions),
        numbers={
            "positions": positions,
            "nearest_lag_reals": 1 + int(lags.argmin()),
            "nearest_distance_reals": float(lags.min()),
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
    rows = vectors(encoding, torch.arange(n, dtype=torch.float64))
    cells, shared = {}, {}
    for name in PRECISIONS:
        table = rows.to(dtype(name))
        again = duplicates(table)
        pair = (int(again.first[0]), int(again.rows[0])) if again.count else (0, 0)
        close = Nearest(0.0, pair) if again.count or n < 2 else nearest(table[:_PAIRWISE])
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
    limit = f" The nearest pair is that of the first {_PAIRWISE:,} positions." * (n > _PAIRWISE)
    return Section(
        "uniqueness",
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


Cells = dict[tuple[Precision | None, Precision], Kept]


def _answer(
    found: Waves, cells: Cells, shared: dict[Precision, Tensor], lags: Tensor, positions: int
) -> str:  # fmt: skip
    words = []
    if found.frequencies[0] == 1:
        words.append(
            "Over the real numbers no two whole positions have one row: the fastest pair turns by one radian a "
            "position, and a whole number of radians is never a whole number of turns, since pi is irrational."
        )
    words.append(
        f"The nearest rows are there those of places {1 + int(lags.argmin())} apart, wherever they are, at a distance "
        f"of {float(lags.min()):.3g}."
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
    for of in cells.values():
        if of.duplicates.count:
            counts = torch.zeros(positions, dtype=torch.int64)
            counts[of.duplicates.rows] = 1
            at = torch.linspace(0, positions - 1, min(positions, _POINTS), dtype=torch.float64).round().to(torch.int64)
            lines.append(Line(f"{of.way}, stored {of.stored}", (at + 1).tolist(), counts.cumsum(0)[at].tolist()))
    growing = Lines(
        "Rows equal to an earlier one, as positions grow",
        "positions",
        "duplicate rows",
        tuple(lines),
        note="First the precision of the angle. Ways without a duplicate have no line.",
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

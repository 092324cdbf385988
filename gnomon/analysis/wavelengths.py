"""Wavelengths: how far one dimension repeats itself, and the smallest step that it still tells in a precision."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_held, check_size, real
from gnomon.analysis.forms import Waves, waves
from gnomon.analysis.stored import PRECISIONS, Precision, angles, dtype, unit, waved, width_of, without_waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.errors import OptionError
from gnomon.section import Heat, Line, Lines, Section, Table, does_not_apply, plural

TITLE = "Wavelengths"
QUESTION = "How far does each dimension reach before it repeats, and which steps are too small for it?"
_TABLED: tuple[Precision, ...] = ("float32", "bfloat16")
_ROWS, _PAIRS, _SHOWN = 200, 48, 8


@dataclass(frozen=True)
class Neighbours:
    """Which neighbours p, p + 1 among the first `n` places one stored dimension cannot tell.

    equal:   how many of the n - 1 pairs have equal values, `[w]` int64.
    longest: how many places the longest run of one value has, `[w]` int64; 1 where all neighbours differ.
    """

    equal: Tensor
    longest: Tensor


@checked
def periods(found: Waves) -> Tensor:
    """`2 pi / w_m`, positions, `[m]` float64; infinite for a pair that does not turn."""
    return 2 * math.pi / torch.tensor(found.frequencies, dtype=torch.float64)


@checked
def typical_step(name: Precision, phases: int = 4096) -> float:
    """The step, in radians, that carries a sine over one unit in the last place, at the median over a turn.

    A smaller step may leave the stored value as it was. There is no best case: where a sine crosses zero, floating
    point is finer without end. Divide by w_m for positions. OptionError for no phases.
    """
    check_size(phases, "a median is taken over phases")
    phase = (torch.arange(phases, dtype=torch.float64) + 0.5) * (2 * math.pi / phases)
    return float((unit(phase.sin(), name) / phase.cos().abs()).median())


@checked
def widest_step(name: Precision) -> float:
    """The widest stretch, in radians, over which a stored sine keeps one value: the flat top of the wave.

    All x with sin x >= 1 - eps / 4 are stored as 1, eps the distance from 1 to the next number: half the distance to
    the one below it. Divide by w_m for positions.
    """
    # 1 - cos x = 2 sin^2(x / 2), since 1 - eps / 4 cannot be told from 1 in float64.
    return 4 * math.asin(math.sqrt(torch.finfo(dtype(name)).eps / 8))


@checked
def neighbours(stored: Tensor) -> Neighbours:
    """Neighbouring rows of `stored` `[n, w]`, n >= 1, that are equal in a dimension."""
    if real(stored, "values of a table", 2).shape[0] < 1:
        raise OptionError("neighbours are rows of a table", given=list(stored.shape), allowed="[n, w], n >= 1")
    same = stored[1:] == stored[:-1]
    # Where a run is broken last, up to each place: the run there is as long as the way back to it.
    at = torch.arange(1, len(stored), dtype=torch.int32)[:, None]
    broken = torch.where(same, 0, at).cummax(dim=0).values
    longest = (at - broken).amax(dim=0) + 1 if len(stored) > 1 else torch.ones(stored.shape[1], dtype=torch.int64)
    return Neighbours(same.sum(dim=0), longest.to(torch.int64))


@checked
def section(encoding: Encoding, positions: int = 8192) -> Section:
    """The wavelengths of sinusoidal positions or RoPE, over places 0 .. positions - 1 (2 or more).

    OptionError for fewer.
    """
    check_size(positions, "places whose neighbours are compared", 2)
    found = waves(encoding)
    if found is None or not found.frequencies:
        return does_not_apply("wavelengths", TITLE, QUESTION, without_waves(encoding))
    check_held(positions, width_of(found))
    places = torch.arange(positions)
    values = waved(found, angles(found, places, "float64"))
    told = {name: neighbours(values.to(dtype(name))) for name in PRECISIONS}
    pairs = _columns(found)
    return Section(
        "wavelengths",
        TITLE,
        QUESTION,
        _answer(found, told, positions),
        tables=(_table(found, told, pairs),),
        figures=(*_rulers(found), _shares(told, positions), _heat(encoding, values, pairs)),
        numbers={
            "periods": [_finite(far) for far in periods(found).tolist()],
            "typical_step_radians": {name: typical_step(name) for name in PRECISIONS},
            "widest_step_radians": {name: widest_step(name) for name in PRECISIONS},
            "equal_neighbours": {name: of.equal.tolist() for name, of in told.items()},
            "longest_run": {name: of.longest.tolist() for name, of in told.items()},
        },
    )


def _columns(found: Waves) -> list[list[int]]:
    """The dimensions of each pair."""
    pairs = len(found.frequencies)
    if not found.columns:
        return [[m, m + pairs] for m in range(pairs)]
    of: list[list[int]] = [[] for _ in range(pairs)]
    for column, (_, m) in enumerate(found.columns):
        of[m].append(column)
    return of


def _answer(found: Waves, told: dict[Precision, Neighbours], positions: int) -> str:
    period = periods(found)
    turning = period[torch.isfinite(period)]
    words = [
        f"The fastest pair repeats after {_far(float(turning.min()))} positions, the slowest after "
        f"{_far(float(turning.max()))}: {len(period)} pairs, from the finest ruler to the coarsest."
        if len(period) > 1
        else f"Its one pair repeats after {_far(float(turning.max()))} positions."
    ]
    if len(turning) < len(period):
        still = len(period) - len(turning)
        words.append(f"{plural(still, 'pair')} {'does' if still == 1 else 'do'} not turn at all.")
    slowest = float(turning.max()) / (2 * math.pi)
    words.append(
        "The longer a ruler, the wider apart its marks: around the flat top of its wave, on both sides of it together, "
        "the slowest pair keeps one value over "
        + ", ".join(f"{_far(widest_step(name) * slowest)} positions in {name}" for name in reversed(PRECISIONS))
        + ". (A cosine has its top at position 0, so from there on one sees one side: half as much.)"
    )
    blind = []
    for name in PRECISIONS:
        most, some = int(told[name].longest.max()), int((told[name].equal > 0).sum())
        if some:
            of = f"in {name} {some} of {len(told[name].equal)} dimensions store some neighbours alike"
            blind.append(f"{of}, up to {most:,} in a row")
    words.append(f"Of places 0 to {positions - 1:,}, {'; '.join(blind) or 'no dimension stores two neighbours alike'}.")
    return " ".join(words)


def _far(positions: float) -> str:
    return f"{positions:,.0f}" if positions >= 100 else f"{positions:.3g}"


def _table(found: Waves, told: dict[Precision, Neighbours], columns: list[list[int]]) -> Table:
    period = periods(found).tolist()
    rows = []
    for m in _chosen(len(period), _SHOWN):
        runs = [max(int(told[name].longest[column]) for column in columns[m]) for name in _TABLED]
        steps = [typical_step(name) * period[m] / (2 * math.pi) for name in _TABLED]
        rows.append((m, *(_finite(far) for far in (period[m], *steps)), *runs))
    return Table(
        "From the fastest pair to the slowest",
        ("pair", "period", "step f32", "step bf16", "run f32", "run bf16"),
        tuple(rows),
        "All in positions. Step: what moves the stored value by one unit in its last place, at the median over a turn. "
        "Run: most places in a row, of those looked at, that store one value, in the worse dimension of the pair.",
    )


def _finite(far: float) -> float | None:
    return far if math.isfinite(far) else None


def _chosen(count: int, most: int) -> list[int]:
    """At most so many of 0 .. count - 1, evenly, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(at * (count - 1) / (most - 1)) for at in range(most)]


def _rulers(found: Waves) -> tuple[Lines, Lines]:
    period = periods(found)
    pairs = [m for m in range(len(period)) if math.isfinite(period[m])]
    of = period[pairs]

    def figure(title: str, step: Callable[[Precision], float], note: str) -> Lines:
        lines = [Line("period", pairs, of.tolist())]
        lines += [Line(name, pairs, (of * (step(name) / (2 * math.pi))).tolist()) for name in PRECISIONS]
        return Lines(title, "pair of dimensions", "positions", tuple(lines), y_log=True, note=note)

    return (
        figure(
            "From the millimetre ruler to the kilometre ruler: typical step",
            typical_step,
            "The step that moves a stored value by one unit in its last place, at the median over a turn.",
        ),
        figure(
            "From the millimetre ruler to the kilometre ruler: worst step",
            widest_step,
            "The longest way over which a stored value stays the same: the flat top of its wave. Where it is longer "
            "than 1, some neighbours are stored alike.",
        ),
    )


def _shares(told: dict[Precision, Neighbours], positions: int) -> Lines:
    lines = []
    for name in PRECISIONS:
        share = (told[name].equal.to(torch.float64) / (positions - 1)).tolist()
        at = _chosen(len(share), 2000)
        lines.append(Line(name, at, [share[column] for column in at]))
    return Lines(
        "Neighbours that one dimension stores alike",
        "dimension",
        f"share of neighbours among {positions:,} places",
        tuple(lines),
        note="The angle is formed in float64: what is lost is lost by storing.",
    )


def _heat(encoding: Encoding, values: Tensor, pairs: list[list[int]]) -> Heat:
    rows = list(range(min(len(values), _ROWS)))
    # Whole pairs: every second column of the paper's order would be sines alone.
    columns = sorted(column for m in _chosen(len(pairs), _PAIRS) for column in pairs[m])
    what = "cosines, then sines, of the angles" if isinstance(encoding, Rope) else "values"
    return Heat(
        f"The {what} of the first {len(rows)} positions",
        "dimension",
        "position",
        values[rows][:, columns].tolist(),
        x_at=columns,
        y_at=rows,
        diverging=True,
        note="Fast dimensions count single positions; the slowest hardly move over so short a way."
        + f" {plural(_PAIRS, 'pair')} of {len(pairs)}." * (len(pairs) > _PAIRS),
    )

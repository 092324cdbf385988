"""Rounding: the error of an encoding, and of what attention makes of it, against position and precision."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_seed
from gnomon.analysis.first_place import EACH, STEPS, STRETCH, first_place
from gnomon.analysis.forms import Waves, biases, form, waves
from gnomon.analysis.rounded_biases import LIMIT, NEAR, POWERS, bias_errors, first_far, first_late
from gnomon.analysis.stored import (
    PRECISIONS,
    Precision,
    angles,
    dtype,
    exact,
    holds,
    reference,
    rounded,
    unit,
    waved,
    without_waves,
)  # fmt: skip
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.positions import FURTHEST
from gnomon.section import Line, Lines, Section, Table, Value, does_not_apply

TITLE = "Rounding"
QUESTION = "How large is the error of the encoding and of a logit, at which position, in which precision?"
LAGS = (1, 16, 128)
PRACTICES: tuple[tuple[Precision, Precision], ...] = (
    ("float64", "float64"), ("float64", "float32"), ("float64", "float16"), ("float64", "bfloat16"),
    ("float32", "float32"), ("float16", "float16"), ("bfloat16", "bfloat16"),
)  # fmt: skip
"""What libraries do: the precision of the angle, and that of the table."""
_SHORT = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_AROUND = 3
_STRETCH = 16
"""Distances and positions in a row that stand for a power of ten, which itself may be a number of the precision."""
_SOON = 2**13
"""Positions among which the first is looked for whose row is off."""
_BLOCK = 1024
_DRAWS = 64


@dataclass(frozen=True)
class Errors:
    """Errors at each of some positions; None where the precision has no number so large.

    way, stored: the precision of positions, frequencies and angles, and that of the table.
    values:      the greatest error of a number of the row, at the position and the two after it.
    logits:      the root of the mean square error of a logit, over that of the exact logits, both tokens shifted by
                 the position.
    """

    way: Precision
    stored: Precision
    values: tuple[float | None, ...]
    logits: tuple[float | None, ...]


@checked
def errors(
    found: Waves,
    positions: Sequence[int] = POWERS,
    practices: Sequence[tuple[Precision, Precision]] = PRACTICES,
    seed: int = 0,
) -> tuple[Errors, ...]:
    """Errors of rows and of logits of waves at whole positions, 0 .. 2^53 - 132, for (angle, table) precisions.

    The truth is that of interval arithmetic. The logit of sinusoidal positions is PE(p + k) . PE(p); that of a rotation
    is <R(p + k) q, R(p) k'> for random unit q and k' that stay the same. k is 1, 16 and 128. Products
    are made in float64: what is measured is the angle and the table. OptionError for no positions, or others.
    """
    check_seed(seed)
    reach = FURTHEST - max(LAGS) - _AROUND
    if not positions or not all(0 <= p <= reach for p in positions):
        raise OptionError("errors are measured at whole positions", given=list(positions), allowed=f"0 to {reach}")
    offsets = sorted({*range(_AROUND), *LAGS})
    places = torch.tensor([[p + k for k in offsets] for p in positions])
    high, low = exact(found, places.flatten())
    multiply = _product(found, high.shape[1], seed)
    origin = exact(found, torch.tensor(offsets))[0]

    def logits_of(rows: Tensor) -> Tensor:
        return torch.stack([multiply(rows[offsets.index(k)], rows[0]) for k in LAGS])

    # Of whole pairs they depend on the lag alone.
    exactly = high.reshape(len(places), len(offsets), -1)
    right = torch.stack([logits_of(origin if found.is_whole else rows) for rows in exactly])
    size = float(right.square().mean().sqrt()) or 1.0
    made = []
    for way, stored in practices:
        held = [holds(way, int(row.max())) for row in places]
        values: list[float | None] = [None] * len(held)
        logits: list[float | None] = [None] * len(held)
        for at in (at for at, fits in enumerate(held) if fits):
            rows = waved(found, angles(found, places[at], way)).to(dtype(stored)).to(torch.float64)
            of = slice(at * len(offsets), (at + 1) * len(offsets))
            off = (rows - high[of] - low[of]).abs()
            values[at] = float(off[[offsets.index(k) for k in range(_AROUND)]].max())
            logits[at] = float((logits_of(rows) - right[at]).square().mean().sqrt()) / size
        made.append(Errors(way, stored, tuple(values), tuple(logits)))
    return tuple(made)


@checked
def section(encoding: Encoding, heads: int = 8) -> Section:
    """Errors at 1, 10, ..., 10^8, of an encoding made of waves or of a bias.

    heads: of the attention, for a bias that does not know its own. Learned numbers are those that it was built with.
    """
    found = waves(encoding)
    if found is not None and found.frequencies:
        return _of_waves(found)
    if form(encoding) == "bias" and encoding.domain.axes in (1, None):
        return _of_bias(encoding, getattr(encoding, "heads", heads))
    why = without_waves(encoding)
    if form(encoding) == "vector" and not isinstance(encoding, Sinusoidal):
        why += " Nothing is computed from the position, so its size does not matter: the row's own rounding is all."
    return does_not_apply("rounding", TITLE, QUESTION, why)


def _product(found: Waves, width: int, seed: int) -> Callable[[Tensor, Tensor], Tensor]:
    """The logits that attention makes of two rows, `[w], [w] -> [draws]`."""
    if found.columns:
        return lambda one, other: (one * other).sum()[None]
    pairs = width // 2
    drawn = torch.randn(2, _DRAWS, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    q, k = (torch.complex(x[:, :pairs], x[:, pairs:]) for x in drawn / drawn.norm(dim=-1, keepdim=True))

    def logits(one: Tensor, other: Tensor) -> Tensor:
        turned = q * torch.complex(one[:pairs], one[pairs:])
        return (turned * (k * torch.complex(other[:pairs], other[pairs:])).conj()).real.sum(dim=1)

    return logits


# The section.


def _of_waves(found: Waves) -> Section:
    pure: tuple[tuple[Precision, Precision], ...] = tuple((way, "float64") for way in PRECISIONS)
    asked = dict.fromkeys((*PRACTICES, *pure))
    all_of = {(of.way, of.stored): of for of in errors(found, POWERS, tuple(asked))}
    shown = [of for cell, of in all_of.items() if cell in PRACTICES and cell != ("float64", "float64")]
    logit = "PE(p + k) . PE(p)" if found.columns else "<R(p + k) q, R(p) k'>"
    note = (
        "Heads: the precision of the angle > that of the table. -: the precision has no number so large. Against "
        "interval arithmetic."
    )
    return Section(
        "rounding",
        TITLE,
        QUESTION,
        _answer(found, all_of),
        tables=(
            _table("Greatest error of a sine or cosine", "positions", _stretches(_AROUND), shown, "values", note),
            _table(f"Error of the logit {logit} when both tokens are shifted by p", "p", POWERS, shown, "logits",
                   f"Root mean square over k = {', '.join(map(str, LAGS))}, as a share of the exact logits."),
        ),
        figures=(
            _figure("Error of the angle alone, by the precision that forms it", "greatest error of a sine or cosine",
                    [(way, all_of[way, "float64"].values) for way in PRECISIONS], "The table is kept in float64."),
            _figure("Error of the encoding", "greatest error of a sine or cosine",
                    [(_named(of), of.values) for of in shown], "The precision of the angle > that of the table."),
            _figure("Error of a logit", "share of the logits", [(_named(of), of.logits) for of in shown],
                    "The precision of the angle > that of the table."
                    + " Exact logits do not change with p." * found.is_whole),
        ),
        numbers={
            "positions": list(POWERS),
            "errors": [
                {"angle": of.way, "stored": of.stored, "values": list(of.values), "logits": list(of.logits)}
                for of in all_of.values()
            ],
        },
    )  # fmt: skip


def _answer(found: Waves, all_of: dict[tuple[Precision, Precision], Errors]) -> str:
    words = []
    for stored in ("float32", "bfloat16"):
        of = all_of["float64", stored]
        off, logit = max(of.values), max(of.logits)
        within = off <= torch.finfo(dtype(stored)).eps
        words.append(
            f"With angles in float64 a table in {stored} is off by at most {off:.2g} up to position {POWERS[-1]:,}, "
            f"{'less' if within else 'more'} than a unit in the last place of numbers near 1, and logits by "
            f"{_share(logit)}."
        )
    for way in ("float32", "float16", "bfloat16"):
        of = all_of[way, way]
        first = _first_off(found, way)
        percent = next((p for p, off in zip(POWERS, of.logits) if off is not None and off > LIMIT), None)
        words.append(
            f"With angles in {way} too, "
            + (
                f"no number of the first {_SOON:,} positions is off by more than one unit in its last place, "
                if first is None
                else f"position {first:,} is the first where a number is off by more than one unit in its last place, "
            )
            + (
                "and no logit of the table is off by 1%"
                if percent is None
                else f"and a logit is off by more than 1% by position {percent:,}"
            )
            + (f"; {way} has no number past {torch.finfo(dtype(way)).max:,.0f}." if None in of.values else ".")
        )
    words.append("The tables look at powers of ten, and at the two positions after each.")
    return " ".join(words)


def _first_off(found: Waves, name: Precision) -> int | None:
    """The first position of whose row a number is off by more than one unit in its last place, as in `uniqueness`."""

    def off(places: Tensor) -> Tensor:
        parts = []
        for part in places.split(_BLOCK):
            right = reference(found, part)
            wrong = (rounded(waved(found, angles(found, part, name)), name) - right).abs() > unit(right, name)
            parts.append(wrong.any(dim=1))
        return torch.cat(parts)

    return first_place(off, _SOON - 1)


def _share(of: float) -> str:
    return f"{100 * of:.2g}%"


def _named(of: Errors) -> str:
    return f"{_SHORT[of.way]}>{_SHORT[of.stored]}"


def _table(title: str, head: str, places: Sequence[Value], shown: list[Errors], what: str, note: str) -> Table:
    told = [of for of in shown if (of.way, of.stored) != ("float64", "float16")]
    rows = tuple((place, *(getattr(of, what)[at] for of in told)) for at, place in enumerate(places))
    return Table(title, (head, *(_named(of) for of in told)), rows, note)


def _stretches(count: int) -> tuple[str, ...]:
    return tuple(f"{p:,} to {p + count - 1:,}" for p in POWERS)


def _figure(title: str, y: str, lines: list[tuple[str, Sequence[Value]]], note: str) -> Lines:
    # No error at all has no logarithm.
    drawn = tuple(Line(label, POWERS, [error or None for error in of]) for label, of in lines)
    return Lines(title, "position", y, drawn, x_log=True, y_log=True, note=note)


def _of_bias(encoding: Encoding, heads: int) -> Section:
    names: tuple[Precision, ...] = ("float32", "float16", "bfloat16")
    looked = [p + step for p in POWERS for step in range(_STRETCH)]
    found = {name: tuple(map(_worst, bias_errors(encoding, name, looked, heads))) for name in names}
    size = biases(encoding, torch.tensor(POWERS, dtype=torch.float64), heads).abs().amax(dim=0).tolist()
    labels = _stretches(_STRETCH)
    rows = tuple((label, size[at], *(found[name][0][at] for name in names)) for at, label in enumerate(labels))
    late = tuple((label, *(found[name][1][at] for name in names)) for at, label in enumerate(labels))
    firsts = [{name: of(encoding, name, LIMIT, heads) for name in names} for of in (first_far, first_late)]
    lost = [name for name in names if None in found[name][0]]
    words = [
        f"Where the distance and the bias are rounded, the bias is off by more than {LIMIT} of a logit "
        f"{_beginnings(firsts[0], 'distance')}.",
        f"Where positions are rounded before they are subtracted, that of pairs {NEAR - 1} apart or less is so "
        f"{_beginnings(firsts[1], 'position')}.",
        "Not every place after the first is off: those that the precision has a number for may not be.",
        *(f"{name} has no number past {torch.finfo(dtype(name)).max:,.0f}." for name in lost),
    ]
    return Section(
        "rounding",
        TITLE,
        QUESTION,
        " ".join(words),
        tables=(
            Table("Error of the bias at a distance", ("distances", "bias", *(_SHORT[n] for n in names)), rows,
                  "In units of the logit, the worst over heads and these distances; distance and bias are rounded. "
                  "Bias: the largest size over heads, at the first of them. -: the precision has no number so large. "
                  f"The answer looks at every distance below {EACH:,}, beyond at {STRETCH} in a row, {STEPS} times "
                  "from one power of two to the next, and from those back to the first."),
            Table("Error of the bias of near pairs, positions rounded first",
                  ("positions", *(_SHORT[n] for n in names)), late,
                  f"Of pairs 0 to {NEAR - 1} apart. An encoding that takes distances in float64 has none of it."),
        ),
        figures=(
            _figure("Error of the bias at a distance", "units of the logit",
                    [(name, found[name][0]) for name in names], "Distance and bias are rounded; worst over heads and "
                    f"over {_STRETCH} distances in a row."),
            _figure("Error of the bias of near pairs, positions rounded first", "units of the logit",
                    [(name, found[name][1]) for name in names],
                    f"Pairs 0 to {NEAR - 1} apart, at {_STRETCH} positions in a row."),
        ),
        numbers={
            "positions": list(POWERS),
            "stretch": _STRETCH,
            "far": {name: list(found[name][0]) for name in names},
            "late": {name: list(found[name][1]) for name in names},
            "first_far": firsts[0],
            "first_late": firsts[1],
        },
    )  # fmt: skip


def _worst(found: Sequence[float | None]) -> tuple[float | None, ...]:
    """The worst of each stretch; None where the precision lacks a number for one of them."""
    stretches = [found[at : at + _STRETCH] for at in range(0, len(found), _STRETCH)]
    return tuple(None if None in one else max(one) for one in stretches)


def _beginnings(firsts: dict[Precision, int | None], what: str) -> str:
    some = [f"first at {what} {first:,} in {name}" for name, first in firsts.items() if first is not None]
    none = [name for name, first in firsts.items() if first is None]
    return "; ".join(some + [f"at no {what} looked at in {' and '.join(none)}"] * bool(none))

"""How well an encoding alone can make six kernels of distance, beside every other encoding of the same sizes."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_size, real
from gnomon.analysis.families import FITTED, family, reach, why_none
from gnomon.analysis.forms import name_of, waves
from gnomon.analysis.least_squares import Fit, fits, fits_of_any_slope
from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.none import NoPE
from gnomon.encodings.sandwich import Sandwich
from gnomon.errors import OptionError
from gnomon.section import Line, Lines, Section, Table, Value, does_not_apply, plural, rounded

KEY, TITLE = "fit", "Distance kernels that it can make"
QUESTION = "Which functions of the distance can position alone add to a logit, and what becomes of them farther away?"
HEIGHT = 8.0
"""What the targets differ by, in logits: e^8 is about 3000 times as likely."""
DECAY, PEAK, PERIOD, WINDOW = 32, 7, 16, 64
LENGTH, FURTHER = 512, 4
LONGEST = 8192
"""Lags of a fit: as many rows of a matrix of which singular values are taken."""
POINTS = 1000
GOOD, BAD = 0.05, 0.5
"""Errors below which a kernel is called fitted, and above which it is called missed."""


@checked
def targets(lags: Float[Tensor, " n"], length: int = LENGTH) -> dict[str, Tensor]:
    """Kernels of distance by name, `[n]` each, from 0 to 8 logits over the lags 0 .. length - 1.

    exp: e^{-k/32}. linear: 1 - k / length, which goes on below 0. power: 1 / (1 + k). at 7: one at lag 7, else 0.
    each 16: one at every multiple of 16, else 0. window: one below lag 64, else 0.
    """
    real(lags, "lags", 1)
    check_size(length, "lags of a kernel")
    k = lags.to(torch.float64)
    found = {
        "exp": (-k / DECAY).exp(), "linear": 1 - k / length, "power": 1 / (1 + k),
        f"at {PEAK}": (k == PEAK).double(), f"each {PERIOD}": (k % PERIOD == 0).double(),
        "window": (k < WINDOW).double(),
    }  # fmt: skip
    return {name: HEIGHT * values for name, values in found.items()}


@checked
def section(encoding: Encoding, shape: Shape | None = None, length: int = LENGTH) -> Section:
    """Six kernels fitted over the lags 0 .. length - 1 by this encoding and, for comparison, by all others.

    shape: the model that the others are built for; by default of this encoding's sizes. An encoding that ends before
    `length` is fitted up to its end.
    """
    check_size(length, "the kernels need room, and all lags are fitted at once", WINDOW + 1, LONGEST)
    if isinstance(encoding, NoPE):
        return does_not_apply(KEY, TITLE, QUESTION, "Without positions a logit is the same at every distance.")
    if family(encoding) is None:
        return does_not_apply(KEY, TITLE, QUESTION, why_none(encoding))
    length = int(min(length, reach(encoding)))
    if length <= WINDOW:
        why = f"It ends at {length} places, and the kernels need more than {WINDOW}."
        return does_not_apply(KEY, TITLE, QUESTION, why)
    aims = targets(torch.arange(FURTHER * length, dtype=torch.float64), length)
    wanted = torch.stack([*aims.values()], dim=1)
    mine = dict(zip(aims, fits(encoding, wanted[:length], wanted[length:])))
    free = next(iter(mine.values())).free
    compared, notes = _compared(encoding, shape, wanted, length)
    rows = tuple(
        (
            name, _r(1 - fitted.error**2), _r(fitted.error),
            "no value" if fitted.beyond is None else _r(fitted.beyond), _r(fitted.largest),
        )
        for name, fitted in mine.items()
    )  # fmt: skip
    names = [*aims]
    fixed = isinstance(encoding, Alibi | Sandwich)
    own = Table(
        f"{'The best of its heads, whose slopes are not fitted,' if fixed else 'The nearest of its family'} over "
        f"distances 0 to {length - 1}",
        ("kernel", "R^2", "error", f"error {length} to {FURTHER * length - 1}", "largest term"),
        rows,
        note=f"{_defined(length)} Error: root mean square over the standard deviation of the kernel; 1 is no better "
        "than a constant, and R^2 = 1 - error^2 is below 0 where it is worse. Largest term: in logits, of which a "
        f"kernel has {HEIGHT:g}. Family: {family(encoding)}. Free numbers: {free}{', the constant' * fixed}"
        f"{_fewer(encoding, free)}.",
    )
    others = [
        Table(
            f"Error of each encoding, {which}",
            ("encoding", *names[some]),
            tuple((label, *[_r(one.error) for one in each[some]]) for label, each in compared),
            note=notes if which == "kernels that do not" else "",
        )
        for which, some in (("kernels that only fall", slice(0, 3)), ("kernels that do not", slice(3, 6)))
    ]
    numbers: dict[str, Value | list] = {"length": length, "free": free}
    numbers |= {f"error {name}": fitted.error for name, fitted in mine.items()}
    numbers |= {f"beyond {name}": fitted.beyond for name, fitted in mine.items()}
    return Section(
        KEY,
        TITLE,
        QUESTION,
        _answer(mine, length, fixed),
        (own, *others),
        _figures(mine, aims, length),
        numbers=numbers,
    )


def _compared(
    encoding: Encoding, shape: Shape | None, wanted: Tensor, length: int
) -> tuple[list[tuple[str, list[Fit]]], str]:
    """The fits of every encoding with a family, this one in its place, and what is to be said of them."""
    if shape is None:
        width, heads = encoding.width or 512, encoding.heads or 8
        shape = Shape(width=width, heads=heads, head_dim=encoding.head_dim or max(2, width // heads // 2 * 2))
    found = []
    for name in FITTED:
        own = isinstance(encoding, ENCODINGS[name])
        if not own:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                try:
                    one = create(name, shape, **({"max_positions": length} if name == "learned" else {}))
                except OptionError:
                    # An odd width or head has no pairs.
                    continue
        found.append((name, encoding if own else one))
    if not any(one is encoding for _, one in found):
        found.append((name_of(encoding), encoding))
    made = []
    for name, one in found:
        try:
            made.append((name, fits(one, wanted[:length], wanted[length:])))
        except OptionError:
            continue
        if isinstance(one, Alibi | Sandwich):
            made.append((f"{name}, any slope", fits_of_any_slope(one, wanted[:length])))
    notes = (
        f"Model width {shape.width}, {plural(shape.heads, 'head')} of {shape.head_dim}. Fixed biases (alibi, sandwich) "
        "are the best of their heads; with any slope, a positive multiple of one. 'linear' falls by "
        f"{HEIGHT / length:g} a step. A network fits anything (fire, seqpe, chain): not asked. Not shown are those "
        "that cannot be built in these sizes, or end before the target does."
    )
    return made, notes


def _fewer(encoding: Encoding, free: int) -> str:
    """Why a family of waves has fewer numbers to choose than it has amplitudes."""
    found = waves(encoding)
    if found is None or free >= 2 * len(found.frequencies):
        return ""
    return (
        f", of {2 * len(found.frequencies)} amplitudes: over so few distances the slow waves are so much alike that "
        "float32 cannot tell more of them apart"
    )


def _defined(length: int) -> str:
    """What the kernels are, for a reader."""
    return (
        f"Kernels of the distance k, {HEIGHT:g} logits high: exp, e^(-k/{DECAY}); linear, 1 - k/{length}; power, "
        f"1/(1 + k); at {PEAK}, a peak at distance {PEAK} alone; each {PERIOD}, a peak at every multiple of {PERIOD}; "
        f"window, the same at all distances below {WINDOW}, nothing beyond."
    )


def _answer(mine: dict[str, Fit], length: int, fixed: bool) -> str:
    good = [name for name, fitted in mine.items() if fitted.error < GOOD]
    bad = [name for name, fitted in mine.items() if fitted.error > BAD]
    fair = [name for name in mine if name not in good and name not in bad]
    near = [f"fits {_listed(good)} to within {GOOD:.0%} of the kernel's standard deviation" if good else "fits none"]
    if fair:
        near.append(f"comes near {_listed(fair)}")
    if bad:
        near.append(f"misses {_listed(bad) if len(bad) < len(mine) else 'each'} by more than {BAD:.0%}")
    said = [f"Of six kernels, over the first {length} distances, it {_and(near)}."]
    held = [name for name in good if mine[name].beyond is not None and mine[name].beyond < GOOD]
    lost = [name for name in good if mine[name].beyond is not None and name not in held]
    gone = [name for name in good if mine[name].beyond is None]
    far = [
        f"{what} {_listed(names)}"
        for names, what in ((held, "still fits"), (lost, "no longer fits"), (gone, "has no value for"))
        if names
    ]
    if far:
        said.append(f"Over the next {(FURTHER - 1) * length:,}, with the same numbers, it {_and(far)}.")
    if fixed:
        said.append(
            "Its slopes are fixed, not fitted: this is the best of its heads. What any other slope could do is a row "
            "of the tables below."
        )
    large = [name for name in (*good, *fair) if mine[name].largest > 100 * HEIGHT]
    if large:
        most = max(mine[name].largest for name in large)
        what = "That of {} is a sum" if len(large) == 1 else "Those of {} are sums"
        said.append(
            f"{what.format(_listed(large))} of large terms that nearly cancel: up to {most:,.0f} logits, where a "
            f"kernel "
            f"has {HEIGHT:g}. Trained numbers would have to be as exact as that."
        )
    return " ".join(said)


def _listed(names: list[str]) -> str:
    return _and([f"'{name}'" for name in names])


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _figures(mine: dict[str, Fit], aims: dict[str, Tensor], length: int) -> tuple[Lines, ...]:
    total = next(iter(aims.values())).shape[0]
    every = max(1, total // POINTS)
    near = list(range(min(2 * WINDOW, length)))
    # Every lag near by, so that a peak is not lost; farther off some.
    lags = sorted({*near, *range(0, total, every)})
    figures = []
    for name, fitted in mine.items():
        values = [None if math.isnan(value) else value for value in fitted.values[lags].tolist()]
        lines = (Line("kernel", lags, aims[name][lags].tolist()), Line("nearest fit", lags, values))
        note = f"Fitted over lags 0 to {length - 1}; beyond them it is what follows."
        figures.append(Lines(f"Kernel '{name}'", "lag k", "logit", lines, note=note))
    return tuple(figures)


def _r(value: float) -> float:
    return rounded(value, 3) if abs(value) > 1e-9 else 0.0

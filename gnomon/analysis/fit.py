"""How well an encoding alone can make a given function of distance: the nearest that its family has, least squares."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.forms import biases, form, waves
from gnomon.analysis.kernel import amplitudes
from gnomon.analysis.section import Line, Lines, Section, Table, Value, does_not_apply
from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.buckets import deberta_bucket, t5_bucket
from gnomon.encodings.chain import Chain
from gnomon.encodings.cope import Cope
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.fire import Fire
from gnomon.encodings.kerple import LEAST, Kerple
from gnomon.encodings.learned import Learned
from gnomon.encodings.none import NoPE
from gnomon.encodings.relative_bias import RelativeBias
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.sandwich import Sandwich
from gnomon.encodings.seqpe import SeqPE
from gnomon.encodings.shaw import Shaw
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.encodings.transformer_xl import BASE, TransformerXL
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError

KEY, TITLE = "fit", "Distance kernels that it can make"
QUESTION = "Which functions of the distance can position alone add to a logit, and what becomes of them farther away?"
RESOLVED = 2.0**-23
"""Combinations of waves that are smaller than this share of the largest are left out: float32 numbers that are trained
cannot keep them apart, so a fit that needs them is none that a model could hold."""
HEIGHT = 8.0
"""What the targets differ by, in logits: e^8 is about 3000 times as likely."""
DECAY, PEAK, PERIOD, WINDOW = 32, 7, 16, 64
LENGTH, FURTHER = 512, 4
POINTS = 1000
KERPLE = 200
"""Values of a or p that are tried before the best is refined."""


@dataclass(frozen=True)
class Fit:
    """The nearest function of distance that an encoding can make.

    values: at every lag of the target and beyond, `[n + further]`; nan where nothing that was fitted says a value.
    error: root mean square of what is left over the target's standard deviation: 0 is exact, 1 is a constant. R^2 is
        1 - error^2.
    beyond: the same over the lags past n, in the same unit; None where none were asked for, or there is no value.
    free: how many numbers were free, the constant among them.
    largest: the most that a single term of the sum has in logits; far above the target, terms cancel.
    """

    values: Float[Tensor, " lags"]
    error: float
    beyond: float | None
    free: int
    largest: float


@checked
def targets(lags: Float[Tensor, " n"], length: int = LENGTH) -> dict[str, Tensor]:
    """Kernels of distance by name, `[n]` each, from 0 to 8 logits over the lags 0 .. length - 1.

    exp: e^{-k/32}. linear: 1 - k / length, which goes on below 0. power: 1 / (1 + k). at 7: one at lag 7, else 0.
    each 16: one at every multiple of 16, else 0. window: one below lag 64, else 0.
    """
    k = lags.to(torch.float64)
    found = {
        "exp": (-k / DECAY).exp(), "linear": 1 - k / length, "power": 1 / (1 + k),
        f"at {PEAK}": (k == PEAK).double(), f"each {PERIOD}": (k % PERIOD == 0).double(),
        "window": (k < WINDOW).double(),
    }  # fmt: skip
    return {name: HEIGHT * values for name, values in found.items()}


@checked
def family(encoding: Encoding) -> str | None:
    """What functions of the distance k an encoding can add to a logit whatever the content, in words; None: not asked.

    A constant is always free, since a softmax does not see it.
    """
    if isinstance(encoding, RopeMixed) and encoding.axes == 1:
        return "sum_m a_m cos(w_m k) + b_m sin(w_m k), q and k constant vectors, w_m as they stand"
    if isinstance(encoding, Rope) and waves(encoding) is not None:
        return "sum_m a_m cos(w_m k) + b_m sin(w_m k), q and k constant vectors: any a_m, b_m"
    if isinstance(encoding, XPos):
        return "sum_m zeta_m^(k/S) (a_m cos(w_m k) + b_m sin(w_m k)), q and k constant vectors"
    if isinstance(encoding, Sinusoidal) and waves(encoding) is not None:
        return (
            "PE_i^T M PE_j where it depends on i - j alone: sum_m a_m cos(w_m k) + b_m sin(w_m k); a head of width d "
            "has d/2 of these pairs at once, all heads together have them all"
        )
    if isinstance(encoding, TransformerXL):
        return "v^T W r(k) = sum_m a_m cos(w_m k) + b_m sin(w_m k), in every head"
    if isinstance(encoding, Learned) and encoding.axes == 1 and encoding.beyond != "interpolate":
        return (
            "PE_i^T M PE_j, a matrix of any numbers for as many rows as the width, each of which has to be trained; a "
            "head of width d has a part of rank d, all heads together have it all"
        )
    if isinstance(encoding, T5):
        return "one number a bucket of distances"
    if isinstance(encoding, RelativeBias) and encoding.axes == 1:
        return f"one number a distance, one for all from {encoding.limits[0]} on"
    if isinstance(encoding, Shaw):
        last = "one for all from there on" if encoding.form == "shaw" else "none beyond"
        return f"q constant: one number a distance up to {encoding.left}, {last}"
    if isinstance(encoding, Deberta):
        return f"q and k constant: one number a row of {encoding.size} distances or buckets, one for all beyond"
    if isinstance(encoding, Kerple):
        return (
            f"-p ln(1 + a k), a and p from {LEAST} on"
            if encoding.kernel == "log"
            else f"-a k^p, a from {LEAST}, p to 2"
        )
    if isinstance(encoding, NoPE):
        return "a constant"
    if isinstance(encoding, Alibi):
        return "-m k, m the slope of one of its heads"
    if isinstance(encoding, Sandwich):
        return "the bias of one of its heads"
    if not isinstance(encoding, tuple(ENCODINGS.values())) and form(encoding) == "bias":
        return "the bias of one of its heads, as it stands"
    return None


@checked
def basis(encoding: Encoding, lags: Float[Tensor, " n"]) -> Float[Tensor, "n r"] | None:
    """Functions of distance whose sums are what an encoding can make, the constant among these sums: `[n, r]` float64.

    None where its family is not linear (kerple, and those whose heads have no free number); nan at a lag that the
    encoding does not have. OptionError for an encoding whose family is not asked for.
    """
    if family(encoding) is None:
        raise OptionError(
            "this encoding has no family of functions of the distance alone that could be fitted",
            given=type(encoding).__name__.lower(),
            allowed=", ".join(FITTED),
            do=_why_not(encoding),
        )
    k = lags.to(torch.float64)
    one = torch.ones_like(k)[:, None]
    if isinstance(encoding, NoPE):
        return one
    if isinstance(encoding, Sinusoidal | Rope):
        found = waves(encoding)
        # A sine without its cosine makes no function of the distance alone.
        whole = amplitudes(found) == 1
        return torch.cat([one, *_pairs(k, torch.tensor(found.frequencies, dtype=torch.float64)[whole])], dim=1)
    if isinstance(encoding, RopeMixed):
        w = encoding.weight.detach().double()[:, 0]
        return torch.cat([one, *_pairs(k, w.flatten().unique())], dim=1)
    if isinstance(encoding, TransformerXL):
        if encoding.clamp_len is not None:
            k = k.clamp(-encoding.clamp_len, encoding.clamp_len)
        exponents = torch.arange(encoding.width // 2, dtype=torch.float64) * (2 / encoding.width)
        return torch.cat([one, *_pairs(k, BASE**-exponents)], dim=1)
    if isinstance(encoding, XPos):
        m = torch.arange(encoding.head_dim // 2, dtype=torch.float64) * (2 / encoding.head_dim)
        fade = ((m + encoding.gamma) / (1 + encoding.gamma)) ** (k[:, None] / encoding.scale_base)
        within = (k < encoding.longest)[:, None]
        waved = [torch.where(within, fade * part, math.nan) for part in _pairs(k, encoding.theta**-m)]
        return torch.cat([one, *waved], dim=1)
    rows = _rows(encoding, k)
    if rows is None:
        return None
    ends = (k >= _end(encoding))[:, None]
    return _indicators(rows).masked_fill(ends, math.nan)


@checked
def fit(encoding: Encoding, target: Float[Tensor, " n"], further: Float[Tensor, " m"] | None = None) -> Fit:
    """The nearest function to `target` at the lags 0 .. n - 1 that an encoding can make, and what it is beyond.

    further: the target at the lags n .. n + m - 1, which are not fitted, to tell how far off the fit is there.
    The family is that of `family`, with a free constant. Exact least squares; of kerple's two numbers one is searched.
    OptionError for an encoding without a family, or a target without two values.
    """
    further = target.new_zeros(0) if further is None else further
    return _fits(encoding, target.to(torch.float64)[:, None], further.to(torch.float64)[:, None])[0]


@checked
def section(encoding: Encoding, shape: Shape | None = None, length: int = LENGTH) -> Section:
    """Six kernels fitted over the lags 0 .. length - 1 by this encoding and, for comparison, by all others.

    shape: the model that the others are built for; by default of this encoding's sizes. An encoding that ends before
    `length` is fitted up to its end.
    """
    if length <= WINDOW:
        raise OptionError("the kernels need room", given=f"length={length}", allowed=f"more than {WINDOW}")
    if isinstance(encoding, NoPE):
        return does_not_apply(KEY, TITLE, QUESTION, "Without positions a logit is the same at every distance.")
    if family(encoding) is None:
        return does_not_apply(KEY, TITLE, QUESTION, _why_not(encoding))
    length = int(min(length, _end(encoding)))
    if length <= WINDOW:
        why = f"It ends at {length} places, and the kernels need more than {WINDOW}."
        return does_not_apply(KEY, TITLE, QUESTION, why)
    aims = targets(torch.arange(FURTHER * length, dtype=torch.float64), length)
    wanted = torch.stack([*aims.values()], dim=1)
    mine = dict(zip(aims, _fits(encoding, wanted[:length], wanted[length:])))
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
    own = Table(
        f"Nearest fits of its family over lags 0 to {length - 1}",
        ("kernel", "R^2", "error", f"error to {FURTHER * length - 1}", "largest term"),
        rows,
        note=f"Error: root mean square over the standard deviation of the kernel; 1 is no better than a constant. "
        f"Largest term: in logits, of which a kernel has {HEIGHT:g}. Family: {family(encoding)}. "
        f"Free numbers: {free}.",
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
        KEY, TITLE, QUESTION, _answer(mine, length), (own, *others), _figures(mine, aims, length), numbers=numbers
    )


FITTED = (
    "none", "learned", "sinusoidal", "shaw", "transformer_xl", "t5", "deberta", "rope", "rope_mixed", "alibi",
    "kerple", "sandwich", "xpos", "relative_bias",
)  # fmt: skip
"""Encodings whose families are known, those of several axes on a line."""


def _fits(encoding: Encoding, target: Tensor, further: Tensor) -> list[Fit]:
    """The fit of each column of `target [n, c]`, with `further [m, c]`."""
    n, m = target.shape[0], further.shape[0]
    if n < 2:
        raise OptionError("a function of distance has values", given=f"{n} lags", allowed="2 or more")
    lags = torch.arange(n + m, dtype=torch.float64)
    columns = basis(encoding, lags)
    if columns is not None:
        if isinstance(encoding, Learned) and n > encoding.width:
            raise OptionError(
                "a table makes any matrix of logits for as many places as it is wide",
                given=f"{n} places, width {encoding.width}",
                allowed=f"up to {encoding.width}",
                do="fit a shorter target",
            )
        return _made(*_linear(columns, target), target, further)
    if isinstance(encoding, Kerple):
        return _made(_kerple(encoding.kernel, lags, target), 3, None, target, further)
    return _made(_fixed(biases(encoding, lags, encoding.heads or 1).T, target), 1, None, target, further)


def _made(values: Tensor, free: int, largest: Tensor | None, target: Tensor, further: Tensor) -> list[Fit]:
    """The fits of each column; of a single term the largest is what it makes itself."""
    n, found = target.shape[0], []
    largest = (values[:n] - values[:n].mean(0)).abs().amax(0) if largest is None else largest
    for fitted, aim, rest, most in zip(values.T, target.T, further.T, largest.tolist()):
        unit = (aim - aim.mean()).square().mean().sqrt()
        unit = unit if unit > 0 else torch.ones_like(unit)
        error = ((fitted[:n] - aim).square().mean().sqrt() / unit).item()
        off = (fitted[n:] - rest).square().mean().sqrt() / unit if rest.numel() else None
        found.append(Fit(fitted, error, None if off is None or not off.isfinite() else off.item(), free, most))
    return found


def _linear(columns: Tensor, target: Tensor) -> tuple[Tensor, int, Tensor]:
    """The nearest sums of columns, how many numbers are free (those that float32 can tell apart), the largest terms."""
    n = target.shape[0]
    known = columns[:n].isfinite().all(1)
    used = (columns[:n][known] != 0).any(0)
    if not bool(known.all()):
        raise OptionError(
            "this encoding ends before the target does",
            given=f"{n} lags",
            allowed=f"up to {int(known.sum())}",
            do="fit a shorter target, or build the encoding for longer texts",
        )
    left, sizes, right = torch.linalg.svd(columns[:n][:, used], full_matrices=False)
    kept = sizes > RESOLVED * sizes[0]
    numbers = right[kept].T @ ((left[:, kept].T @ target) / sizes[kept, None])
    values = columns[:, used] @ numbers
    # Where a column is needed that no fitted lag has, nothing says what its number is.
    unsaid = (columns[:, ~used] != 0).any(1)
    largest = (numbers.abs() * columns[:n][:, used].abs().amax(0)[:, None]).amax(0)
    return values.masked_fill(unsaid[:, None], math.nan), int(kept.sum()), largest


def _fixed(heads: Tensor, target: Tensor) -> Tensor:
    """The best of some fixed functions `[n + m, h]` for each target, but for a constant."""
    n = target.shape[0]
    constant = (target[:, None] - heads[:n, :, None]).mean(0)
    left = (target[:, None] - heads[:n, :, None] - constant).square().mean(0)
    best = left.argmin(0)
    return heads[:, best] + constant[best, torch.arange(target.shape[1])]


def _scaled(columns: Tensor, target: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """Of each `-a f(k) + c`, a >= least and f a column `[n, r]`: a `[r, c]` and the mean square left."""
    f, aim = columns - columns.mean(0), target - target.mean(0)
    a = (-(f.T @ aim) / f.square().sum(0)[:, None].clamp(min=1e-300)).clamp(min=least)
    left = (aim[:, None] + a * f[:, :, None]).square().mean(0)
    return a, left


def _kerple(kind: str, lags: Tensor, target: Tensor) -> Tensor:
    """Of each target the best pair of KERPLE's numbers: one in closed form, the other by a grid refined three times."""
    n = target.shape[0]

    def curves(shape: Tensor) -> Tensor:
        """The shape of the penalty: `[n + m, r]` for r values of its inner number."""
        k = lags[:, None]
        return torch.log1p(shape * k) if kind == "log" else torch.where(k > 0, k, 0.0) ** shape

    # The log kernel's inner number has no upper bound; at 10^6 it has its limit, a step at lag 1 and ln k.
    low, high = (math.log(LEAST), math.log(1e6)) if kind == "log" else (math.log(LEAST), math.log(2.0))
    fitted = []
    for column in range(target.shape[1]):
        aim, begin, end = target[:, column : column + 1], low, high
        for _ in range(4):
            shapes = torch.linspace(begin, end, KERPLE, dtype=torch.float64).exp()
            a, left = _scaled(curves(shapes)[:n], aim, LEAST)
            best = int(left[:, 0].argmin())
            step = (end - begin) / (KERPLE - 1)
            middle = begin + best * step
            begin, end = max(low, middle - step), min(high, middle + step)
        values = -a[best, 0] * curves(shapes[best : best + 1])[:, 0]
        fitted.append(values + (aim[:, 0] - values[:n]).mean())
    return torch.stack(fitted, dim=1)


def _pairs(k: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    angle = k[:, None] * w
    return angle.cos(), angle.sin()


def _rows(encoding: Encoding, k: Tensor) -> Tensor | None:
    """The row of a table that each distance has, `[n]` int64, or None."""
    if isinstance(encoding, T5):
        return t5_bucket(-k, causal=encoding.causal, buckets=encoding.buckets, max_distance=encoding.max_distance)
    if isinstance(encoding, RelativeBias):
        return k.clamp(max=encoding.limits[0]).to(torch.int64)
    if isinstance(encoding, Shaw):
        return (k.clamp(max=encoding.left) if encoding.form == "shaw" else k).to(torch.int64)
    if isinstance(encoding, Deberta):
        steps = k.to(torch.int64)
        if encoding.buckets is not None:
            steps = deberta_bucket(steps, buckets=encoding.buckets, max_distance=encoding.span)
        return steps.clamp(max=encoding.size - 1)
    if isinstance(encoding, Learned):
        return k.to(torch.int64)
    return None


def _indicators(rows: Tensor) -> Tensor:
    """A column for each row that occurs. They add up to the constant, which needs no column of its own."""
    return torch.nn.functional.one_hot(rows.unique(return_inverse=True)[1]).to(torch.float64)


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
        found.append((type(encoding).__name__.lower(), encoding))
    fits = []
    for name, one in found:
        try:
            fits.append((name, _fits(one, wanted[:length], wanted[length:])))
        except OptionError:
            continue
        if isinstance(one, Alibi | Sandwich):
            curve = biases(one, torch.arange(length, dtype=torch.float64), one.heads).T[:, :1]
            fits.append(
                (f"{name}, any slope", _made(_any(-curve, wanted[:length]), 2, None, wanted[:length], wanted[:0]))
            )
    notes = (
        f"Model width {shape.width}, {shape.heads} heads of {shape.head_dim}. Fixed biases (alibi, sandwich) are the "
        "best of their heads; with any slope, a positive multiple of one. "
        f"'linear' falls by {HEIGHT / length:g} a step. A network fits anything (fire, seqpe, chain): not asked. "
        "Not shown are those that cannot be built in these sizes, or end before the target does."
    )
    return fits, notes


def _any(curve: Tensor, target: Tensor) -> Tensor:
    """The nearest `-a curve + c` to each target, a from 0 on."""
    a, _ = _scaled(curve, target, 0.0)
    values = -curve * a
    return values + (target - values).mean(0)


def _end(encoding: Encoding) -> float:
    """How many lags an encoding has."""
    if isinstance(encoding, Learned):
        return min(encoding.max_positions, encoding.width)
    return encoding.domain.highest + 1


def _why_not(encoding: Encoding) -> str:
    if (encoding.domain.axes or 1) > 1:
        return "On several axes there is no one distance: ask for its form on a line."
    if isinstance(encoding, Fire | SeqPE | Chain):
        return "A network stands between distance and logit: large enough it makes any function, so a fit says nothing."
    if isinstance(encoding, Cope):
        return "Its distances are counted by content, so no function of the distance is its own."
    if isinstance(encoding, Learned):
        return "Between the rows of a stretched table positions are mixed, so a logit is no function of the distance."
    if isinstance(encoding, Rope):
        return f"Under {encoding.scaling.scheme} scaling its waves depend on how long each text is: fix `length`."
    return "What it can make of a distance alone is not known."


def _answer(mine: dict[str, Fit], length: int) -> str:
    good = [name for name, fitted in mine.items() if fitted.error < 0.05]
    bad = [name for name, fitted in mine.items() if fitted.error > 0.5]
    said = [
        f"Over {length} lags it makes {_listed(good)} to within 5% of the kernel's deviation"
        + (f", and {_listed(bad)} no better than to a half of it." if bad else ".")
    ]
    held = [name for name in good if mine[name].beyond is not None and mine[name].beyond < 0.05]
    gone = [name for name in good if mine[name].beyond is None]
    if good:
        said.append(
            f"Of those, up to {FURTHER} times as far, it holds {_listed(held)} as well"
            + (f"; of {_listed(gone)} it has no value there at all." if gone else ".")
        )
    most = max(mine.values(), key=lambda fitted: fitted.largest)
    if most.largest > 100 * HEIGHT:
        said.append(
            f"Its terms cancel: a single one has up to {most.largest:.2g} logits where the kernel has {HEIGHT:g}, "
            "so it is as exact as its numbers are."
        )
    return " ".join(said)


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) if names else "none"


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
    return float(f"{value:.3g}") if abs(value) > 1e-9 else 0.0

"""What two tokens k apart are to each other by position alone: PE_p . PE_{p+k}, rope's expected logit, the bias."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from flint import arb
from jaxtyping import Bool, Float
from torch import Tensor

from gnomon.analysis import certified
from gnomon.analysis.forms import Waves, biases, form, waves
from gnomon.analysis.section import Figure, Line, Lines, Section, Table, does_not_apply
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError
from gnomon.positions import Positions

KEY, TITLE = "kernel", "Kernel"
QUESTION = "How does what position adds to a logit change with the distance k between two tokens?"
POINTS, NEAR, ROWS = 2000, 256, 12
FURTHEST = 10**6 - 1
"""How far the kernel is followed to see it come back."""
ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Rising:
    """Which steps of a sum of cosines rise.

    rises: whether K(k + 1) > K(k), k = 0 .. n - 2; each is proved but for those in `undecided`, which count as falling.
    first: the first k whose step rises, every earlier step proved to fall; None where none rises, or one is undecided.
    """

    rises: Bool[Tensor, " steps"]
    first: int | None
    undecided: tuple[int, ...]

    @property
    def share(self) -> float:
        """The share of all steps that rise."""
        return self.rises.double().mean().item()


@dataclass(frozen=True)
class Return:
    """The extremes of K(k) / K(0) over the lags from `begin` to `end`, both included."""

    begin: int
    end: int
    largest: float
    at: int
    smallest: float
    mean: float


@checked
def amplitudes(found: Waves) -> Float[Tensor, " m"]:
    """How often cos(w_m k) counts in the kernel, `[m]`: once for a pair, a half for a sine that has no cosine.

    sin(w p) sin(w (p + k)) = cos(w k) / 2 - cos(w (2 p + k)) / 2, and over all p the second term averages to 0.
    """
    if not found.columns:
        return torch.ones(len(found.frequencies), dtype=torch.float64)
    counts = [sum(m == wave for _, wave in found.columns) for m in range(len(found.frequencies))]
    return torch.tensor(counts, dtype=torch.float64) / 2


@checked
def kernel(encoding: Encoding, lags: Float[Tensor, " n"], heads: int = 1) -> Float[Tensor, "h n"]:
    """What position alone gives a pair at each of `lags` k = p_i - p_j >= 0, `[h, n]` float64, a row for each head.

    sinusoidal: the mean over p of PE_p . PE_{p+k} = sum_m cos(w_m k); it is the same at every p where pairs are whole.
    rope, xpos, rope_mixed on a line: E <R(p) q, R(p + k) q> / |q|^2 over directions of q, the share of a logit that is
    left where query and key agree. Where they are independent it is 0 at every k.
    A bias: itself, of which `heads` rows are read where the encoding does not know its own number of heads.
    OptionError for an encoding of another kind.
    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.4.3.
    """
    lags, found = lags.to(torch.float64), waves(encoding)
    if found is not None:
        return _scaled(encoding, _cosines(found, lags))[None]
    if form(encoding) == "bias" and encoding.domain.axes in (None, 1):
        return biases(encoding, lags, encoding.heads or heads)
    if isinstance(encoding, XPos | RopeMixed) and encoding.domain.axes in (None, 1):
        # Of q = k = (1, 1, ..., 1) every pair has the same length, as the pairs of all directions have on average.
        q_pos, k_pos = Positions(lags[None, :, None]), Positions(torch.zeros(1, 1, 1, dtype=torch.float64))
        encoding.check_positions(q_pos)
        d, h = encoding.head_dim, encoding.heads or 1
        ones = torch.ones(1, h, lags.shape[0], d, dtype=torch.float64)
        with torch.no_grad():
            logits = encoding.score(ones, ones[:, :, :1], q_pos, k_pos)[0, :, :, 0]
        return logits / (encoding.scale(d) * d)
    raise OptionError(
        "an encoding has a kernel of distance if it is made of waves on a line, or adds a bias without content",
        given=type(encoding).__name__.lower(),
        allowed="sinusoidal, rope, xpos, rope_mixed on one axis; alibi, t5, kerple, sandwich, relative_bias",
        do="for a table of vectors use gnomon.analysis.kernel.gram",
    )


@checked
def rising(found: Waves, n: int) -> Rising:
    """Which steps of K(k) = sum_m a_m cos(w_m k) rise, over the lags 0 .. n - 1, proved.

    A step is proved in float64 where it exceeds a bound of all rounding errors, and otherwise between balls.
    """
    if n < 2:
        raise OptionError("a step lies between two lags", given=f"n={n}", allowed="2 or more")
    lags = torch.arange(n, dtype=torch.float64)
    values, errors = _cosines(found, lags), _errors(found, lags)
    steps, doubt = values.diff(), errors[1:] + errors[:-1]
    rises, undecided = steps > 0, []
    for k in (steps.abs() <= doubt).nonzero()[:, 0].tolist():
        answer = certified.decided(lambda k=k: certified.below(_ball(found, k), _ball(found, k + 1)))
        rises[k] = bool(answer)
        if answer is None:
            undecided.append(k)
    first = int(rises.to(torch.uint8).argmax()) if bool(rises.any()) else None
    if first is not None and undecided and undecided[0] < first:
        first = None
    return Rising(rises, first, tuple(undecided))


@checked
def envelope(values: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The largest of all values from each lag on, `[n]`: the running maximum from the right."""
    return values.flip(0).cummax(0).values.flip(0)


@checked
def returns(
    found: Waves, furthest: int = FURTHEST, progress: Callable[[float], None] | None = None
) -> tuple[Return, ...]:
    """How near K(k) comes to K(0) again in each decade of lags, 1 .. 9, 10 .. 99, ..., up to `furthest`.

    By angle addition: cos(w (a s + b)) is a product of what belongs to a with what belongs to b.
    """
    if furthest < 1:
        raise OptionError("lags begin at 1", given=f"furthest={furthest}", allowed="1 or more")
    w, weight = torch.tensor(found.frequencies, dtype=torch.float64), amplitudes(found)
    size = min(furthest + 1, 1024)
    angle = torch.arange(size, dtype=torch.float64)[:, None] * w
    near = torch.cat([weight * angle.cos(), -weight * angle.sin()], dim=1).T
    ends = [min(10**e, furthest + 1) for e in range(len(str(furthest)) + 1)]
    decades = [(begin, end) for begin, end in zip(ends, ends[1:]) if begin < end]
    zero, found_in = weight.sum().item(), []
    for begin, end in decades:
        largest, at, smallest, total = -math.inf, begin, math.inf, 0.0
        # Blocks of rows of a, as many as make some millions of lags.
        for start in range(begin, end, size * 2048):
            rows = torch.arange(start, min(end, start + size * 2048), size, dtype=torch.float64)
            turned = rows[:, None] * w
            block = (torch.cat([turned.cos(), turned.sin()], dim=1) @ near).flatten()[: end - start]
            best, place = block.max(0)
            if best > largest:
                largest, at = best.item(), start + int(place)
            smallest, total = min(smallest, block.min().item()), total + block.sum().item()
            if progress is not None:
                progress(min(end, start + size * 2048) / (furthest + 1))
        mean = total / (end - begin) / zero
        found_in.append(Return(begin, end - 1, largest / zero, at, smallest / zero, mean))
    return tuple(found_in)


@checked
def decay_bound(frequencies: Float[Tensor, " m"], lags: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """mean_j |S_j(k)|, S_j(k) = sum_{m < j} e^{i w_m k}, j = 1 .. m: what RoFormer bounds a logit by, up to a factor.

    Source: Su et al. 2021, section 3.4.3, and its figure 2.
    """
    w, parts = frequencies.to(torch.float64), []
    for some in lags.to(torch.float64).split(_at_once(len(frequencies))):
        angle = some[:, None] * w
        parts.append(torch.hypot(angle.cos().cumsum(1), angle.sin().cumsum(1)).mean(1))
    return torch.cat(parts)


@checked
def gram(vectors: Float[Tensor, "n w"]) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """The mean and the standard deviation over p of PE_p . PE_{p+k}, k = 0 .. n - 1: `[n]` each, from `[n, w]`."""
    vectors = vectors.to(torch.float64)
    n = vectors.shape[0]
    if n < 1:
        raise OptionError("a table of positions has rows", given=list(vectors.shape), allowed="[n, w], n 1 or more")
    products, counts = vectors @ vectors.T, torch.arange(n, 0, -1, dtype=torch.float64)
    # Row p shifted left by p: its column k is the product of p with p + k.
    lag = torch.arange(n)
    place = lag[:, None] + lag
    inside = place < n
    shifted = products.gather(1, place.clamp(max=n - 1)).where(inside, 0.0)
    mean = shifted.sum(0) / counts
    spread = ((shifted - mean).where(inside, 0.0).square().sum(0) / counts).sqrt()
    return mean, spread


@checked
def section(
    encoding: Encoding, positions: int = 8192, heads: int = 8, vectors: Float[Tensor, "n w"] | None = None
) -> Section:
    """What distance does to a logit over the lags 0 .. positions - 1, for a reader.

    vectors: a trained table `[n, w]`, for an encoding whose own vectors are those of no training.
    """
    if positions < 2:
        raise OptionError("a kernel needs two lags", given=f"positions={positions}", allowed="2 or more")
    if vectors is not None:
        if vectors.shape[0] < 2:
            raise OptionError("a kernel needs two lags", given=list(vectors.shape), allowed="[n, w], n 2 or more")
        return _of_table(vectors[:positions])
    if form(encoding) == "vector" and waves(encoding) is None:
        several = (encoding.domain.axes or 1) > 1
        why = (
            "On several axes two tokens are apart in several directions, so there is no one distance: see grids."
            if several
            else "Its vectors are trained: before that their products are those of a random draw. Give a trained table "
            "(`vectors`, [n, w]) and the mean of PE_p . PE_{p+k} over p is shown with its spread."
        )
        return does_not_apply(KEY, TITLE, QUESTION, why)
    if (encoding.domain.axes or 1) > 1:
        why = "On several axes two tokens are apart in several directions, so there is no one distance: see grids."
        return does_not_apply(KEY, TITLE, QUESTION, why)
    if waves(encoding) is not None:
        return _of_waves(encoding, positions)
    if isinstance(encoding, Rope):
        why = f"Under {encoding.scaling.scheme} scaling the frequencies depend on how long each text is: fix `length`."
        return does_not_apply(KEY, TITLE, QUESTION, why)
    if not isinstance(encoding, XPos | RopeMixed) and form(encoding) != "bias":
        why = "What position adds to a logit depends on content, on absolute place or on what training makes of it."
        if not encoding.sites:
            why = "Nothing in its logits depends on position."
        return does_not_apply(KEY, TITLE, QUESTION, why)
    return _of_heads(encoding, positions, heads)


def _of_waves(encoding: Encoding, n: int) -> Section:
    found, rope = waves(encoding), isinstance(encoding, Rope)
    lags = torch.arange(n, dtype=torch.float64)
    values, rises, back = kernel(encoding, lags)[0], rising(found, n), returns(found)
    name = "E q.R(k)q / |q|^2" if rope else "PE_p . PE_{p+k}"
    lines, numbers = [(name, values), ("largest from here on", envelope(values))], {}
    said = [_fall(name, values, rises.first, n)]
    said.append(f"Of the {n - 1} steps between neighbouring lags {_percent(rises.share)} rise.")
    if rises.undecided:
        said.append(f"{len(rises.undecided)} steps are too small to be decided and count as falling.")
    far = back[-1]
    said.append(
        "It has no limit: a finite sum of cosines comes back again and again as near to its value at 0 as one likes. "
        f"Between lag {far.begin} and {far.end} the largest is {far.largest:.3f} of that value, at lag {far.at}; "
        f"{_mean(encoding, found, far)}."
    )
    lone = [m for m, count in enumerate(amplitudes(found).tolist()) if count != 1]
    if lone:
        said.append(
            f"The width is odd: the sine of frequency {lone[0]} has no cosine, so the product depends on p as well, by "
            f"up to 1/2 either way (cos(w (2 p + k)) / 2); shown is its mean over p."
        )
    if rope:
        bound = decay_bound(torch.tensor(found.frequencies), lags)
        share = (bound.diff() > 0).double().mean().item()
        lines.append(("RoFormer's bound, as a share of its value at 0", bound / bound[0]))
        said.append(
            "Of independent queries and keys the mean is 0 at every distance: the line is for those that agree. "
            f"RoFormer's bound, the mean of |partial sums|, rises in {_percent(share)} of the steps too."
        )
        numbers |= {"bound_rising_share": share, "bound_last": (bound[-1] / bound[0]).item()}
    numbers |= {
        "at_zero": values[0].item(), "first_rise": rises.first, "rising_share": rises.share,
        "undecided": len(rises.undecided), "lags": n, "largest_after_first_rise": _later(values, rises.first),
        "largest_by_decade": [[r.begin, r.end, r.largest, r.at] for r in back],
    }  # fmt: skip
    table = Table(
        "How near it comes to its value at 0 again" + " (the part that turns)" * _stands(encoding),
        ("lags", "largest", "at lag", "smallest", "mean"),
        tuple((f"{r.begin} to {r.end}", _r(r.largest), r.at, _r(r.smallest), _r(r.mean)) for r in back),
        note="As a share of the value at lag 0.",
    )
    return Section(
        KEY, TITLE, QUESTION, " ".join(said), (table,), _figures(lines, n, name), _proof(found, rope), numbers
    )


def _of_heads(encoding: Encoding, n: int, heads: int) -> Section:
    bias = form(encoding) == "bias"
    n = int(min(n, encoding.domain.highest + 1))
    values = kernel(encoding, torch.arange(n, dtype=torch.float64), heads)
    steps = values.diff(dim=1)
    firsts = [int(up.to(torch.uint8).argmax()) if bool(up.any()) else None for up in steps > 0]
    shares = (steps > 0).double().mean(1).tolist()
    ends = [int(moved.nonzero()[-1]) + 1 if bool(moved.any()) else 0 for moved in steps != 0]
    never = sum(first is None for first in firsts)
    what = "bias" if bias else "E q.R(k)q / |q|^2"
    said = [f"Over the lags 0 to {n - 1} the {what} only falls or stays in {never} of {len(firsts)} heads."]
    if never < len(firsts):
        soonest = min(first for first in firsts if first is not None)
        least, most = _percent(min(shares)), _percent(max(shares))
        said.append(
            f"The soonest rise is after lag {soonest}; of all steps {least}{f' to {most}, by head,' * (least != most)} "
            "rise."
        )
    if max(ends) < n - 1:
        said.append(f"From lag {max(ends)} on it is the same for every distance.")
    if not bias:
        said.append("Of independent queries and keys the mean is 0 at every distance.")
    if any(True for _ in encoding.parameters()):
        said.append("Its numbers are trained: these are the ones that the encoding was given, or was drawn with.")
    columns = ("head", "first rise", "rising", "at lag 1", f"at lag {n - 1}", "same from")
    rows = tuple(
        (h + 1, firsts[h], _percent(shares[h]), _r(values[h, 1].item()), _r(values[h, -1].item()), _same(ends[h], n))
        for h in range(min(len(firsts), ROWS))
    )
    more = f"The first {ROWS} of {len(firsts)} heads." if len(firsts) > ROWS else ""
    lines = [(f"head {h + 1}", values[h]) for h in range(min(len(firsts), ROWS))]
    numbers = {
        "first_rise": firsts, "rising_share": shares, "monotone": [first is None for first in firsts],
        "same_from": ends, "lags": n,
    }  # fmt: skip
    return Section(
        KEY, TITLE, QUESTION, " ".join(said), (Table(f"The {what} of each head", columns, rows, more),),
        _figures(lines, n, what), numbers=numbers,
    )  # fmt: skip


def _of_table(vectors: Tensor) -> Section:
    mean, spread = gram(vectors[:POINTS])
    n = mean.shape[0]
    steps = mean.diff() > 0
    first = int(steps.to(torch.uint8).argmax()) if bool(steps.any()) else None
    share = steps.double().mean().item()
    # Lags that few pairs have say little of all pairs: to half of the table each has as many as the table has rows.
    middle = max(1, n // 2)
    differs = spread[1 : middle + 1].mean().item()
    answer = (
        f"Of {n} vectors the mean of PE_p . PE_{{p+k}} over p is {mean[0]:.4g} at lag 0 and {mean[middle]:.4g} at lag "
        f"{middle}; {_percent(share)} of its steps rise, "
        + (f"the first after lag {first}. " if first is not None else "none of them. ")
        + f"From place to place it differs by {differs:.4g} (standard deviation)."
    )
    low, high = mean - spread, mean + spread
    lines = [("mean over p", mean), ("less one standard deviation", low), ("plus one", high)]
    numbers = {"at_zero": mean[0].item(), "first_rise": first, "rising_share": share, "lags": n}
    note = f"The first {POINTS} rows." if vectors.shape[0] > POINTS else ""
    table = Table(
        "Mean and spread over p",
        ("lag", "mean", "spread"),
        tuple((k, _r(mean[k].item()), _r(spread[k].item())) for k in sorted({0, 1, 2, 4, 8, 16, 64, middle}) if k < n),
        note,
    )
    return Section(KEY, TITLE, QUESTION, answer, (table,), _figures(lines, n, "PE_p . PE_{p+k}"), numbers=numbers)


def _fall(name: str, values: Tensor, first: int | None, n: int) -> str:
    if first is None:
        return f"{name} is {values[0]:.4g} at lag 0 and was not proved to rise within {n} lags."
    if first == 0:
        return f"{name} is {values[0]:.4g} at lag 0 and rises at once."
    return (
        f"{name} is {values[0]:.4g} at lag 0, falls at every step up to lag {first}, where it is {values[first]:.4g}, "
        f"and rises from there to lag {first + 1}: each of these steps is proved."
    )


def _mean(encoding: Encoding, found: Waves, far: Return) -> str:
    if 0.0 in found.frequencies or _stands(encoding):
        return (
            f"some dimensions do not turn, so its mean does not tend to 0; that of the part that does is {far.mean:.4f}"
        )
    return f"only its mean tends to 0, and is {far.mean:.4f} of it there"


def _stands(encoding: Encoding) -> bool:
    """Whether dimensions of the head are left as they are."""
    return isinstance(encoding, Rope) and encoding.rotary < encoding.head_dim


def _proof(found: Waves, rope: bool) -> tuple[str, ...]:
    m = len(found.frequencies)
    product = (
        "Turning q by the angle w_m p and k by w_m (p + k) leaves e^{i w_m k} between them, in each pair of "
        "dimensions. Where q and k are one vector of random direction, each pair holds the same share of its length on "
        "average, so the mean is that of cos(w_m k) over the pairs."
        if rope
        else "sin a sin b + cos a cos b = cos(a - b), so each whole pair gives cos(w_m k), whatever p is: "
        "K(k) = sum_m cos(w_m k), and K(0) is the number of pairs."
    )
    return (
        product,
        "A step K(k + 1) - K(k) is proved by its size: computed in float64 it exceeds a bound of all rounding errors "
        "(of the frequencies, the angles, the cosines and their sum); where it does not, both values are computed "
        "again as intervals that contain them, at twice the precision until the intervals no longer meet.",
        f"Why it has no limit. Cut the circle into N equal arcs, and note for k = 0, 1, ..., N^{m} in which arc each "
        f"of the {m} angles w_m k lies. There are N^{m} combinations and one lag more, so two lags, k and l > k, share "
        "all of them: over l - k every angle comes back to within 1/N of a turn, and K(l - k) >= K(0) cos(2 pi / N). "
        "N is arbitrary, and no whole number of steps is a whole number of turns (pi is irrational), so ever closer "
        "returns are ever later ones: K comes arbitrarily near to K(0) however far out one begins (the argument is "
        "Dirichlet's and Kronecker's; Bohr calls such a function almost periodic). It cannot stay near K(0) either, "
        f"because of its mean. So it has no limit. That N^{m} lags are enough says that a return exists, not that it "
        "is near: the table shows how near it comes within the lags that were looked at.",
        "Its mean has one: the sum of cos(w k) over k = 0 .. n - 1 stays below 1 / |sin(w / 2)|, so the mean over n "
        "lags is at most that over n for every wave that turns, and tends to 0.",
    )


def _figures(lines: list[tuple[str, Tensor]], n: int, y: str) -> tuple[Figure, ...]:
    near = min(n, NEAR + 1)
    figures = [
        Lines(
            f"Near: lags 0 to {near - 1}", "lag k", y,
            tuple(Line(label, list(range(near)), values[:near].tolist()) for label, values in lines),
        )
    ]  # fmt: skip
    if n > near:
        far = tuple(Line(label, *_thinned(values)) for label, values in lines)
        note = "Of many lags the lowest and the highest are drawn." if n > POINTS else ""
        figures.append(Lines(f"All lags to {n - 1}", "lag k", y, far, x_log=True, note=note))
    return tuple(figures)


def _thinned(values: Tensor) -> tuple[list[float], list[float]]:
    """Lags from 1 on and their values; where they are too many, the extremes of each of some lags even in log k."""
    n = values.shape[0]
    if n - 1 <= POINTS:
        return list(range(1, n)), values[1:].tolist()
    edges = torch.logspace(0, math.log10(n), POINTS // 2 + 1, dtype=torch.float64).round().to(torch.int64)
    kept = set()
    for begin, end in zip(edges.tolist(), edges.tolist()[1:]):
        if begin < end:
            part = values[begin:end]
            kept |= {begin + int(part.argmin()), begin + int(part.argmax())}
    lags = sorted(kept)
    return lags, values[lags].tolist()


def _same(end: int, n: int) -> int | None:
    """The lag from which on a bias is constant, if it is so before the last lag."""
    return end if end < n - 1 else None


def _later(values: Tensor, first: int | None) -> float | None:
    return None if first is None else (values[first + 1 :].max() / values[0]).item()


def _scaled(encoding: Encoding, cosines: Tensor) -> Tensor:
    """The sum of cosines as a sinusoid's product, or as the mean over all pairs of a head, turned or not."""
    if not isinstance(encoding, Rope):
        return cosines
    still = (encoding.head_dim - encoding.rotary) / 2
    return (encoding.scaling.attention**2 * cosines + still) / (encoding.head_dim / 2)


def _cosines(found: Waves, lags: Tensor) -> Tensor:
    w, weight = torch.tensor(found.frequencies, dtype=torch.float64), amplitudes(found)
    return torch.cat([((some[:, None] * w).cos() * weight).sum(1) for some in lags.split(_at_once(len(w)))])


def _at_once(waves: int) -> int:
    """How many lags are worked out together: as many as make some millions of angles."""
    return max(1, 2**22 // max(1, waves))


def _errors(found: Waves, lags: Tensor) -> Tensor:
    """More than what float64 may have got wrong in `_cosines`, `[n]`.

    A frequency is off by 2 roundings of the power and one of the exponent, which the power multiplies by e ln(base);
    the angle by one more; a cosine by less than 4, and each addition by one of a sum of at most m.
    """
    w, m = torch.tensor(found.frequencies, dtype=torch.float64), len(found.frequencies)
    if found.exponents is None:
        of_angle = w
    else:
        exponents = torch.tensor([float(e) for e in found.exponents], dtype=torch.float64)
        of_angle = w * (3 + exponents * math.log(found.base))
    return 1.1 * ROUNDING * (lags * of_angle.sum() + m * (m + 4))


def _ball(found: Waves, k: int) -> arb:
    if found.exponents is None:
        terms = [arb(w) for w in found.frequencies]
    else:
        terms = [certified.frequency(found.base, e) for e in found.exponents]
    return sum((arb(a) * (w * k).cos() for a, w in zip(amplitudes(found).tolist(), terms, strict=True)), arb(0))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _r(value: float) -> float:
    return float(f"{value:.4g}")

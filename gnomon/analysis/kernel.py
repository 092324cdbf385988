"""Kernel: how what position adds to a logit falls, rises and comes back with the distance between two tokens."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_size, real
from gnomon.analysis.cosine_sums import Return, decay_bound, returns, rising
from gnomon.analysis.distance_kernel import envelope, gram, kernel
from gnomon.analysis.forms import Waves, form, scaled, waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError
from gnomon.section import Figure, Line, Lines, Section, Table, does_not_apply, rounded

KEY, TITLE = "kernel", "Kernel"
QUESTION = "How does what position adds to a logit change with the distance k between two tokens?"
POINTS, NEAR, ROWS = 2000, 256, 12
MOST_ROWS = 16384
"""Rows of a table, all pairs of which are multiplied."""


@checked
def section(
    encoding: Encoding, positions: int = 8192, heads: int = 8, vectors: Float[Tensor, "n w"] | None = None
) -> Section:
    """What distance does to a logit over the lags 0 .. positions - 1, for a reader.

    vectors: a trained table `[n, w]`, for an encoding whose own vectors are those of no training.
    """
    check_size(positions, "a kernel needs two lags", 2)
    check_size(heads, "heads of the attention")
    if vectors is not None:
        if not 2 <= min(real(vectors, "vectors", 2).shape[0], positions) <= MOST_ROWS:
            raise OptionError(
                "a kernel needs two lags", given=list(vectors.shape), allowed=f"[n, w], n 2 to {MOST_ROWS}"
            )
        return _of_table(vectors[:positions])
    if form(encoding) == "vector" and waves(encoding) is None:
        several = (encoding.domain.axes or 1) > 1
        why = (
            "On several axes two tokens are apart in several directions, so there is no one distance: see grids."
            if several
            else scaled(encoding)
            or "Its vectors are trained: before that their products are those of a random draw. Give a trained table "
            "(`vectors`, [n, w]) and the mean of PE_p . PE_{p+k} over p is shown with its spread."
        )
        return does_not_apply(KEY, TITLE, QUESTION, why)
    if (encoding.domain.axes or 1) > 1:
        why = "On several axes two tokens are apart in several directions, so there is no one distance: see grids."
        return does_not_apply(KEY, TITLE, QUESTION, why)
    if (found := waves(encoding)) is not None:
        if not found.frequencies:
            return does_not_apply(KEY, TITLE, QUESTION, "No dimension has a wave, so every product is 0.")
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
    said.append(f"Of the {n - 1:,} steps between neighbouring lags {_percent(rises.share)} rise.")
    if rises.undecided:
        said.append(f"{len(rises.undecided)} steps are too small to be decided and count as falling.")
    far = back[-1]
    said.append(
        "It has no limit: a finite sum of cosines comes back again and again as near to its value at 0 as one likes. "
        f"Between lag {far.begin:,} and {far.end:,} the largest is {far.largest:.3f} of that value, at lag {far.at:,}"
        f"{' (proved)' * far.proved}; {_mean(encoding, found, far)}."
    )
    lone = sorted({*range(len(found.frequencies))} - {*found.whole_pairs})
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
        tuple(
            (f"{r.begin:,} to {r.end:,}", rounded(r.largest), r.at, rounded(r.smallest), rounded(r.mean)) for r in back
        ),
        note="As a share of the value at lag 0." + " The largest are proved." * back[0].proved,
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
    heads = {0: "in every head it rises somewhere", len(firsts): "it never rises, in any head"}.get(
        never, f"it never rises in {never} of {len(firsts)} heads"
    )
    said = [f"How the {what} changes over the lags 0 to {n - 1}: {heads}."]
    if never < len(firsts):
        soonest = min(first for first in firsts if first is not None)
        least, most = _percent(min(shares)), _percent(max(shares))
        said.append(
            f"The first rise of any head is from lag {soonest} to lag {soonest + 1}; of all steps "
            f"{least}{f' to {most}, by head,' * (least != most)} "
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
        (h + 1, firsts[h], _percent(shares[h]), *map(rounded, values[h, [1, -1]].tolist()), _same(ends[h], n))
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
        tuple(
            (k, *(rounded(of[k].item()) for of in (mean, spread)))
            for k in sorted({0, 1, 2, 4, 8, 16, 64, middle})
            if k < n
        ),
        note,
    )
    return Section(KEY, TITLE, QUESTION, answer, (table,), _figures(lines, n, "PE_p . PE_{p+k}"), numbers=numbers)


def _fall(name: str, values: Tensor, first: int | None, n: int) -> str:
    if first is None:
        return f"{name} is {values[0]:.4g} at lag 0 and was not proved to rise within {n} lags."
    if first == 0:
        return f"{name} is {values[0]:.4g} at lag 0 and rises at once."
    return (
        f"It falls at first only: {name} is {values[0]:.4g} at lag 0, falls at every step up to lag {first}, where it "
        f"is {values[first]:.4g}, and rises from there to lag {first + 1}: each of these steps is proved."
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
    # Near by every lag, of every line: lines that coincide there have to be seen to.
    kept = set(range(1, min(POINTS // 8, n)))
    edges = torch.logspace(0, math.log10(n), POINTS // 2 + 1, dtype=torch.float64).round().to(torch.int64)
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


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"

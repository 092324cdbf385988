"""Do distant positions look alike? The lags at which the waves come back, and the first closer than a neighbour."""

from collections.abc import Callable
from decimal import Decimal

import torch

from gnomon.analysis import certified
from gnomon.analysis.arguments import FARTHEST
from gnomon.analysis.closest import (
    Closest,
    check_readable,
    closest,
    first_closer_than_neighbour,
    joined,
    pieces,
    similarity,
)
from gnomon.analysis.forms import Waves, name_of, scaled, waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.section import Line, Lines, Section, Table, does_not_apply

_KEY, _TITLE = "aliasing", "Aliasing: distant positions that look alike"
_QUESTION = (
    "At which distance does a position look most like another one, and does any look more alike than a neighbour?"
)

_ASKED = (10**3, 10**6)
"""Lags from which the closest is asked for, besides the training length and every power of ten."""


@checked
def section(
    encoding: Encoding,
    last: int | None = None,
    training: int = 128,
    progress: Callable[[float], None] | None = None,
) -> Section:
    """The closest lag from `training`, 10^3 and 10^6 up to `last`, and of each decade; the first closer than lag 1.

    last: the largest lag, at most 10^15; None: 10^12 for up to 12 waves, 10^9 for up to 64, else 10^8, which takes
    seconds. OptionError for a `last` that is no lag, or too far to read for so many waves.
    """
    if last is not None and not 1 <= last <= FARTHEST:
        raise OptionError("the largest lag of the search", given=f"last={last}", allowed=f"1 to {FARTHEST}")
    if training < 1:
        raise OptionError("the training length is a number of places", given=training, allowed="1 or more")
    made_of = waves(encoding)
    if made_of is None or not made_of.is_whole:
        return does_not_apply(_KEY, _TITLE, _QUESTION, _why_not(encoding, made_of))
    last = _default(len(made_of.frequencies)) if last is None else last
    last = int(min(last, encoding.domain.highest - encoding.domain.lowest))

    firsts = sorted({training, *_ASKED, *(10**power for power in range(1, 16))})
    firsts = [first for first in firsts if first < last] or [last]
    check_readable(made_of, 1, last)
    parts = pieces(made_of, firsts, last, _part(progress, 0, 0.7))
    found = joined(made_of, parts)
    closer = first_closer_than_neighbour(made_of, last, _part(progress, 0.7, 0.3))
    if progress is not None:
        progress(1.0)

    neighbour = float(similarity(made_of, torch.tensor([1]))[0])
    asked = [one for one in found if one.first in {training, *_ASKED}] or found
    return Section(
        _KEY,
        _TITLE,
        _QUESTION,
        " ".join([_closer(closer, last, neighbour), _most_alike(asked, len(made_of.frequencies))]),
        tables=(_table(parts, closest(made_of, 1, 1), len(made_of.frequencies)),),
        figures=(_figure(made_of, found, neighbour, last),),
        proof=_proof(isinstance(encoding, Rope), parts),
        numbers={
            "last": last,
            "neighbour": neighbour,
            "first_closer_than_neighbour": closer,
            "closest": [_numbers(one) for one in found],
            "ranges": [_numbers(one) for one in parts],
        },
    )


def _default(pairs: int) -> int:
    return 10**12 if pairs <= 12 else 10**9 if pairs <= 64 else 10**8


def _part(progress: Callable[[float], None] | None, begin: float, share: float) -> Callable[[float], None] | None:
    return None if progress is None else lambda done: progress(begin + share * done)


def _why_not(encoding: Encoding, made_of: Waves | None) -> str:
    name = name_of(encoding)
    if made_of is not None:
        return (
            f"{name} of this width has a sine without its cosine, or no pair at all, so how alike two positions look "
            "depends on where they are, not on their distance alone. Take an even width."
        )
    if isinstance(encoding, Sinusoidal | Rope):
        if encoding.axes > 1:
            return "Several axes share the width; each alone is the same encoding on one axis. Ask it with one axis."
        return scaled(encoding) or (
            "Its frequencies change with the length of the context, so a lag has no similarity of its own."
        )
    return f"{name}: not made of waves of fixed frequencies, so there is no turn after which it comes back."


def _numbers(one: Closest) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(one).items()}


def _most_alike(found: list[Closest], pairs: int) -> str:
    said = []
    for lag in dict.fromkeys(one.lag for one in found):
        ones = [one for one in found if one.lag == lag]
        begins = " or ".join(f"{one.first:,}" for one in ones)
        edge = ", where the range begins" if any(one.first == lag for one in ones) else ""
        said.append(f"{lag:,} from {begins} on (mean cosine {_cosine(ones[0], pairs)}{edge})")
    return f"The lag that looks most alike, up to {found[0].last:,}: {'; '.join(said)}. {_others(found)}"


def _others(found: list[Closest]) -> str:
    """What is known of the other lags of these ranges."""
    tied = sorted({lag for one in found for lag in one.tied})
    if not tied:
        return "Every other lag of these ranges is proved to be farther."
    shown = ", ".join(f"{lag:,}" for lag in tied[:3]) + " and so on" * (len(tied) > 3)
    return f"Not told apart from it: {len(tied):,} ({shown}); every other lag is proved to be farther."


def _closer(closer: int | None, last: int, neighbour: float) -> str:
    """The plain answer, from which what is known of far lags follows."""
    beside = f"(whose mean cosine is {neighbour:.6g})"
    if closer is None:
        return f"No: no two positions up to {last:,} apart look more alike than neighbours {beside}."
    return f"Yes: positions {closer:,} apart look more alike than neighbours {beside}, and at no smaller distance."


def _cosine(one: Closest, pairs: int) -> str:
    """The mean cosine, or how much is missing to 1 where that is little: distance^2 = 2 pairs (1 - mean cosine)."""
    middle = sum(one.similarity) / 2
    # The square may be below what a float holds.
    return f"{middle:.9f}" if middle < 0.99999 else f"1 - {Decimal(one.distance[0]) ** 2 / (2 * pairs):.3g}"


def _table(parts: list[Closest], neighbour: Closest, pairs: int) -> Table:
    beside = sum(neighbour.distance) / 2
    rows = []
    for one in parts:
        apart = sum(one.distance) / 2 / beside if beside else None
        rows.append((one.first, one.last, one.lag, _cosine(one, pairs), apart, one.method))
    return Table(
        "The closest lag k of each range",
        ("from", "to", "closest k", "mean cosine", "neighbours' x", "method"),
        tuple(rows),
        note="neighbours' x: how many times as far from each other as those of neighbours the two vectors are. Scan: "
        "every other lag is bounded from above. Lattice: all lags that can be as close were listed. The values are "
        f"proved in interval arithmetic; which lags need it, float64 says, whose cosines are taken to be within "
        f"{certified.TRUSTED:.1g} of the truth.",
    )


def _figure(made_of: Waves, found: list[Closest], neighbour: float, last: int) -> Lines:
    near = torch.arange(1, min(last, 600) + 1)
    far = torch.logspace(0, torch.tensor(float(last)).log10().item(), 1200, dtype=torch.float64).long().clamp(1, last)
    lags = torch.cat([near, far]).unique()
    steps, heights = [], []
    for one, following in zip(found, [*found[1:], None]):
        steps += [one.first, following.first if following else last]
        heights += [sum(one.similarity) / 2] * 2
    return Lines(
        "How alike positions at a distance look",
        "lag k (positions)",
        "mean cosine",
        (
            Line("lag k", lags.tolist(), similarity(made_of, lags).tolist()),
            Line("closest lag from here on", steps, heights),
            Line("neighbour, k = 1", [1, last], [neighbour, neighbour]),
        ),
        x_log=True,
        note="Far lags are a sample. The closest lag is known from the marks of the table on.",
    )


def _proof(turned: bool, found: list[Closest]) -> tuple[str, ...]:
    alike = (
        "Turning by p and by p + k differ by a turn through w_m k of each pair, so how alike they are depends on k "
        "only: the mean of cos(w_m k) over the pairs."
        if turned
        else "PE(p) . PE(p + k) = sum over pairs of sin a sin(a + w_m k) + cos a cos(a + w_m k) = sum of cos(w_m k), "
        "a = w_m p: it depends on k only. Its share of |PE|^2 = d / 2 is the mean cosine, and |PE(p) - PE(p + k)|^2 is "
        "2 sum (1 - cos w_m k)."
    )
    ways = {
        "scan": "Scan: every lag is read as a product of matrices by angle addition, the slow waves at every s-th lag "
        "only. Between two readings a wave w strays from the straight line by at most w^2 s^2 / 8, so all lags in "
        "between have an upper bound. Those whose bound is below the best are out; the rest are evaluated in float64, "
        "and what float64 cannot order is ordered in interval arithmetic.",
        "lattice": "Lattice: a lag as close as the best has angles w_m k - 2 pi n_m whose squares add up to at most "
        "R^2, so (k, n_1, ..., n_M) is a short vector of a lattice. A reduced basis bounds its coefficients one after "
        "another, and all of them are listed.",
    }
    return (alike, *(ways[way] for way in sorted({one.method for one in found}, reverse=True)))

"""Whether what is near on a grid is near in the encoding: a picture read row by row against forms on two axes."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.distance_kernel import logits
from gnomon.analysis.forms import form, vectors
from gnomon.analysis.nearness import MOST, NEIGHBOURS, Nearness, check_patches, euclidean, nearness
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.kerple import Kerple
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.positions import grid
from gnomon.section import Heat, Line, Lines, Section, Table, does_not_apply, rounded

KEY, TITLE = "grids", "Grids"
QUESTION = "Are patches of a picture that are near each other near in the encoding, on one axis and on two?"


@checked
def distances(encoding: Encoding, rows: int, columns: int) -> Float[Tensor, "n n"]:
    """How far apart every two patches are to an encoding, `[n, n]` float64, n = rows x columns, read row by row.

    An encoding on one axis is given the number of each patch, one on two axes its row and column.
    sinusoidal: |PE_a - PE_b|. rope, rope_mixed: the root of the mean square of |R(a) q - R(b) q| over directions of q
    of length 1 (and over heads), the chord of the turn: sqrt(2 - 2 mean_m cos). alibi, kerple: minus the bias of the
    first head, which on two axes is a function of the Euclidean distance.
    OptionError for other encodings, and for a grid of more than 4096 patches or of fewer than 2.
    """
    check_patches(rows, columns)
    axes = getattr(encoding, "axes", 2)
    place = grid(rows, columns).coords[0] if axes == 2 else torch.arange(rows * columns, dtype=torch.float64)[:, None]
    if isinstance(encoding, Sinusoidal) and axes <= 2:
        vector = vectors(encoding, place)
        return torch.cdist(vector, vector, compute_mode="donot_use_mm_for_euclid_dist")
    if isinstance(encoding, Alibi | Kerple):
        return -_of_differences(place, lambda apart: _bias(encoding, apart))
    if isinstance(encoding, RopeMixed | Rope) and axes <= 2 and not _measured(encoding):
        return _of_differences(place, lambda apart: _chord(encoding, apart))
    raise OptionError(
        "an encoding has distances on a grid if its numbers are not those of an untrained table",
        given=type(encoding).__name__.lower(),
        allowed="sinusoidal, rope, rope_mixed, alibi, kerple, on one axis or two",
    )


@checked
def both(encoding: Encoding) -> tuple[Encoding, Encoding]:
    """An encoding's form on one axis and its form on two, each with the same options otherwise.

    The one that was given is one of them; parameters of the other are drawn from seed 0. ALiBi and KERPLE are their
    own on any number of axes: they come twice. OptionError where there are not two forms that can be compared.
    """
    if isinstance(encoding, Alibi | Kerple):
        return encoding, encoding
    axes = getattr(encoding, "axes", None)
    if not isinstance(encoding, Sinusoidal | Rope | RopeMixed) or axes not in (1, 2):
        raise OptionError(
            "this encoding has no two forms whose distances are known before training",
            given=type(encoding).__name__.lower() + (f" on {axes} axes" if axes is not None else ""),
            allowed="sinusoidal, rope, rope_mixed, alibi, kerple, on one axis or two",
        )
    if isinstance(encoding, Rope) and (encoding.scaling.scheme is not None or encoding.sections is not None):
        raise OptionError(
            "rope's forms on a grid are compared as published: unscaled, every axis with a block of pairs",
            given=f"scaling={encoding.scaling.scheme}, sections={encoding.sections}",
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        other = _rebuilt(encoding, 3 - axes)
    return (encoding, other) if axes == 1 else (other, encoding)


@checked
def section(encoding: Encoding, rows: int = 14, columns: int = 14) -> Section:
    """The forms of an encoding on one axis and on two, on a grid of patches, for a reader."""
    if min(rows, columns) < 3 or rows * columns > MOST:
        raise OptionError(
            "a patch with neighbours on all sides needs 3 x 3", given=f"{rows} x {columns}", allowed=f"up to {MOST}"
        )
    try:
        line, plane = both(encoding)
    except OptionError as error:
        return does_not_apply(KEY, TITLE, QUESTION, _why_not(encoding, error))
    names = ("row by row", "two axes")
    made = (_numbered(line, rows, columns), distances(plane, rows, columns))
    near = [nearness(one, rows, columns) for one in made]
    still = " and ".join(name for name, one in zip(names, near) if one.right == 0)
    if still:
        why = (
            f"At this width it does not tell a patch from its right neighbour ({still}): there is no wave for columns."
        )
        return does_not_apply(KEY, TITLE, QUESTION, why)
    table = Table(
        f"Distances on a grid of {rows} x {columns} patches",
        ("form", "rank corr.", "below/right", "seam/right", "8 nearest"),
        tuple(
            (
                name,
                rounded(one.correlation),
                rounded(one.below / one.right),
                rounded(one.seam / one.right),
                f"{100 * one.found:.0f}%",
            )
            for name, one in zip(names, near)
        ),
        note="Rank corr.: Spearman's with the Euclidean distance over all pairs. Below/right: distance from the lower "
        f"neighbour over that from the right one; patch numbers alone say {columns}. Seam: from the end of a row to "
        f"the beginning of the next, {columns - 1} columns away. 8 nearest: how many of a patch's 8 neighbours are "
        "among its 8 nearest in the encoding.",
    )
    numbers = {"rows": rows, "columns": columns}
    for key, one in zip(("line", "plane"), near):
        numbers |= {
            f"{key}_correlation": one.correlation, f"{key}_below_over_right": one.below / one.right,
            f"{key}_seam_over_right": one.seam / one.right, f"{key}_neighbours": one.found,
        }  # fmt: skip
    return Section(
        KEY, TITLE, QUESTION, _answer(near, rows, columns, encoding), (table,),
        _figures(names, made, rows, columns), numbers=numbers,
    )  # fmt: skip


def _numbered(encoding: Encoding, rows: int, columns: int) -> Tensor:
    """Distances by the numbers of the patches, whatever axes the encoding takes."""
    if not isinstance(encoding, Alibi | Kerple):
        return distances(encoding, rows, columns)
    place = torch.arange(rows * columns, dtype=torch.float64)[:, None]
    return -_of_differences(place, lambda apart: _bias(encoding, apart))


def _of_differences(place: Tensor, of: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of the difference `[m, axes]` of two whole places, worked out once for each difference: `[n, n]`."""
    furthest = place.max(0).values.to(torch.int64)
    each = [torch.arange(-most, most + 1) for most in furthest.tolist()]
    values = of(torch.cartesian_prod(*each).reshape(-1, len(each)).double())
    entry = torch.zeros(place.shape[0], place.shape[0], dtype=torch.int64)
    for axis, most in enumerate(furthest.tolist()):
        at = place[:, axis].to(torch.int64)
        entry = entry * (2 * most + 1) + at[:, None] - at + most
    return values[entry]


def _bias(encoding: Encoding, apart: Tensor) -> Tensor:
    return logits(encoding, apart, torch.zeros(1, dtype=torch.float64))[0]


def _chord(encoding: Encoding, apart: Tensor) -> Tensor:
    # Of (1, 1, ..., 1) every pair has the same length, as the pairs of all directions have on average.
    d = encoding.head_dim
    cosine = logits(encoding, apart, torch.ones(d, dtype=torch.float64)) / (encoding.scale(d) * d)
    return (2 - 2 * cosine.mean(0)).clamp(min=0).sqrt()


def _measured(encoding: Encoding) -> bool:
    return isinstance(encoding, Rope) and encoding.scaling.scheme is not None


def _rebuilt(encoding: Encoding, axes: int) -> Encoding:
    if isinstance(encoding, Sinusoidal):
        return Sinusoidal(encoding.width, encoding.base, encoding.convention, axes, encoding.amplitude)
    if isinstance(encoding, RopeMixed):
        return RopeMixed(encoding.heads, encoding.head_dim, encoding.theta, encoding.pairing, axes)
    return Rope(encoding.head_dim, encoding.theta, encoding.pairing, encoding.fraction, axes)


def _answer(near: list[Nearness], rows: int, columns: int, encoding: Encoding) -> str:
    line, plane = near
    said = [
        f"Read row by row, the lower neighbour of a patch is {line.below / line.right:.2f} times as far as the right "
        f"one ({columns} places against 1), and the end of a row is {line.seam / line.right:.2f} times as far from the "
        f"beginning of the next, {columns - 1} columns away, as a patch is from its right neighbour. "
        f"Rank correlation with the Euclidean distance: {line.correlation:.3f} row by row, {plane.correlation:.3f} on "
        "two axes.",
        f"Of a patch's {NEIGHBOURS} neighbours {NEIGHBOURS * line.found:.1f} are among its {NEIGHBOURS} nearest row by "
        f"row, {NEIGHBOURS * plane.found:.1f} on two axes.",
    ]
    if isinstance(encoding, RopeMixed):
        said.append("Its frequencies and directions are trained: these are the ones that it was drawn with.")
    return " ".join(said)


def _why_not(encoding: Encoding, error: OptionError) -> str:
    axes = encoding.domain.axes
    if axes is not None and axes > 2:
        return f"It is on {axes} axes, and a grid has two."
    if isinstance(encoding, Sinusoidal | Rope | RopeMixed):
        return f"Its forms on one axis and on two cannot both be made: {error.asked} ({error.given})."
    if getattr(encoding, "axes", None) is not None:
        return "It has forms on one axis and on two, but its numbers are trained: before that they are a random draw."
    if not encoding.sites:
        return "It has no positions."
    if form(encoding) == "bias":
        return "It is a bias of the distance on a line, and has no form on two axes."
    return "It has no form on two axes."


def _figures(names: tuple[str, ...], made: tuple[Tensor, ...], rows: int, columns: int) -> tuple[Heat | Lines, ...]:
    centre = rows // 2 * columns + columns // 2
    heats = [
        Heat(
            f"Distance from the patch in the middle, {name}", "column", "row",
            _thin(one[centre].reshape(rows, columns)).tolist(),
            note="As a share of the largest.",
        )
        for name, one in zip(names, (one / one.max() for one in made))
    ]  # fmt: skip
    lengths, which, counts = euclidean(rows, columns).flatten().unique(return_inverse=True, return_counts=True)
    every = max(1, len(lengths) // 1000)
    lines = []
    for name, one in zip(names, made):
        mean = torch.zeros_like(lengths).index_add_(0, which, (one / one.max()).flatten()) / counts
        lines.append(Line(name, lengths[::every].tolist(), mean[::every].tolist()))
    spread = Lines(
        "Mean distance in the encoding of patches so far apart", "Euclidean distance, patches",
        "distance in the encoding, share of the largest", tuple(lines), points=True,
    )  # fmt: skip
    return (*heats, spread)


def _thin(values: Tensor) -> Tensor:
    rows, columns = (max(1, -(-size // most)) for size, most in zip(values.shape, (200, 256)))
    return values[::rows, ::columns]

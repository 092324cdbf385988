"""What moving all positions by the same number of places changes: in RoPE's logits, and in a layer of any encoding."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.analysis.forms import form, name_of, waves
from gnomon.analysis.rope_residual import SHIFTS, WAYS, residual
from gnomon.analysis.untrained_layer import around, contents, distance, drawn, line
from gnomon.attention import Attention
from gnomon.checked import checked
from gnomon.encoding import Encoding, Property, Shape
from gnomon.encodings import ENCODINGS
from gnomon.errors import OptionError
from gnomon.masks import CAUSAL, Mask
from gnomon.positions import FURTHEST, Positions
from gnomon.section import Line, Lines, Section, Table

SHOWN = (5, 10**4, 10**6, 10**7)
"""Shifts that a table has room for."""

KEY, TITLE = "translation", "Shifts"
QUESTION = "If every position moves by the same number of places, what changes: vectors, attention weights, output?"


@dataclass(frozen=True)
class Shifted:
    """What a shift changes in one attention layer around an encoding; None where a shift leaves the domain.

    Each number is |changed - before| / |before| over all tokens, for each of `shifts`: 0 is no change, 1.4 is as far
    apart as what is unrelated.
    """

    name: str
    declared: bool
    """Whether the encoding declares that a shift changes nothing."""
    shifts: tuple[float, ...]
    inputs: tuple[float | None, ...]
    """The vectors that enter the layer: content, and what the encoding adds."""
    weights: tuple[float | None, ...]
    """Attention weights, by the encoding's definition, which sees differences where the encoding is relative."""
    output: tuple[float | None, ...]
    """What the layer gives, by the lowering, which sees positions as they are."""

    def rounding(self) -> tuple[float, ...]:
        """What rounding may do to the output at each shift: an angle w p in float64 is known to w |p| / 2^53."""
        return tuple(64 * (64 + abs(shift)) * 2**-53 for shift in self.shifts)

    @property
    def invariant(self) -> bool | None:
        """Whether the output changes by rounding alone at every shift within the domain; None where there is none."""
        seen = [(change, bound) for change, bound in zip(self.output, self.rounding()) if change is not None]
        return all(change <= bound for change, bound in seen) if seen else None


@checked
def shifted(
    encoding: Encoding,
    shifts: tuple[float, ...] = SHIFTS,
    n: int = 24,
    rows: int = 4,
    mask: Mask = CAUSAL,
    seed: int = 0,
) -> Shifted:
    """What each shift changes in an untrained layer around `encoding`, in float64.

    Content `[rows, n, w]` and projections are normal numbers, positions 0 .. n - 1, or as many as there are.
    """
    if not shifts:
        raise OptionError("a shift by some places", given="none", allowed="one or more")
    layer = around(encoding, mask, seed)
    still = line(encoding, n)
    x = contents(rows, still.length, layer.width, seed)
    before, changes = _seen(layer, x, still), []
    for shift in shifts:
        moved = still.shifted(shift)
        if not _inside(encoding, moved):
            changes.append((None, None, None))
            continue
        changes.append(tuple(distance(now, then) for now, then in zip(_seen(layer, x, moved), before)))
    declared = Property.TRANSLATION_INVARIANT in encoding.properties
    return Shifted(name_of(encoding), declared, tuple(shifts), *zip(*changes))


@checked
def every(
    shifts: tuple[float, ...] = SHIFTS,
    width: int = 64,
    heads: int = 4,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> tuple[Shifted, ...]:
    """`shifted` of each encoding that comes with gnomon, by default options, its parameters drawn from N(0, 0.3^2)."""
    found = []
    for kind in ENCODINGS.values():
        found.append(shifted(drawn(kind, Shape(width, heads), seed), shifts, seed=seed))
        if progress is not None:
            progress(len(found) / len(ENCODINGS))
    return tuple(found)


@checked
def section(
    encoding: Encoding,
    shifts: tuple[float, ...] = SHIFTS,
    others: bool = True,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Section:
    """What shifts change under this encoding, in RoPE's logits by dtype, and under every other beside (`others`)."""
    own, clock = shifted(encoding, shifts, seed=seed), waves(encoding) if form(encoding) == "rotation" else None
    tables = [
        Table(
            "Relative change of one untrained layer, this encoding as given, float64",
            ("shift", "input", "weights", "output", "rounding"),
            tuple(zip(own.shifts, own.inputs, own.weights, own.output, own.rounding())),
            f"Norm of the change over the norm before; random content, seed {seed}, parameters as built. rounding: what"
            " float64 allows." + " -: outside the domain of the encoding." * (None in own.output),
        )
    ]
    figures = [
        Lines(
            "Change of the output under a shift",
            "shift (places)",
            "relative change",
            (Line(own.name, own.shifts, [change or None for change in own.output]),
             Line("what rounding allows", own.shifts, own.rounding())),
            x_log=True,
            y_log=True,
            points=True,
            note="No mark: no change at all, or outside the domain.",
        )
    ]  # fmt: skip
    numbers = {
        "shifts": [*own.shifts],
        "declared": own.declared,
        "invariant": own.invariant,
        "input": [*own.inputs],
        "weights": [*own.weights],
        "output": [*own.output],
        "seed": seed,
    }
    told = [_told(own)]
    if clock is not None:
        residuals = {way: residual(clock, shifts, *dtypes, seed=seed) for way, dtypes in WAYS.items()}
        shown = [shift for shift in SHOWN if shift in shifts] or [*shifts[:4]]
        tables.append(
            Table(
                "RoPE's residual: largest change of a logit, over its root mean square",
                ("angle formed in", *(f"by {shift:,.10g}" for shift in shown)),
                tuple((way, *(found[shifts.index(s)] for s in shown)) for way, found in residuals.items()),
                "Tables are rounded, queries and keys are not. gnomon forms angles in float64 and casts the tables.",
            )
        )
        figures.append(
            Lines(
                "RoPE's residual by how the angle is formed",
                "shift (places)",
                "largest change of a logit / its root mean square",
                tuple(Line(way, shifts, [r or None for r in found]) for way, found in residuals.items()),
                x_log=True,
                y_log=True,
            )
        )
        numbers["residual"] = [[way, *found] for way, found in residuals.items()]
        told.append(
            f"Of its logits rounding moves, at a shift of {_places(shifts[-1])}: "
            + "; ".join(f"{found[-1]:.2g} (angle in {way})" for way, found in residuals.items())
            + ", relative to their size."
        )
    if others:
        found = every(shifts, seed=seed, progress=progress)
        tables += [_beside(found, True), _beside(found, False)]
        numbers["invariant_encodings"] = [one.name for one in found if one.invariant]
        numbers["other_encodings"] = [one.name for one in found if not one.invariant]
    proof = PROOF if form(encoding) == "rotation" else ()
    return Section(KEY, TITLE, QUESTION, " ".join(told), tuple(tables), tuple(figures), proof, numbers)


PROOF = (
    "A turn by w p is a multiplication by e^{iwp}. The logit of a pair of dimensions is Re(q e^{iw p_i} conj(k e^{iw"
    " p_j})) = Re(q conj(k) e^{iw (p_i - p_j)}): positions enter by their difference alone, whatever q and k are.",
    "In floats the angle w p is rounded before the difference is taken. It is known to w p 2^-53 in float64, 2^-24 in"
    " float32, 2^-8 in bfloat16, so the error grows with the position and not with the distance; where it reaches a"
    " radian, fast pairs say nothing. A position that the dtype cannot hold (whole numbers beyond 2^24 in float32, 2^8"
    " in bfloat16) is lost before it is multiplied.",
)


def _seen(layer: Attention, x: Tensor, pos: Positions) -> tuple[Tensor, Tensor, Tensor]:
    """What enters, the attention weights `[rows, h, n, n]` by the definition, and what comes out."""
    encoding = layer.encoding
    with torch.no_grad():
        entering = encoding.embed(x, pos)
        q = layer.q(entering).unflatten(-1, (layer.heads, layer.head_dim)).transpose(1, 2)
        k = layer.k(entering).unflatten(-1, (layer.kv_heads, layer.head_dim)).transpose(1, 2)
        k = k.repeat_interleave(layer.heads // layer.kv_heads, dim=1)
        n = x.shape[1]
        visible = torch.ones(1, 1, n, n, dtype=torch.bool)
        visible = visible.tril() if layer.mask.causal else visible
        more = (visible,) if Property.CONTEXTUAL in encoding.properties else ()
        logits = encoding.score(q, k, pos, pos, *more).masked_fill(~visible, -torch.inf)
        return entering, logits.softmax(-1), layer(entering, pos)


def _inside(encoding: Encoding, pos: Positions) -> bool:
    """Whether all positions lie in the encoding's domain."""
    domain = encoding.domain
    low, high = float(pos.coords.min()), float(pos.coords.max())
    return low >= max(domain.lowest, -FURTHEST) and high <= min(domain.highest, FURTHEST)


def _told(own: Shifted) -> str:
    seen = [(s, *three) for s, *three in zip(own.shifts, own.inputs, own.weights, own.output) if three[2] is not None]
    if not seen:
        return f"No shift asked for stays inside the positions that {own.name} takes."
    said = "declares that a shift changes nothing" if own.declared else "declares that a shift may change what it gives"
    first, furthest = next((row for row in seen if row[0] == 5), seen[0]), seen[-1]
    if own.invariant:
        found = (
            f"none of those tried moves the output by more than rounding: by {first[3]:.2g} of its size at"
            f" {_places(first[0])}, by {furthest[3]:.2g} at {_places(furthest[0])}."
        )
    else:
        found = (
            f"a shift of {_places(first[0])} changes the vectors that enter by {first[1]:.2g} of their size, the"
            f" attention weights by {first[2]:.2g} and the output by {first[3]:.2g}; one of {_places(furthest[0])}"
            f" changes the output by {furthest[3]:.2g}."
        )
    return f"{own.name} {said}; {found}"


def _places(shift: float) -> str:
    return f"{shift:,.0f} place{'s' * (shift != 1)}" if shift == int(shift) else f"{shift:g} places"


def _beside(found: tuple[Shifted, ...], invariant: bool) -> Table:
    """The encodings whose output changes by rounding alone, or the others."""
    rows = [one for one in found if bool(one.invariant) is invariant]
    shifts = found[0].shifts
    shown = [shift for shift in SHOWN if shift in shifts] or [*shifts[:4]]
    return Table(
        f"Encodings whose output a shift {'moves by rounding alone' if invariant else 'changes'}, width 64",
        ("encoding", "declared", *(f"by {shift:,.10g}" for shift in shown)),
        tuple((one.name, one.declared, *(one.output[shifts.index(s)] for s in shown)) for one in rows),
        "Another layer than above: one untrained of width 64 and 4 heads around default options, parameters drawn from"
        " N(0, 0.3^2), float64; relative change of the output."
        + " -: outside the domain."
        * any(None in one.output for one in rows),
    )

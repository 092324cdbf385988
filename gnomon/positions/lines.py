"""Positions on a line: counted, packed, padded, at given moments, or drawn at random."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gnomon.checked import checked
from gnomon.errors import PositionError
from gnomon.positions.tokens import FURTHEST, Positions, evenly, real
from gnomon.typed import typed


@checked
def sequence(
    n: int,
    start: int | float | Sequence[float] | Tensor | np.ndarray = 0,
    *,
    step: float = 1.0,
    device: str | torch.device | None = None,
) -> Positions:
    """`start, start + step, ...`: `n` tokens in a row; `start` may be negative, fractional, or one number a row.

    A `start` of whole steps counts as so many tokens that came before, and the turns begin there; otherwise, and where
    starts are given row by row, they begin at 0.
    """
    if n < 0:
        raise PositionError("a sequence needs a length", given=n, allowed="0 or more")
    one = isinstance(start, int | float)
    starts = start if one else real(start, device)
    if one or not (torch.compiler.is_compiling() or starts.is_meta):
        ends = [starts, starts + step * max(n - 1, 0)]
        if not all(abs(end) <= FURTHEST if one else (end.abs() <= FURTHEST).all() for end in ends):
            given = f"start {start}, step {step}, {n} tokens"
            raise PositionError(
                "positions are numbers that float64 tells apart",
                given=given,
                allowed="-2^53 to 2^53, nan not among them",
            )
    count = step * torch.arange(n, dtype=torch.float64, device=device)[None, :, None]
    if not one:
        return Positions(starts.reshape(-1, 1, 1) + count).stepping(step if evenly(step, None, n) else None)
    made = Positions(count + start, turn=_steps_before(start, step))
    return made.stepping(step if evenly(step, start, n) else None, start)


def _steps_before(start: float, step: float) -> int:
    """How many tokens of the same line came before the one at `start`, where that is a whole number; else 0."""
    if step == 1:
        return int(start) if start == int(start) else 0
    steps = start / step if step else 0.0
    whole = abs(steps) < FURTHEST and math.isclose(steps, round(steps), rel_tol=1e-12)
    return round(steps) if whole else 0


@checked
def packed(
    lengths: Sequence[int] | Tensor | np.ndarray, *, restart: bool = True, device: str | torch.device | None = None
) -> Positions:
    """Documents of the given lengths laid one after another in one row; each sees only itself.

    With `restart` every document begins at position 0; without, positions run on through the row.
    """
    lengths = typed(lengths if isinstance(lengths, Sequence) else lengths.tolist(), Sequence[int], "packed, lengths")
    if not lengths or min(lengths) < 1:
        raise PositionError("packing needs the lengths of the documents", given=lengths, allowed="1 or more each")
    sizes = torch.as_tensor(lengths, device=device)
    segment = torch.repeat_interleave(torch.arange(len(lengths), device=device), sizes)
    count = torch.arange(segment.shape[0], device=device)
    if restart:
        count = count - (sizes.cumsum(0) - sizes)[segment]
    return Positions(count.to(torch.float64)[None, :, None], segment=segment[None]).stepping(None if restart else 1.0)


@checked
def padded(mask: Tensor) -> Positions:
    """Rows of unequal length: `mask` `[rows, n]` is true where there is a token, false where there is padding.

    Each row's tokens count from 0, whichever side the padding is on.
    """
    kept = mask if mask.is_meta or torch.compiler.is_compiling() else mask == mask.to(torch.bool)
    if mask.dim() != 2 or not (mask.is_meta or torch.compiler.is_compiling() or kept.all()):
        raise PositionError(
            "padding is told of rows of tokens, true or 1 where there is one",
            given=f"shape {list(mask.shape)} {mask.dtype}",
            allowed="[rows, n] of true and false, or 1 and 0",
        )
    mask = mask.to(torch.bool)
    count = (mask.to(torch.int64).cumsum(-1) - 1).clamp(min=0)
    return Positions(count.to(torch.float64)[..., None], segment=torch.where(mask, 0, -1))


@checked
def timed(seconds: Tensor | Sequence | np.ndarray) -> Positions:
    """Tokens at real-valued moments or places: `seconds` is `[n]`, `[rows, n]` or `[rows, n, axes]`, in any unit.

    Subtract a reference time in whole numbers or float64 before calling: a float32 clock of 1.7e9 s ticks in 128 s.
    """
    try:
        coords = seconds if isinstance(seconds, Tensor) and not seconds.is_complex() else real(seconds, None)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, PositionError):
            raise
        raise PositionError("moments are numbers, as many in each row", given=str(error), do="give a tensor") from error
    if coords.is_floating_point() and coords.dtype in (torch.float16, torch.bfloat16):
        raise PositionError(
            "positions of 16 bits merge neighbours: bfloat16 counts to 256, float16 to 2048",
            given=coords.dtype,
            allowed="float32, float64 or whole numbers",
            do="keep positions in float64 and cast nothing but the encoded values",
        )
    # A copy: the caller may count on in its own tensor, and who remembers positions must not see that.
    coords = coords.to(torch.float64, copy=True)
    if coords.dim() not in (1, 2, 3):
        raise PositionError("positions have one to three dimensions", given=f"shape {list(coords.shape)}")
    if not (coords.abs() <= FURTHEST).all():
        raise PositionError(
            "positions are numbers that float64 tells apart", given="nan, inf or more", allowed="-2^53 to 2^53"
        )
    coords = coords[None, :, None] if coords.dim() == 1 else coords if coords.dim() == 3 else coords[..., None]
    return Positions(coords)


@checked
def randomised(n: int, longest: int, *, rows: int = 1, generator: torch.Generator | None = None) -> Positions:
    """`n` positions drawn without replacement from `0 .. longest - 1`, in order, anew in every row.

    Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of Transformers", section 3.
    Draw once for a whole sequence, before decoding: a later draw cannot be appended to an earlier one.
    """
    if not 0 <= n <= longest:
        raise PositionError(f"{n} positions cannot be drawn from {longest}", allowed=f"0 to {longest} of them")
    if rows < 1:
        raise PositionError("positions are drawn for rows", given=rows, allowed="1 or more")
    weights = torch.rand(rows, longest, generator=generator)
    return Positions(weights.argsort(-1)[:, :n].sort(-1).values.to(torch.float64)[..., None])


@checked
def batch(*several: Positions) -> Positions:
    """Sequences of equal length stacked as the rows of one batch."""
    shapes = {(p.length, p.axes) for p in several}
    if len(shapes) != 1:
        raise PositionError("rows of one batch need equal lengths and axes", given=sorted(shapes), do="pad them first")
    steps, starts = {p.step for p in several}, {p.start for p in several}
    turns = {p.turn for p in several}
    in_order = len(turns) == 1 and all(p.index is None for p in several)
    return Positions(
        coords=torch.cat([p.coords for p in several]),
        turn=several[0].turn if in_order else 0,
        index=None if in_order else torch.cat([p.turns().expand(p.rows, -1) for p in several]),
        segment=None
        if all(p.segment is None for p in several)
        else torch.cat([p.segments().expand(p.rows, -1) for p in several]),
        placed=None
        if all(p.placed is None for p in several)
        else torch.cat([p.has_place().expand(p.rows, -1) for p in several]),
    ).stepping(several[0].step if len(steps) == 1 else None, several[0].start if len(starts) == 1 else None)

"""The positions of tokens: coordinates, turns, documents, and which have a place; what is known of them unlooked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnomon.checked import checked
from gnomon.errors import PositionError

FURTHEST = 2**53
"""Encodings take no position beyond it, where float64 no longer counts by ones.

An angle w p is formed in float64, so it is known to about w |p| / 10^16: at 10^9 steps to seven digits of a turn.
"""

KINDS = {
    "coords": (("rows", "n", "axes"), torch.float64),
    "index": (("rows", "n"), torch.int64),
    "segment": (("rows", "n"), torch.int64),
    "placed": (("rows", "n"), torch.bool),
}
"""The shape and type of each field of positions."""


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions of `n` tokens in one axis or several.

    Its tensors are never changed in place: plans, caches and what is known of them without looking rest on that.
    A field that is absent has its plain meaning, so what need not be computed is known without looking at data.
    The number of rows is the batch size, or 1 when every row of the batch has the same positions.

    coords:  `[rows, n, axes]` float64, any real numbers: token index, pixel row and column, seconds.
    turn:    the turn in the sequence of the first token, where the turns count up by one.
    index:   `[rows, n]` int64, the turn of each token where they do not; causal masks and windows compare turns.
    segment: `[rows, n]` int64, the document of each token, -1 for padding; absent: one document, no padding.
    placed:  `[rows, n]` bool, False for a token without a place (a prefix, a class token); absent: all have one.
    step:    the constant difference between neighbours on a single axis, the same in every row; absent: not known.
    start:   the first coordinate, where it is one for all rows and known as a number.
             Constructors know these two, and caches, which count.
    """

    coords: Tensor
    turn: int = 0
    index: Tensor | None = None
    segment: Tensor | None = None
    placed: Tensor | None = None
    step: float | None = field(default=None, init=False)
    start: float | None = field(default=None, init=False)

    def __post_init__(self):
        for name, (shape, dtype) in KINDS.items():
            value = getattr(self, name)
            if value is None and name != "coords":
                continue
            tensor = isinstance(value, Tensor)
            fits = tensor and value.dim() == len(shape) and value.dtype == dtype
            if not fits or value.shape[1] != self.coords.shape[1]:
                raise PositionError(
                    f"`{name}` of positions says something of every token",
                    given=f"{list(value.shape)} {value.dtype}" if tensor else repr(value),
                    allowed=f"[{', '.join(shape)}] {dtype}, as many tokens in every field",
                    do="use a constructor: positions.sequence, packed, padded, grid, timed or randomised",
                )
        if self.turn and self.index is not None:
            raise PositionError(
                "turns count up from `turn`, or are told one by one in `index`",
                given=f"turn={self.turn}, and index",
                do="give one of them",
            )
        if len(self._row_counts() - {1}) > 1:
            raise PositionError(
                "the fields of positions have the same rows, or one row for all", given=sorted(self._row_counts())
            )

    @property
    def rows(self) -> int:
        return max(self._row_counts(), key=lambda rows: (rows != 1, rows))

    def _row_counts(self) -> set[int]:
        return {field.shape[0] for field in (self.coords, self.index, self.segment, self.placed) if field is not None}

    @property
    def length(self) -> int:
        return self.coords.shape[1]

    @property
    def axes(self) -> int:
        return self.coords.shape[2]

    def turns(self) -> Tensor:
        """The turn of each token, `[rows or 1, n]` int64."""
        if self.index is not None:
            return self.index
        return torch.arange(self.turn, self.turn + self.length, device=self.coords.device)[None]

    def segments(self) -> Tensor:
        """The document of each token, `[rows or 1, n]` int64, -1 for padding."""
        if self.segment is not None:
            return self.segment
        return torch.zeros(1, self.length, dtype=torch.int64, device=self.coords.device)

    def has_place(self) -> Tensor:
        """Whether each token has a place, `[rows or 1, n]` bool."""
        if self.placed is not None:
            return self.placed
        return torch.ones(1, self.length, dtype=torch.bool, device=self.coords.device)

    def anchored(self) -> Tensor:
        """The coordinates with every token that has no place, and all padding, at the origin: `[rows, n, axes]`."""
        coords = self.coords
        if self.placed is not None:
            coords = torch.where(self.placed[..., None], coords, 0.0)
        if self.segment is not None:
            coords = torch.where(self.segment[..., None] < 0, 0.0, coords)
        return coords

    def only_placed(self, table: Tensor) -> Tensor:
        """`table` `[rows, n, width]` with zeros for the tokens that have no place."""
        return table if self.placed is None else torch.where(self.placed[..., None], table, 0.0)

    @checked
    def shifted(self, by: int | float | Sequence[float] | Tensor) -> "Positions":
        """The same tokens, every coordinate moved by `by` (a number, or one number an axis)."""
        given, by = by, real(by, self.coords.device)
        if by.numel() not in (1, self.axes) or not (torch.compiler.is_compiling() or torch.isfinite(by).all()):
            raise PositionError(
                "positions move by a finite number, or by one an axis", given=given, allowed=f"1 or {self.axes} numbers"
            )
        start = None if self.start is None or not isinstance(given, int | float) else self.start + given
        known = self.step is not None and evenly(self.step, start, self.length)
        return self._but(self.step if known else None, start, coords=self.coords + by)

    def tokens(self, start: int, stop: int) -> "Positions":
        """The tokens `start` to `stop - 1` of every row. PositionError where there are no such tokens."""
        if not torch.compiler.is_compiling() and not 0 <= start <= stop <= self.length:
            given, allowed = f"{start} to {stop}", f"0 to {self.length}, in order"
            raise PositionError("no such tokens", given=given, allowed=allowed)
        part = self._each(lambda field: field[:, start:stop])
        # Whole steps stay whole: a number that is to be compared must not be rounded.
        first = None if self.start is None or self.step != 1 else self.start + start
        return part._but(self.step, first, turn=self.turn + start if self.index is None else 0)

    def stretched(self, n: int) -> "Positions":
        """The same tokens, the last one repeated up to `n` tokens; for what a mask hides."""
        more = n - self.length
        return self._each(lambda field: torch.cat([field, field[:, -1:].expand(-1, more, *field.shape[2:])], dim=1))

    def row(self, which: Tensor) -> "Positions":
        """The rows of the batch that `which` `[m]` int64 names, in that order; what all rows share stays shared."""
        rows = self.rows
        if not torch.compiler.is_compiling() and rows > 1 and not ((which >= 0) & (which < rows)).all():
            raise PositionError("no such rows", given=which.tolist(), allowed=f"0 to {rows - 1}")
        return self._each(lambda field: field if field.shape[0] == 1 else field[which]).stepping(self.step, self.start)

    def to(self, device: torch.device | str) -> "Positions":
        """The same positions on another device."""
        return self._each(lambda field: field.to(device)).stepping(self.step, self.start)

    def first(self) -> "Positions":
        """The same positions, their turns beginning at 0 where they count up by one."""
        return self if self.turn == 0 else self._but(self.step, self.start, turn=0)

    def after(self, earlier: "Positions") -> "Positions":
        """The same positions, their turns moved behind all those of `earlier` tokens, row by row."""
        if earlier.index is None and self.index is None:
            return self._but(self.step, self.start, turn=earlier.turn + earlier.length)
        if not earlier.length or not self.length:
            return self
        shift = earlier.turns().amax(dim=1, keepdim=True) + 1 - self.turns().amin(dim=1, keepdim=True)
        return self._but(self.step, self.start, turn=0, index=self.turns() + shift)

    def append(self, later: "Positions") -> "Positions":
        """These tokens followed by `later` ones, row by row: all of these come before any of those."""
        self.check_joins(later)
        later = later.after(self)
        known = self.step == later.step == 1 and None not in (self.start, later.start)
        even = known and later.start == self.start + self.length
        index = None if later.index is None and self.index is None else _join(self.turns(), later.turns())
        joined = Positions(
            coords=_join(self.coords, later.coords),
            turn=self.turn if index is None else 0,
            index=index,
            segment=_either(self.segment, later.segment, self.segments(), later.segments()),
            placed=_either(self.placed, later.placed, self.has_place(), later.has_place()),
        )
        return joined.stepping(self.step, self.start) if even else joined

    def ends(self) -> tuple[float, ...] | None:
        """The first and the last position of a line of whole steps, known without looking at data; None: not known."""
        if self.start is None or self.step is None or self.step != 1 or not self.length:
            return None
        return self.start, self.start + self.length - 1

    def ahead_of(self, other: "Positions") -> float | None:
        """`p_i - p_j` of the first tokens, where both are spaced alike; None where that is not known without data."""
        if self.axes != 1 or self.step is None or self.step != other.step:
            return None
        if self is other:
            return 0
        return None if self.start is None or other.start is None else self.start - other.start

    def counts_from(self, first: int) -> bool:
        """Whether these are first, first + 1, ... in one document, each with a place, known without looking at data."""
        plain = self.index is None and self.segment is None and self.placed is None
        return plain and self.step == 1 and self.start is not None and self.start == first

    def counting(self, first: int = 0) -> "Positions":
        """The same positions, which the caller knows to be first, first + 1, ..."""
        return self._but(1.0, first)

    def check_joins(self, later: "Positions") -> None:
        """PositionError unless `later` tokens can follow these in the same rows."""
        if self.axes != later.axes or (self.rows != later.rows and 1 not in (self.rows, later.rows)):
            raise PositionError(
                "pieces of one sequence need the same axes, and the same rows or one for all",
                given=f"{self.rows} rows on {self.axes} axes, then {later.rows} rows on {later.axes} axes",
            )

    def stepping(self, step: float | None, start: float | None = None) -> "Positions":
        """These positions, just made, known to be evenly spaced where `step` is given, and to begin at `start`."""
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "start", None if step is None else start)
        return self

    def _but(self, step: float | None, start: float | None, **fields: Any) -> "Positions":
        """The same positions with other fields, made of right ones and so not looked at again, and what is known."""
        if torch.compiler.is_compiling():
            return replace(self, **fields).stepping(step, start)
        other = object.__new__(Positions)
        vars(other).update(vars(self), **fields, step=step, start=None if step is None else start)
        return other

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Positions":
        fields = {name: getattr(self, name) for name in KINDS}
        return self._but(None, None, **{name: None if t is None else change(t) for name, t in fields.items()})


def real(numbers: object, device: torch.device | str | None) -> Tensor:
    """Numbers as float64. PositionError for what is no real number."""
    given = numbers if isinstance(numbers, Tensor | np.ndarray) else torch.as_tensor(numbers, dtype=torch.float64)
    if isinstance(given, np.ndarray):
        if given.dtype.kind not in "fiub":
            raise PositionError("positions are real numbers", given=f"an array of {given.dtype}")
        given = torch.as_tensor(given.astype(np.float64))
    if given.is_complex():
        raise PositionError("positions are real numbers", given=given.dtype)
    return given.to(torch.float64).to(device)


def evenly(step: float, start: float | None, n: int) -> bool:
    """Whether positions are as evenly spaced as float64 can tell: far out, it rounds what is no whole number.

    Where nobody knows the start as a number, only whole steps are taken for even.
    """
    if torch.compiler.is_compiling() or (step == int(step) and (start is None or start == int(start))):
        return True
    return start is not None and max(abs(start), abs(start + step * n)) < abs(step) * 2**26


def _either(first: Tensor | None, second: Tensor | None, whole_first: Tensor, whole_second: Tensor) -> Tensor | None:
    return None if first is None and second is None else _join(whole_first, whole_second)


def _join(first: Tensor, second: Tensor) -> Tensor:
    rows = max(first.shape[0], second.shape[0])
    return torch.cat([t.expand(rows, *t.shape[1:]) for t in (first, second)], dim=1)

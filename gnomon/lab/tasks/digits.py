"""Numbers of many digits, as tensors, and how they are written: either end first, with marks of their places, shifted.

Shared by addition and multiplication. Digits are counted from the least significant, `[b, n]` int64.
"""

from typing import Literal

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.task import Group
from gnomon.lab.tasks.sequences import BLANK, uniform

Order = Literal["plain", "reversed"]


def carried(columns: Tensor, base: int) -> Tensor:
    """The digits of a number from sums of columns `[b, n]`, the least significant first."""
    columns = columns.clone()
    for at in range(columns.shape[1] - 1):
        columns[:, at + 1] += columns[:, at] // base
        columns[:, at] %= base
    return columns


class Written:
    """How the operands and the result of a calculation are written.

    order:    `plain`, the most significant digit first, or `reversed`; operands and result alike.
    hints:    how many ordered marks there are; 0: none is written. Before each digit stands the mark of its place:
              equal marks are equal places, they follow one another in the order of the text, and begin anywhere.
    shift:    blanks before the first operand in training.
    measured: other numbers of blanks that are measured besides.
    """

    def __init__(self, sign: str, base: int, order: Order, hints: int, shift: int, measured: tuple[int, ...]):
        if base < 2 or hints < 0 or min(shift, *measured, 0) < 0:
            raise OptionError(
                "numbers have a base, marks and blanks are counted",
                given=f"base {base}, hints {hints}, shift {shift}, measured_shifts {list(measured)}",
                allowed="base 2 or more, the others 0 or more",
            )
        self.base, self.order, self.hints = base, order, hints
        self.symbols = (
            *(str(digit) if base <= 10 else f"d{digit}" for digit in range(base)),
            sign,
            "_",
            *(f"h{n}" for n in range(hints)),
        )
        self.sign, self.blank, self.first_hint = base, base + 1, base + 2
        self.shifts = tuple(dict.fromkeys((shift, *measured)))
        self.groups = tuple(Group(f"shift {n}", n == shift) for n in self.shifts) if len(self.shifts) > 1 else ()

    def longest(self, places: int) -> int | None:
        """Digits of an operand whose result has `places` more, at most; None: any number."""
        return self.hints - places if self.hints else None

    def operands(self, lengths: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Two numbers of equally many digits a row, each digit equally likely, zeros in front as well."""
        return uniform(lengths, self.base, generator), uniform(lengths, self.base, generator)

    def row(
        self, a: Tensor, b: Tensor, result: Tensor, lengths: Tensor, generator: torch.Generator, group: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """x and the answer: `a + b` after its blanks, and the result, all as they are written."""
        size = (result != BLANK).sum(dim=1)
        begun = torch.zeros_like(size)
        if self.hints:
            begun = (torch.rand(len(size), generator=generator) * (self.hints - size + 1)).to(torch.int64)
        sign = torch.full((len(a), 1), self.sign)
        shift = torch.full_like(size, self.shifts[0])
        if group is not None:
            shift = torch.tensor(self.shifts)[group]
        front = torch.where(torch.arange(int(shift.max())) < shift[:, None], self.blank, BLANK)
        written = [self._written(number, lengths if number is not result else size, size, begun) for number in (a, b)]
        return torch.cat([front, written[0], sign, written[1]], dim=1), self._written(result, size, size, begun)

    def _written(self, number: Tensor, length: Tensor, size: Tensor, begun: Tensor) -> Tensor:
        """A number of `length` digits, where results have `size`, as tokens."""
        place = torch.arange(number.shape[1]).expand_as(number)
        if self.order == "plain":
            place = length[:, None] - 1 - place
        there = (place >= 0) & (place < length[:, None])
        digits = torch.where(there, number.gather(1, place.clamp(0, number.shape[1] - 1)), BLANK)
        if not self.hints:
            return digits
        # In the order of the text: of the result's places, this number begins at the one where they are equal.
        turn = place if self.order == "reversed" else size[:, None] - 1 - place
        marks = torch.where(there, self.first_hint + begun[:, None] + turn, BLANK)
        return torch.stack([marks, digits], dim=2).flatten(1)

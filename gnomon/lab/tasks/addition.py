"""Addition of two numbers of equally many digits; the sum has one more, a zero in front where nothing is carried.

    <bos> 4 7 + 8 5 <sep> 1 3 2 <eos>                                      plain
    <bos> 7 4 + 5 8 <sep> 2 3 1 <eos>                                      order=reversed
    <bos> h6 7 h7 4 + h6 5 h7 8 <sep> h6 2 h7 3 h8 1 <eos>                 order=reversed hints=30
    <bos> _ _ _ 4 7 + 8 5 <sep> 1 3 2 <eos>                                shift=3

`length` counts the digits of an operand. Hints mark places, as in Zhou et al. 2024, "Transformers Can Achieve Length
Generalization But Not Robustly": a random run of ordered symbols, the same for equal places of operands and sum.
`shift` blanks stand before the operands in training, and `measured_shifts` tells at which others the trained model is
measured: a model that knows digits by their index in the text, and not by their place value, fails there.
"""

import torch
from torch import Tensor

from gnomon.lab.task import Chance
from gnomon.lab.tasks.digits import Order, Written, carried
from gnomon.lab.tasks.sequences import BLANK, Sequences, within


class Addition(Sequences):
    """Addition in any base, written in the given order, with or without hints, after `shift` blanks."""

    room = "choose shorter lengths, or more hints: one for each digit of the sum"

    def __init__(
        self,
        order: Order = "plain",
        hints: int = 0,
        shift: int = 0,
        measured_shifts: tuple[int, ...] = (),
        base: int = 10,
    ):
        self.written = Written("+", base, order, hints, shift, measured_shifts)
        self.symbols, self.groups, self.longest = self.written.symbols, self.written.groups, self.written.longest(1)

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        a, b = self.written.operands(lengths, generator)
        columns = torch.nn.functional.pad(torch.where(within(lengths), a + b, 0), (0, 1))
        total = torch.where(within(lengths + 1), carried(columns, self.written.base), BLANK)
        return self.written.row(a, b, total, lengths, generator, group)

    def chance(self, length: int) -> Chance:
        """Of n digits in base B: the commonest sum is B^n - 1; its first digit is 0 more often than not."""
        base, hints = self.written.base, self.written.hints
        run = 1 / (hints - length) if hints else 1.0
        digits = length / base + (1 + float(base) ** -length) / 2
        marks = (length + 1) * run if hints else 0.0
        places = (length + 1) * (2 if hints else 1) + 1
        return Chance(run * float(base) ** -length, (digits + marks + 1) / places)

"""Multiplication of two numbers of equally many digits; the product has twice as many, with zeros in front.

    <bos> 4 7 * 8 5 <sep> 3 9 9 5 <eos>                                    plain
    <bos> 7 4 * 5 8 <sep> 5 9 9 3 <eos>                                    order=reversed
    <bos> h6 7 h7 4 * h6 5 h7 8 <sep> h6 5 h7 9 h8 9 h9 3 <eos>            order=reversed hints=30
    <bos> _ _ 4 7 * 8 5 <sep> 3 9 9 5 <eos>                                shift=2

`length` counts the digits of a factor. Hints and shifts are those of addition.
"""

import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab.seeds import generator as seeded
from gnomon.lab.task import Chance
from gnomon.lab.tasks import guess
from gnomon.lab.tasks.digits import Order, Written, carried
from gnomon.lab.tasks.sequences import BLANK, Sequences, within

SAMPLE = 20_000
"""Products from which the chance of a digit is read."""


class Multiplication(Sequences):
    """Multiplication in any base, written in the given order, with or without hints, after `shift` blanks."""

    room = "choose shorter lengths, or more hints: one for each digit of the product"

    def __init__(
        self,
        order: Order = "plain",
        hints: int = 0,
        shift: int = 0,
        measured_shifts: tuple[int, ...] = (),
        base: int = 10,
    ):
        if hints % 2:
            raise OptionError("a product has twice the digits of a factor", given=f"hints={hints}", allowed="even")
        self.written = Written("*", base, order, hints, shift, measured_shifts)
        self.symbols, self.groups = self.written.symbols, self.written.groups
        self.longest = hints // 2 if hints else None

    def draw(self, lengths: Tensor, generator: torch.Generator, group: Tensor | None) -> tuple[Tensor, Tensor]:
        a, b = self.written.operands(lengths, generator)
        product = torch.where(within(2 * lengths), self._product(a, b), BLANK)
        return self.written.row(a, b, product, lengths, generator, group)

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        """The digits of the products of two numbers of n digits, `[b, 2 n]`; blanks count as zeros."""
        a, b = a.clamp(min=0), b.clamp(min=0)
        n = a.shape[1]
        columns = torch.zeros(len(a), 2 * n, dtype=torch.int64)
        for place in range(n):
            columns[:, place : place + n] += a[:, place, None] * b
        return carried(columns, self.written.base)

    def chance(self, length: int) -> Chance:
        """The commonest product is 0: that of n digits in base B, where either factor is 0. Digits: from a sample."""
        base, hints = self.written.base, self.written.hints
        run = 1 / (hints - 2 * length + 1) if hints else 1.0
        zero = float(base) ** -length
        lengths = torch.full((SAMPLE,), length)
        digits = self._product(*self.written.operands(lengths, seeded("chance", length)))
        known = guess.of_sample(digits)
        if not hints:
            return Chance(zero * (2 - zero), known)
        right = known * (2 * length + 1) + 2 * length * run
        return Chance(run * zero * (2 - zero), right / (4 * length + 1))

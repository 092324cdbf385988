"""Loss and accuracy by length, position and depth, of a model that says the token `back` places before the last."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from gnomon.errors import OptionError, PositionError
from gnomon.lab.probes.lengths import lengths
from gnomon.lab.probes.needle import needle
from gnomon.lab.probes.reading import Reader
from gnomon.lab.task import IGNORED, Batch
from gnomon.past import NoCache
from gnomon.positions import Positions
from tests.lab.probes.models import VOCABULARY

SURE = math.log(9 * (VOCABULARY - 1))
"""The logit that gives its token a probability of 0.9."""


class Back(nn.Module):
    """Says, with probability 0.9, what stands `back` places before each token; the encoding takes `longest` tokens."""

    memory, heads, mask_decoder = 0, 1, None

    def __init__(self, back: int, longest: int = 10**6):
        super().__init__()
        self.back, self.longest, self.blocks = back, longest, []

    def past(self) -> NoCache:
        return NoCache()

    def forward(self, tokens: Tensor, pos: Positions) -> Tensor:
        assert not self.training and not torch.is_grad_enabled()
        if tokens.shape[1] > self.longest:
            raise PositionError("too long")
        said = tokens.roll(self.back, dims=1)
        return SURE * nn.functional.one_hot(said, VOCABULARY).double()


def hidden(rows: int, length: int, depth: float) -> Batch:
    """Zeros, one other token at a depth, which is to be said at the end."""
    inputs = torch.zeros(rows, length + 1, dtype=torch.int64)
    needle = 1 + torch.arange(rows) % (VOCABULARY - 1)
    inputs[torch.arange(rows), round(depth * (length - 1))] = needle
    targets = torch.full_like(inputs, IGNORED)
    targets[:, -1] = needle
    return Batch(inputs, targets)


def test_a_model_that_looks_so_far_back_finds_a_needle_there_and_nowhere_else():
    batches = {n: {depth: hidden(20, n, depth) for depth in (0, 0.25, 0.5, 0.75, 1)} for n in (9, 17)}
    found = needle(Reader(Back(back=5)), batches)
    assert [curve.length for curve in found.curves] == [9, 17] and not found.refused
    for curve, right in zip(found.curves, (0.5, 0.75), strict=True):
        for each in curve.depths:
            hit = each.depth == right
            assert each.exact.mean == hit and 0 < each.exact.se < 0.1 and each.exact.count == 20
            assert each.loss.mean == pytest.approx(-math.log(0.9 if hit else 0.1 / (VOCABULARY - 1)), abs=1e-9)
        assert curve.dip.mean == pytest.approx(-1 / 3, abs=1e-12) and curve.dip.se < 1e-12 and curve.dip.count == 20
    assert found.figures()[0].lines[0].y == [0, 0, 1, 0, 0]


def test_a_length_that_is_refused_is_told_apart():
    batches = {n: {0.5: hidden(4, n, 0.5)} for n in (9, 17)}
    found = needle(Reader(Back(5, longest=12)), batches)
    assert [curve.length for curve in found.curves] == [9] and found.refused == (17,)
    assert found.curves[0].dip is None
    with pytest.raises(OptionError, match="share of the text"):
        needle(Reader(Back(5)), {9: {1.5: hidden(4, 9, 1)}})


@dataclass(frozen=True)
class Repeating:
    """Rows of which each token repeats that of `period` places before it, from `period` on; random before."""

    period: int

    def batch(self, rows: int, n: int) -> Batch:
        drawn = torch.randint(VOCABULARY, (rows, self.period), generator=torch.Generator().manual_seed(n))
        line = drawn.repeat(1, n)[:, : n + 1]
        return Batch(line[:, :-1].clone(), line[:, 1:].clone())


def test_loss_and_accuracy_are_found_at_every_length_and_place():
    """Of a text of period 4, the next token is the one 3 places back, which rolls in from the end at the start."""
    batches = {n: Repeating(4).batch(8, n) for n in (8, 24)}
    found = lengths(Reader(Back(back=3)), batches, trained=8)
    for each in found.lengths:
        assert (each.accuracy.mean, each.exact.mean) == (1, 1)
        assert each.loss.mean == pytest.approx(-math.log(0.9), abs=1e-9) and each.loss.count == 8
        assert each.loss.se == pytest.approx(0, abs=1e-9)
    assert [place.first for place in found.lengths[1].places][:9] == [*range(9)]
    assert found.lengths[1].places[-1].last == 23


def test_only_what_is_scored_counts():
    batch = Repeating(4).batch(8, 24)
    batch.targets[:, :10] = IGNORED
    batch.targets[0, 20] = (batch.targets[0, 20] + 1) % VOCABULARY
    [each] = lengths(Reader(Back(back=3)), {24: batch}, trained=24).lengths
    assert each.exact.mean == 7 / 8 and each.accuracy.mean == pytest.approx(1 - 1 / (8 * 14), abs=1e-12)
    assert each.places[0].first == 10
    wrong = next(place for place in each.places if place.first <= 20 <= place.last)
    assert wrong.accuracy.mean == pytest.approx(7 / 8) and wrong.accuracy.se == pytest.approx(1 / 8, abs=1e-9)


def test_lengths_that_are_refused_and_mistakes_are_told():
    batches = {n: Repeating(4).batch(3, n) for n in (8, 24)}
    assert lengths(Reader(Back(3, longest=8)), batches, trained=8).refused == (24,)
    with pytest.raises(OptionError, match="training length"):
        lengths(Reader(Back(3)), batches, trained=12)


def test_text_has_no_answers():
    found = lengths(Reader(Back(back=3)), {8: Repeating(4).batch(8, 8)}, trained=8, answers=False)
    assert found.lengths[0].exact is None and found.tables()[0].rows[0][5] is None
    assert len(found.figures()[1].lines) == 1

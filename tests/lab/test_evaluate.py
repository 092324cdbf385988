"""What is measured, on models whose losses are known in closed form."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gnomon.errors import PositionError
from gnomon.lab import evaluate as module
from gnomon.lab.evaluate import Measured, evaluate
from gnomon.lab.experiment import Experiment, Measure, Text, Training
from gnomon.past import NoCache
from gnomon.positions import Positions

CPU = torch.device("cpu")
VOCABULARY = 7


@dataclass
class Counting:
    """A task whose test documents count 0, 1, ..., 6, 0, ...: the next token is always the last one plus one."""

    sizes: tuple[int, ...] = (3000, 2000, 40)
    vocabulary: int = VOCABULARY

    def documents(self, part: str) -> list[Tensor]:
        assert part == "test"
        return [torch.arange(size) % VOCABULARY for size in self.sizes]


class Known(nn.Module):
    """Gives the right answer at position p the probability exp(-loss(p)), and the rest to the other six equally."""

    def __init__(self, loss):
        super().__init__()
        self.loss, self.batches = loss, []

    memory = 0

    def past(self) -> NoCache:
        return NoCache()

    def forward(self, tokens: Tensor, pos: Positions, cache: NoCache) -> Tensor:
        assert pos.length == tokens.shape[1]
        self.batches.append(tuple(tokens.shape))
        assert not torch.is_grad_enabled() and not self.training
        loss = torch.as_tensor([self.loss(p, tokens.shape[1]) for p in range(tokens.shape[1])], dtype=torch.float64)
        wrong = torch.log((1 - torch.exp(-loss)) / (VOCABULARY - 1))
        logits = wrong[None, :, None].expand(*tokens.shape, VOCABULARY).clone()
        right = -loss[None, :, None].expand(*tokens.shape, 1)
        return logits.scatter(2, ((tokens + 1) % VOCABULARY)[..., None], right)


def measured(loss, lengths=(8, 32, 64, 128), **measure) -> tuple[Measured, Known]:
    model = Known(loss)
    given = {"bytes": 1024, "pairs": 9, "targets": 4} | measure
    experiment = Experiment(
        "rope", task=Text(digest="0"), training=Training(length=32), measure=Measure(lengths=lengths, **given)
    )
    return evaluate(model, Counting(), experiment, CPU), model


def test_a_constant_loss_is_found_everywhere_with_no_error():
    found, _ = measured(lambda p, n: 1.25)
    assert [row["length"] for row in found.lengths] == [8, 32, 64, 128]
    for row in found.lengths:
        for key in ("loss", "paired_loss", "sliding_loss"):
            assert row[key] == pytest.approx(1.25, abs=1e-6)
        assert row["bits_per_byte"] == pytest.approx(1.25 / math.log(2), abs=1e-6)
        assert row["sliding_perplexity"] == pytest.approx(math.exp(1.25), abs=1e-5)
        assert row["paired_excess"] == pytest.approx(0, abs=1e-6)
        assert max(row["loss_se"], row["paired_se"], row["paired_excess_se"]) < 1e-6
        assert row["tokens"] == row["windows"] * row["length"]
    assert {(bin["se"] < 1e-6, round(bin["loss"], 6)) for bin in found.positions} == {(True, 1.25)}


def test_the_sizes_of_the_samples_are_those_of_the_text():
    """Two stretches of 512 targets; documents of 3000 and 2000 tokens hold 23 and 15 places for windows of 128."""
    found, _ = measured(lambda p, n: 1.0, pairs=100)
    assert [row["windows"] for row in found.lengths] == [128, 32, 16, 8]
    assert {row["paired_windows"] for row in found.lengths} == {23 + 15}
    assert {row["paired_targets"] for row in found.lengths} == {4}
    assert [row["sliding_stride"] for row in found.lengths] == [4, 16, 32, 64]


def test_a_loss_that_depends_on_the_position_gives_the_known_means():
    """Loss 1 + p/100: windows average their positions, pairs their last four, the sliding window its newer half."""
    found, _ = measured(lambda p, n: 1 + p / 100)
    for row in found.lengths:
        n = row["length"]
        assert row["loss"] == pytest.approx(1 + (n - 1) / 200, abs=1e-5)
        assert row["paired_loss"] == pytest.approx(1 + (n - 2.5) / 100, abs=1e-5)
        assert row["paired_excess"] == pytest.approx((n - 32) / 100, abs=1e-5)
        later = (512 - n) * (1 + (3 * n / 4 - 0.5) / 100)
        assert row["sliding_loss"] == pytest.approx((n * (1 + (n - 1) / 200) + later) / 512, abs=1e-5)
    for bin in found.positions:
        assert bin["loss"] == pytest.approx(1 + bin["position"] / 100, abs=1e-5)


def test_a_loss_that_depends_on_the_text_gives_an_excess_of_zero_and_an_error_of_the_mean():
    """The model errs at token 6 only: paired targets are the same at every length, so they differ by nothing."""

    class Text6(Known):
        def forward(self, tokens: Tensor, pos: Positions, cache: NoCache) -> Tensor:
            logits = super().forward(tokens, pos, cache)
            return torch.where((tokens == 6)[..., None], torch.zeros(()), logits)

    model = Text6(lambda p, n: 0.5)
    experiment = Experiment(
        "rope",
        task=Text(digest="0"),
        training=Training(length=32),
        measure=Measure(lengths=(8, 64), bytes=1024, pairs=20, targets=4),
    )
    rows = evaluate(model, Counting(), experiment, CPU).lengths
    assert len({row["paired_loss"] for row in rows}) == 1
    assert rows[0]["paired_se"] > 0.01
    assert {(row["paired_excess"], row["paired_excess_se"]) for row in rows} == {(0.0, 0.0)}


def test_batches_are_bounded_by_tokens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TOKENS", 100)
    found, model = measured(lambda p, n: 1.0)
    assert len(found.lengths) == 4
    assert max(b * n for b, n in model.batches if n <= 100) <= 100
    assert {b for b, n in model.batches if n > 100} == {1}
    assert max(b for b, n in model.batches if n == 8) == 12


def test_a_length_that_is_refused_is_recorded_with_its_reason():
    class Table(Known):
        def forward(self, tokens: Tensor, pos: Positions, cache: NoCache) -> Tensor:
            if tokens.shape[1] > 64:
                raise PositionError("learned positions end at 63", given="position 127", do="more rows")
            return super().forward(tokens, pos, cache)

    model = Table(lambda p, n: 1.0)
    experiment = Experiment(
        "learned",
        task=Text(digest="0"),
        training=Training(length=32),
        measure=Measure(lengths=(8, 64, 128), bytes=1024, pairs=9, targets=4),
    )
    told: list[tuple[int, int]] = []
    found = evaluate(model, Counting(), experiment, CPU, lambda done, total: told.append((done, total)))
    assert [row["status"] for row in found.lengths] == ["measured", "measured", "measured", "refused"]
    assert "position 127" in found.lengths[3]["reason"] and "loss" not in found.lengths[3]
    assert {bin["length"] for bin in found.positions} == {8, 32, 64}
    done = [d for d, _ in told]
    assert done == sorted(done)


def test_a_loss_that_is_not_finite_is_recorded_as_such():
    found, _ = measured(lambda p, n: float("nan") if n == 64 else 1.0)
    assert [row["status"] for row in found.lengths] == ["measured", "measured", "diverged", "measured"]
    assert 64 not in {bin["length"] for bin in found.positions}
    assert all(math.isfinite(v) for row in found.lengths for v in row.values() if isinstance(v, float))


def test_without_the_training_length_there_is_no_excess():
    found, _ = measured(lambda p, n: float("inf") if n == 32 else 1.0)
    assert [row.get("paired_excess", "none") for row in found.lengths] == [None, "none", None, None]


def test_the_model_is_given_back_as_it_was():
    for mode in (True, False):
        model = Known(lambda p, n: 1.0).train(mode)
        experiment = Experiment(
            "rope",
            task=Text(digest="0"),
            training=Training(length=32),
            measure=Measure(lengths=(32,), bytes=64, pairs=1, targets=1),
        )
        evaluate(model, Counting(), experiment, CPU)
        assert model.training is mode


def test_the_standard_error_covers_the_truth_as_often_as_it_should():
    """Random losses with a known mean: about 95 of 100 intervals of two errors hold it."""
    draw = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        losses = draw.exponential(2.0, size=100)
        found = module.measures.mean(losses)
        inside += abs(found.mean - 2.0) < 2 * found.se
    assert 180 <= inside <= 198

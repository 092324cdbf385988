"""What is measured of tasks with answers, on models whose answers are known in advance."""

import math

import pytest
import torch
from torch import Tensor, nn

from gnomon.errors import PositionError
from gnomon.lab import answers as module
from gnomon.lab import measures
from gnomon.lab.answers import evaluate
from gnomon.lab.evaluate import Measured
from gnomon.lab.experiment import Experiment, Measure, Problem, Training
from gnomon.lab.measures import Reach, learned, reach, wilson
from gnomon.lab.task import IGNORED, Batch, Chance, Group, Task
from gnomon.positions import Positions

CPU = torch.device("cpu")
VOCABULARY = 5


class Echo(Task):
    """The answer to a token is the next one: rows of `length` tokens, of which the last two are scored."""

    vocabulary = VOCABULARY
    groups = (Group("even"), Group("odd"), Group("other", trained=False))

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        raise AssertionError("nothing is trained here")

    def examples(self, part: str, length: int, count: int) -> Batch:
        assert part == "test"
        inputs = (torch.arange(count)[:, None] + torch.arange(length)) % VOCABULARY
        targets = torch.where(torch.arange(length) >= length - 2, (inputs + 1) % VOCABULARY, IGNORED)
        return Batch(inputs, targets, group=torch.arange(count) % 3)

    def chance(self, length: int) -> Chance:
        return Chance(1 / length, 1 / VOCABULARY)


class Known(nn.Module):
    """Gives the right answer the probability 1/2 and a wrong one more of it where `errs` says so."""

    encodings = ()

    def __init__(self, errs):
        super().__init__()
        self.errs, self.batches = errs, []

    def forward(self, tokens: Tensor, pos: Positions) -> Tensor:
        assert not torch.is_grad_enabled() and not self.training
        assert pos.rows == 1 and pos.length == tokens.shape[1]
        self.batches.append(tuple(tokens.shape))
        right = (tokens + 1) % VOCABULARY
        rest = torch.full((*tokens.shape, VOCABULARY), 0.1)
        sure = rest.scatter(2, right[..., None], 0.6)
        wrong = rest.scatter(2, ((right + 1) % VOCABULARY)[..., None], 0.6)
        errs = self.errs(tokens)
        return torch.where(errs[..., None], wrong, sure).log()


def measured(errs, lengths=(4, 8), examples=30) -> tuple[Measured, Known]:
    model = Known(errs)
    experiment = Experiment(
        "rope", task=Problem("echo"), training=Training(length=4), measure=Measure(lengths=lengths, examples=examples)
    )
    return evaluate(model, Echo(), experiment, CPU), model


def test_a_model_that_is_always_right_is_right():
    found, _ = measured(lambda tokens: torch.zeros_like(tokens, dtype=torch.bool))
    for row in found.lengths:
        assert (row["status"], row["exact"], row["token_accuracy"]) == ("measured", 1.0, 1.0)
        assert row["exact_se"] == pytest.approx(wilson(20, 20)) and row["exact_se"] > 0
        assert row["token_accuracy_se"] == 0
        assert row["loss"] == pytest.approx(-math.log(0.6))
        assert (row["examples"], row["tokens"]) == (20, 40)
        assert (row["chance_exact"], row["chance_token"]) == (1 / row["length"], 1 / VOCABULARY)
    assert found.positions == []


def test_one_wrong_token_makes_a_wrong_answer_and_unscored_tokens_count_for_nothing():
    """Token 0 is answered wrongly. A row scores two tokens in a row: 2 of 5 rows have a 0 among them."""
    found, _ = measured(lambda tokens: tokens == 0, examples=15)
    for row in found.lengths:
        known = [(first + row["length"] - 2) % 5 in (0, 4) for first in range(15) if first % 3 < 2]
        assert row["exact"] == 1 - sum(known) / 10
        assert row["token_accuracy"] == pytest.approx(1 - sum(known) / 20)
        assert row["token_accuracy_se"] == pytest.approx(measures.mean([0.5 if k else 1.0 for k in known]).se)
        assert row["loss"] == pytest.approx(-(math.log(0.6) * (20 - sum(known)) + math.log(0.1) * sum(known)) / 20)


def test_groups_are_measured_by_themselves_and_untrained_ones_count_there_only():
    found, _ = measured(lambda tokens: (torch.arange(len(tokens)) % 3 != 0)[:, None].expand_as(tokens))
    for row in found.lengths:
        assert row["exact"] == 0.5 and row["examples"] == 20
        groups = {group["name"]: group for group in row["groups"]}
        assert {name: group["exact"] for name, group in groups.items()} == {"even": 1.0, "odd": 0.0, "other": 0.0}
        assert {group["examples"] for group in groups.values()} == {10}
        assert [group["trained"] for group in row["groups"]] == [True, True, False]


def test_batches_are_bounded_by_tokens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TOKENS", 40)
    found, model = measured(lambda tokens: tokens == 0, lengths=(4, 8, 64))
    whole, _ = measured(lambda tokens: tokens == 0, lengths=(4, 8, 64))
    assert found == whole
    assert {rows for rows, n in model.batches if n == 64} == {1}
    assert max(rows * n for rows, n in model.batches if n < 64) == 40


def test_a_length_that_is_refused_or_has_no_finite_loss_is_recorded_as_such():
    class Table(Known):
        def forward(self, tokens: Tensor, pos: Positions) -> Tensor:
            if tokens.shape[1] > 8:
                raise PositionError("learned positions end at 7", given="position 15")
            return super().forward(tokens, pos) * (float("nan") if tokens.shape[1] == 8 else 1.0)

    model = Table(lambda tokens: tokens < 0)
    experiment = Experiment(
        "learned", task=Problem("echo"), training=Training(length=4), measure=Measure(lengths=(8, 16), examples=9)
    )
    told: list[tuple[int, int]] = []
    rows = evaluate(model, Echo(), experiment, CPU, lambda done, total: told.append((done, total))).lengths
    assert [row["status"] for row in rows] == ["measured", "diverged", "refused"]
    assert "position 15" in rows[2]["reason"] and "exact" not in rows[1] and "exact" not in rows[2]
    assert [done for done, _ in told] == [36, 108]


def test_the_standard_error_of_a_share():
    """Half of Wilson's interval for z = 1, from its two ends worked out as in his paper."""
    for right, count in ((0, 10), (3, 10), (512, 512)):
        p, n = right / count, count
        half = math.sqrt(p * (1 - p) / n + 1 / (4 * n * n))
        low, high = ((p + 1 / (2 * n) + sign * half) / (1 + 1 / n) for sign in (-1, 1))
        assert wilson(right, count) == pytest.approx((high - low) / 2)
        # Its ends are where p lies one standard error of theirs away.
        for end in (low, high):
            assert abs(p - end) == pytest.approx(math.sqrt(end * (1 - end) / n), abs=1e-9)


def rows(**shares: float) -> list[dict]:
    return [{"length": int(key[1:]), "status": "measured", "exact": value} for key, value in shares.items()]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        (rows(n4=1.0, n8=0.9, n16=1.0), Reach(16, censored=True)),
        (rows(n2=0.1, n4=0.95, n8=0.89, n16=1.0), Reach(4, censored=False)),
        ([*rows(n4=1.0, n8=0.9), {"length": 16, "status": "refused"}], Reach(8, censored=False)),
    ],
)
def test_reach_is_as_far_as_nine_answers_in_ten_are_right(lengths: list[dict], expected: Reach):
    assert reach(lengths, 4) == expected


@pytest.mark.parametrize(("exact", "expected"), [(0.9, True), (0.89, False), (None, None)])
def test_learned_is_said_of_nine_answers_in_ten_at_the_training_length(exact: float | None, expected: bool | None):
    record = {
        "experiment": {"task": {"kind": "problem"}, "training": {"length": 4}},
        "lengths": [{"length": 4, "exact": exact}, {"length": 8, "exact": 1.0}],
    }
    assert learned(record) is expected

"""The arithmetic, on numbers whose answer is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Reach, bits, by_position, edges, mean, paired, perplexity, reach, unigram


def test_mean_and_standard_error():
    found = mean(np.array([1.0, 2.0, 3.0, 4.0]))
    assert found.mean == 2.5 and found.count == 4
    assert found.se == pytest.approx(math.sqrt(5 / 3 / 4), rel=1e-15)
    assert mean(np.array([7.0])) == (7.0, None, 1)


def test_a_paired_difference_has_the_error_of_the_differences():
    reference = np.array([1.0, 5.0, 9.0, 2.0])
    found = paired(reference + np.array([0.1, 0.3, 0.1, 0.3]), reference)
    assert found.mean == pytest.approx(0.2)
    assert found.se == pytest.approx(0.1 / math.sqrt(3))
    assert paired(reference + 1, reference).se == pytest.approx(0, abs=1e-15)


def test_the_loss_of_byte_frequencies(monkeypatch: pytest.MonkeyPatch):
    """`a` has been seen 6 + 1 times, `b` 3 + 1, each other byte 0 + 1, of 9 + 256."""
    seen = {b"a": 7 / 265, b"b": 4 / 265, b"c": 1 / 265}
    for text in seen:
        assert unigram([b"aab", b"aabaab"], [text]) == pytest.approx(-math.log(seen[text]))
    mixed = -(2 * math.log(seen[b"a"]) + math.log(seen[b"b"])) / 3
    assert unigram([b"aab", b"aabaab"], [b"a", b"ba"]) == pytest.approx(mixed)
    monkeypatch.setattr(measures, "PIECE", 2)
    assert unigram([b"aab", b"aabaab"], [b"aba"]) == pytest.approx(mixed)
    assert unigram([b"ab"], [b""]) is None and unigram([], [b"a"]) == pytest.approx(math.log(256))


def test_units():
    assert bits(math.log(256)) == pytest.approx(8)
    assert perplexity(math.log(256)) == pytest.approx(256)
    assert perplexity(1e4) is None


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_bins_cover_a_window_once_and_never_cross_the_training_length(length: int, training_length: int):
    bounds = edges(length, training_length)
    assert bounds[0] == 0 and bounds[-1] == length
    assert bounds == sorted(set(bounds))
    assert training_length > length or training_length in bounds
    assert len(bounds) <= 64 + 16 + 3
    assert bounds[: min(16, length)] == list(range(min(16, length)))


def test_loss_by_position_is_the_mean_of_the_positions_in_a_bin():
    """The loss of position p of window w is p + w: bin means are bin centres + 1/2, errors those of 0 and 1."""
    losses = np.arange(1024.0)[None] + np.array([[0.0], [1.0]])
    found = by_position(losses, training_length=100)
    assert [bin.loss for bin in found] == pytest.approx([bin.position + 0.5 for bin in found])
    assert {bin.se for bin in found} == {0.5} and {bin.windows for bin in found} == {2}
    assert sum(bin.last - bin.first + 1 for bin in found) == 1024
    assert [(bin.first, bin.last) for bin in found if bin.first <= 100 <= bin.last + 1] == [(96, 99), (100, 111)]


def entries(*excess: float | str | None) -> list[dict]:
    """Lengths 64, 128, 256, ... with the given excess, or a status where there is none."""
    return [
        {"length": 64 * 2**i, "status": "measured", "paired_excess": value}
        if isinstance(value, float)
        else {"length": 64 * 2**i, "status": value}
        for i, value in enumerate(excess)
    ]


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        ((0.0, 0.0, 0.05, 0.1), Reach(512, True)),
        ((0.0, 0.0, 0.05, 0.11), Reach(256, False)),
        ((0.0, 0.0, 0.2, 0.05), Reach(128, False)),
        ((9.9, 0.0, -0.3, 0.0), Reach(512, True)),
        ((0.0, 0.0, "refused"), Reach(128, False)),
        ((0.0, 0.0, 0.0, "diverged"), Reach(256, False)),
        ((0.0, 0.0), Reach(128, True)),
    ],
)
def test_reach(excess: tuple, expected: Reach):
    assert reach(entries(*excess), 128) == expected
    assert reach(entries(*excess)[::-1], 128) == expected


def test_reach_takes_its_tolerance():
    assert reach(entries(0.0, 0.0, 0.2, 0.4), 128, tolerance=0.3) == Reach(256, False)


@pytest.mark.parametrize("lengths", [[], entries(0.0), entries(0.0, "refused", 0.0), entries("refused", "diverged")])
def test_there_is_no_reach_without_the_training_length(lengths: list[dict]):
    with pytest.raises(OptionError, match="training length"):
        reach(lengths, 128)

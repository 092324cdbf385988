"""Intervals over seeds: what a mean may be, when so few models were trained."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean over seeds and the ends of its interval, Student's t at CONFIDENCE; of one seed the ends are unknown."""

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def text(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]" if self.seeds > 1 else f"{self.mean:.3f}, one seed"


def interval(values: Sequence[float]) -> Interval:
    """That of one number a seed. ValueError for no number."""
    if not values:
        raise ValueError("an interval of no numbers")
    n, mean = len(values), math.fsum(values) / len(values)
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = quantile((1 + CONFIDENCE) / 2, n - 1) * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def difference(a: Mapping[int, float], b: Mapping[int, float]) -> Interval:
    """That of a less b over the seeds that both have, seed by seed: the same data, in the same order, trained both.

    ValueError where they share none.
    """
    shared = sorted(a.keys() & b.keys())
    if not shared:
        raise ValueError("two encodings that share no seed are not compared")
    return interval([a[seed] - b[seed] for seed in shared])


def by_seed(rows: Sequence[Sequence], label: str, column: int) -> dict[int, float]:
    """The numbers of one label by seed, of rows that begin with label and seed; missing ones are left out."""
    return {row[1]: row[column] for row in rows if row[0] == label and row[column] is not None}


def quantile(share: float, freedom: int) -> float:
    """Of Student's t of so many degrees of freedom: below it lies the `share`, from 0.5 to below 1."""
    low, high = 0.0, 1.0
    while _below(high, freedom) < share:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return high


def _below(t: float, freedom: int) -> float:
    """The share below t >= 0, by the finite series in the angle (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    term = total = cosine if odd else 1.0
    for at in range(3 if odd else 2, freedom - 1, 2):
        term *= (at - 1) / at * cosine**2
        total += term
    inside = math.sin(angle) * total if freedom > 1 else 0.0
    return 0.5 + (inside + angle) / math.pi if odd else 0.5 + inside / 2

"""Laws of low precision: positions cost no more accuracy than the model loses without them."""

from collections.abc import Callable
from dataclasses import replace

import torch

from gnomon.backends import Reference
from gnomon.encoding import Encoding
from gnomon.laws.case import SHAPE, TOKENS, Case, gap
from gnomon.laws.law import Outcome
from gnomon.laws.twins import Definition, Plain
from gnomon.positions import Positions


def precision(case: Case) -> Outcome:
    """In float32, positions up to 2^24 + 11 cost no more accuracy than no positions at all."""
    # Beyond 2^24 float32 has no odd numbers.
    return _precision(case, torch.float32, [0.0, 1e3, 1e5, 1e6, 1e7, 2.0**24])


def half(case: Case) -> Outcome:
    """In bfloat16, positions cost no more accuracy than no positions at all."""
    return _precision(case, torch.bfloat16, [0.0, 257.0, 2049.0, 1e5])


def _precision(case: Case, dtype: torch.dtype, starts: list[float]) -> Outcome:
    """The error against the definition in float64, over the error that the model has without positions."""
    limits, even = case.encoding(case.shape).domain, case.even()
    scale = case.encoding(case.shape).scale(SHAPE.head_dim)
    places = [even.shifted(start) for start in starts if start + TOKENS <= limits.highest]
    # Where their step is known a bias may come from a table of differences, which are small.
    places.append(Positions(places[-1].coords))
    error = max(_errors(case, dtype, lambda: case.encoding(case.shape), places))
    # Without positions it is the same error wherever they are.
    return Outcome(error / _errors(case, dtype, lambda: Plain(scale), places[:1])[0], tolerance=4.0)


def _errors(case: Case, dtype: torch.dtype, make: Callable[[], Encoding], places: list[Positions]) -> list[float]:
    """The error of the model against that of the definition in float64, at each of `places`."""
    tokens, low = case.tokens(), case.model(make(), dtype)
    exact = replace(case, backend=Reference).model(Definition(make()))
    with torch.no_grad():
        for rounded, wide in zip(low.parameters(), exact.parameters(), strict=True):
            wide.copy_(rounded)
        return [gap(low(tokens, pos).to(torch.float64), exact(tokens, pos)) for pos in places]

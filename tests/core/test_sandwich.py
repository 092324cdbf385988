"""Sandwich: signs, heads, cached rows, and the options that are refused."""

import pytest
import torch

from gnomon.encodings.sandwich import Sandwich
from gnomon.errors import OptionError
from gnomon.kv_cache import Cache
from gnomon.pairs import dense, pointwise
from gnomon.positions import sequence
from tests.core.common import HEADS, gap, make, model, tokens

EMPTY = torch.empty(0, dtype=torch.float64)


def row(encoding: Sandwich, q: float, keys: int) -> torch.Tensor:
    pair = encoding.bias(EMPTY, EMPTY, sequence(1, q), sequence(keys))
    return dense(pair, 1, encoding.heads, 1, keys)[0, :, 0]


def test_it_is_never_above_zero_and_zero_at_the_token_itself():
    found = row(Sandwich(HEADS), 400, 2000)
    assert found.max() == 0 and (found[:, 400] == 0).all() and (found[:, :400] < 0).all()
    assert torch.isfinite(found.half()).all()


def test_near_it_falls_with_distance_and_later_heads_fall_less():
    found = row(Sandwich(HEADS), 0, 8)
    assert (found.diff(dim=1) < 0).all() and (found[:, 1:].diff(dim=0) > 0).all()
    for h in range(HEADS):
        assert gap(found[h] * (h + 1), found[0]) < 1e-14


def test_nothing_cancels_where_tokens_are_close():
    """1e-6 apart the sum of cosines is w/2 less 1e-12: a difference of the two has no digits left, this has."""
    encoding = Sandwich(1, size=4, first=0)
    pair = encoding.bias(EMPTY, EMPTY, sequence(1, 1e-6), sequence(1))
    expected = -(0.5e-12 + 0.5e-16) / 8
    assert pointwise(pair)(*torch.zeros(4, dtype=torch.int64)).item() == pytest.approx(expected, rel=1e-9)
    assert dense(pair, 1, 1, 1, 1).item() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("split", [[1] * 9, [5, 4], [8, 1]], ids=str)
def test_cached_rows_are_the_last(split):
    net, token, cache = model(make("sandwich")), tokens(2, 9), Cache(9)
    parts = [net(part, cache=cache) for part in token.split(split, dim=1)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


@pytest.mark.parametrize(
    "options", [dict(heads=0), dict(heads=2, size=7), dict(heads=2, size=0), dict(heads=2, first=2)], ids=str
)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        Sandwich(**options)

"""FIRE: ratios at any length, positions that must be the sequence's own, layers with networks of their own."""

import pytest
import torch

from gnomon.encoding import Property
from gnomon.encodings import fire
from gnomon.encodings.fire import Fire
from gnomon.errors import OptionError
from gnomon.kv_cache import Cache
from gnomon.pairs import dense, pointwise
from gnomon.positions import sequence
from tests.core.common import HEADS, at, gap, make, model, tokens, weigh


def test_a_causal_ratio_is_between_0_and_1_at_any_length():
    encoding = Fire(HEADS).double()
    for n in (3, 600, 5000):
        ratio = encoding.ratio(sequence(1, n - 1), sequence(n))[0, 0]
        assert ratio.min() == 0 and ratio.max() <= 1
        assert (ratio.diff() < 0).all()


def test_without_a_mask_both_ends_measure():
    """The ratio stays within 1 on both sides, is symmetric, and says the same of the past as under a mask."""
    causal, both = Fire(HEADS, start=4.0).double(), Fire(HEADS, causal=False, start=4.0).double()
    pos = sequence(30)
    ratio = both.ratio(pos, pos)[0]
    assert ratio.max() <= 1 and torch.equal(ratio, ratio.T)
    assert torch.equal(ratio.tril(), causal.ratio(pos, pos)[0].tril())


def test_it_knows_where_in_the_sequence_it_is():
    assert Property.TRANSLATION_INVARIANT not in Fire.properties
    net, token = model(make("fire", start=2.0)), tokens(2, 9)
    assert gap(net(token, sequence(9, 100)), net(token)) > 1e-3


@pytest.mark.parametrize("split", [[1] * 9, [8, 1], [4, 5]], ids=str)
def test_a_cached_step_is_measured_by_the_position_in_the_sequence(split):
    net, token, cache = model(make("fire", start=2.0)), tokens(2, 9), Cache(9)
    parts = [net(part, cache=cache) for part in token.split(split, dim=1)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


def test_it_stays_finite_where_nothing_is_stretched():
    """mu = 0 and the first row: psi(0) + eps below, and masked pairs may be large, but finite."""
    encoding = weigh(Fire(HEADS).double())
    torch.nn.init.zeros_(encoding.mu)
    empty = torch.empty(0, dtype=torch.float64)
    bias = dense(encoding.bias(empty, empty, sequence(9), sequence(9)), 1, HEADS, 9, 9)
    assert torch.isfinite(bias).all()
    encoding.half()
    narrow = empty.float()
    low = dense(encoding.bias(narrow, narrow, sequence(9), sequence(9)), 1, HEADS, 9, 9)
    assert low.dtype == torch.float32 and torch.isfinite(low).all()


def test_negative_and_fractional_positions():
    encoding = Fire(HEADS, start=10.0).double()
    ratio = encoding.ratio(at([-5.5]), at([-7.0, -5.5, 3.25]))[0, 0]
    assert torch.isfinite(ratio).all() and ratio[1] == 0


def test_each_layer_has_its_own_network_unless_they_share():
    torch.manual_seed(0)
    own, shared = Fire(HEADS).layers(3), Fire(HEADS, per_layer=False).layers(3)
    assert len({id(layer) for layer in own}) == 3 and len({id(layer) for layer in shared}) == 1
    assert not torch.equal(own[0].out.weight, own[1].out.weight)
    assert all(layer.c.item() == pytest.approx(0.1) and layer.mu.item() == 1 for layer in own)
    parameters = 32 * (HEADS + 2) + HEADS + 2
    assert sum(p.numel() for p in own[0].parameters()) == parameters
    assert sum(p.numel() for p in model(make("fire"), depth=3).encodings[0].parameters()) == parameters


@pytest.mark.parametrize(
    "options",
    [dict(heads=0), dict(heads=2, units=0), dict(heads=2, start=0.0), dict(heads=2, start=float("inf"))],
    ids=str,
)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        Fire(**options)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("tile", [1, 2, 4, 256])
def test_the_network_by_tiles(monkeypatch, tile, causal):
    """With a gradient all units, without one those that bend in a tile beside a line for all others, in a kernel each.

    Units that are always on, always off, flat, twice there, and that bend just where a pair is.
    """
    monkeypatch.setattr(fire, "TILE", tile)
    encoding = weigh(Fire(HEADS, causal=causal, start=4.0).double())
    pos = at([0.0, 0.5, 3, 40, 41.25, 900])
    with torch.no_grad():
        encoding.hidden.weight[:3] = 0.0
        encoding.hidden.weight[3:6] *= -1
        encoding.hidden.bias[0], encoding.hidden.bias[1], encoding.hidden.bias[2] = 0.7, -0.7, 0.0
        encoding.hidden.weight[7], encoding.hidden.bias[7] = encoding.hidden.weight[8], encoding.hidden.bias[8]
        encoding.hidden.weight[9], encoding.hidden.bias[9] = 1.0, -encoding.ratio(pos, pos)[0, 4, 2]
        encoding.hidden.weight[10], encoding.hidden.bias[10] = 2.0, 0.0
    empty = torch.empty(0, dtype=torch.float64)
    pair = encoding.bias(empty, empty, pos, pos)
    units = dense(pair, 1, HEADS, 6, 6)
    with torch.no_grad():
        tiles = dense(pair, 1, HEADS, 6, 6)
    b, h, i, j = (
        torch.zeros(1, 1, 1, 1).long(),
        torch.arange(HEADS)[:, None, None],
        torch.arange(6)[:, None],
        torch.arange(6),
    )
    assert gap(tiles, units) < 1e-13 and gap(pointwise(pair)(b, h, i, j)[None], units) < 1e-13


def test_few_units_bend_in_a_tile(monkeypatch):
    """What it costs: units whose kink lies elsewhere are part of the line, and are not looked at pair by pair."""
    encoding, empty, bent = Fire(HEADS), torch.empty(0), []
    pos = sequence(600)
    pair = encoding.bias(empty, empty, pos, pos)
    mm = torch.mm
    monkeypatch.setattr(fire.torch, "mm", lambda a, b, out: bent.append(a.shape[1] - 2) or mm(a, b, out=out))
    with torch.no_grad():
        dense(pair, 1, HEADS, 600, 600)
    kinks = -(encoding.hidden.bias / encoding.hidden.weight[:, 0])
    assert len(bent) == 9 and max(bent) <= ((kinks > 0) & (kinks < 1)).sum()

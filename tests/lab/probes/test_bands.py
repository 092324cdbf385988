"""Bands that are held: none is the model as it is, all is the model that sees no position past its training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab.probes.bands import bands
from gnomon.lab.probes.held import HeldDistances, holding, waves
from gnomon.lab.probes.reading import of_examples
from gnomon.positions import sequence
from tests.lab.probes.models import reader, tokens

OPTIONS = [
    ("sinusoidal", {}),
    ("sinusoidal", {"convention": "tensor2tensor"}),
    ("sinusoidal", {"width": 15, "heads": 3}),
    ("rope", {"width": 32}),
    ("rope", {"width": 32, "pairing": "interleaved"}),
    ("rope", {"width": 32, "fraction": 0.5}),
]


@pytest.mark.parametrize(("encoding", "options"), OPTIONS)
def test_nothing_held_and_all_held_inside_the_range_are_the_model_as_it_is(encoding, options):
    made, batch = reader(encoding, **options), tokens(2, 20)
    every = [column for wave in waves(made.encoding) for column in wave.columns]
    for columns, highest in (((), 3), (every, 19)):
        with holding(made, tuple(columns), highest):
            held = made.logits(batch)
        assert (held - made.logits(batch)).abs().max() < 1e-12
    with holding(made, tuple(every), 3):
        assert (made.logits(batch) - held).abs().max() > 1e-3


@pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])
def test_all_added_waves_held_is_the_model_at_positions_inside(convention):
    made, batch = reader("sinusoidal", convention=convention), tokens(3, 20)
    inside = replace(sequence(20), coords=sequence(20).coords.clamp(max=11))
    expected = of_examples(made.losses(replace(batch, pos=inside))[:, 12:])
    found = bands(made, batch, trained=12)
    assert found.all_held.mean == pytest.approx(expected.mean(), abs=1e-12)
    assert found.plain.mean == pytest.approx(np.mean(made.losses(batch)[:, 12:]), abs=1e-12)
    assert found.inside.mean == pytest.approx(np.mean(made.losses(batch)[:, :12]), abs=1e-12)


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_all_rotations_held_see_no_larger_distance(pairing):
    """Pair by pair, by the encoding's definition at a distance inside, on either side."""
    made = reader("rope", pairing=pairing).encoding
    q, k = torch.randn(2, 1, 2, 9, 4, dtype=torch.float64)
    held = HeldDistances(made, torch.ones(4, dtype=torch.bool), 3.0).score(q, k, sequence(9), sequence(9))
    for i in range(9):
        for j in range(9):
            apart = max(-3, min(3, i - j))
            pair = made.score(q[:, :, i : i + 1], k[:, :, j : j + 1], sequence(1, apart), sequence(1))
            assert (held[..., i, j] - pair[..., 0, 0]).abs().max() < 1e-12


def test_one_band_is_all_of_them():
    found = bands(reader("rope"), tokens(3, 20), trained=12, count=1)
    [band] = found.bands
    assert band.held.mean == pytest.approx(found.all_held.mean - found.plain.mean, abs=1e-12)
    assert band.alone.mean == pytest.approx(found.plain.mean - found.all_held.mean, abs=1e-12)


def test_a_wave_that_hardly_turns_costs_nothing_to_hold():
    found = bands(reader("sinusoidal"), tokens(8, 20), trained=12)
    assert [band.shortest for band in found.bands] == sorted(band.shortest for band in found.bands)
    assert abs(found.bands[-1].held.mean) < 0.05 * abs(found.bands[0].held.mean)
    assert len(found.figures()[0].lines[0].y) == len(found.tables()[0].rows) == 4


def test_what_has_no_waves_is_told():
    with pytest.raises(OptionError, match="frequencies"):
        bands(reader("alibi"), tokens(2, 20), trained=12)
    with pytest.raises(OptionError, match="past"):
        bands(reader("rope"), tokens(2, 12), trained=12, count=1)
    assert waves(reader("rope", axes=2, width=32).encoding) is None

"""Sinusoidal positions of another scale: what is said of them is true, and what would not be is not said."""

import pytest
import torch

from gnomon.analysis import families, uniqueness
from gnomon.analysis.forms import scaled, vectors, waves
from gnomon.analysis.stored import without_waves
from gnomon.analysis.study import Settings, study
from gnomon.encoding import Shape
from gnomon.encodings.learned import Learned
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.section import Section

SHAPE, SETTINGS = Shape(16, 2), Settings(positions=300, last=1000)
PLACES = torch.arange(5, dtype=torch.float64)


def sections(encoding: Sinusoidal) -> dict[str, Section]:
    return {section.key: section for section in study(encoding, SHAPE, SETTINGS)}


def test_questions_about_waves_are_not_asked_and_the_others_are():
    plain, found = sections(Sinusoidal(16)), sections(Sinusoidal(16, scale=0.3))
    refused = {key for key, section in found.items() if plain[key].applies and not section.applies}
    assert refused == {
        "wavelengths", "uniqueness", "theorem1", "theorem2", "theorem3", "kernel", "fit", "aliasing", "rounding",
    }  # fmt: skip
    assert {found[key].answer for key in refused} == {
        "Its values are 0.3 times sines and cosines. Ask with scale=1: the waves are the same."
    }


def test_what_does_not_depend_on_the_scale_is_told_as_ever():
    plain, found = sections(Sinusoidal(16)), sections(Sinusoidal(16, scale=0.3))
    for key, name in (("terms", "share_gaussian"), ("grids", "line_correlation"), ("grids", "plane_correlation")):
        assert found[key].numbers[name] == pytest.approx(plain[key].numbers[name])
    # Positions of 0.3 have less of the logit's variance than positions of 1.
    of_places = (section["terms"].numbers["variance_gaussian"][3] for section in (found, plain))
    assert next(of_places) < next(of_places)


def test_waves_are_those_of_scale_1_alone():
    assert waves(Sinusoidal(16, scale=0.3)) is None and waves(Sinusoidal(16, scale=1.0)) == waves(Sinusoidal(16))
    assert scaled(Sinusoidal(16)) is None and scaled(Learned(16, scale=0.3)) is None
    assert (vectors(Sinusoidal(16, scale=0.3), PLACES) - 0.3 * vectors(Sinusoidal(16), PLACES)).abs().max() < 1e-15
    assert "0.3 times" in without_waves(Sinusoidal(16, scale=0.3))
    assert families.family(Sinusoidal(16, scale=0.3)) is None


def test_a_scaled_table_that_is_learned_is_asked_as_one():
    assert uniqueness.section(Learned(16, max_positions=40, scale=0.3), 100).applies

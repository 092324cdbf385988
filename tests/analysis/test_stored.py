"""Stored waves against mpmath, and the unit in the last place against neighbours in floating point."""

import math

import mpmath
import pytest
import torch

from gnomon.analysis.forms import waves
from gnomon.analysis.stored import PRECISIONS, angles, dtype, exact, holds, reference, unit, waved, without_waves
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError


def truth(width: int, base: int, p: int) -> list[mpmath.mpf]:
    """PE(p) at 60 digits."""
    with mpmath.workdps(60):
        turn = [mpmath.mpf(p) / mpmath.mpf(base) ** (mpmath.mpf(2 * (i // 2)) / width) for i in range(width)]
        return [mpmath.cos(a) if i % 2 else mpmath.sin(a) for i, a in enumerate(turn)]


@pytest.mark.parametrize("p", [0, 1, 77, 8191, 10**8])
def test_exact_is_the_sum_of_two_floats(p):
    high, low = exact(waves(Sinusoidal(10)), torch.tensor([p]))
    for a, b, right in zip(high[0].tolist(), low[0].tolist(), truth(10, 10000, p)):
        with mpmath.workdps(60):
            assert a == float(right)
            assert abs(mpmath.mpf(a) + mpmath.mpf(b) - right) < 1e-31


@pytest.mark.parametrize("encoding", [Sinusoidal(18), Sinusoidal(7), Rope(12), Rope(8, scaling="linear", factor=3.0)])
def test_reference_is_right_in_the_last_places_of_float64(encoding):
    found = waves(encoding)
    places = torch.tensor([0, 1, 2, 355, 710, 8191, 103993, 2**26 - 1])
    high, low = exact(found, places)
    assert ((reference(found, places) - high - low).abs() <= 2 * unit(high, "float64")).all()
    # Angles formed in float64 alone are far worse: the second part of the frequency counts.
    if found.exponents is not None:
        assert ((waved(found, angles(found, places, "float64")) - high).abs() > 99 * unit(high, "float64")).any()


def test_reference_ends():
    with pytest.raises(OptionError, match="0 to 67108863"):
        reference(waves(Rope(4)), torch.tensor([2**26]))


def test_rows_are_those_of_the_encoding():
    from gnomon.analysis.forms import vectors

    places = torch.arange(50)
    for encoding in (Sinusoidal(12), Sinusoidal(7), Sinusoidal(12, convention="tensor2tensor")):
        found = waves(encoding)
        assert torch.allclose(waved(found, angles(found, places, "float64")), vectors(encoding, places), atol=1e-13)


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_unit_is_the_distance_between_neighbours(name):
    kind = dtype(name)
    values = torch.tensor([1.0, 1.5, 0.3, 0.0625, 3e-5, 1e-7, 0.0], dtype=torch.float64).to(kind)
    up = torch.nextafter(values, torch.tensor(math.inf, dtype=kind)) if name != "float16" else None
    if up is None:
        up = (values.view(torch.int16) + 1).view(torch.float16)
    assert torch.equal(unit(values.to(torch.float64), name), up.to(torch.float64) - values.to(torch.float64))


def test_positions_are_rounded_as_well():
    found = waves(Sinusoidal(4))
    got = angles(found, torch.tensor([256, 257, 258]), "bfloat16")[:, 0]
    assert got.tolist() == [256.0, 256.0, 258.0]
    assert angles(found, torch.tensor([2049]), "float16")[0, 0] == 2048
    assert angles(found, torch.tensor([2049]), "float32")[0, 0] == 2049


def test_a_precision_that_has_no_such_number():
    assert holds("float16", 65504) and not holds("float16", 65520) and holds("bfloat16", 10**12)
    with pytest.raises(OptionError, match="no number as large") as error:
        angles(waves(Rope(4)), torch.tensor([70000]), "float16")
    assert error.value.allowed == "up to 65504" and "float32" in error.value.do


def test_why_there_are_no_waves():
    assert "noise" in without_waves(Learned(8))
    assert "one number" in without_waves(Alibi(4))
    assert "axes" in without_waves(Sinusoidal(8, axes=2))
    measured = Rope(8, scaling="dynamic", factor=2.0, original_length=100.0)
    assert "length of the text" in without_waves(measured)


@pytest.mark.parametrize("name", ["none", "alibi", "learned", "t5"])
def test_an_encoding_is_called_what_the_user_typed(name: str):
    why = without_waves(create(name, Shape(32, 4)))
    assert name in why and type(create(name, Shape(32, 4))).__name__ not in why

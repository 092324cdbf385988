"""encodings.create: sizes from the shape, options from the caller; a slip is answered with the nearest name."""

from dataclasses import replace

import pytest

from gnomon import encodings
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, build, create, options_of
from gnomon.encodings.rope import Rope
from gnomon.encodings.t5 import T5
from gnomon.errors import OptionError
from tests.core.common import SHAPE

SLIPS = {
    "ropee": "rope",
    "alibbi": "alibi",
    "sinusoid": "sinusoidal",
    "learnt": "learned",
    "T5": "t5",
    "non": "none",
}


@pytest.mark.parametrize("slip, meant", SLIPS.items())
def test_a_slip_in_a_name(slip, meant):
    with pytest.raises(OptionError) as error:
        create(slip, SHAPE)
    assert repr(slip) in error.value.asked and repr(meant) in error.value.do
    assert all(name in error.value.allowed for name in ENCODINGS)


@pytest.mark.parametrize(
    "name, slip, meant",
    [("rope", "thetta", "theta"), ("rope", "fracton", "fraction"), ("t5", "bucket", "buckets"),
     ("t5", "max_distanc", "max_distance"), ("learned", "max_position", "max_positions"),
     ("sinusoidal", "convension", "convention")],
)  # fmt: skip
def test_a_slip_in_an_option(name, slip, meant):
    with pytest.raises(OptionError) as error:
        create(name, SHAPE, **{slip: 1})
    assert repr(meant) in error.value.do and meant in error.value.allowed


@pytest.mark.parametrize("name", ["none", "alibi"])
def test_an_option_of_an_encoding_without_any(name):
    with pytest.raises(OptionError, match="theta"):
        create(name, SHAPE, theta=5)


def test_something_far_from_every_name_gets_the_list():
    with pytest.raises(OptionError) as error:
        create("xyz", SHAPE)
    assert "did you mean" not in error.value.do and "rope" in error.value.allowed


@pytest.mark.parametrize("name", ENCODINGS)
def test_sizes_come_from_the_shape(name):
    encoding = create(name, SHAPE)
    assert type(encoding) is ENCODINGS[name]
    assert not set(options_of(ENCODINGS[name])) & {"width", "heads", "head_dim", "depth", "causal"}


def test_what_is_causal_is_the_shape_s_to_say():
    assert create("t5", SHAPE).causal
    assert not create("t5", Shape(48, 6, 8, 2, causal=False)).causal
    with pytest.raises(OptionError) as error:
        create("t5", SHAPE, causal=False)
    assert error.value.do == "give Shape(..., causal=False)"


def test_what_an_encoding_for_a_causal_mask_advises_can_be_done():
    """Under a mask that shows later tokens; `causal=False` is no option of `create`."""
    for name in ("t5", "fire"):
        with pytest.raises(OptionError, match="causal=False") as error:
            create(name, SHAPE).check_sizes(causal=False)
        assert "Shape(..., causal=False)" in error.value.do
        create(name, replace(SHAPE, causal=False)).check_sizes(causal=False)


def test_options_reach_the_encoding():
    rope = create("rope", SHAPE, theta=500.0, pairing="interleaved", fraction=0.5)
    assert (rope.theta, rope.pairing, rope.rotary) == (500.0, "interleaved", 4)
    assert build(T5, SHAPE, buckets=8, max_distance=30).weight.shape == (8, 6)
    assert options_of(T5) == {"buckets": 32, "max_distance": 128, "per_layer": False}
    assert options_of(Rope).items() >= {"theta": 10_000.0, "pairing": "half", "fraction": 1.0, "axes": 1}.items()


@pytest.mark.parametrize(
    "name, options",
    [("rope", {"theta": "high"}), ("rope", {"axes": 1.5}), ("t5", {"buckets": 2.5}), ("t5", {"max_distance": "far"}),
     ("learned", {"max_positions": 10.5}), ("sinusoidal", {"base": None}), ("sinusoidal", {"axes": "2"})],
    ids=str,
)  # fmt: skip
def test_an_option_of_the_wrong_kind(name, options):
    """From an experiment file or a command line: an answer in its terms, not a TypeError from a comparison."""
    with pytest.raises(OptionError):
        create(name, SHAPE, **options)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_says_what_it_is(name):
    kind = ENCODINGS[name]
    assert kind.__doc__.strip() and kind.bibtex.startswith("@") and kind.bibtex.count("{") == kind.bibtex.count("}")
    assert kind.__mro__[1] is encodings.Encoding, "an encoding inherits from Encoding only"
    for options in kind.variants:
        create(name, SHAPE, **options)


class _Sloped(encodings.Encoding):
    def __init__(self, heads: int, slope, cap: float = 1.0):
        super().__init__()
        self.slope, self.cap = slope, cap


def test_an_option_without_a_default_is_asked_for():
    with pytest.raises(OptionError) as error:
        build(_Sloped, SHAPE)
    assert "slope" in error.value.asked and "slope" in error.value.do and error.value.allowed == "slope, cap"
    assert build(_Sloped, SHAPE, slope=(2, 3)).slope == (2, 3)

"""Rope for longer texts: the published numbers of each scheme, and what is asked of its options."""

import math

import pytest
import torch

from gnomon import positions
from gnomon.attention import attend
from gnomon.encodings import create
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_definition import frequency, growth, turns
from gnomon.encodings.rope_scaling import document_length
from gnomon.errors import OptionError
from gnomon.positions import Positions
from tests.core.common import SHAPE, at, gap, heads, make, normal

FACTORS = dict(short_factor=(1.0, 1.1, 1.2, 1.5), long_factor=(1.0, 1.5, 3.0, 4.0))


def w(rope: Rope, length: float | None = None) -> torch.Tensor:
    given = None if length is None else torch.tensor(float(length), dtype=torch.float64)
    return rope.frequencies(length=given)[0]


# Published numbers: the released code of each scheme, at the sizes of the models that use it.


@pytest.mark.parametrize(
    "d, theta, factor, length, cut, exact, attention",
    [
        (128, 1e4, 8.0, 4096.0, (20, 46), (20.94448, 45.02688), 1.207944),
        (64, 1e4, 40.0, 4096.0, (10, 23), (10.47224, 22.51344), 1.368888),
        (64, 1.5e5, 32.0, 4096.0, (8, 18), (8.09278, 17.39802), 1.346574),
        (128, 1e6, 4.0, 32768.0, (23, 40), (23.59595, 39.65088), 1.138629),
    ],
)
def test_yarn_slows_the_pairs_that_turn_seldom(d, theta, factor, length, cut, exact, attention):
    options = dict(theta=theta, scaling="yarn", factor=factor, original_length=length)
    rope, smooth = Rope(d, **options), Rope(d, truncate=False, **options)
    assert rope.scaling.correction(d, theta) == cut
    assert smooth.scaling.correction(d, theta) == pytest.approx(exact, abs=1e-5)
    assert rope.scaling.attention == pytest.approx(attention, abs=1e-6)
    plain = w(Rope(d, theta=theta))
    for found in (w(rope), w(smooth)):
        assert torch.equal(found[: cut[0]], plain[: cut[0]])
        assert torch.allclose(found[cut[1] :], plain[cut[1] :] / factor, rtol=1e-15)
        assert (found.diff() < 0).all() and (found <= plain).all() and (found >= plain / factor * (1 - 1e-15)).all()


@pytest.mark.parametrize(
    "options, expected",
    [
        (dict(scaling="yarn", factor=40.0, original_length=4096.0), 1.368888**2),
        (dict(scaling="yarn", factor=40.0, original_length=4096.0, mscale=0.707, mscale_all_dim=1.0), 0.921042**2),
        (dict(scaling="yarn", factor=40.0, original_length=4096.0, mscale=0.707), 1.368888**2),
        (dict(scaling="yarn", factor=40.0, original_length=4096.0, attention_factor=1.25), 1.5625),
        (dict(scaling="yarn", factor=1.0, original_length=4096.0), 1.0),
        (dict(scaling="longrope", factor=32.0, original_length=4096.0), 1 + 5 / 12),
        (dict(scaling="longrope", original_length=4096.0, attention_factor=1.25), 1.5625),
        (dict(scaling="llama3", factor=8.0, original_length=4096.0), 1.0),
        ({}, 1.0),
    ],
    ids=str,
)
def test_logits_grow_alike_in_definition_and_lowering(options, expected):
    """Written twice: the definition has the growth of a logit, the lowering that of queries and keys, its root."""
    rope = Rope(8, **options | (FACTORS if options.get("scaling") == "longrope" else {}))
    assert growth(rope.scaling) == pytest.approx(expected, rel=2e-6)
    assert rope.scaling.attention**2 == pytest.approx(growth(rope.scaling), rel=1e-14)


@pytest.mark.parametrize("d, fraction", [(2, 1), (6, 0.7), (8, 0.5), (20, 0.3), (20, 0.1), (64, 0.25), (80, 0.7)])
def test_as_many_pairs_turn_in_definition_and_lowering(d, fraction):
    rope = Rope(d, scaling="proportional", fraction=fraction)
    kept = [m for m in range(d // 2) if turns(m, d, fraction, rope.scaling)]
    assert (w(rope) > 0).nonzero().flatten().tolist() == kept == list(range(int(d * fraction + 1e-9) // 2))


def test_yarn_as_released_is_not_yarn_as_written():
    """The text has the ramp linear in the number of turns, the code in its logarithm: up to 57 percent apart."""
    rope, plain = Rope(128, scaling="yarn", factor=8.0, original_length=4096.0), w(Rope(128))
    written = Rope(128, scaling="llama3", factor=8.0, original_length=4096.0, high_freq_factor=32.0)
    assert (w(written) / w(rope) - 1).abs().max().item() == pytest.approx(0.566, abs=1e-3)
    assert (w(written) <= plain).all()


def test_deepseek_s_two_mscales_cancel():
    options = dict(scaling="yarn", factor=40.0, original_length=4096.0)
    assert Rope(64, mscale=1.0, mscale_all_dim=1.0, **options).scaling.attention == 1
    assert Rope(64, attention_factor=1.0, mscale=0.707, mscale_all_dim=1.0, **options).scaling.attention == 1
    both = Rope(64, mscale=0.707, mscale_all_dim=1.0, **options).scaling.attention
    assert both == pytest.approx((0.0707 * math.log(40) + 1) / (0.1 * math.log(40) + 1))
    # One alone says nothing, as released.
    assert Rope(64, mscale=0.707, **options).scaling.attention == pytest.approx(0.1 * math.log(40) + 1)


def test_llama3():
    rope = Rope(128, theta=5e5, scaling="llama3", factor=8.0, original_length=8192.0)
    slowed = w(Rope(128, theta=5e5)) / w(rope)
    expected = [1, 1.2075, 1.5534, 2.0263, 2.6945, 3.6843, 5.2573, 8, 8]
    assert slowed[28:37].tolist() == pytest.approx(expected, abs=5e-5)


def test_dynamic_ntk():
    """d = 64, trained at 2048, factor 2, read at 4096: a base of 31082.2367."""
    rope = Rope(64, scaling="dynamic", factor=2.0, original_length=2048.0)
    assert (w(rope, 4096)[1] ** -32).item() == pytest.approx(31082.2367, abs=1e-3)
    for short in (1, 2047, 2048):
        assert torch.equal(w(rope, short), w(Rope(64)))


def test_ntk_leaves_the_fastest_pair_and_slows_the_slowest_by_the_factor():
    found, plain = w(Rope(64, scaling="ntk", factor=8.0)), w(Rope(64))
    assert found[0] == 1 and found[-1].item() == pytest.approx(plain[-1].item() / 8, rel=1e-12)


def test_longrope_takes_the_long_factors_past_the_original_length():
    factors = dict(short_factor=(1.0,) * 48, long_factor=tuple(1.0 + i for i in range(48)))
    rope = Rope(96, scaling="longrope", original_length=4096.0, factor=131072 / 4096, **factors)
    assert rope.scaling.attention == pytest.approx(1.190238, abs=1e-6)
    plain = w(Rope(96))
    assert torch.equal(w(rope, 4096), plain)
    assert torch.allclose(w(rope, 4097), plain / (1 + torch.arange(48)), rtol=1e-15)


SCHEMES = [options for options in Rope.variants if "factor" in options and options.get("axes", 1) == 1]


@pytest.mark.parametrize("length", [1, 100, 161, 5000])
@pytest.mark.parametrize("options", SCHEMES, ids=lambda options: options["scaling"])
def test_no_scheme_reorders_frequencies_or_speeds_one_up(options, length):
    """They fall from pair to pair, none is above its plain one, and none is slowed by more than the text has grown."""
    rope = Rope(8, **options)
    found, plain = w(rope, length), w(Rope(8, theta=rope.theta))
    slowest = plain / max(options["factor"], options["factor"] * length / options.get("original_length", math.inf))
    assert (found.diff() < 0).all()
    assert (found <= plain * (1 + 1e-15)).all() and (found >= slowest * (1 - 1e-15)).all()


def test_linear_scaling_divides_positions():
    q, k, v = heads(5)
    pos = at([0.0, 3.0, 8.0, 20.0, 21.0])
    near = at([0.0, 0.75, 2.0, 5.0, 5.25])
    found = attend(q, k, v, make("rope", scaling="linear", factor=4.0), pos)
    assert gap(found, attend(q, k, v, make("rope"), near)) < 1e-14


def test_proportional_stops_the_slow_pairs():
    """p-RoPE: frequencies of the whole head, the slow ones zero; not those of a narrower head."""
    rope = Rope(16, theta=1e6, scaling="proportional", fraction=0.25)
    assert torch.equal(w(rope)[:2], w(Rope(16, theta=1e6))[:2]) and not w(rope)[2:].any()
    assert torch.equal(w(Rope(16, theta=1e6, scaling="proportional", fraction=0.3))[2:], torch.zeros(6).double())


@pytest.mark.parametrize("length, d", [(64.0, 64), (64.0, 4), (7.0, 8), (1e7, 8)])
def test_yarn_of_short_texts_and_narrow_heads(length, d):
    """Where the ramp has no room inside the head it is cut; no length crashes, and definition and lowering agree."""
    for truncate in (True, False):
        rope = Rope(d, scaling="yarn", factor=4.0, original_length=length, truncate=truncate)
        expected = [frequency(m, d // 2, rope.theta, rope.scaling, None) for m in range(d // 2)]
        assert torch.allclose(w(rope), torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)
        assert torch.isfinite(w(rope)).all()


# What is asked of options.


@pytest.mark.parametrize(
    "options, word",
    [
        (dict(factor=4.0), "factor"),
        (dict(scaling="yarn", factor=4.0), "original_length"),
        (dict(scaling="linear"), "factor"),
        (dict(scaling="linear", factor=4.0, original_length=20.0), "original_length"),
        (dict(scaling="linear", factor=0.5), "factor"),
        (dict(scaling="dynamic", factor=2.0), "original_length"),
        (dict(scaling="llama3", factor=8.0, original_length=64.0, beta_fast=30.0), "beta_fast"),
        (dict(scaling="llama3", factor=8.0, original_length=64.0, low_freq_factor=4.0), "low"),
        (dict(scaling="yarn", factor=4.0, original_length=5.0), "turns"),
        (dict(scaling="yarn", factor=4.0, original_length=64.0, beta_fast=1.0), "beta_fast"),
        (dict(scaling="yarn", factor=4.0, original_length=64.0, attention_factor=-1.0), "attention_factor"),
        (dict(scaling="longrope", original_length=64.0, factor=2.0), "short_factor"),
        (dict(scaling="longrope", original_length=64.0, **FACTORS), "factor"),
        (dict(scaling="longrope", original_length=64.0, factor=2.0, short_factor=(1.0,), long_factor=(1.0,)), "4"),
        (dict(scaling="yarn", factor=4.0, original_length=64.0, length=99.0), "length"),
        (dict(scaling="ntk", factor=4.0, fraction=0.25), "4 or more"),
        (dict(scaling="proportional", fraction=0.2), "kept"),
        (dict(scaling="su", factor=4.0), "few names"),
        (dict(sections=(2, 1, 1)), "sections"),
        (dict(axes=3, sections=(2, 1)), "sections"),
        (dict(axes=3, sections=(1, 1, 1)), "sections"),
        (dict(axes=3, sections=(0, 2, 2), layout="interleaved"), "sections"),
        (dict(layout="interleaved"), "layout"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options, word):
    with pytest.raises(OptionError) as error:
        create("rope", SHAPE, **options)
    assert word in str(error.value)
    assert error.value.given is not None


def test_sections_share_out_the_pairs():
    """Pairs keep the frequencies of one axis; sections say whose coordinate turns each."""
    plain = w(Rope(16))
    bands = Rope(16, axes=3, sections=(2, 3, 3)).frequencies()
    turns = Rope(16, axes=3, sections=(3, 3, 2), layout="interleaved").frequencies()
    for found, owner in ((bands, [0, 0, 1, 1, 1, 2, 2, 2]), (turns, [0, 1, 2, 0, 1, 2, 0, 1])):
        assert torch.equal(found.sum(0), plain)
        assert found.ne(0).to(torch.int64).argmax(0).tolist() == owner


@pytest.mark.parametrize("d", [196, 392, 412, 428, 784])
def test_as_many_frequencies_as_pairs(d):
    """Counted in whole numbers: steps of a fraction, added up, give one too many for these widths."""
    for axes in (1, 2):
        assert Rope(d, axes=axes).frequencies().shape == (axes, d // 2)


def test_sections_and_a_scheme_together():
    """Qwen2.5-VL reads long texts by YaRN: the pairs are scaled as those of one axis, then shared out."""
    options = dict(scaling="yarn", factor=4.0, original_length=256.0)
    rope = Rope(16, axes=3, sections=(2, 3, 3), **options)
    assert torch.equal(rope.frequencies().sum(0), w(Rope(16, **options)))
    pos = positions.multimodal([2, (1, 3, 2), 2])
    assert document_length(pos, pos).item() == 7


def test_axes_that_take_turns_are_not_pairs_of_neighbours():
    """`layout` is about axes, `pairing` about dimensions; at position 0 nobody could tell."""
    q, k, v = heads(4)
    pos = Positions(normal(1, 4, 3) * 5)
    options = dict(axes=3, sections=(2, 1, 1))
    ways = [(a, b) for a in ("chunked", "interleaved") for b in ("half", "interleaved")]
    made = [make("rope", **options, layout=layout, pairing=pairing) for layout, pairing in ways]
    found = [attend(q, k, v, encoding, pos) for encoding in made]
    assert min(gap(a, b) for i, a in enumerate(found) for b in found[:i]) > 1e-3

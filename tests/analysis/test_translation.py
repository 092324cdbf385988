"""A shift moves relative encodings by rounding alone, absolute ones for real; RoPE's rounding is within its bound."""

import math

import mpmath
import pytest
import torch

from gnomon.analysis.forms import name_of, waves
from gnomon.analysis.rope_residual import SHIFTS, residual, tables
from gnomon.analysis.translation import every, section, shifted
from gnomon.analysis.untrained_layer import around, contents, distance, drawn, line
from gnomon.attention import attend
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import sequence

CLOCK = waves(Rope(16))


def test_tables_are_those_of_rope():
    for shift in (0, 5, 10**7):
        cos, sin = Rope(16).prepare(sequence(9, shift), sequence(9, shift), torch.float32)
        places = shift + torch.arange(9, dtype=torch.float64)
        ours = tables(CLOCK, places, table=torch.float32)
        assert torch.equal(ours[0], cos[0, 0]) and torch.equal(ours[1], sin[0, 0])


def test_the_residual_of_float64_is_within_the_rounding_of_its_angles():
    """Two roundings of w p on either side, and some units for cosines and sums."""
    n, unit = 32, 2**-53
    for shift, found in zip(SHIFTS, residual(CLOCK, n=n)):
        angles = sum(CLOCK.frequencies) * (2 * (shift + n) + 2 * n)
        # |q_m conj(k_m)| of normal numbers is 2 on average and rarely above 16; the logits are about sqrt(2 pairs).
        assert found < 16 * unit * (angles + 8 * len(CLOCK.frequencies)) / math.sqrt(len(CLOCK.frequencies))
    assert residual(CLOCK, (10**7,))[0] > 1e-12


def test_the_residual_is_that_of_logits_at_forty_digits():
    """Logits at true angles do not move at all, so what float32 moves is its error at the shift less that at 0."""
    g = torch.Generator().manual_seed(3)
    n, shift, pairs = 4, 10**6, len(CLOCK.frequencies)
    q, k = (torch.randn(n, pairs, 2, generator=g, dtype=torch.float64) for _ in range(2))

    def true(i: int, j: int, by: int) -> mpmath.mpf:
        total = mpmath.mpf(0)
        for m, w in enumerate(CLOCK.frequencies):
            a = mpmath.mpc(*q[i, m].tolist()) * mpmath.expj(mpmath.mpf(w) * (i + by))
            b = mpmath.mpc(*k[j, m].tolist()) * mpmath.expj(mpmath.mpf(w) * (j + by))
            total += (a * mpmath.conj(b)).real
        return total

    def rounded(i: int, j: int, by: int) -> mpmath.mpf:
        cos, sin = tables(CLOCK, by + torch.arange(n, dtype=torch.float64), torch.float32, torch.float32)
        total = mpmath.mpf(0)
        for m in range(pairs):
            a = mpmath.mpc(*q[i, m].tolist()) * mpmath.mpc(float(cos[i, m]), float(sin[i, m]))
            b = mpmath.mpc(*k[j, m].tolist()) * mpmath.mpc(float(cos[j, m]), float(sin[j, m]))
            total += (a * mpmath.conj(b)).real
        return total

    with mpmath.workdps(40):
        every_pair = [(i, j) for i in range(n) for j in range(n)]
        assert all(abs(true(*pair, shift) - true(*pair, 0)) < mpmath.mpf(10) ** -30 for pair in every_pair)
        size = mpmath.sqrt(sum(rounded(*pair, 0) ** 2 for pair in every_pair) / n**2)
        expected = max(abs(rounded(*pair, shift) - rounded(*pair, 0)) for pair in every_pair) / size
    found = residual(CLOCK, (shift,), torch.float32, torch.float32, n=n, seed=3)[0]
    assert math.isclose(found, expected, rel_tol=1e-9)


def test_the_residual_by_dtype():
    fine, cast, single, half = (
        residual(CLOCK, (10**4, 10**7), *dtypes)
        for dtypes in (
            (torch.float64, torch.float64),
            (torch.float64, torch.float32),
            (torch.float32, torch.float32),
            (torch.bfloat16, torch.bfloat16),
        )
    )
    assert fine[1] < 1e-7 and fine[1] > 100 * fine[0]
    # Angles in float64 and a cast: the same at any distance. Angles in float32: worse with it. In bfloat16: nothing.
    assert max(cast) < 2e-6 and cast[1] < 10 * cast[0]
    assert single[0] > 20 * cast[0] and single[1] > 1e-2
    assert min(half) > 0.5


def test_a_shift_of_nothing_changes_nothing():
    assert residual(CLOCK, (0,), torch.bfloat16, torch.bfloat16) == (0.0,)
    none = shifted(Sinusoidal(32), (0,))
    assert none.inputs == none.weights == none.output == (0.0,)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("causal", [True, False])
def test_what_is_declared_is_what_is_found(name: str, causal: bool):
    encoding = drawn(ENCODINGS[name], Shape(24, 3, causal=causal), seed=1)
    mask = () if causal or encoding.causal else (BIDIRECTIONAL,)
    found = shifted(encoding, (1, 5, 100, 1000), 12, 2, *mask)
    if name == "fire":
        # Distances over distances past 512 places alone, so that a short shift near the origin is no change.
        assert found.output[0] < 1e-15
    assert found.invariant is found.declared
    if not found.declared:
        assert max(found.output) > 1e-3


def test_the_change_is_that_of_attend():
    """Queries and keys by hand: an absolute encoding enters through them, a relative one through attend."""
    for encoding in (Sinusoidal(32), create("t5", Shape(32, 4))):
        layer = around(encoding, width=32)
        x, outs, weights = contents(4, 24, 32), [], []
        for start in (0, 5):
            pos = sequence(24, start)
            y = encoding.double().embed(x, pos)
            q, k, v = (
                torch.einsum("bnw,hdw->bhnd", y, part.weight.unflatten(0, (4, 8)))
                for part in (layer.q, layer.k, layer.v)
            )
            out = attend(q, k, v, layer.encoding, pos, backend="reference")
            outs.append(torch.einsum("bhnd,whd->bnw", out, layer.out.weight.unflatten(1, (4, 8))))
            everything = torch.eye(24, dtype=torch.float64).expand(4, 4, -1, -1)
            weights.append(attend(q, k, everything, layer.encoding, pos, backend="reference"))
        assert distance(outs[0], layer(encoding.embed(x, sequence(24)), sequence(24))) < 1e-14
        if encoding.width:
            found = shifted(encoding, (5,))
            assert math.isclose(found.output[0], distance(outs[1], outs[0]), rel_tol=1e-9)
            assert math.isclose(found.weights[0], distance(weights[1], weights[0]), rel_tol=1e-9)
        else:
            assert distance(outs[1], outs[0]) < 1e-15


def test_every_part_changes_under_absolute_positions():
    """A shift by 5 of a sentence: vectors, weights and output, all of the order of what they were."""
    found = shifted(Sinusoidal(64), (5,))
    assert min(found.inputs[0], found.weights[0], found.output[0]) > 0.1
    # The vectors: |PE(p + 5) - PE(p)|^2 is the same for every p, 2 (w / 2 - PE(p) . PE(p + 5)).
    kernel = sum(math.cos(5 * w) for w in waves(Sinusoidal(64)).frequencies)
    still = Sinusoidal(64).embed(contents(4, 24, 64), line(Sinusoidal(64), 24))
    assert math.isclose(found.inputs[0], math.sqrt(4 * 24 * 2 * (32 - kernel)) / still.norm(), rel_tol=1e-9)


def test_what_leaves_the_domain_is_left_out():
    found = shifted(Learned(16, max_positions=30), (1, 5, 7), n=24)
    assert found.output[0] > 0 and found.output[1] > 0 and found.output[2] is None
    assert shifted(Learned(16, max_positions=10), (5,)).invariant is None
    few = section(Learned(16, max_positions=10), others=False)
    assert "No shift" in few.answer and few.numbers["output"] == [None] * len(SHIFTS)


def test_grids_move_along_both_axes():
    assert shifted(Rope(16, axes=2), (5, 100)).invariant
    assert not shifted(Sinusoidal(32, axes=2), (5, 100)).invariant


def test_the_section_of_rope_and_of_others():
    shares = []
    found = section(Rope(16), progress=shares.append)
    assert found.numbers["invariant"] and found.proof and shares[-1] == 1 and shares == sorted(shares)
    assert {one[0] for one in found.numbers["residual"]} == {"float64", "float32", "bfloat16"} | {
        "float64, cast to float32", "float64, cast to bfloat16", "float32, cast to bfloat16",
    }  # fmt: skip
    invariant = found.numbers["invariant_encodings"]
    assert {"none", "rope", "alibi", "t5"} <= {*invariant} and not {"sinusoidal", "learned"} & {*invariant}
    assert {*invariant} | {*found.numbers["other_encodings"]} == {*ENCODINGS}
    other = section(Sinusoidal(32), others=False)
    assert (
        not other.numbers["invariant"]
        and "residual" not in other.numbers
        and "declares that a shift may change" in other.answer
    )


def test_every_seed_and_name():
    few = every((5,), width=24, heads=3)
    assert [one.name for one in few] == [*ENCODINGS]
    assert shifted(Sinusoidal(16), (5,), seed=0).output != shifted(Sinusoidal(16), (5,), seed=1).output
    before = torch.random.get_rng_state()
    drawn(Learned, Shape(16, 2)), around(Alibi(2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert name_of(Alibi(2)) == "alibi"


def test_errors_say_what_to_do():
    with pytest.raises(OptionError, match="places and pairs"):
        residual(CLOCK, n=0)

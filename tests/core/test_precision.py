"""Angles against mpmath at 60 digits, near and far; and what far positions and 16 bits cost each encoding."""

import copy

import mpmath
import pytest
import torch

from gnomon.attention import attend
from gnomon.encoding import Encoding, Property
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions, sequence
from tests.core.common import HEADS, at, every_variant, gap, heads, label, make, normal, only_causal, weigh

EVERY = pytest.mark.parametrize("variant", every_variant(), ids=label)

PLACES = [
    0.0, 1.0, -1.0, 0.1, 0.5, -2.75, 255.0, 256.0, 257.0, 2047.0, 2048.0, 2049.0, 65_504.0, 65_505.0, 1e5, 1e6,
    1e7, -1e7, 2.0**24 - 1, 2.0**24, 2.0**24 + 1, -(2.0**24) - 1, 1e7 + 0.25, 1e8, -1e8, 1e8 + 1, 99_999_999.5,
]  # fmt: skip
"""Every integer past which a format of 16 or 32 bits skips some, on both sides, and places between integers."""
FURTHEST = 1e8


def digits(place: float, exponent: mpmath.mpf) -> tuple[float, float]:
    """Cosine and sine of `place / 10000^exponent`."""
    with mpmath.workdps(60):
        angle = mpmath.mpf(place) / mpmath.mpf(10_000) ** exponent
        return float(mpmath.cos(angle)), float(mpmath.sin(angle))


def allowed(place: float) -> float:
    """The frequency and the product are each within two roundings of float64; sine and cosine within one of 1."""
    return (4 * abs(place) + 1) * 2**-53


@pytest.mark.parametrize("head_dim", [8, 128])
def test_rope_in_float64(head_dim):
    cos, sin = Rope(head_dim).prepare(at(PLACES), at(PLACES), torch.float64)
    for row, place in enumerate(PLACES):
        for m in range(head_dim // 2):
            expected = digits(place, mpmath.mpf(2 * m) / head_dim)
            found = cos[0, 0, row, m].item(), sin[0, 0, row, m].item()
            assert max(abs(f - e) for f, e in zip(found, expected)) <= allowed(place), (place, m)


def test_rope_in_float32_rounds_once():
    cos, sin = Rope(64).prepare(at(PLACES), at(PLACES), torch.float32)
    assert cos.dtype == sin.dtype == torch.float32
    for row, place in enumerate(PLACES):
        for m in range(32):
            expected = digits(place, mpmath.mpf(2 * m) / 64)
            found = cos[0, 0, row, m].item(), sin[0, 0, row, m].item()
            assert max(abs(f - e) for f, e in zip(found, expected)) <= allowed(place) + 2**-25, (place, m)


@pytest.mark.parametrize("width", [7, 16])
def test_sinusoidal_in_float64(width):
    encoding = Sinusoidal(width)
    zeros = torch.zeros(1, len(PLACES), width, dtype=torch.float64)
    for table in (encoding.embed(zeros, at(PLACES))[0], encoding.absolute(at(PLACES))[0]):
        for row, place in enumerate(PLACES):
            for column in range(width):
                expected = digits(place, mpmath.mpf(2 * (column // 2)) / width)[1 - column % 2]
                assert abs(table[row, column].item() - expected) <= allowed(place), (place, column)


@pytest.mark.parametrize(
    "dtype, half_unit", [(torch.float32, 2**-25), (torch.bfloat16, 2**-9), (torch.float16, 2**-12)]
)
def test_sinusoidal_in_low_precision_rounds_once(dtype, half_unit):
    """bfloat16 counts to 256 and float16 to 2048: angles are formed in float64, whatever the embeddings are."""
    encoding = Sinusoidal(16)
    found = encoding.embed(torch.zeros(1, len(PLACES), 16, dtype=dtype), at(PLACES))
    exact = encoding.embed(torch.zeros(1, len(PLACES), 16, dtype=torch.float64), at(PLACES))
    assert found.dtype == dtype
    assert (found.double() - exact).abs().max() <= half_unit


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_a_shift_costs_rope_nothing_in_float32(pairing, shift):
    """Logits of unit normal queries and keys of width 128 against float64 at shift 0: less than 2e-5 apart anywhere."""
    q, k = normal(1, 4, 40, 128, seed=1), normal(1, 4, 40, 128, seed=2)
    rope = Rope(128, pairing=pairing)

    def logits(pos, dtype):
        prepared = rope.prepare(pos, pos, dtype)
        return (rope.query(q.to(dtype), prepared) @ rope.key(k.to(dtype), prepared).mT * 128**-0.5).double()

    pos = at(torch.arange(0, 120, 3))
    exact = logits(pos, torch.float64)
    assert exact.abs().max() > 3
    assert (logits(pos.shifted(shift), torch.float32) - exact).abs().max() < 2e-5


@pytest.mark.parametrize("shift", [1e3, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("encoding", [Alibi(4), T5(4, causal=False)], ids=["alibi", "t5"])
def test_a_shift_changes_no_bit_of_a_bias(encoding, shift):
    """Differences of whole positions are exact, so the numbers are the very same."""
    weigh(encoding)
    q, k, v = (normal(1, 4, 20, 16, seed=i, dtype=torch.float32) for i in range(3))
    pos = at(torch.arange(0, 60, 3))
    found = [attend(q, k, v, encoding, p, mask=BIDIRECTIONAL) for p in (pos, pos.shifted(shift))]
    assert torch.equal(*found)


@pytest.mark.parametrize("dtype, half_unit", [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
@pytest.mark.parametrize("place", [256.0, 257.0, 2048.0, 2049.0, 1e5, 1e7])
def test_rope_of_16_bits_rounds_its_output_alone(place, dtype, half_unit):
    """Against the rotation of the same 16-bit numbers in float64; in between, float32 adds 2^-20 at most."""
    x, pos = normal(2, 3, 5, 64, dtype=dtype), at([place] * 5)
    rope = Rope(64)
    found = rope.query(x, rope.prepare(pos, pos, torch.float32)).double()
    exact = rope.query(x.double(), rope.prepare(pos, pos, torch.float64))
    assert ((found - exact).abs() <= half_unit * exact.abs() + 2**-20).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_bias_of_16_bits_keeps_neighbours_apart(dtype):
    """At positions of 300, where bfloat16 steps by two, the nearest keys still get penalties of their own."""
    q, v = torch.zeros(1, 1, 1, 8, dtype=dtype), torch.eye(4, dtype=dtype)[None, None]
    k = torch.zeros(1, 1, 4, 8, dtype=dtype)
    out = attend(q, k, v, Alibi(1), at([303.0]), at([300.0, 301.0, 302.0, 303.0]), mask=BIDIRECTIONAL)[0, 0, 0]
    expected = torch.softmax(-torch.tensor([3.0, 2.0, 1.0, 0.0]).double() * 2**-8, dim=0)
    assert (out.diff() >= 0).all() and (out.double() - expected).abs().max() < 2**-9


# Every encoding, whatever it is made of: its kernel form in low precision against its formula in float64.


def spread(encoding: Encoding, places: list[float], start: float) -> Positions:
    """`places` from `start` on, other on each axis; as far apart as the encoding's domain has room for, or skipped."""
    domain, axes = encoding.domain, encoding.domain.axes or 1
    room = domain.highest - start - 2 * (axes - 1)
    if start < domain.lowest or room < len(places) or (domain.whole and start != int(start)):
        whole = ", whole ones" * domain.whole
        pytest.skip(f"takes positions from {domain.lowest:g} to {domain.highest:g}{whole}; not from {start:g} on")
    line = torch.tensor(places, dtype=torch.float64)
    if room < max(places):
        line = (line * room / max(places)).floor()
    return Positions(torch.stack([start + line + 2 * axis for axis in range(axes)], dim=-1)[None])


def both_ways(variant, dtype: torch.dtype, places: list[float], start: float) -> tuple[torch.Tensor, ...]:
    """What attention gives in `dtype` and by the formulas in float64, of the same weights, queries and keys.

    Values are the unit vectors, so that where nothing else is mixed in these are the attention weights themselves.
    """
    name, options = variant
    mask = CAUSAL if only_causal(name) else BIDIRECTIONAL
    low = weigh(make(name, causal=mask.causal, **options)).to(dtype)
    exact, pos = copy.deepcopy(low).double(), spread(low, places, start)
    n = len(places)
    q, k, _ = heads(n, dtype=dtype)
    v = torch.eye(n, 8, dtype=dtype).expand(2, 3, n, 8)
    zeros = torch.zeros(2, n, 48, dtype=dtype)
    with torch.no_grad():
        found = attend(q, k, v, low, pos, mask=mask), low.embed(zeros, pos)
        wide = q.double(), k.double(), v.double()
        expected = [attend(*wide, exact, pos, mask=mask, backend="reference"), exact.absolute(pos) + zeros.double()]
        if Property.TRANSLATION_INVARIANT in low.properties:
            expected[0] = attend(*wide, exact, pos.shifted(-start), mask=mask, backend="reference")
    return *found, *expected


@EVERY
@pytest.mark.parametrize("start", [0.0, 1e3, 1e5, 1e6, 1e7, 2.0**24 + 1, -1e7, 0.5, -2.75])
def test_far_positions_cost_nothing_in_float32(variant, start):
    """Eight tokens of 4096 from `start` on: against float64, and against `start` 0 where a shift changes nothing.

    float32 has no 2^24 + 1 and turns angles of 10^7 by half a radian; all positions and differences are formed wider.
    """
    out, embedded, exact, added = both_ways(variant, torch.float32, [0, 1, 2, 7, 64, 700, 2048, 4095], start)
    assert gap(out.double(), exact) < 2e-5
    assert gap(embedded.double(), added) < 2e-6


@EVERY
@pytest.mark.parametrize("place", [256.0, 257.0, 2048.0, 2049.0, 1e5])
@pytest.mark.parametrize("dtype, error", [(torch.bfloat16, 2e-2), (torch.float16, 2.5e-3)], ids=str)
def test_16_bits_round_numbers_and_not_positions(variant, place, dtype, error):
    """bfloat16 counts to 256, float16 to 2048; at distances 16, 32 and 90 a logarithm of 16 bits errs."""
    distances = [91, 90, 32, 16, 3, 2, 1, 0]
    out, embedded, exact, added = both_ways(variant, dtype, [91 - d for d in distances], place - 91)
    assert gap(out.double(), exact) < error
    assert gap(embedded.double(), added) < error


@EVERY
@pytest.mark.parametrize("dtype, half_unit", [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
def test_a_bias_of_16_bits_is_of_the_right_row(variant, dtype, half_unit):
    """At every distance up to 600, before the bias is added to anything: its own rounded weights, rounded once more."""
    name, options = variant
    low = weigh(make(name, causal=False, **options)).to(dtype)
    far = int(min(600, low.domain.highest))
    if low.domain.axes not in (None, 1):
        pytest.skip("on a line")
    exact, q_pos, k_pos = copy.deepcopy(low).double(), sequence(1, far), sequence(far + 1)
    q, k, _ = heads(1, far + 1, dtype=dtype)
    raw = (torch.empty(0),) * 2 if Property.CONTENT_FREE in low.properties else (q, k)
    with torch.no_grad():
        pair, truth = low.bias(*raw, q_pos, k_pos), exact.bias(*(t.double() for t in raw), q_pos, k_pos)
        if pair is None:
            pytest.skip("has no bias")
        found, expected = (dense(p, 2, HEADS, 1, far + 1).double() for p in (pair, truth))
    # A bias that reads content is a product of vectors of 8 numbers.
    slack = 0.0 if Property.CONTENT_FREE in low.properties else 8 * half_unit * expected.abs().max()
    assert ((found - expected).abs() <= 2 * half_unit * expected.abs() + slack + 2**-20).all()

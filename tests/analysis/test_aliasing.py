"""Closest lags: both searches against brute force, certified values against mpmath, and faults that must be seen."""

import math
import re
from fractions import Fraction

import mpmath
import pytest
import torch

from gnomon.analysis import aliasing, certified, lag_lattice, lag_scan
from gnomon.analysis import closest as closest_lags
from gnomon.analysis.aliasing import section
from gnomon.analysis.closest import closest, first_closer_than_neighbour, joined, pieces, similarity
from gnomon.analysis.forms import Waves, waves
from gnomon.analysis.lag_lattice import Lattice
from gnomon.analysis.lags import Lags, amplitudes
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError

FAR = 200_000


def of(width, **options):
    return waves(Sinusoidal(width, **options))


def exact(made_of, k, digits=60):
    """Mean cosine by mpmath."""
    with mpmath.workdps(digits):
        base = mpmath.mpf(made_of.base)
        powers = [mpmath.mpf(e.numerator) / e.denominator for e in made_of.exponents]
        return mpmath.fsum(mpmath.cos(k * base**-e) for e in powers) / len(powers)


def brute(made_of, last=FAR):
    """Sums of all lags 0 .. last by plain float64, good to about 1e-11 there."""
    return (torch.arange(last + 1, dtype=torch.float64)[:, None] * torch.tensor(made_of.frequencies)).cos().sum(-1)


@pytest.mark.parametrize("width", [8, 512])
@pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])
def test_similarity_is_exact_however_far(width, convention):
    made_of = of(width, convention=convention)
    lags = torch.tensor([0, 1, 127, 1_966_637, 10**9 + 7, 10**12 - 1, 10**15, -5])
    for k, value in zip(lags.tolist(), similarity(made_of, lags).tolist()):
        assert abs(value - exact(made_of, k)) < 1e-14
        assert abs(value - exact(made_of, k)) * (width // 2) <= Lags(made_of).error


def test_similarity_is_that_of_the_vectors():
    encoding = Sinusoidal(32)
    table = encoding.table(torch.arange(300, dtype=torch.float64)[None, :, None])[0]
    lags = torch.arange(200)
    for p in (0, 57):
        torch.testing.assert_close(
            similarity(waves(encoding), lags) * 16, table[p : p + 200] @ table[p], atol=1e-11, rtol=0
        )


@pytest.mark.parametrize("width", [4, 8, 16, 32])
@pytest.mark.parametrize("method", ["scan", "lattice"])
@pytest.mark.parametrize("first", [100, 1000])
def test_closest_is_that_of_brute_force(width, method, first):
    made_of = of(width)
    sums = brute(made_of)
    found = closest(made_of, first, FAR, method=method)
    assert found.lag == int(sums[first:].argmax()) + first
    low, high = found.similarity
    assert low < exact(made_of, found.lag) < high
    assert high - low < 1e-14
    apart = mpmath.sqrt(width * (1 - exact(made_of, found.lag)))
    assert found.distance[0] < apart < found.distance[1]
    assert found.tied == ()


@pytest.mark.parametrize("made_of", [
    waves(Rope(16)), waves(Rope(16, theta=500_000.0)), of(24, base=1.5), of(12, convention="tensor2tensor"), of(64),
    of(512),
    Waves(1e4, None, (1.0, 0.73, 0.11, 0.0123)),
])  # fmt: skip
def test_other_waves(made_of):
    last = 30_000
    sums = brute(made_of, last)
    for first in (2, 50, 1000):
        assert closest(made_of, first, last).lag == int(sums[first:].argmax()) + first
    more = (sums[2:] > sums[1]).nonzero()
    assert first_closer_than_neighbour(made_of, last) == (int(more[0]) + 2 if len(more) else None)


@pytest.mark.parametrize("method", ["scan", "lattice"])
@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_first_closer_is_that_of_brute_force(width, method):
    made_of = of(width)
    last = 1_000_000
    sums = brute(made_of, last)
    more = (sums[2:] > sums[1]).nonzero()
    assert first_closer_than_neighbour(made_of, last, method=method) == (int(more[0]) + 2 if len(more) else None)


def test_known_lags():
    found = closest(of(8), 1000, 2_000_000)
    assert found.lag == 1_966_637
    assert found.similarity[0] > 0.99999983
    for width in (32, 64, 512):
        assert first_closer_than_neighbour(of(width), 2_000_000) is None
    assert closest(of(512), 10, 100_000).lag == 10  # the edge of the main lobe


def test_searches_agree_where_brute_force_cannot_go():
    """The two share no step but the last comparison."""
    for width, last in ((8, 10**7), (16, 10**7), (24, 10**8)):
        ways = [closest(of(width), 10**6, last, method=method) for method in ("scan", "lattice")]
        assert ways[0].lag == ways[1].lag
        assert ways[0].similarity == ways[1].similarity
    known = [first_closer_than_neighbour(of(24, base=100.0), 10**8, method=method) for method in ("scan", "lattice")]
    assert known[0] == known[1] is not None


def test_far_lags_by_the_lattice():
    """Beyond every scan: what it lists is a lag of waves that have come back, and none of a random sample is closer."""
    for width in (2, 4, 8, 16):
        made_of = of(width)
        found = closest(made_of, 10**6, 10**12)
        assert found.method == "lattice"
        assert found.similarity[0] <= exact(made_of, found.lag) <= found.similarity[1]
        # 2^18 lags beside multiples of the longest wavelength, where only the fast waves are left to agree.
        turn = 2 * math.pi / made_of.frequencies[-1]
        turns = torch.randint(1, int(10**12 / turn), (1 << 18,), generator=torch.Generator().manual_seed(0))
        sample = (turns.double() * turn).round().long()
        sample = sample[(sample >= 10**6) & (sample != found.lag)]
        assert float(similarity(made_of, sample).max()) <= found.similarity[1]


def test_ranges_one_by_one_and_joined():
    made_of, firsts, shares = of(16), [1000, 2, 50_000, 128], []
    parts = pieces(made_of, firsts, FAR, shares.append)
    sums = brute(made_of)
    assert [(one.first, one.last) for one in parts] == [(2, 127), (128, 999), (1000, 49_999), (50_000, FAR)]
    assert all(one.lag == int(sums[one.first : one.last + 1].argmax()) + one.first for one in parts)
    assert [(one.first, one.last, one.lag) for one in joined(made_of, parts)] == [
        (first, FAR, int(sums[first:].argmax()) + first) for first in sorted(firsts)
    ]
    assert shares == sorted(shares) and shares[-1] == 1


def test_a_single_lag_and_two_equal_ones():
    assert closest(of(8), 77, 77).lag == 77
    # No wave moves: all lags are exactly alike (balls of no width say so), and none is closer.
    still = Waves(1e4, None, (0.0,))
    found = closest(still, 5, 8)
    assert {found.lag, *found.tied} == {5, 6, 7, 8}
    assert first_closer_than_neighbour(still, 50) is None


def test_what_balls_cannot_decide_is_not_taken_for_proved():
    """1 - S(2) is 10^-3000 here, and balls end at 4096 bits: neither 'closer' nor 'none is' would be a proof."""
    slow = Waves(1e300, (Fraction(5),), (0.0,))
    with pytest.raises(OptionError, match="undecided"):
        first_closer_than_neighbour(slow, 10, method="scan")
    assert len(closest(slow, 1, 3, method="scan").tied) == 2
    # Before half a turn no ball is needed: a cosine falls.
    assert first_closer_than_neighbour(slow, 10) is None
    assert (closest(slow, 1, 3).lag, closest(slow, 1, 3).tied) == (1, ())


def test_a_new_best_is_compared_with_what_was_tied_to_the_last(monkeypatch):
    """2 and 1 are not told apart, 3 is closer than 1, and nothing is known of 2 and 3."""
    known = {(1, 3): True, (3, 1): False}
    monkeypatch.setattr(closest_lags, "_less", lambda lags, a, b: known.get((a, b)))
    assert closest_lags._largest(Lags(of(8)), [1, 2, 3]) == (3, (2,))


def test_ties_are_told():
    one = closest(of(8), 5, 8)
    tied = closest_lags.Closest(5, 8, 7, one.similarity, one.distance, (5, 6), "scan", 3)
    told = [aliasing._most_alike([each], 4) for each in (one, tied)]
    assert "Every other lag of these ranges is proved" in told[0]
    assert "Not told apart from it: 2 (5, 6)" in told[1] and "these ranges" not in told[1]


@pytest.mark.parametrize("method", ["auto", "scan"])
def test_a_range_too_long_to_read_is_refused_by_both_searches(method):
    for search in (closest, lambda *given, **how: first_closer_than_neighbour(given[0], given[2], **how)):
        with pytest.raises(OptionError, match="would take hours"):
            search(of(512), 2, 10**15, method=method)


def test_the_radius_is_large_enough_at_every_deficit():
    """Also beside 2, where an arc sine of float64 has lost half of its digits."""
    deficits = [1e-9, 0.5, 1.5, 1.8999999, 1.9, 1.99, 2 - 1e-12, 2 - 2.0**-50, 2 - 2.0**-52, 2.0]
    for deficit in deficits:
        assert lag_lattice.radius(deficit) >= 2 * mpmath.asin(mpmath.sqrt(mpmath.mpf(deficit) / 2))
    assert all(lag_lattice.radius(deficit) <= math.pi * 1.0001 for deficit in deficits)


def test_a_search_leaves_the_callers_settings_alone():
    """Also between two of its answers, and with gradients."""
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        search = lag_scan.survivors(Lags(of(64)), 1, 10**6, lambda: 20.0)
        next(search)
        assert torch.is_grad_enabled() and torch.get_float32_matmul_precision() == "medium"
        search.close()
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_products_are_of_full_precision_or_refused(monkeypatch):
    seen = []
    multiply = torch.mm

    def mm(*given, **how):
        seen.append(torch.get_float32_matmul_precision())
        return multiply(*given, **how)

    monkeypatch.setattr(torch, "mm", mm)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        closest(of(64), 1, 10**5, method="scan")
    finally:
        torch.set_float32_matmul_precision(before)
    assert set(seen) == {"highest"}

    def mixed():
        raise RuntimeError("mix of the legacy and new APIs")

    monkeypatch.setattr(torch, "get_float32_matmul_precision", mixed)
    with pytest.raises(OptionError, match="set_float32_matmul_precision alone"):
        closest(of(64), 1, 10**5, method="scan")


def test_torchs_cosines_are_as_good_as_the_bounds_take_them_to_be():
    """Every bound of a search takes a float64 cosine or sine of torch's to be within 4 roundings: on a sample it is."""
    angle = (torch.rand(3000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 0.5) * 2 * math.pi
    angle = torch.cat([angle, angle[:500] * 1e-6, angle[:500] * 1e6])
    with mpmath.workdps(40):
        for of_torch, exactly in ((angle.cos(), mpmath.cos), (angle.sin(), mpmath.sin)):
            off = [abs(exactly(a) - x) for a, x in zip(angle.tolist(), of_torch.tolist())]
            assert max(off) <= certified.TRUSTED


def test_searches_refuse_a_sine_without_its_cosine():
    """Its sum is known, but no bound of the searches is one of it."""
    odd = Lags(of(7))
    assert amplitudes(of(7)).tolist() == [1, 1, 1, 0.5]
    for search in (lambda: next(lag_scan.survivors(odd, 1, 10, lambda: 0.0)), lambda: Lattice(odd, 10, 0.1)):
        with pytest.raises(OptionError, match="even width"):
            search()


@pytest.mark.parametrize("step", [1, 2, 5, 16, 64])
def test_no_lag_exceeds_its_bound(step):
    """What a reading lets pass at a level holds every lag above that level; the level is not far off."""
    made_of = of(64)
    lags, low, high = Lags(made_of), 777, 40_000
    sums = brute(made_of, high)
    reader = lag_scan._Reader(lags, step)
    level = float(sums[low:].topk(50).values[-1])
    reached, found = reader.read(low, high, level)
    assert reached == high
    wanted = set(((sums >= level).nonzero()[:, 0]).tolist()) & set(range(low, high + 1))
    assert wanted <= set(found.tolist())
    if step <= 2:
        assert len(found) < 3000


def test_readings_alone_are_no_bound(monkeypatch):
    """Without what a straight line misses, lags between two readings are lost."""
    monkeypatch.setattr(lag_scan, "missed", lambda lags, step: torch.zeros(lags.pairs, dtype=torch.float64))
    sums = brute(of(64), 40_000)
    level = float(sums[777:].topk(50).values[-1])
    _, found = lag_scan._Reader(Lags(of(64)), 5).read(777, 40_000, level)
    assert not set((sums[777:] >= level).nonzero()[:, 0].add(777).tolist()) <= set(found.tolist())


def test_float32_products_stay_within_their_bound():
    lags = Lags(of(512))
    reader = lag_scan._Reader(lags, 1)
    reader.read(10**9, 10**9 + 8192 * 8 - 2, math.inf, 8)
    off = (reader.out[:8].double().flatten() - lags.sums(torch.arange(8 * 8192) + 10**9)).abs().max()
    assert 0 < float(off) < lag_scan.rounding(256)


def test_a_bound_that_is_too_small_is_seen(monkeypatch):
    """Were slow waves taken for straight where they are not, the closest lag would be missed."""
    made_of = of(32)
    right = closest(made_of, 1000, FAR, method="scan").lag
    monkeypatch.setattr(lag_scan, "_step", lambda lags, floor, most: 8)
    assert closest(made_of, 1000, FAR, method="scan").lag == right
    monkeypatch.setattr(lag_scan, "missed", lambda lags, step: torch.full((16,), -0.5, dtype=torch.float64))
    assert closest(made_of, 1000, FAR, method="scan").lag != right


def test_a_radius_that_is_too_small_is_seen():
    made_of = of(16)
    lags, found = Lags(made_of), closest(made_of, 1000, FAR)
    deficit = 8 * (1 - found.similarity[0])
    enough = lag_lattice.radius(deficit)
    assert found.lag in Lattice(lags, FAR, enough).found()
    assert found.lag not in Lattice(lags, FAR, enough / 3).found()


def test_all_lags_within_a_radius_are_listed():
    made_of = of(8)
    lags = Lags(made_of)
    for radius in (0.05, 0.3, 1.5):
        squares = lags.angles(torch.arange(1, FAR + 1)).square().sum(-1)
        wanted = (squares <= radius**2).nonzero()[:, 0] + 1
        listed = Lattice(lags, FAR, radius).found()
        assert set(wanted.tolist()) <= set(listed.tolist())
        assert len(listed) < 20 * len(wanted) + 20


def test_another_base_has_another_closest_lag():
    assert closest(of(8), 1000, FAR).lag != closest(of(8, base=10_001.0), 1000, FAR).lag


def test_section():
    done = []
    found = section(Sinusoidal(16), last=10**7, training=100, progress=done.append)
    assert found.applies
    assert done[-1] == 1 and all(0 <= share <= 1 for share in done)
    rows = {row[0]: row for row in found.tables[0].rows}
    assert {100, 10**3, 10**6} <= set(rows)
    assert rows[1000][2] == closest(of(16), 1000, 9999).lag
    far = {one["first"]: one["lag"] for one in found.numbers["closest"]}
    assert {first: far[first] for first in (100, 10**6)} == {
        first: closest(of(16), first, 10**7).lag for first in (100, 10**6)
    }
    assert found.numbers["first_closer_than_neighbour"] == 596_274
    assert found.answer.startswith("Yes: positions 596,274 apart") and f"{far[10**6]:,}" in found.answer
    assert all(len(line.x) == len(line.y) <= 2000 for line in found.figures[0].lines)
    assert section(Sinusoidal(16), last=5000).answer.startswith("No: no two positions up to 5,000 apart look more")


def test_what_is_nearly_1_is_not_printed_as_1():
    """At width 2 the closest lag beyond 10^6 leaves 3e-13 to a mean cosine of 1."""
    cells = [row[3] for row in section(Sinusoidal(2), last=10**8).tables[0].rows]
    assert not any(cell.strip("0.") == "1" for cell in cells) and sum(cell.startswith("1 - ") for cell in cells) > 3


@pytest.mark.parametrize(
    "encoding", [Sinusoidal(8), Sinusoidal(64), Sinusoidal(65, convention="tensor2tensor"), Rope(64)]
)
def test_section_of_what_is_made_of_waves(encoding):
    assert section(encoding, last=20_000).applies


@pytest.mark.parametrize("last", [1, 2, 9, 11])
def test_section_of_few_lags(last):
    assert section(Sinusoidal(16), last=last).numbers["last"] == last


@pytest.mark.parametrize("encoding, why", [
    (Sinusoidal(7), "even width"), (Sinusoidal(1, convention="tensor2tensor"), "even width"),
    (Sinusoidal(16, axes=2), "one axis"), (Learned(100, 8), "not made of waves"), (Alibi(8), "not made of waves"),
])  # fmt: skip
def test_where_the_question_makes_no_sense(encoding, why):
    found = section(encoding)
    assert not found.applies and why in found.answer


def test_mistakes():
    made_of = of(8)
    for call in (
        lambda: closest(made_of, 0, 10),
        lambda: closest(made_of, 10, 9),
        lambda: closest(made_of, 1, 10**16),
        lambda: closest(of(7), 1, 10),
        lambda: closest(of(512), 1, 10**12),
        lambda: similarity(made_of, torch.tensor([10**16])),
        lambda: section(Sinusoidal(8), last=0),
        lambda: section(Sinusoidal(8), training=0),
        lambda: section(Sinusoidal(8), last=10**16),
    ):
        with pytest.raises(OptionError):
            call()


def test_what_is_missing_to_the_most_alike_is_told_however_little_it_is():
    """Waves slowed by a factor: 1 - S(k) is 10^-400, which balls of S itself of 512 bits do not part from 0."""
    for factor in (1e9, 1e150, 1e200, 1e300):
        slow = waves(Rope(8, scaling="linear", factor=factor))
        for method in ("auto", "scan", "lattice"):
            found = closest(slow, 3, 40, method=method)
            assert (found.lag, found.tied) == (3, ())
            assert found.similarity[0] <= 1 and 0 < found.distance[0] <= found.distance[1]
            exactly = 3 / factor * sum(f * f for f in waves(Rope(8)).frequencies) ** 0.5
            assert found.distance == pytest.approx((exactly, exactly), rel=1e-6)
    of = section(Rope(8, scaling="linear", factor=1e200))
    first = of.tables[0].rows[0]
    assert (
        not re.search(r"\bnan\b|1 - 0\b", of.answer) and first[3] == "1 - 1.26e-399" and first[4] == pytest.approx(10)
    )


def test_a_distance_of_nothing_is_not_below_nothing():
    found = closest(Waves(1e4, None, (0.0,)), 5, 8)
    assert found.distance[0] == 0 and found.similarity[1] == 1


@pytest.mark.parametrize("firsts", [[1, 10**3, 10**11], [10**3]])
def test_ranges_that_cannot_be_read_are_refused_before_any_is(firsts, monkeypatch):
    monkeypatch.setattr(closest_lags, "_read", lambda *_: pytest.fail("a range is read"))
    with pytest.raises(OptionError, match="hours"):
        pieces(of(512), firsts, 10**12)
    with pytest.raises(OptionError, match="hours"):
        section(Sinusoidal(512), last=10**12)
    with pytest.raises(OptionError, match="hours"):
        first_closer_than_neighbour(of(512), 10**12)


def test_too_many_lags_that_float64_cannot_tell_apart_are_refused():
    with pytest.raises(OptionError, match="look alike to float64"):
        closest(Waves(1e4, None, (0.0,)), 1, 2 * 10**6)

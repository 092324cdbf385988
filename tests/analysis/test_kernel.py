"""The kernel of distance: known first rises, proofs against balls and mpmath, returns by brute force, other forms."""

import math
from dataclasses import replace

import mpmath
import pytest
import torch

from gnomon.analysis import certified, cosine_sums, distance_kernel, kernel
from gnomon.analysis.closest import closest
from gnomon.analysis.forms import vectors, waves
from gnomon.analysis.lags import Lags
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError
from gnomon.positions import sequence

SHAPE = Shape(width=48, heads=6, head_dim=8)


def lags(n: int) -> torch.Tensor:
    return torch.arange(n, dtype=torch.float64)


@pytest.mark.parametrize(("width", "first"), [(512, 43), (128, 11), (64, 5), (32, 4)])
def test_the_first_rise_of_known_widths(width, first):
    found = waves(Sinusoidal(width))
    rises = cosine_sums.rising(found, 8192)
    assert rises.first == first and not rises.undecided and 0.45 < rises.share < 0.55
    # By balls alone, without a word of float64.
    for k in range(first + 1):
        rose = certified.decided(
            lambda k=k: certified.below(*(sum((w * n).cos() for w in certified.frequencies(found)) for n in (k, k + 1)))
        )
        assert rose is (k == first)


def test_every_step_agrees_with_mpmath():
    found, n = waves(Sinusoidal(10)), 300
    with mpmath.workdps(40):
        w = [mpmath.mpf(10000) ** (-mpmath.mpf(m) / 5) for m in range(5)]
        exact = [mpmath.fsum(mpmath.cos(k * one) for one in w) for k in range(n)]
    assert cosine_sums.rising(found, n).rises.tolist() == [b > a for a, b in zip(exact, exact[1:])]
    assert distance_kernel.kernel(Sinusoidal(10), lags(n))[0].tolist() == pytest.approx(
        [float(x) for x in exact], abs=1e-12
    )


def test_steps_that_float64_cannot_decide_are_decided_by_balls(monkeypatch):
    found = waves(Sinusoidal(8))
    plain = cosine_sums.rising(found, 200)
    monkeypatch.setattr(Lags, "error", 1e9)
    assert torch.equal(cosine_sums.rising(found, 200).rises, plain.rises)


@pytest.mark.parametrize("width", [16, 7])
def test_the_bound_of_rounding_holds_what_float64_gets_wrong(width):
    """Of an odd width the last sine, which has no cosine, counts a half."""
    known, far = Lags(waves(Sinusoidal(width))), [1, 17, 12345, 9 * 10**8, 10**15]
    with mpmath.workdps(50):
        w = [mpmath.mpf(10000) ** (-mpmath.mpf(2 * m) / width) for m in range((width + 1) // 2)]
        for k, value in zip(far, known.sums(torch.tensor(far)).tolist()):
            terms = [mpmath.cos(k * one) for one in w]
            exact = mpmath.fsum(terms) - (terms[-1] / 2 if width % 2 else 0)
            assert abs(exact - value) <= known.error < 1e-13
            with certified.precision(256):
                low, high = certified.bounds(known.ball(k))
            assert low <= exact <= high < low + 1e-14


def test_no_first_rise_is_claimed_after_a_step_that_is_undecided(monkeypatch):
    still = cosine_sums.rising(replace(waves(Sinusoidal(4)), exponents=None, frequencies=(0.0, 0.0)), 4)
    assert still.first is None and still.share == 0
    monkeypatch.setattr(certified, "decided", lambda statement: None)
    monkeypatch.setattr(Lags, "error", 1e-3)
    for second, undecided, first in ((4.9999, (0,), None), (4.9, (), 2)):
        monkeypatch.setattr(Lags, "sums", lambda lags, k, second=second: torch.tensor([5, second, 4, 6, 5.5]).double())
        found = cosine_sums.rising(waves(Sinusoidal(64)), 5)
        assert found.undecided == undecided and found.first == first and found.share == 0.25


@pytest.mark.parametrize("options", [{}, {"convention": "tensor2tensor"}, {"base": 100.0}])
def test_whole_pairs_give_the_product_of_vectors_at_every_place(options):
    encoding = Sinusoidal(12, **options)
    found = distance_kernel.kernel(encoding, lags(50))[0]
    for p in (0, 3, 777):
        table = vectors(encoding, p + lags(50))
        assert (table @ table[0] - found).abs().max() < 1e-11


def test_an_odd_width_depends_on_the_place_by_at_most_a_half():
    encoding = Sinusoidal(7, base=100.0)
    table = vectors(encoding, lags(20000))
    products = (table[:-30] * table[30:]).sum(1)
    found = distance_kernel.kernel(encoding, torch.tensor([30.0]))[0, 0]
    assert 0.45 < (products - found).abs().max() <= 0.5
    assert products.mean() == pytest.approx(found.item(), abs=0.01)
    assert "odd" in kernel.section(encoding, 100).answer


def test_returns_are_those_of_all_lags():
    found = waves(Sinusoidal(6))
    values = distance_kernel.kernel(Sinusoidal(6), lags(25001))[0] / 3
    back = cosine_sums.returns(found, 25000)
    assert [(r.begin, r.end) for r in back] == [(1, 9), (10, 99), (100, 999), (1000, 9999), (10000, 25000)]
    for r in back:
        part = values[r.begin : r.end + 1]
        assert r.largest == pytest.approx(part.max().item(), abs=1e-10)
        assert values[r.at].item() == pytest.approx(r.largest, abs=1e-10)
        assert r.smallest == pytest.approx(part.min().item(), abs=1e-10)
        assert r.mean == pytest.approx(part.mean().item(), abs=1e-10)
        assert r.proved


def test_the_return_is_the_one_that_the_search_for_aliases_certifies(monkeypatch):
    found, seen = waves(Sinusoidal(16)), []
    one = cosine_sums.returns(found, 99_999, seen.append)[-1]
    best = closest(found, 10_000, 99_999)
    assert one.at == best.lag and best.similarity[0] <= one.largest <= best.similarity[1]
    assert seen == sorted(seen) and seen[-1] == 1
    assert "(proved)" in kernel.section(Sinusoidal(16), 100).answer
    odd = cosine_sums.returns(waves(Sinusoidal(7)), 999)
    assert not any(one.proved for one in odd) and "(proved)" not in kernel.section(Sinusoidal(7), 100).answer


def test_few_waves_come_back_near():
    """22 / 7 is nearly pi: after 44 steps the wave of frequency 1 has turned 7 times, but for 0.018."""
    back = cosine_sums.returns(waves(Sinusoidal(2)), 99)
    assert back[1].at == 44 and back[1].largest == pytest.approx(math.cos(44))


def test_the_envelope_is_the_largest_from_there_on():
    values = torch.tensor([5.0, 1.0, 3.0, 2.0]).double()
    assert distance_kernel.envelope(values).tolist() == [5, 3, 3, 2]


@pytest.mark.parametrize(
    "options", [{}, {"fraction": 0.5}, {"scaling": "yarn", "factor": 4.0, "original_length": 64.0}]
)
def test_ropes_kernel_is_the_mean_logit_of_equal_queries_and_keys(options):
    encoding, generator = Rope(8, **options), torch.Generator().manual_seed(0)
    q = torch.randn(20000, 1, 1, 8, generator=generator, dtype=torch.float64)
    q = q / q.norm(dim=-1, keepdim=True)
    other = q[torch.randperm(20000, generator=generator)]
    found = distance_kernel.kernel(encoding, torch.tensor([0.0, 3.0, 40.0]))[0]
    for k, expected in zip((0, 3, 40), found.tolist()):
        logits = encoding.score(q, q, sequence(1, k), sequence(1)) / encoding.scale(8)
        assert logits.mean().item() == pytest.approx(expected, abs=0.02)
        strangers = encoding.score(q, other, sequence(1, k), sequence(1)) / encoding.scale(8)
        assert abs(strangers.mean().item()) < 0.02


def test_kernels_by_the_definition_agree_with_waves():
    n = lags(40)
    mixed = create("rope_mixed", SHAPE, theta=100.0)
    assert (distance_kernel.kernel(mixed, n) - distance_kernel.kernel(Rope(8, theta=100.0), n)).abs().max() < 1e-6
    slow = distance_kernel.kernel(XPos(8, scale_base=1e4), n)[0]
    assert (slow - distance_kernel.kernel(Rope(8), n)[0]).abs().max() < 0.01
    assert (
        distance_kernel.kernel(XPos(8, scale_base=50.0), n)[0] - distance_kernel.kernel(Rope(8), n)[0]
    ).abs().max() > 0.1


def test_ropes_bound_by_hand():
    w = torch.tensor([1.0, 0.5]).double()
    k = 3.0
    expected = (1 + abs(complex(math.cos(k) + math.cos(k / 2), math.sin(k) + math.sin(k / 2)))) / 2
    assert cosine_sums.decay_bound(w, torch.tensor([k]).double()).item() == pytest.approx(expected)


def test_biases_rise_or_not():
    numbers = kernel.section(create("alibi", SHAPE), 300).numbers
    assert numbers["monotone"] == [True] * 6 and numbers["rising_share"] == [0.0] * 6
    numbers = kernel.section(create("sandwich", SHAPE), 300).numbers
    assert not any(numbers["monotone"])
    t5 = create("t5", SHAPE, buckets=8, max_distance=20)
    with torch.no_grad():
        t5.weight.copy_(-torch.arange(8.0)[:, None].expand(-1, 6))
        t5.weight[2, 1] = 5.0
    numbers = kernel.section(t5, 300).numbers
    assert numbers["first_rise"] == [None, 1, None, None, None, None]
    # The last bucket of 8 up to 20 begins at 4 (20 / 4)^(3/4), so 14 is its first distance.
    assert numbers["same_from"] == [14] * 6


def test_a_gram_by_hand_and_of_a_table_that_is_given():
    table = torch.randn(9, 4, generator=torch.Generator().manual_seed(1)).double()
    mean, spread = distance_kernel.gram(table)
    for k in range(9):
        products = torch.stack([table[p] @ table[p + k] for p in range(9 - k)])
        assert mean[k].item() == pytest.approx(products.mean().item())
        assert spread[k].item() == pytest.approx(products.std(correction=0).item(), abs=1e-12)
    mean, spread = distance_kernel.gram(vectors(Sinusoidal(8), lags(64)))
    assert (mean - distance_kernel.kernel(Sinusoidal(8), lags(64))[0]).abs().max() < 1e-12 and spread.max() < 1e-6


def test_a_table_applies_only_where_it_is_given():
    learned = create("learned", SHAPE)
    assert not kernel.section(learned, 100).applies
    found = kernel.section(learned, 100, vectors=vectors(Sinusoidal(64), lags(300)))
    assert found.applies and found.numbers["first_rise"] == 5 and found.numbers["lags"] == 100


def test_the_section_tells_what_was_found():
    found = kernel.section(Sinusoidal(64), 1000)
    assert found.key == "kernel" and found.numbers["first_rise"] == 5
    assert found.answer.startswith("It falls at first only") and "falls at every step up to lag 5" in found.answer
    assert "it never rises, in any head." in kernel.section(create("alibi", SHAPE), 100).answer
    assert "in every head it rises somewhere." in kernel.section(create("rope_mixed", SHAPE), 100).answer
    assert "no limit" in found.answer
    assert kernel.section(Sinusoidal(32), 1000).numbers["first_rise"] == 4
    assert all(len(line.x) == len(line.y) <= 2000 for figure in found.figures for line in figure.lines)
    share = kernel.section(Rope(64), 20000)
    assert share.numbers["at_zero"] == 1 and all(len(line.x) <= 2000 for line in share.figures[1].lines)


@pytest.mark.parametrize("name", ["none", "learned", "seqpe", "shaw", "cope", "fire", "deberta", "chain"])
def test_where_it_makes_no_sense(name):
    found = kernel.section(create(name, SHAPE), 100)
    assert not found.applies and len(found.answer) > 20


@pytest.mark.parametrize(("name", "options"), [("sinusoidal", {"axes": 2}), ("rope", {"axes": 2})])
def test_several_axes_have_no_one_distance(name, options):
    encoding = create(name, SHAPE, **options)
    assert "grids" in kernel.section(encoding, 100).answer
    with pytest.raises(OptionError):
        distance_kernel.kernel(encoding, lags(3))


def test_a_width_without_a_wave_has_no_kernel():
    still = Sinusoidal(1, convention="tensor2tensor")
    assert "every product is 0" in kernel.section(still, 100).answer
    with pytest.raises(OptionError, match="no waves"):
        cosine_sums.returns(waves(still), 100)


def test_no_lags_are_refused():
    with pytest.raises(OptionError):
        kernel.section(Sinusoidal(8), 1)
    with pytest.raises(OptionError):
        cosine_sums.rising(waves(Sinusoidal(8)), 1)
    with pytest.raises(OptionError):
        cosine_sums.returns(waves(Sinusoidal(8)), 0)

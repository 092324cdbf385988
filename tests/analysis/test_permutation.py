"""Without positions outputs permute with inputs: exactly in fractions, by proof in balls, up to rounding in floats."""

import math
from fractions import Fraction
from itertools import permutations

import pytest
import torch
from flint import arb, fmpq

from gnomon.analysis.certified import precision
from gnomon.analysis.exact_attention import attention, certified, exactly
from gnomon.analysis.permutation import causal_depths, changed, every, section, without_positions
from gnomon.attention import attend
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.none import NoPE
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL, CAUSAL

X = [[1, 0, 2], [0, -1, 1], [2, 2, -1], [1, 1, 1]]
PROJECTIONS = ([[1, 0, 1], [0, 1, -1]], [[1, 1, 0], [-1, 0, 1]], [[1, 2, 0], [0, 1, 1]])


def power(logit: int) -> fmpq:
    return fmpq(2) ** logit


@pytest.mark.parametrize("causal", [True, False])
def test_the_formula_is_that_of_attend(causal: bool):
    x = torch.tensor(X, dtype=torch.float64)
    q, k, v = (x @ torch.tensor(w, dtype=torch.float64).mT for w in PROJECTIONS)
    # NoPE divides by sqrt(d) = sqrt(2); e^(l ln 2) = 2^l.
    for scale, weigh in ((math.log(2), power), (1.0, arb.exp)):
        given = (q * scale * math.sqrt(2))[None, None], k[None, None], v[None, None]
        expected = attend(*given, NoPE(), mask=CAUSAL if causal else BIDIRECTIONAL, backend="reference")[0, 0]
        numbers = X if weigh is power else [[arb(u) for u in row] for row in X]
        found = attention(numbers, PROJECTIONS, weigh, causal=causal)
        for row, other in zip(found, expected.tolist()):
            for a, b in zip(row, other):
                a = float(Fraction(int(a.p), int(a.q))) if weigh is power else float(a)
                assert math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def test_all_orders_are_exactly_equal_without_positions():
    found = exactly(4)
    assert found.tried == math.factorial(4) == found.equivariant == found.pooled
    assert found.last_tried == math.factorial(3) == found.last
    # The order of the tokens itself is the only one that positions, or a causal mask, leave as it is.
    assert found.placed == found.causal == 1
    assert exactly(3, seed=5).equivariant == 6


def test_exactness_sees_a_perturbation():
    whole = attention(X, PROJECTIONS, power)
    assert attention(X, PROJECTIONS, power, places=[[0, 0, 0]] * 4) == whole
    # Of values alone, so that logits stay whole numbers.
    touched = (*PROJECTIONS[:2], [[1 + fmpq(1, 10**30), 2, 0], [0, 1, 1]])
    assert attention(X, touched, power) != whole


def test_neither_takes_a_causal_mask_for_none(monkeypatch: pytest.MonkeyPatch):
    def masked(*given: object, causal: bool = True, **options: object) -> list:
        return attention(*given, causal=True, **options)

    monkeypatch.setattr("gnomon.analysis.exact_attention.attention", masked)
    found = exactly(3)
    assert found.equivariant == 1 and found.pooled < found.tried
    assert certified(64).difference > 1e-3 > 1e-10 > certified(64).last


def test_balls_bound_the_difference_below_anything():
    low, high = certified(64), certified(256)
    assert high.difference < 1e-50 < low.difference < 1e-10
    assert high.last < 1e-50
    assert high.difference > 0
    # What is bounded from below is there: the same at either precision, and as floats have it.
    assert math.isclose(low.two_layers, high.two_layers, rel_tol=1e-12) and high.two_layers > 1e-3


def test_balls_overlap_and_two_layers_do_not():
    with precision(200):
        x = [[arb(u) for u in row] for row in X]
        square = tuple([*w, [1, -1, 1]] for w in PROJECTIONS)

        def twice(tokens: list) -> list:
            for _ in range(2):
                given = attention(tokens, square, arb.exp, causal=True)
                tokens = [[a + b for a, b in zip(u, v)] for u, v in zip(tokens, given)]
            return tokens[-1]

        free, deep = attention(x, square, arb.exp), twice(x)
        for order in permutations(range(4)):
            out = attention([x[i] for i in order], square, arb.exp)
            assert all(a.overlaps(b) for row, i in zip(out, order) for a, b in zip(row, free[i]))
            if order[-1] == 3 and order != (0, 1, 2, 3):
                assert not all(a.overlaps(b) for a, b in zip(twice([x[i] for i in order]), deep))


def test_floats_differ_by_rounding_alone():
    found = without_positions(40)
    assert found.tried == 40
    assert 0 < found.equivariance < 1e-13 and found.pooled < 1e-13
    assert 0 <= found.equal < 1
    assert without_positions(5, n=1).equal == 1


def test_depth_tells_order_under_a_causal_mask():
    one, two, three = causal_depths((1, 2, 3), count=10)
    assert one < 1e-12
    assert two > 1e-3 and three > 1e-3
    # Two tokens have one order before the last.
    assert max(causal_depths((1, 2), count=3, n=2)) < 1e-12


def test_every_encoding_but_none_notices():
    found = every(3, 8, 24, 3, seed=2)
    assert [*found] == [*ENCODINGS]
    assert max(found.pop("none")) < 1e-13
    for name, (both, causal) in found.items():
        assert causal > 1e-3, name
        assert (both is None) == bool(create(name, Shape(24, 3, causal=False)).causal), name
        assert both is None or both > 1e-3, name


def test_the_change_of_one_encoding():
    assert all(0.01 < change < 2 for change in changed(Alibi(4), count=5, n=7))
    assert max(changed(NoPE(), count=5, n=7)) < 1e-14
    # Fewer places than asked for, and places on two axes.
    assert min(changed(Learned(16, max_positions=5))) > 1e-3
    assert min(changed(Sinusoidal(32, axes=2))) > 0.01


def test_what_is_moved_is_content_and_not_positions():
    """A learned table whose rows are all one vector tells no order."""
    learned = Learned(16, max_positions=8)
    with torch.no_grad():
        next(learned.parameters()).copy_(torch.ones(16))
    assert max(changed(learned, n=8)) < 1e-13


def test_the_section():
    found = section(Rope(8), others=False)
    assert found.applies and len(found.proof) == 3
    assert found.numbers["exact_equal"] == found.numbers["exact_orders"] == 120
    assert found.numbers["certified_difference"] < 1e-50
    assert found.numbers["causal_change"][0] < 1e-12 < 1e-3 < found.numbers["causal_change"][1]
    assert found.numbers["own_bidirectional"] > 1e-2
    shares = []
    none = section(NoPE(), progress=shares.append)
    assert none.numbers["own_causal"] < 1e-13 and shares[-1] == 1
    assert [row[0] for row in none.numbers["every"]] == [*ENCODINGS]
    past_only = section(create("xpos", Shape(16, 2)), others=False)
    assert past_only.numbers["own_bidirectional"] is None


def test_errors_say_what_to_do():
    with pytest.raises(OptionError, match="all orders"):
        exactly(9)
    with pytest.raises(OptionError, match="all orders"):
        certified(n=1)

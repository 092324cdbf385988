"""The three theorems: exact decisions against brute force, searches against scans, and what a changed base changes."""

import itertools
import math
import re
from fractions import Fraction

import mpmath
import pytest
import torch

from gnomon.analysis import theorem_one_dimension
from gnomon.analysis.certified import at_least, at_most, precision
from gnomon.analysis.columns import value
from gnomon.analysis.forms import Waves, vectors, waves
from gnomon.analysis.near_values import Match, match, nearest_integer, worst_nearest
from gnomon.analysis.ratios import classes, count_rational, power, rational_pairs, root
from gnomon.analysis.repeats import difference, period, places, repeat
from gnomon.analysis.theorem_one_dimension import closest_pair, mirror
from gnomon.analysis.theorem_two_dimensions import Shared, count_shared, shared_values
from gnomon.analysis.theorems import section
from gnomon.analysis.turns import first_between, nearest_turn
from gnomon.claims.claim import DOCUMENTS
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from tests.theorem_pages import FOLDER, page

mpmath.mp.dps = 60


def sinusoidal(width: int, base: float = 10000.0, convention: str = "paper") -> Waves:
    return waves(Sinusoidal(width, base, convention))


def at(given: Waves, column: int, p) -> mpmath.mpf:
    """The value of a column by mpmath at 60 digits."""
    kind, m = given.columns[column]
    e = given.exponents[m]
    angle = mpmath.mpf(p) / mpmath.power(mpmath.mpf(given.base), mpmath.mpf(e.numerator) / e.denominator)
    return mpmath.sin(angle) if kind == "sin" else mpmath.cos(angle)


def rational_by_search(base: int, exponent: Fraction) -> Fraction | None:
    """base^(s/t), if rational, is the whole t-th root of base^s: looked for by whole-number bisection."""
    s, t = exponent.numerator, exponent.denominator
    low, high = 0, base**s + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**t <= base**s else (low, middle)
    return Fraction(low) if low**t == base**s else None


@pytest.mark.parametrize("base", [10000, 10001, 9999, 9801, 64, 2, 1000])
@pytest.mark.parametrize("width", [4, 8, 12, 16])
def test_rational_pairs_are_those_that_whole_roots_find(width: int, base: int):
    known = sinusoidal(width, float(base)).exponents
    expected = {
        (i, j): ratio
        for i, j in itertools.combinations(range(len(known)), 2)
        if (ratio := rational_by_search(base, known[j] - known[i])) is not None
    }
    assert {(p.fast, p.slow): p.ratio for p in rational_pairs(sinusoidal(width, float(base)))} == expected
    assert count_rational(sinusoidal(width, float(base))) == (len(expected), math.comb(width // 2, 2))


def test_at_width_512_pairs_64_apart_are_rational_and_a_base_beside_has_none():
    pairs = rational_pairs(sinusoidal(512))
    assert all((p.slow - p.fast) % 64 == 0 and p.ratio == 10 ** ((p.slow - p.fast) // 64) for p in pairs)
    assert count_rational(sinusoidal(512)) == (192 + 128 + 64, 256 * 255 // 2)
    assert count_rational(sinusoidal(512, 10001.0))[0] == 0
    assert count_rational(sinusoidal(512, convention="tensor2tensor"))[0] == 1


def test_a_base_that_is_a_fraction_is_factorised_as_one():
    assert root(10000.0) == (10, 4)
    assert root(2.25) == (Fraction(3, 2), 2)
    assert root(10000.1)[1] == 1
    assert power(2.25, Fraction(-1, 2)) == Fraction(2, 3)
    assert power(2.25, Fraction(1, 3)) is None
    assert root(1e300)[0] ** root(1e300)[1] == Fraction(1e300)
    with pytest.raises(OptionError, match="exceed 1"):
        root(1.0)


def test_groups_hold_each_wave_once():
    groups = classes(sinusoidal(512))
    assert sorted(itertools.chain(*groups)) == list(range(256))
    assert {len(group) for group in groups} == {4}


@pytest.mark.parametrize("width", [2, 4, 8])
def test_where_all_ratios_are_rational_real_positions_repeat(width: int):
    given = sinusoidal(width)
    turns = period(given)
    step = 2 * mpmath.pi * turns.numerator / turns.denominator
    for p in (0, 1.5, -7):
        assert all(abs(at(given, c, p + step) - at(given, c, p)) < 1e-50 for c in range(width))
    for part in (2, 3, 5):
        shorter = step / part
        assert max(abs(at(given, c, shorter) - at(given, c, 0)) for c in range(width)) > 1e-3


def test_periods_are_those_of_the_slowest_wave():
    assert [period(sinusoidal(width)) for width in (2, 4, 8, 6, 12, 16, 512)] == [1, 100, 1000, None, None, None, None]
    assert period(sinusoidal(8, 10001.0)) is None
    assert period(Waves(2.25, (Fraction(0), Fraction(1, 2)), (1.0, 2 / 3))) == 3  # w = 1 and 2/3: three turns and two


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
def test_a_repeat_is_one(width: int):
    given = sinusoidal(width)
    found = repeat(given)
    with precision(300):
        here, there = (mpmath.mpf(place.mid().str(55, radius=False)) for place in places(given, found))
    assert abs(here - there) > 1
    assert all(abs(at(given, c, here) - at(given, c, there)) < 1e-40 for c in range(width))
    assert difference(given, found) < 1e-100
    assert (found.mirror is not None) == (width == 3)


@pytest.mark.parametrize("width", [5, 6, 7, 12, 512])
def test_irrational_ratios_leave_no_repeat(width: int):
    assert repeat(sinusoidal(width)) is None


@pytest.mark.parametrize("wave", [0, 1, 3])
@pytest.mark.parametrize("last", [1, 5, 43, 44, 709, 710, 3000])
def test_the_nearest_turn_is_that_of_a_scan(wave: int, last: int):
    given = sinusoidal(12)
    w = mpmath.power(10000, -mpmath.mpf(wave) / 6)
    misses = {k: abs(k * w - 2 * mpmath.pi * mpmath.nint(k * w / (2 * mpmath.pi))) for k in range(1, last + 1)}
    turn = nearest_turn(given, wave, last)
    assert turn.shift == min(misses, key=misses.get)
    assert turn.miss[0] <= misses[turn.shift] <= turn.miss[1]


def test_no_two_rows_are_nearer_than_the_first_wave_says():
    last = 800
    rows = vectors(Sinusoidal(2), torch.arange(last + 1))
    least = min((rows[k:] - rows[: last + 1 - k]).norm(dim=-1).min().item() for k in range(1, last + 1))
    row = section(Sinusoidal(8), "theorem1").numbers["nearest"][1]
    assert row[1] == 710
    assert least == pytest.approx(row[4], rel=1e-9)


def test_the_first_step_in_an_arc_is_that_of_a_scan():
    rng = torch.Generator().manual_seed(0)
    for _ in range(3000):
        size = int(torch.randint(2, 60, (), generator=rng))
        step, a, b = (int(torch.randint(0, size, (), generator=rng)) for _ in range(3))
        low, high = sorted((a, b))
        expected = next((k for k in range(size) if low <= k * step % size <= high), None)
        assert first_between(step, size, low, high) == expected


@pytest.mark.parametrize("base", [10000.0, 10001.0, 2.5])
@pytest.mark.parametrize("last", [1, 2, 7, 44, 100])
def test_the_closest_pair_is_that_of_all_pairs(base: float, last: int):
    given = sinusoidal(6, base)
    for column in range(6):
        told = [at(given, column, p) for p in range(last + 1)]
        gaps = {(p, q): abs(told[p] - told[q]) for p, q in itertools.combinations(range(last + 1), 2)}
        expected = min(gaps, key=gaps.get)
        found = closest_pair(given, column, last)
        assert (found.first, found.second) == expected
        assert found.difference[0] <= gaps[expected] <= found.difference[1]


def test_the_closest_pair_of_many_positions_is_that_of_sorted_values():
    given = sinusoidal(512)
    for column in (0, 1, 64, 65, 300, 301, 511):
        told = sorted((at(given, column, p), p) for p in range(1501))
        gaps = [(b[0] - a[0], *sorted((a[1], b[1]))) for a, b in itertools.pairwise(told)]
        found = closest_pair(given, column, 1500)
        assert (found.first, found.second) == min(gaps)[1:]


@pytest.mark.parametrize("kind, differences", [("sin", [1, 0, 1]), ("cos", [1, 0, 1])])
def test_half_a_turn_is_where_it_belongs(kind: str, differences: list[int]):
    """-2^63 has no size in 64 bits. Quarter turns: 0, 1, 0, -1 and 1, 0, -1, 0 are -1, 0, 0, 1 in order."""
    order, gaps = theorem_one_dimension._neighbours(kind, 2**62, 3)
    assert gaps.tolist() == pytest.approx(differences, abs=1e-15)
    assert int(order[0]) == (3 if kind == "sin" else 0)


def test_slow_waves_of_a_huge_base_have_a_closest_pair_too():
    found = closest_pair(sinusoidal(8, 1e300), 7, 1000)
    assert (found.first, found.second) == (0, 1)
    assert found.difference[1] >= found.difference[0] >= 0
    assert closest_pair(sinusoidal(8, 1e300), 6, 1000).first == 999


def test_a_cosine_has_a_mirror_and_a_sine_has_none():
    given = sinusoidal(8)
    for column in range(8):
        found = mirror(given, column, 3)
        assert (found is None) == (column % 2 == 0)
        if found is not None:
            assert at(given, column, found.first) == at(given, column, found.second)
            assert found.difference[0] <= 0 <= found.difference[1] < 1e-300
        else:
            assert abs(at(given, column, 3) - at(given, column, -3)) > 1e-3


@pytest.mark.parametrize("width,base", [(4, 10000.0), (8, 10000.0), (12, 10000.0), (8, 81.0), (6, 10000.0), (4, 2.25)])
def test_shared_values_are_all_that_a_scan_finds(width: int, base: float):
    given, last = sinusoidal(width, base), 120
    expected = 0
    with mpmath.workdps(60):
        told = [[at(given, c, p) for p in range(1, last + 1)] for c in range(width)]
        keyed = {}
        for c, row in enumerate(told):
            for p, v in enumerate(row, 1):
                keyed.setdefault(mpmath.nint(v * mpmath.mpf(10) ** 45), []).append((c, p))
        for group in keyed.values():
            expected += sum(a[0] != b[0] and a[1] != b[1] for a, b in itertools.combinations(group, 2))
    assert count_shared(given, last) == expected
    for s in shared_values(given):
        assert abs(at(given, s.fast, s.p) - at(given, s.slow, s.q)) < 1e-50


def test_a_base_beside_shares_nothing():
    assert shared_values(sinusoidal(512))[0] == Shared(0, 128, 1, 10)
    assert len(shared_values(sinusoidal(512))) == 768
    assert shared_values(sinusoidal(512, 10001.0)) == ()
    assert section(Sinusoidal(512), "theorem3").numbers["holds_exactly"]
    assert not section(Sinusoidal(6), "theorem3").numbers["holds_exactly"]


@pytest.mark.parametrize(
    "target,p,column", [(0, 1, 2), (2, 1, 0), (1, 5, 3), (0, 4, 6), (0, 0, 2), (1, 0, 3), (0, 3, 5)]
)
@pytest.mark.parametrize("eps", [0.3, 0.02, 1e-3])
def test_a_match_is_the_first_position_of_a_scan(target: int, p: int, column: int, eps: float):
    given = sinusoidal(8, 10001.0)
    kind, m = given.columns[column]
    scan = torch.arange(200_000, dtype=torch.float64) * given.frequencies[m]
    near = ((scan.sin() if kind == "sin" else scan.cos()) - float(at(given, target, p))).abs() < eps
    near[p] = False
    found = match(given, target, p, column, eps)
    assert found.position == int(near.nonzero()[0])
    assert found.error[0] <= abs(at(given, column, found.position) - at(given, target, p)) <= found.error[1] < eps


def test_a_match_of_many_digits_is_within_eps():
    given = sinusoidal(512)
    found = match(given, 0, 1, 2, 1e-25)
    with mpmath.workdps(80):
        assert 0 < abs(at(given, 2, found.position) - at(given, 0, 1)) < 1e-25
    assert match(given, 0, 1, 128, 1e-40) == Match(10, match(given, 0, 1, 128, 1e-40).error)
    with pytest.raises(OptionError, match="near"):
        match(given, 0, 1, 2, 0.0)


@pytest.mark.parametrize("target,column", [(2, 0), (0, 4), (1, 3), (3, 1)])
def test_the_worst_of_the_documents_step_is_that_of_a_scan(target: int, column: int):
    given, last = sinusoidal(12), 300
    kind, m = given.columns[column]
    w = mpmath.power(10000, -mpmath.mpf(m) / 6)
    misses = []
    for p in range(last + 1):
        aim = at(given, target, p)
        angle = mpmath.acos(aim) if kind == "cos" else mpmath.asin(aim) if aim >= 0 else mpmath.pi - mpmath.asin(aim)
        y = int(mpmath.floor(angle / w))
        misses.append(min(abs(at(given, column, q) - aim) for q in (y, y + 1)))
    p, found = worst_nearest(given, target, column, last)
    assert p == max(range(last + 1), key=misses.__getitem__)
    assert found.error[0] <= misses[p] <= found.error[1]
    assert misses[p] <= w / 2


def test_the_step_rounds_places_of_many_digits():
    """y has 20 digits, a float 16: off by a few hundred places the miss would be far above its bound w / 2."""
    given = sinusoidal(4, 1e40)
    with mpmath.workdps(60):
        w = 1 / mpmath.sqrt(mpmath.mpf(1e40))
        for p in (1, 2, 3):
            found, aim = nearest_integer(given, 0, p, 2), mpmath.sin(p)
            y = int(mpmath.floor(mpmath.asin(aim) / w))
            misses = {q: abs(mpmath.sin(q * w) - aim) for q in (y, y + 1)}
            assert found.position == min(misses, key=misses.get)
            assert found.error[0] <= misses[found.position] <= found.error[1] < w / 2
    rows = section(Sinusoidal(8, 1e40), "theorem3").tables[0]
    assert all(float(off) <= float(bound) for *_, off, bound in rows.rows)
    assert "p is a place like any other" in rows.note
    assert "like any other" not in section(Sinusoidal(8, 10001.0), "theorem3").tables[0].note


def test_the_documents_step_finds_an_exact_witness_where_there_is_one():
    found = nearest_integer(sinusoidal(512), 0, 1, 128)
    assert found.position == 10
    assert found.error[1] < 1e-300


def test_the_step_fails_in_a_fast_dimension_only():
    rows = section(Sinusoidal(512), "theorem3").numbers["nearest_integer"]
    errors = [low for *_, low, _ in rows]
    assert errors[0] > 0.4
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4


def test_balls_agree_with_mpmath():
    given = sinusoidal(12, 2.5)
    for column, p in itertools.product(range(12), (0, 1, 77)):
        assert float(value(given, column, p).mid()) == pytest.approx(float(at(given, column, p)), abs=1e-12)


@pytest.mark.parametrize("which", ["theorem1", "theorem2", "theorem3"])
@pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 12, 64])
def test_every_width_has_a_section(width: int, convention: str, which: str):
    made = section(Sinusoidal(width, convention=convention), which, last=100)
    assert made.key == which
    assert made.answer
    assert "{" not in "".join((made.answer, *made.proof))
    for table in made.tables:
        assert len(table.rows) <= 12
        assert len(table.columns) <= 6


def test_what_a_section_says_follows_from_the_encoding():
    eight, odd = section(Sinusoidal(8), "theorem1"), section(Sinusoidal(8, 10001.0), "theorem1")
    assert eight.numbers["holds_on_whole_positions"] and not eight.numbers["holds_on_real_positions"]
    assert odd.numbers["holds_on_real_positions"] and odd.numbers["rational_pairs"] == 0
    assert not section(Sinusoidal(1, convention="tensor2tensor"), "theorem1").numbers["holds_on_whole_positions"]
    second = section(Sinusoidal(8), "theorem2").numbers
    assert second["holds_on_whole_positions_from_0"] and not second["holds_on_all_whole_positions"]
    assert section(Sinusoidal(1), "theorem2").numbers["holds_on_all_whole_positions"]
    assert not section(Sinusoidal(7, convention="tensor2tensor"), "theorem2").numbers["holds_on_whole_positions_from_0"]


def test_in_how_many_waves_pi_alone_is_not_enough_is_counted():
    """1/w = 10000^(m/256) is a fraction for m = 0, 64, 128, 192, and at width 8 for every m."""
    told = {width: " ".join(section(Sinusoidal(width), "theorem2", last=9).proof) for width in (2, 8, 512)}
    assert "in 252 of 256 waves 1/w is irrational" in told[512]
    assert "1/w is a fraction in all 4 waves" in told[8] and "1/w is a fraction in the one wave" in told[2]
    assert "most waves" not in "".join(told.values())


def test_printed_bounds_are_bounds():
    for bound in (6.0288655e-05, 1.0, 0.1, 3.5067600001e-12, 1e-307, 123456.7, 0.0):
        for digits in (1, 3, 4, 6):
            low, high = at_least(bound, digits), at_most(bound, digits)
            assert Fraction(low) <= Fraction(bound) <= Fraction(high)
            assert Fraction(high) - Fraction(low) <= Fraction(bound) / 10 ** (digits - 1)
    assert at_most(5e-324, 1) == "5e-324"


def test_every_printed_lower_bound_is_below_the_truth():
    for _, k, n, miss, apart in section(Sinusoidal(512), "theorem1").tables[-1].rows:
        k, n = (int(whole.replace(",", "")) for whole in (k, n))
        truth = abs(k - 2 * mpmath.pi * n)
        assert mpmath.mpf(miss) <= truth and mpmath.mpf(apart) <= 2 * mpmath.sin(truth / 2)
    given = sinusoidal(512)
    for column, _, _, p, q, apart in section(Sinusoidal(512), "theorem2").tables[0].rows:
        assert mpmath.mpf(apart) <= abs(at(given, column, p) - at(given, column, q))
    *_, steps, first = section(Sinusoidal(512), "theorem3").tables
    for column, target, p, q, off, bound in steps.rows:
        q, w = int(q.replace(",", "")), mpmath.power(10000, -mpmath.mpf(given.columns[column][1]) / 256)
        assert mpmath.mpf(off) <= abs(at(given, column, q) - at(given, target, p)) and w / 2 <= mpmath.mpf(bound)
    for eps, one, off, other, off_too in first.rows:
        for target, column, q, least in ((2, 0, one, off), (0, 510, other, off_too)):
            truth = abs(at(given, column, int(q.replace(",", ""))) - at(given, target, 1))
            assert truth <= mpmath.mpf(least) * (1 + mpmath.mpf(10) ** -15) and float(least) <= float(eps)
    proof = section(Sinusoidal(512), "theorem3").proof[-1]
    truth = abs(at(given, 0, 136_178_273_664) - at(given, 2, 1))
    assert truth <= mpmath.mpf(proof.partition("at most ")[2].partition(",")[0])


def test_what_is_used_and_not_proved_is_named():
    """x - y and x + y have to be algebraic, which takes more than whole multiples and quotients."""
    for number in (2, 3):
        argument = " ".join(section(Sinusoidal(8), f"theorem{number}", last=9).proof)
        assert "ums, differences, products and quotients of algebraic numbers are algebraic" in argument
        assert "five facts that are not proved here" in page(f"theorem{number}", width=8)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 6, 8])
def test_a_reader_meets_no_document_and_no_one_pairs(width: int):
    for which in ("theorem1", "theorem2", "theorem3"):
        made = section(Sinusoidal(width), which, last=99)
        told = " ".join((made.answer, *made.proof, *(table.title + table.note for table in made.tables)))
        assert "document" not in told
        assert not re.search(r"(?<![\d,.])[01] (of [01] )?pairs|all 1 |([2-9]) of \2 ", told), told
    assert section(Sinusoidal(width), "theorem1").answer.startswith("PROVED at whole positions")


def test_rotations_have_the_first_theorem_only():
    first = section(Rope(64), "theorem1")
    assert first.applies and first.numbers["rational_pairs"] == count_rational(waves(Rope(64)))[0]
    assert not section(Rope(64), "theorem2").applies
    assert not section(Rope(64), "theorem3").applies


@pytest.mark.parametrize("which", ["theorem1", "theorem2", "theorem3"])
def test_others_are_told_why_not(which: str):
    for other in (Alibi(4), Learned(8, 16), Sinusoidal(8, axes=2), Rope(8, scaling="linear", factor=2.0)):
        made = section(other, which)
        assert not made.applies and made.answer and not made.proof


def test_bad_input_says_what_to_do():
    with pytest.raises(OptionError, match="positions to search"):
        section(Sinusoidal(8), "theorem2", last=0)
    with pytest.raises(OptionError, match="no such dimension"):
        closest_pair(sinusoidal(8), 8, 10)
    with pytest.raises(OptionError, match="no such wave"):
        nearest_turn(sinusoidal(8), 4, 10)
    with pytest.raises(OptionError):
        section(Sinusoidal(8), "theorem4")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_page_is_written_from_the_section(number: int):
    written = (FOLDER / f"{number}.md").read_text(encoding="utf-8")
    assert written == page(f"theorem{number}"), "run `python -m tests.theorem_pages`"
    assert written != page(f"theorem{number}", width=8)


@pytest.mark.parametrize("eps", [0.3, 0.5, 0.9, 1.2, 1.7])
@pytest.mark.parametrize("column", [0, 1])
def test_arcs_that_meet_are_one(column, eps):
    """Of a value near a crest or a trough the angles within eps lie on both sides of it: where they meet is no edge."""
    given = waves(Sinusoidal(2))
    for p in (0, 2, 3, 8, 11, 22, 25, 33, 44, 51):
        wave = math.sin if column == 0 else math.cos
        first = next(q for q in range(200) if q != p and abs(wave(q) - wave(p)) < eps)
        assert match(given, column, p, column, eps).position == first


def test_a_table_of_some_dimensions_that_share_values_has_sines_and_cosines():
    rows = section(Sinusoidal(512), "theorem3").tables[0].rows
    assert len(rows) == 10 and [row[2] for row in rows].count("cos") == 5
    assert {row[0] % 2 for row in rows} == {0, 1}


def test_an_answer_begins_with_what_is_true_and_the_statement():
    """`Can two positions have the same vector? No` read as a refutation."""
    for width, which, verdict in (
        (512, "theorem1", "PROVED at whole positions and at real ones."),
        (8, "theorem1", "PROVED at whole positions, FALSE at real ones."),
        (512, "theorem2", "PROVED at whole positions from 0 on, FALSE with negative positions."),
        (512, "theorem3", "TRUE, but not by the step of D1, section 5."),
        (6, "theorem3", "FALSE as it stands, TRUE of values as near as one likes."),
    ):
        made = section(Sinusoidal(width), which, last=999)
        assert made.answer.startswith(f"{verdict} Statement: ")
        assert "Why" in made.answer and made.answer.endswith(f"The argument: docs/theorems/{which[-1]}.md.")


def test_every_sign_of_a_page_is_explained_on_it():
    first = page("theorem1")
    assert "e\\_m = m/256" in first and "waves 64, 128, 192 apart, of which there are 192 + 128 + 64" in first
    for number in (1, 2, 3):
        told = page(f"theorem{number}")
        assert "A ball is a number with a proved error" in told and DOCUMENTS["D1"] in told
        assert "lecture" not in told and "| 6741 |" not in told

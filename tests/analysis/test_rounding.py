"""Rounding errors against mpmath, and against what is known of each way of forming an angle."""

import mpmath
import pytest
import torch

from gnomon.analysis.first_place import first_place
from gnomon.analysis.forms import waves
from gnomon.analysis.rounded_biases import POWERS, bias_errors, first_far, first_late
from gnomon.analysis.rounding import errors, section
from gnomon.analysis.uniqueness import section as uniqueness
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.kerple import Kerple
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sandwich import Sandwich
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.errors import OptionError


def one(encoding, way: str, stored: str, positions=POWERS):
    return errors(waves(encoding), positions, ((way, stored),))[0]


@pytest.mark.parametrize("way", ["float64", "float32", "bfloat16"])
def test_errors_of_values_against_mpmath(way):
    kind = getattr(torch, way)
    for p in (10, 12345, 10**8):
        worst = 0.0
        for at in (p, p + 1, p + 2):
            for m in range(4):
                w = torch.tensor(10000.0 ** (-2 * m / 8), dtype=torch.float64).to(kind)
                angle = torch.tensor(at, dtype=torch.float64).to(kind) * w
                with mpmath.workdps(50):
                    right = mpmath.mpf(at) / mpmath.mpf(10000) ** (mpmath.mpf(2 * m) / 8)
                    for wave, exactly in ((torch.sin, mpmath.sin), (torch.cos, mpmath.cos)):
                        worst = max(worst, float(abs(mpmath.mpf(float(wave(angle.double()))) - exactly(right))))
        assert one(Sinusoidal(8), way, "float64", (p,)).values[0] == pytest.approx(worst, rel=1e-3, abs=1e-17)


def test_angles_in_float64_keep_what_the_table_can_hold():
    for encoding in (Sinusoidal(64), Rope(64)):
        assert max(one(encoding, "float64", "float32").values) < 2**-24
        assert max(one(encoding, "float64", "bfloat16").values) <= 2**-9
        low = one(encoding, "float32", "float32").values
        # The error of a float32 angle grows as the angle does, to the size of the numbers themselves.
        assert low[0] < 3e-7 and low[8] > 1 and all(b > a for a, b in zip(low, low[1:]))


def test_a_shifted_logit_against_both_tokens_at_the_origin():
    exactly = one(Rope(64), "float64", "float64")
    assert max(exactly.logits) < 1e-7
    assert max(exactly.logits[:5]) < 1e-11
    coarse = one(Rope(64), "bfloat16", "bfloat16")
    assert coarse.logits[2] > 0.01 and coarse.logits[-1] > 0.3
    # Another draw of queries and keys: another error of the same size.
    other = errors(waves(Rope(64)), POWERS, (("bfloat16", "bfloat16"),), seed=1)[0]
    assert other.logits != coarse.logits and other.logits[-1] == pytest.approx(coarse.logits[-1], rel=0.5)
    assert other.values == coarse.values


def test_a_shifted_logit_by_hand():
    encoding, p = Sinusoidal(16), 10**5
    found = waves(encoding)
    w = torch.tensor(found.frequencies, dtype=torch.float64)
    low = w.to(torch.float32)

    def row(at: int) -> torch.Tensor:
        angle = (torch.tensor(float(at), dtype=torch.float32) * low).double()
        return torch.cat([angle.sin(), angle.cos()]).float().double()

    wrong, right = [], []
    for k in (1, 16, 128):
        right.append(float((w * k).cos().sum()))
        wrong.append(float(row(p + k) @ row(p)) - right[-1])
    share = (sum(e**2 for e in wrong) / sum(r**2 for r in right)) ** 0.5
    assert one(encoding, "float32", "float32", (p,)).logits[0] == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("width", [1, 7])
def test_of_an_odd_width_exact_logits_are_those_of_each_place(width):
    """Its last sine has no cosine, so PE(p + k) . PE(p) depends on p, which is no error."""
    exactly = one(Sinusoidal(width), "float64", "float64")
    assert max(exactly.logits) < 1e-7 and max(exactly.logits[:5]) < 1e-11


def test_float16_has_no_numbers_there():
    of = one(Rope(8), "float16", "float16")
    assert of.values[4] is not None and of.values[5:] == (None,) * 4 == of.logits[5:]


def test_biases_of_alibi_by_hand():
    far, late = bias_errors(Alibi(1), "bfloat16", (1, 257, 1000), heads=1)
    slope = 2**-8
    # 257 is between 256 and 258, and rounds to 256: one slope; 1000 is a number of bfloat16.
    assert far == (0, slope, 0)
    # Above 256 positions are even numbers: 257 and 255 become 256 and 255, which are one apart and not two.
    # Near 1000 they are multiples of 4, so that a key moves by up to 2.
    assert late == (0, slope, 2 * slope)
    assert bias_errors(Alibi(8), "float32", POWERS, heads=8)[1][:8] == (0,) * 8
    far, _ = bias_errors(Alibi(8), "float16", POWERS, heads=8)
    assert far[5:] == (None,) * 4


@pytest.mark.parametrize("first, each", [(0, 1), (0, 64), (300, 20)])
def test_the_first_place_is_that_of_looking_at_all(first: int, each: int):
    for target in (first, first + 5, 1025, 1999, 2049, 30_000, 10**6 + 1):
        found = first_place(lambda p, target=target: p >= target, 10**6, each, first)
        assert found == (target if target <= 10**6 else None)
    seen = []
    first_place(lambda p: seen.extend(p.tolist()) or p < 0, 10**6, each, first)
    assert seen == sorted({*seen}) and seen[:each] == list(range(first, first + each)) and len(seen) < 2 * 10**5
    assert {2**e + 1 for e in range(9, 20)} - {*range(first)} <= {*seen}


@pytest.mark.parametrize(
    "encoding", [Alibi(8), Alibi(6), Kerple(4), Sandwich(4), T5(4)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_the_first_distance_and_the_first_position_are_those_of_every_one_compared(encoding, name):
    every = range(3000)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for parameter in encoding.parameters():
            torch.nn.init.uniform_(parameter, 0.1, 2.0)
    found = bias_errors(encoding, name, every, heads=encoding.heads)
    for errors_of, first in zip(found, (first_far, first_late)):
        brute = next((p for p, error in zip(every, errors_of) if error > 0.01), None)
        mine = first(encoding, name, 0.01, heads=encoding.heads)
        assert mine == brute if brute is not None else mine is None or mine >= 3000


def test_powers_of_ten_do_not_hide_where_a_bias_is_off():
    """They are numbers of float16 up to 10,000, and of float32 up to 10^8: nothing of ALiBi's is off there."""
    alibi = Alibi(8)
    assert first_far(alibi, "float16", heads=8) == 2049 and first_far(alibi, "bfloat16", heads=8) == 257
    assert first_far(alibi, "float32", heads=8) == first_late(alibi, "float32", heads=8) == 2**24 + 1
    assert bias_errors(alibi, "float16", (2049,), heads=8)[0] == (0.5,)
    of = section(alibi)
    assert of.numbers["first_far"] == {"float32": 2**24 + 1, "float16": 2049, "bfloat16": 257}
    for told in ("16,777,217 in float32", "2,049 in float16", "257 in bfloat16"):
        assert of.answer.count(told) == 2
    assert "nowhere" not in of.answer
    by_label = {row[0]: row[3] for row in of.tables[0].rows}
    assert by_label["1,000 to 1,015"] == 0 and by_label["10,000 to 10,015"] > 0


def test_a_row_that_stands_for_three_positions_says_so_and_the_unit_is_that_of_uniqueness():
    of = section(Sinusoidal(512))
    assert of.tables[0].rows[0][0] == "1 to 3" and of.tables[1].rows[0][0] == 1
    first = {(one["angle"], one["stored"]): one["first_off"] for one in uniqueness(Sinusoidal(512), 64).numbers["kept"]}
    for name in ("float32", "float16", "bfloat16"):
        told = f"With angles in {name} too, position {first[name, name]} is the first where a number is off by more"
        assert told in of.answer


@pytest.mark.parametrize("encoding", [Sinusoidal(512), Sinusoidal(7), Rope(64), Alibi(8), T5(4)])
def test_sections(encoding):
    of = section(encoding)
    assert of.applies and of.numbers["positions"] == list(POWERS)
    assert all(len(table.columns) <= 6 and len(table.rows) == 9 for table in of.tables)
    assert all(line.y.count(0) == 0 for figure in of.figures for line in figure.lines)


def test_a_table_has_no_angle():
    assert not section(Learned(8)).applies and "its size does not matter" in section(Learned(8)).answer


@pytest.mark.parametrize("positions", [(), (-1,), (2**53,)])
def test_positions_out_of_range(positions):
    with pytest.raises(OptionError, match="whole positions"):
        errors(waves(Rope(4)), positions)
    with pytest.raises(OptionError, match="whole positions"):
        bias_errors(Alibi(1), "float32", positions)

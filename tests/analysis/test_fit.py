"""Fits of distance kernels: bucket means, plain least squares, brute force over kerple's numbers, ends of tables."""

import math

import pytest
import torch

from gnomon.analysis import families, fit, least_squares
from gnomon.analysis.forms import biases
from gnomon.encoding import Property, Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.kerple import Kerple
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.positions import Positions, sequence

SHAPE = Shape(width=64, heads=4, head_dim=16)
N = 100


def lags(n: int = N) -> torch.Tensor:
    return torch.arange(n, dtype=torch.float64)


def noise(n: int = N) -> torch.Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(3)).double()


def test_targets_at_a_few_lags():
    found = fit.targets(lags(129), 128)
    assert found["at 7"].nonzero()[:, 0].tolist() == [7]
    assert found["each 16"].nonzero()[:, 0].tolist() == [*range(0, 129, 16)]
    assert found["window"].sum() == 64 * 8 and found["linear"][128] == 0
    assert found["exp"][32] == pytest.approx(8 / math.e) and found["power"][3] == 2


def test_t5_has_the_means_of_its_buckets():
    encoding, aim = create("t5", SHAPE, buckets=8, max_distance=20), noise()
    found = least_squares.fit(encoding, aim)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(8.0)[:, None].expand(-1, 4))
    bucket = biases(encoding, lags(), 4)[0]
    for number in range(8):
        inside = bucket == number
        assert (found.values[inside] - aim[inside].mean()).abs().max() < 1e-10
    assert found.free == 8


def test_a_family_of_waves_contains_its_waves_and_continues_them():
    w = 10000.0 ** -(torch.arange(8) / 8).double()
    whole = 3 * (w[1] * lags(400)).cos() - 2 * (w[2] * lags(400)).sin() + 5
    found = least_squares.fit(Rope(16), whole[:N], whole[N:])
    assert found.error < 1e-6 and found.beyond < 0.1
    # Another base has other waves.
    assert least_squares.fit(Rope(16, theta=50.0), whole[:N]).error > 0.01
    assert least_squares.fit(create("alibi", SHAPE), whole[:N]).error > 0.5


def test_waves_are_fitted_as_plain_least_squares_does():
    """Few waves, far apart: the normal equations solve them as well."""
    encoding, aim = Sinusoidal(6, base=100.0), noise()
    columns = families.basis(encoding, lags())
    plain = columns @ torch.linalg.solve(columns.T @ columns, columns.T @ aim)
    found = least_squares.fit(encoding, aim)
    assert (found.values - plain).abs().max() < 1e-9
    left = (aim - plain).square().mean().sqrt() / aim.std(correction=0)
    assert found.error == pytest.approx(left.item()) and found.free == 7


def test_a_sine_without_its_cosine_is_no_function_of_the_distance():
    odd = families.basis(Sinusoidal(7), lags())
    assert odd.shape == (N, 7)
    w = 10000.0 ** (-2 * lags(3) / 7)
    expected = torch.cat([(lags()[:, None] * w).cos(), (lags()[:, None] * w).sin()], dim=1)
    assert (odd[:, 1:] - expected).abs().max() < 1e-9


def test_a_sinusoid_and_transformer_xl_have_the_same_waves():
    aim = noise()
    one, other = least_squares.fit(Sinusoidal(64), aim), least_squares.fit(create("transformer_xl", SHAPE), aim)
    assert (one.values - other.values).abs().max() < 1e-6
    clamped = least_squares.fit(create("transformer_xl", SHAPE, clamp_len=10.0), aim)
    assert (clamped.values[10:] - clamped.values[10]).abs().max() < 1e-9


def test_xpos_has_the_faded_waves_of_its_definition():
    encoding = create("xpos", SHAPE, scale_base=50.0)
    q, k = noise(16), noise(32)[16:]
    pos = Positions(lags()[None, :, None])
    made = encoding.score(q.expand(1, 1, N, 16), k.expand(1, 1, 1, 16), pos, sequence(1))[0, 0, :, 0]
    assert least_squares.fit(encoding, made).error < 1e-5


def test_alibi_has_its_slopes_and_no_other():
    encoding = create("alibi", SHAPE)
    exact = least_squares.fit(encoding, 3 - lags() / 16, 3 - lags(300)[N:] / 16)
    assert exact.error < 1e-12 and exact.beyond < 1e-12
    other = least_squares.fit(encoding, -lags() / 12)
    errors = [((m - 1 / 12) * lags()).std(correction=0) / (lags() / 12).std(correction=0) for m in encoding.slopes]
    assert other.error == pytest.approx(min(errors).item())
    assert least_squares.fit(encoding, lags() / 16).error > 1


@pytest.mark.parametrize("kind", ["log", "power"])
def test_kerples_numbers_are_found_and_no_others_are_better(kind):
    k = lags()
    a, p = 0.7, 1.3
    made = -p * torch.log1p(a * k) if kind == "log" else -a * k**p
    encoding = Kerple(2, kernel=kind)
    assert least_squares.fit(encoding, made + 4).error < 1e-4
    aim = fit.targets(k, N)["window"]
    found = least_squares.fit(encoding, aim).error
    best = math.inf
    for inner in torch.logspace(-2, 4 if kind == "log" else math.log10(2), 60).tolist():
        shape = torch.log1p(inner * k) if kind == "log" else k**inner
        left = aim + torch.logspace(-2, 2, 200)[:, None] * shape
        best = min(best, (left.std(dim=1, correction=0).min() / aim.std(correction=0)).item())
    assert found <= best + 1e-9 and found > best - 0.01


def test_kerple_does_not_rise():
    found = least_squares.fit(Kerple(2), lags() / 10)
    assert (found.values.diff() <= 0).all() and found.error > 1


def test_a_table_is_exact_within_and_says_nothing_beyond():
    aim = noise(200)
    learned = least_squares.fit(create("learned", SHAPE, max_positions=200), aim[:60], aim[60:])
    assert learned.error < 1e-12 and learned.beyond is None and learned.values[60:].isnan().all()
    clipped = least_squares.fit(create("relative_bias", SHAPE, clip=20), aim[:60], aim[60:])
    assert (clipped.values[:20] - aim[:20]).abs().max() < 1e-12
    assert (clipped.values[20:] - aim[20:60].mean()).abs().max() < 1e-12
    shaw = least_squares.fit(create("shaw", SHAPE, clip=20), aim[:60], aim[60:])
    assert (shaw.values - clipped.values).abs().max() < 1e-12
    with pytest.raises(OptionError, match="up to 64"):
        least_squares.fit(create("learned", SHAPE, max_positions=200), aim)
    with pytest.raises(OptionError, match="up to 50"):
        least_squares.fit(create("learned", SHAPE, max_positions=50), aim[:60])


def test_deberta_merges_what_its_rows_merge():
    aim = noise(60)
    found = least_squares.fit(create("deberta", SHAPE, span=20), aim)
    assert (found.values[:19] - aim[:19]).abs().max() < 1e-12
    assert (found.values[19:] - aim[19:].mean()).abs().max() < 1e-12


def test_a_constant_is_free_and_an_error_of_one_is_a_constants():
    aim = noise()
    assert least_squares.fit(create("none", SHAPE), aim).error == pytest.approx(1)
    for name in ("t5", "rope", "kerple", "sandwich", "alibi"):
        torch.manual_seed(0)
        encoding = create(name, SHAPE)
        one, moved = least_squares.fit(encoding, aim), least_squares.fit(encoding, aim + 100)
        assert moved.error == pytest.approx(one.error, abs=1e-6)
        assert (moved.values - one.values - 100).abs().max() < 1e-3


def test_every_encoding_is_fitted_or_says_why_not():
    for name in ENCODINGS:
        encoding = create(name, SHAPE)
        found = fit.section(encoding, length=65) if name != "learned" else fit.section(encoding, length=70)
        fitted = name in families.FITTED and name not in ("none", "learned")
        assert found.applies == fitted and len(found.answer) > 20
        if not fitted and name not in ("none", "learned"):
            assert families.family(encoding) is None
            with pytest.raises(OptionError):
                families.basis(encoding, lags())


def test_what_depends_on_content_or_length_is_refused():
    measured = Rope(16, scaling="dynamic", factor=2.0, original_length=100.0)
    assert "dynamic" in fit.section(measured).answer
    assert "axes" in fit.section(create("sinusoidal", SHAPE, axes=2)).answer
    assert Property.CONTEXTUAL in create("cope", SHAPE).properties and not fit.section(create("cope", SHAPE)).applies
    with pytest.raises(OptionError):
        fit.section(Rope(16), length=64)
    with pytest.raises(OptionError):
        least_squares.fit(Rope(16), noise(1))


def test_the_answer_can_be_followed():
    """What fits near and what fits far are told apart, the kernels are defined where they are named."""
    wide = Shape(width=64, heads=4, head_dim=16)
    waves = fit.section(Sinusoidal(64), wide, length=128)
    assert "over the first 128 distances, it fits 'exp' and 'linear' to within 5%" in waves.answer
    assert "misses 'at 7' and 'each 16' by more than 50%" in waves.answer
    assert "Over the next 384, with the same numbers, it no longer fits 'exp' and 'linear'." in waves.answer
    note = waves.tables[0].note
    assert all(f"{name}, " in note for name in fit.targets(lags(3), 128))
    assert "slope" not in waves.answer and "nearest" in waves.tables[0].title
    fixed = fit.section(create("alibi", wide), wide, length=128)
    assert "Its slopes are fixed, not fitted" in fixed.answer and "slopes are not fitted" in fixed.tables[0].title
    ends = fit.section(create("relative_bias", wide, clip=1000), wide, length=128).answer
    assert "Over the next 384, with the same numbers, it has no value for 'exp'" in ends


def test_the_section_compares_and_repeats_itself():
    wide = Shape(width=128, heads=8, head_dim=16)
    found = fit.section(create("alibi", wide), length=128)
    assert found == fit.section(create("alibi", wide), length=128)
    own, falling, others = found.tables
    assert [row[0] for row in own.rows] == ["exp", "linear", "power", "at 7", "each 16", "window"]
    errors = {row[0]: row[1:] for row in others.rows}
    assert errors["learned"] == (0, 0, 0) and errors["none"] == (1, 1, 1)
    # One for each distance finds the peak; what falls cannot.
    assert errors["relative_bias"][0] == 0 and errors["kerple"][0] > 0.9 and errors["alibi, any slope"][0] > 0.9
    assert {row[0]: row[2] for row in falling.rows}["alibi, any slope"] == 0
    assert found.numbers["error linear"] < 1e-9
    assert all(len(line.x) == len(line.y) <= 2000 for figure in found.figures for line in figure.lines)


def test_large_terms_are_told_of_fits_that_have_them():
    """A kernel that is missed is no fit, whatever its terms; the fits of the others may have none."""
    made = fit.section(Sinusoidal(512))
    rows = {row[0]: row for row in made.tables[0].rows}
    sentence = next(part for part in made.answer.split(". ") if "nearly cancel" in part)
    for name, (_, _, error, _, largest) in rows.items():
        assert (f"'{name}'" in sentence) == (error <= 0.5 and largest > 800)
    assert "'at 7'" not in sentence and "'exp'" not in sentence

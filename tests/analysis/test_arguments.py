"""What every public function of the analysis does with what is no argument: an error of ours, soon, and no other."""

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
import torch

import gnomon.analysis
from gnomon.analysis.forms import Waves, waves
from gnomon.analysis.lag_lattice import Lattice
from gnomon.analysis.lags import Lags
from gnomon.analysis.repeats import Repeat
from gnomon.analysis.study import Settings, study
from gnomon.encoding import Shape
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError, UserError

W, SINE, BIAS = waves(Sinusoidal(8)), Sinusoidal(8), Alibi(2)
LAGS = torch.arange(4, dtype=torch.float64)
PLACES = torch.arange(4)
SQUARE = torch.eye(8, dtype=torch.float64) + 1
ROWS = torch.arange(12, dtype=torch.float64).reshape(4, 3).sin()

CALLS: dict[str, dict[str, object]] = {
    "arguments.coordinates": dict(values=ROWS, what="rows", sizes=2),
    "arguments.largest": dict(values=ROWS, what="rows"),
    "arguments.real": dict(values=ROWS, what="rows", sizes=2),
    "arguments.whole": dict(values=PLACES, what="places", least=0, most=9),
    "closest.closest": dict(waves=W, first=2, last=9),
    "closest.first_closer_than_neighbour": dict(waves=W, last=9),
    "closest.joined": dict(waves=W, found=()),
    "closest.pieces": dict(waves=W, firsts=(2, 4), last=9),
    "closest.similarity": dict(waves=W, lags=PLACES),
    "cosine_sums.cosine_sum": dict(found=W, lags=LAGS),
    "cosine_sums.decay_bound": dict(frequencies=LAGS, lags=LAGS),
    "cosine_sums.returns": dict(found=W, furthest=9),
    "cosine_sums.rising": dict(found=W, n=9),
    "distance_kernel.envelope": dict(values=LAGS),
    "distance_kernel.gram": dict(vectors=ROWS),
    "distance_kernel.kernel": dict(encoding=BIAS, lags=LAGS, heads=2),
    "distance_kernel.logits": dict(encoding=Rope(4), apart=LAGS[:, None], q=LAGS),
    "duplicates.collisions": dict(stored=ROWS),
    "duplicates.duplicates": dict(rows=ROWS),
    "duplicates.nearest": dict(rows=ROWS),
    "duplicates.nearest_at": dict(rows=ROWS, lag=1),
    "exact_attention.certified": dict(bits=64, n=2, width=2, seed=0),
    "exact_attention.exactly": dict(n=2, width=2, seed=0),
    "families.basis": dict(encoding=SINE, lags=LAGS),
    "fit.targets": dict(lags=LAGS, length=9),
    "forms.biases": dict(encoding=BIAS, distances=LAGS, heads=2),
    "forms.vectors": dict(encoding=SINE, coords=LAGS),
    "first_place.first_place": dict(holds=lambda places: places >= 3, last=9, each=4, first=1),
    "grids.distances": dict(encoding=SINE, rows=2, columns=3),
    "lag_lattice.radius": dict(deficit=0.5),
    "lag_scan.missed": dict(lags=Lags(W), step=2),
    "lag_scan.rounding": dict(count=2),
    "least_squares.fit": dict(encoding=SINE, target=LAGS, further=LAGS),
    "least_squares.fits": dict(encoding=SINE, target=ROWS, further=ROWS),
    "least_squares.fits_of_any_slope": dict(encoding=BIAS, target=ROWS),
    "near_values.match": dict(waves=W, target=0, p=3, column=1, eps=0.01),
    "near_values.nearest_integer": dict(waves=W, target=0, p=3, column=1),
    "near_values.worst_nearest": dict(waves=W, target=0, column=1, last=9),
    "nearness.check_patches": dict(rows=2, columns=3),
    "nearness.euclidean": dict(rows=2, columns=3),
    "nearness.nearness": dict(found=torch.ones(6, 6), rows=2, columns=3),
    "nearness.ranks": dict(values=LAGS),
    "nearness.spearman": dict(a=LAGS, b=LAGS),
    "permutation.causal_depths": dict(depths=(1,), count=2, n=4, width=8, seed=0),
    "permutation.changed": dict(encoding=SINE, count=2, n=4, seed=0),
    "permutation.without_positions": dict(count=2, n=4, width=8, seed=0),
    "projections.orthogonal": dict(width=4, seed=0),
    "projections.projections": dict(kind="gaussian", width=4, seed=0, head_dim=2),
    "ratios.power": dict(base=4.0, exponent=Fraction(1, 2)),
    "ratios.root": dict(base=4.0),
    "repeats.difference": dict(waves=W, found=Repeat(Fraction(1))),
    "rope_residual.residual": dict(waves=W, shifts=(1.0,), n=4, seed=0),
    "rope_residual.tables": dict(waves=W, places=LAGS),
    "rounded_rows.kept": dict(found=W, n=9, way="float32", stored="float32"),
    "rounded_rows.kept_each": dict(found=W, n=9, ways=("float32",), storeds=("float32",)),
    "rounded_rows.lag_distances": dict(found=W, lags=PLACES),
    "rounded_rows.nearest_reals": dict(found=W, n=9),
    "rounded_biases.bias_errors": dict(encoding=BIAS, name="float32", positions=(3,), heads=2),
    "rounding.errors": dict(found=W, positions=(3,), practices=(("float32", "float32"),), seed=0),
    "rounded_biases.first_far": dict(encoding=BIAS, name="bfloat16", limit=0.1, heads=2),
    "rounded_biases.first_late": dict(encoding=BIAS, name="bfloat16", limit=0.1, heads=2),
    "shift_commutant.commutant_share": dict(m=SQUARE, waves=W),
    "shift_commutant.commuting_part": dict(m=SQUARE, waves=W),
    "shift_commutant.shift_commutator": dict(m=SQUARE, waves=W, by=1.0),
    "shift_commutant.shift_matrix": dict(waves=W, by=1.0),
    "stored.angles": dict(waves=W, positions=PLACES, way="float32"),
    "stored.exact": dict(waves=W, positions=PLACES),
    "stored.holds": dict(name="float32", largest=3),
    "stored.reference": dict(waves=W, positions=PLACES),
    "stored.unit": dict(values=ROWS, name="float32"),
    "stored.waved": dict(waves=W, angle=torch.ones(3, 4)),
    "terms.four_terms": dict(x=ROWS, p=ROWS, w_q=torch.ones(2, 3), w_k=torch.ones(2, 3)),
    "terms.given": dict(p=ROWS, w_q=torch.ones(1, 2, 3), w_k=torch.ones(1, 2, 3)),
    "theorem_one_dimension.closest_pair": dict(waves=W, column=0, last=9),
    "theorem_one_dimension.mirror": dict(waves=W, column=1, position=3),
    "theorem_two_dimensions.count_shared": dict(waves=W, last=9),
    "toeplitz.check_square": dict(a=SQUARE, size=8),
    "toeplitz.expected_share": dict(p=ROWS),
    "toeplitz.nearest_toeplitz": dict(a=SQUARE),
    "toeplitz.toeplitz_share": dict(a=SQUARE),
    "translation.shifted": dict(encoding=SINE, shifts=(1.0,), n=4, rows=2, seed=0),
    "turns.nearest_turn": dict(waves=W, wave=0, last=9),
    "untrained_layer.around": dict(encoding=SINE, seed=0, width=8),
    "untrained_layer.contents": dict(rows=1, n=2, width=3, seed=0),
    "untrained_layer.distance": dict(changed=ROWS, before=ROWS),
    "untrained_layer.line": dict(encoding=SINE, n=4),
    "wavelengths.neighbours": dict(stored=ROWS),
    "wavelengths.typical_step": dict(name="float32", phases=9),
    "aliasing.section": dict(encoding=SINE, last=99, training=9),
    "fit.section": dict(encoding=Learned(8, max_positions=80), length=70),
    "grids.section": dict(encoding=BIAS, rows=3, columns=3),
    "kernel.section": dict(encoding=BIAS, positions=9, heads=2, vectors=ROWS),
    "uniqueness.section": dict(encoding=SINE, positions=9),
    "wavelengths.section": dict(encoding=SINE, positions=9),
    "terms.section": dict(encoding=SINE, n=9, seeds=(0,), head_dim=2),
    "theorems.section": dict(encoding=SINE, which="theorem3", last=9),
}  # fmt: skip
"""A call that is right, of every public function that takes a tensor, a size or a number."""

ELSEWHERE = {
    "arguments.check_held", "arguments.check_seed", "arguments.check_size",  # they refuse, and nothing else
    "certified.precision", "closest.check_readable", "columns.wave_of", "lag_scan.survivors",
    "permutation.every", "permutation.section", "rounding.section", "study.study", "theorem_one_dimension.section",
    "theorem_two_dimensions.section", "translation.every", "translation.section", "untrained_layer.drawn",
    "exact_attention.attention", "stored.dtype", "wavelengths.widest_step",
}  # fmt: skip
"""Functions that hand what they are given on to those above, or take none of these."""


def public() -> Iterator[tuple[str, Callable]]:
    for module in pkgutil.iter_modules(gnomon.analysis.__path__):
        for name, value in vars(importlib.import_module(f"gnomon.analysis.{module.name}")).items():
            own = inspect.isfunction(value) and value.__module__ == f"gnomon.analysis.{module.name}"
            if own and not name.startswith("_") and hasattr(value, "__wrapped__"):
                yield f"{module.name}.{name}", value


PUBLIC = dict(public())


def takes(function: Callable) -> bool:
    kinds = [str(p.annotation) for p in inspect.signature(function).parameters.values()]
    return any("Tensor" in kind or "int" in kind or "float" in kind for kind in kinds if "Callable" not in kind)


def test_every_public_function_is_called_here():
    assert {name for name, function in PUBLIC.items() if takes(function)} <= CALLS.keys() | ELSEWHERE


def no_tensors(right: torch.Tensor) -> dict[str, torch.Tensor]:
    """What is no tensor of finite real numbers, or of another shape."""
    floats = right.to(torch.float64)
    return {
        "nan": torch.full_like(floats, math.nan), "infinite": torch.full_like(floats, math.inf),
        "complex": floats.to(torch.complex128), "bool": floats.bool(), "more sizes": floats[None, None, None],
    }  # fmt: skip


ANYTHING = {
    "arguments.largest": "more sizes", "arguments.real": "", "stored.unit": "more sizes",
    "untrained_layer.distance": "more sizes", "forms.vectors": "bool", "forms.biases": "bool",
}  # fmt: skip
"""What a function takes besides."""


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_argument_is_refused(name: str):
    function, right = PUBLIC[name], CALLS[name]
    if right.get("found") != ():
        function(**right)
    for argument, value in right.items():
        if isinstance(value, torch.Tensor):
            for what, wrong in no_tensors(value).items():
                if what == ANYTHING.get(name):
                    continue
                with pytest.raises(UserError):
                    function(**right | {argument: wrong})
                    pytest.fail(f"{argument}: {what}")
            others = [value[:0], value.to(torch.float32) + 0.5, value.to(torch.int8)]
        elif isinstance(value, tuple):
            others = [()]
        elif isinstance(value, int):
            others = [-1, 0, 10**7, 2**62, 2**63 - 1]
        elif isinstance(value, float | Fraction):
            others = [type(value)(-1), type(value)(0), type(value)(10**12), type(value)(1) / 10**12]
        else:
            continue
        for other in others:
            try:
                function(**right | {argument: other})
            except UserError:
                pass
            except Exception as error:
                pytest.fail(f"{name}, {argument}={other}: {error!r}")


@pytest.mark.parametrize(
    "wrong",
    [
        dict(frequencies=(math.nan,)), dict(frequencies=(1e200,)), dict(frequencies=(-1.0,)),
        dict(exponents=(Fraction(1),)), dict(exponents=()), dict(columns=(("sin", 1),)), dict(base=math.inf),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_wave_is_refused(wrong):
    right = dict(base=1e4, exponents=(Fraction(0),), frequencies=(1.0,), columns=(("sin", 0),))
    Waves(**right)
    with pytest.raises(OptionError):
        Waves(**right | wrong)


@pytest.mark.parametrize("wrong", [dict(last=0), dict(last=10**16), dict(radius=0.0), dict(radius=-1.0)], ids=str)
def test_what_is_no_lattice_is_refused(wrong):
    assert len(Lattice(Lags(W), 99, 1.0).found()) > 0
    with pytest.raises(OptionError):
        Lattice(Lags(W), **dict(last=99, radius=1.0) | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        dict(positions=1),
        dict(positions=2**20 + 1),
        dict(positions=2**63),
        dict(training=0),
        dict(last=0),
        dict(last=1.5),
    ],
    ids=str,
)
def test_what_is_no_setting_is_refused(wrong):
    with pytest.raises(OptionError):
        Settings(**wrong)


@pytest.mark.parametrize(
    "settings, only, shape",
    [
        (Settings(), ("grids", "grids"), Shape(8, 1)),
        (Settings(positions=2**20), ("grids", "uniqueness"), Shape(512, 8)),
        (Settings(last=10**12), ("grids", "aliasing"), Shape(512, 8)),
    ],
    ids=["twice", "more rows than fit", "more lags than can be read"],
)
def test_a_study_is_refused_before_its_first_question(settings, only, shape):
    with pytest.raises(OptionError):
        next(study(Sinusoidal(shape.width), shape, settings, only))

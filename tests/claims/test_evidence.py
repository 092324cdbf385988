"""Evidence: it makes its rule say what is known, goes into a file and back, and is right where that can be checked."""

import json
import math

import pytest
import torch

from gnomon.analysis.forms import waves
from gnomon.claims import CLAIMS, MODULES, c05, c14, c15, c18, c34
from gnomon.encodings.sinusoidal import Sinusoidal

CHEAP = [module.CLAIM.id for module in MODULES if module.CLAIM.cheap]

KNOWN = {
    "C01": "holds if wavelengths are meant, or values are stored in bfloat16",
    "C02": "holds if angles are formed in float64 or float32, up to position 8,191",
    "C03": "holds if positions are not negative and values are not rounded to float32, float16, bfloat16",
    "C04": "holds",
    "C10": "does not hold",
    "C15": "holds",
    "C18": "holds if W_Q and W_K are the same rotation",
    "C29": "holds if attention is bidirectional, and as equivariance",
    "C34": "holds if kernels that peak or repeat are meant",
}


@pytest.mark.parametrize("id", CHEAP)
def test_the_verdict_is_the_known_one_also_after_a_file(found, id):
    assert CLAIMS[id].judge(json.loads(json.dumps(found[id], allow_nan=False))).short == KNOWN[id]


def test_known_numbers(found):
    assert found["C01"]["shortest_wavelength"] == pytest.approx(2 * math.pi)
    # Pairs of waves 64 apart, 128 and 192 of 256: 10000^(2 * 64 / 512) = 10.
    assert found["C02"]["rational_pairs"] == 192 + 128 + 64
    assert [first for _, first, *_ in found["C15"]["widths"]] == [43, 11, 5, 4]
    p, i, q, j = found["C04"]["witness"]
    assert math.sin(p / 10000 ** (i / 512)) == pytest.approx(math.sin(q / 10000 ** (j / 512)), abs=1e-15)
    assert found["C29"]["causal_two_layers"] > 1e-3 > found["C29"]["bidirectional"]


def test_what_is_known_of_drawn_projections_is_found():
    """The part of C18 that needs no trained model."""
    numbers = c18.drawn() | {"trained_share": [["sinusoidal", None, None, None, 0]]}
    assert min(numbers["share_identity"]) == pytest.approx(1)
    assert CLAIMS["C18"].judge(numbers).short == KNOWN["C18"]


def test_the_runs_of_stored_pairs_by_hand(found):
    """Dimensions 510 and 511 in bfloat16, counted one place after another."""
    angle = torch.arange(8192, dtype=torch.float64) * 10000.0 ** -(510 / 512)
    rows = [*zip(angle.sin().bfloat16().tolist(), angle.cos().bfloat16().tolist(), strict=True)]
    longest = run = 1
    for before, now in zip(rows, rows[1:]):
        run = run + 1 if now == before else 1
        longest = max(longest, run)
    assert found["C01"]["steps"][-1] == ["bfloat16", 1, longest, 0, sum(a == b for a, b in zip(rows, rows[1:]))]


def test_values_that_are_missing_or_wrong_do_not_exist(monkeypatch):
    """A table has no row there, angles in float32 are wrong there, and what is trained is no formula."""
    from gnomon.encodings import learned, sinusoidal

    values = c05.values()
    assert values["values_exist"] and values["parameters"] == 0
    assert c05.error(learned.Learned(512, max_positions=1024))[1] is None

    class Coarse(sinusoidal.Sinusoidal):
        def embed(self, x, pos):
            rounded = pos.coords[..., 0].float()[..., None] * (10000.0 ** -(torch.arange(256) / 256)).float()
            return x + torch.stack([rounded.sin(), rounded.cos()], dim=-1).flatten(-2)

    monkeypatch.setattr(sinusoidal, "Sinusoidal", Coarse)
    numbers = c05.values()
    assert numbers["largest_error"] > 0.1 and not numbers["values_exist"]
    assert CLAIMS["C05"].judge(numbers).word == "does not hold"


def test_a_sine_without_its_cosine_has_no_proof_of_return():
    # cos 1 + cos 0.01 is above 1, and cos 2 + cos 0.02 is not.
    assert c15.returns_to_half(waves(Sinusoidal(4))) == (True, math.log10(2) + 2 * math.log10(6))
    assert c15.returns_to_half(waves(Sinusoidal(5))) == (False, None)


def test_the_proved_lags_of_return_do_return():
    """Width 4: from the first lag below half, 2, to 2 * 6^2 one has half of the sum again, and among K .. K N^2 one is

    closer than neighbours.
    """
    w = torch.tensor([1.0, 0.01], dtype=torch.float64)
    sums = (torch.arange(1, 73, dtype=torch.float64)[:, None] * w).cos().sum(1)
    assert sums[0] > 1 > sums[1] and sums[2:].max() >= 1
    lacks = 1 - float(w.cos().mean())
    arcs, power = c14.latest(2, lacks)
    assert 1 - math.cos(2 * math.pi / arcs) < lacks <= 1 - math.cos(2 * math.pi / (arcs - 1))
    far = torch.arange(1000, round(10**power) + 1, dtype=torch.float64)
    assert round(10**power) == 1000 * arcs**2
    assert (1 - (far[:, None] * w).cos().mean(1)).min() < lacks


def test_kernels_are_classed_by_what_they_do():
    from gnomon.analysis.fit import targets

    kinds = {name: c34.kind(values) for name, values in targets(torch.arange(512, dtype=torch.float64), 512).items()}
    assert kinds == {
        "exp": "only fall", "linear": "only fall", "power": "only fall", "window": "end", "at 7": "peak",
        "each 16": "repeat",
    }  # fmt: skip


def test_aliases_by_brute_force(monkeypatch):
    monkeypatch.setattr(c14, "PLACES", {8: 200_001, 32: 200_001})
    numbers = c14.evidence()
    for width, first, last, lag, low, high in numbers["ranges"]:
        w = 10000.0 ** (-torch.arange(width // 2, dtype=torch.float64) * 2 / width)
        lags = torch.arange(first, last + 1, dtype=torch.float64)
        lacks = 1 - (lags[:, None] * w).cos().mean(1)
        assert lag == first + int(lacks.argmin())
        assert low <= high == pytest.approx(lacks.min().item(), abs=1e-9)
    assert [row[:3] for row in numbers["ranges"]] == [
        [width, *ends] for width in (8, 32) for ends in ((128, 999), (1000, 200_000))
    ]
    for width, low, high in numbers["neighbours"]:
        w = 10000.0 ** (-torch.arange(width // 2, dtype=torch.float64) * 2 / width)
        assert low <= high == pytest.approx(1 - w.cos().mean().item(), abs=1e-12)
    CLAIMS["C14"].check(numbers)
    assert CLAIMS["C14"].judge(numbers).condition == "if the width is 8 or less within 200,001 places"
    assert all({len(row) for row in numbers[name]} == {len(each)} for name, each in CLAIMS["C14"].columns.items())

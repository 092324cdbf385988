"""Evidence: what each check finds is what its rule reads, plain enough for a file, and right where that is known."""

import json
import math

import pytest

from gnomon.claims import CLAIMS, MODULES
from gnomon.claims import c14 as aliasing

CHEAP = [module.CLAIM.id for module in MODULES if module.CLAIM.cheap]


@pytest.fixture(scope="module")
def found():
    return {id: CLAIMS[id].evidence() for id in CHEAP}


@pytest.mark.parametrize("id", CHEAP)
def test_the_rule_reads_what_the_check_finds(found, id):
    plain = json.loads(json.dumps(found[id], allow_nan=False))
    assert CLAIMS[id].judge(plain) == CLAIMS[id].judge(found[id])


def test_known_numbers(found):
    assert found["C01"]["shortest_wavelength"] == pytest.approx(2 * math.pi)
    # Pairs of waves 64 apart, 128 and 192 of 256: 10000^(2 * 64 / 512) = 10.
    assert found["C02"]["rational_pairs"] == 192 + 128 + 64
    assert [first for _, first, *_ in found["C15"]["widths"]] == [43, 11, 5, 4]
    p, i, q, j = found["C04"]["witness"]
    assert math.sin(p / 10000 ** (i / 512)) == pytest.approx(math.sin(q / 10000 ** (j / 512)), abs=1e-15)
    assert min(found["C18"]["share_identity"]) == pytest.approx(1)
    assert found["C29"]["causal_two_layers"] > 1e-3 > found["C29"]["bidirectional"]


def test_aliases_by_brute_force(monkeypatch):
    import torch

    monkeypatch.setattr(aliasing, "WIDTHS", (8, 32))
    monkeypatch.setattr(aliasing, "LAST", 200_000)
    numbers = aliasing.evidence()
    for width, lag, far, near in numbers["widths"]:
        w = 10000.0 ** (-torch.arange(width // 2, dtype=torch.float64) * 2 / width)
        lags = torch.arange(1000, 200_001, dtype=torch.float64)
        alike = (lags[:, None] * w).cos().mean(1)
        assert lag == 1000 + int(alike.argmax())
        assert far == pytest.approx(alike.max().item(), abs=1e-9)
        assert near == pytest.approx(w.cos().mean().item(), abs=1e-12)
    assert CLAIMS["C14"].judge(numbers).word == "holds if"

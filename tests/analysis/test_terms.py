"""The four terms add up to the logit; the Toeplitz share is what least squares finds, and moves as the algebra says."""

import math

import pytest
import torch

from gnomon.analysis.forms import vectors, waves
from gnomon.analysis.projections import orthogonal, projections
from gnomon.analysis.shift_commutant import commutant_share, commuting_part, shift_commutator, shift_matrix
from gnomon.analysis.terms import four_terms, given, section
from gnomon.analysis.toeplitz import expected_share, nearest_toeplitz, toeplitz_share
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def places(encoding: Sinusoidal, n: int) -> torch.Tensor:
    return vectors(encoding, torch.arange(n, dtype=torch.float64))


def test_the_terms_add_up_to_the_logit_and_to_all_of_its_variance():
    x, p, w_q, w_k = random(7, 6), random(7, 6, seed=1), random(4, 6, seed=2), random(4, 6, seed=3)
    found = four_terms(x, p, w_q, w_k)
    for i in range(7):
        for j in range(7):
            expected = (w_q @ (x[i] + p[i])) @ (w_k @ (x[j] + p[j]))
            assert math.isclose(found.logit[i, j], expected, rel_tol=1e-12, abs_tol=1e-12)
            assert math.isclose(found.cp[i, j], (w_q @ x[i]) @ (w_k @ p[j]), rel_tol=1e-12, abs_tol=1e-12)
            assert math.isclose(found.pc[i, j], (w_q @ p[i]) @ (w_k @ x[j]), rel_tol=1e-12, abs_tol=1e-12)
    assert math.isclose(sum(found.shares()), 1)
    # Without positions one term has it all.
    assert found.shares()[0] < 0.9
    assert four_terms(x, 0 * p, w_q, w_k).shares() == (1, 0, 0, 0)


def test_the_nearest_toeplitz_matrix_is_that_of_least_squares():
    n = 6
    a = random(n, n)
    basis = torch.stack([torch.eye(2 * n - 1)[i - j + n - 1] for i in range(n) for j in range(n)]).double()
    fitted = basis @ (torch.linalg.pinv(basis) @ a.flatten())
    assert torch.allclose(nearest_toeplitz(a).flatten(), fitted, atol=1e-12)
    explained = fitted.var(correction=0) / a.var(correction=0)
    assert math.isclose(toeplitz_share(a), explained, rel_tol=1e-12)


def test_the_share_is_one_for_a_function_of_the_distance_and_nothing_for_one_of_the_sum():
    i = torch.arange(9.0, dtype=torch.float64)
    distance = (i[:, None] - i).abs().sqrt()
    assert toeplitz_share(distance) > 1 - 1e-14
    assert toeplitz_share(torch.full((4, 4), 2.0)) == 1
    assert toeplitz_share(i[:, None] + i) < 1e-14
    touched = distance.clone()
    touched[2, 3] += 1
    assert toeplitz_share(touched) < 0.999


@pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])
def test_a_shift_is_a_matrix(convention: str):
    encoding = Sinusoidal(12, convention=convention)
    p = torch.tensor([0.0, 3.0, 11.5, 400.0], dtype=torch.float64)
    for by in (1.0, 5.0, 0.25):
        shifted = vectors(encoding, p) @ shift_matrix(waves(encoding), by).mT
        assert torch.allclose(shifted, vectors(encoding, p + by), atol=1e-12)


@pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])
def test_what_commutes_with_the_shift_and_nothing_else_depends_on_the_distance(convention: str):
    encoding = Sinusoidal(8, base=20.0, convention=convention)
    clock, p = waves(encoding), places(encoding, 40)
    m = random(8, 8)
    part = commuting_part(m, clock)
    assert shift_commutator(part, clock) < 1e-14
    assert shift_commutator(part, clock, by=17.0) < 1e-14
    assert toeplitz_share(p @ part @ p.mT) > 1 - 1e-12
    assert shift_commutator(m, clock) > 0.1
    assert toeplitz_share(p @ m @ p.mT) < 0.9
    # A projection: what is left over is at right angles to everything that commutes, and has no part itself.
    assert math.isclose(commutant_share(part, clock), 1)
    assert commutant_share(m - part, clock) < 1e-28
    touched = part.clone()
    touched[0, 1] += 0.5
    assert toeplitz_share(p @ touched @ p.mT) < 1 - 1e-4


def test_what_commutes_is_what_the_null_space_says():
    """All M with M S = S M by linear algebra: as many dimensions as the width, and the same projection."""
    encoding = Sinusoidal(6, base=5.0)
    clock = waves(encoding)
    s, eye = shift_matrix(clock), torch.eye(6, dtype=torch.float64)
    _, values, v = torch.linalg.svd(torch.kron(eye, s.mT.contiguous()) - torch.kron(s, eye))
    null = v[values < 1e-12]
    assert null.shape[0] == 6
    m = random(6, 6)
    assert torch.allclose((null.mT @ (null @ m.flatten())).reshape(6, 6), commuting_part(m, clock), atol=1e-12)


def test_projections_are_what_they_are_called():
    eye = torch.eye(10, dtype=torch.float64)
    for kind, same in (("identity", True), ("same orthogonal", True), ("independent orthogonal", False)):
        w_q, w_k = projections(kind, 10, 3)
        assert torch.allclose(w_q @ w_q.mT, eye, atol=1e-13) and torch.allclose(w_k @ w_k.mT, eye, atol=1e-13)
        assert torch.equal(w_q, w_k) is same
    w_q, w_k = projections("gaussian", 10, 3, head_dim=4)
    assert w_q.shape == w_k.shape == (4, 10) and not torch.equal(w_q, w_k)
    assert torch.equal(orthogonal(10, 1), orthogonal(10, 1)) and not torch.equal(orthogonal(10, 1), orthogonal(10, 2))


def test_the_expected_share_is_the_mean_of_many():
    p = places(Sinusoidal(16, base=100.0), 24)
    explained = whole = 0.0
    for seed in range(400):
        m = random(16, 16, seed=seed)
        a = p @ m @ p.mT
        explained += (nearest_toeplitz(a) - a.mean()).square().sum()
        whole += (a - a.mean()).square().sum()
    assert math.isclose(explained / whole, expected_share(p), rel_tol=0.05)
    # Far out, a random matrix has one part in w that commutes, and that alone is a function of the distance.
    assert math.isclose(expected_share(places(Sinusoidal(16, base=4.0), 1000)), 1 / 16, rel_tol=0.03)


def test_the_section_tells_the_known_shares():
    found = section(Sinusoidal(64), n=100, seeds=(0, 1, 2), draws=4)
    assert found.applies and found.proof
    for kind in ("identity", "same_orthogonal"):
        assert min(found.numbers[f"share_{kind}"]) > 1 - 1e-12
    for kind in ("independent_orthogonal", "gaussian"):
        assert max(found.numbers[f"share_{kind}"]) < 0.6
        assert math.isclose(sum(found.numbers[f"variance_{kind}"]), 1)
    assert len({*found.numbers["share_independent_orthogonal"]}) == 4
    shares = [line.y for line in found.figures[0].lines if line.label.startswith("share, ")]
    assert len(shares) == 3 and all(y[0] > 1 - 1e-12 and y[-1] < 0.6 for y in shares)


def test_the_share_of_many_seeds_is_told_with_its_error_and_agrees_with_the_closed_form():
    """The mean of five seeds read as if the closed form were wrong."""
    encoding, errors = Sinusoidal(64), []
    for draws in (50, 400):
        found = section(encoding, n=100, draws=draws)
        rows = {row[0]: row for row in found.tables[0].rows}
        for kind in ("independent orthogonal", "gaussian"):
            _, seeds, share, error, low, high, _ = rows[kind]
            assert seeds == draws == len(found.numbers[f"share_{kind.replace(' ', '_')}"]) and low < share < high
            assert abs(share - found.numbers["expected_share"]) < 3 * error
            errors.append(error)
        assert "do not differ by more than three standard errors, nor from each other" in found.answer
        assert rows["identity"][1] == 5 and f"{draws} seeds" in found.answer
    assert all(0.2 < wide / narrow < 0.6 for narrow, wide in zip(errors[:2], errors[2:]))


def test_given_projections():
    encoding, eye = Sinusoidal(8, base=20.0), torch.eye(8)
    w_q, w_k = torch.stack([eye, random(8, 8).float()]), torch.stack([eye, random(8, 8, seed=1).float()])
    found = section(encoding, n=40, w_q=w_q, w_k=w_k)
    assert found.numbers["share_given"][0] > 1 - 1e-12 > 0.9 > found.numbers["share_given"][1]
    p = places(encoding, 40)
    m = w_q[1].double().mT @ w_k[1].double()
    assert given(p, w_q, w_k, waves(encoding))[1] == (toeplitz_share(p @ m @ p.mT), commutant_share(m, waves(encoding)))


@pytest.mark.parametrize("name", ["rope", "alibi", "none", "t5", "chain"])
def test_no_section_where_nothing_is_added(name: str):
    assert not section(create(name, Shape(32, 4))).applies


def test_other_vectors():
    learned = section(create("learned", Shape(32, 4), max_positions=50), seeds=(0,))
    assert learned.applies and learned.numbers["places"] == 50 and not learned.proof
    assert max(learned.numbers["share_identity"]) < 0.9
    assert section(Sinusoidal(33), n=20, seeds=(0,), draws=2).tables[0].rows[0][6] is None
    assert not section(Sinusoidal(32, axes=2)).applies


def test_errors_say_what_to_do():
    with pytest.raises(OptionError, match="even width"):
        shift_matrix(waves(Sinusoidal(7)))
    with pytest.raises(OptionError, match="square"):
        toeplitz_share(random(3, 4))
    with pytest.raises(OptionError, match="belong together"):
        four_terms(random(3, 4), random(3, 4), random(2, 5), random(2, 4))
    with pytest.raises(OptionError, match="each head"):
        given(random(3, 4), random(2, 4), random(2, 4))
    with pytest.raises(OptionError, match="independent orthogonal"):
        projections("toeplitz", 4, 0)

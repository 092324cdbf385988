"""What of a matrix of pairs is a function of the distance, against least squares over the same pairs."""

import numpy as np
import pytest
import torch

from gnomon.toeplitz import nearest_toeplitz, toeplitz_share

N = 9
TURN = torch.arange(N, dtype=torch.float64)
ALL = torch.ones(N, N, dtype=torch.bool)


@pytest.mark.parametrize("seen", [ALL, ALL.tril(), ALL.tril().triu(-3)], ids=["all", "causal", "window"])
def test_the_share_is_that_of_least_squares(seen: torch.Tensor):
    a = torch.randn(2, 3, N, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    i, j = np.nonzero(seen.numpy())
    one_a_distance = np.eye(2 * N - 1)[i - j + N - 1]
    values = a[..., seen].flatten(0, 1).numpy().T
    fitted = one_a_distance @ np.linalg.lstsq(one_a_distance, values, rcond=None)[0]
    rest, whole = (np.square(values - other).sum(0) for other in (fitted, values.mean(0)))
    assert toeplitz_share(a, seen).flatten().numpy() == pytest.approx(1 - rest / whole, abs=1e-12)
    assert np.allclose(nearest_toeplitz(a, seen).flatten(0, 1).numpy().T, fitted, rtol=0, atol=1e-12)


def test_without_a_mask_all_pairs_count():
    a = torch.randn(N, N, generator=torch.Generator().manual_seed(1))
    assert torch.equal(toeplitz_share(a), toeplitz_share(a, ALL))
    assert toeplitz_share(torch.full((4, 4), 2.0)) == 1


def test_only_pairs_that_are_seen_count():
    a = torch.randn(N, N, dtype=torch.float64).triu(1) + (TURN[:, None] - TURN).square().tril()
    assert float(toeplitz_share(a, ALL.tril())) == pytest.approx(1, abs=1e-12)
    assert float(toeplitz_share(a)) < 1

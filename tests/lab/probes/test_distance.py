"""What of the logits is places, and what distance: all of it, none, or the part that was put there."""

import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab.probes.distance import _Fit, distance
from gnomon.lab.task import IGNORED
from tests.lab.probes.models import blind, reader, tokens


@pytest.mark.parametrize("causal", [True, False])
def test_alibi_without_content_is_distance_alone(causal):
    for layer in distance(blind(reader("alibi", causal=causal)), tokens(4, 16)).layers:
        for head in layer:
            assert [head.places.mean, head.distance.mean] == pytest.approx([1, 1], abs=1e-10)
            assert head.places.se == pytest.approx(0, abs=1e-10) and head.places.count == 4


def test_content_alone_has_no_places():
    torch.manual_seed(0)
    head = _Fit(torch.ones(12, 12, dtype=torch.bool).tril()).head(torch.randn(64, 78, dtype=torch.float64))
    for share in (head.places, head.distance):
        assert abs(share.mean) < 4 * share.se < 0.1


def test_without_positions_a_first_layer_knows_of_distance_zero_alone():
    """A token meets itself there, whatever it is; no other pair of places is told from the rest."""
    made, batch = reader("none"), tokens(400, 16)
    [seen, _] = made.attention(batch)[1]
    logits = seen.logits.masked_fill(~seen.seen, 0.0)
    logits = (logits - logits.sum(-1, keepdim=True) / torch.arange(1, 17)[:, None]) * seen.seen
    itself = torch.eye(16, dtype=torch.float64).tril()
    itself = (itself - itself.sum(-1, keepdim=True) / torch.arange(1, 17)[:, None]) * seen.seen[0, 0]
    for at, head in enumerate(distance(made, batch).layers[0]):
        mean = logits[:, at].mean(0)
        expected = (mean * itself).sum() ** 2 / itself.square().sum() / logits[:, at].square().sum((1, 2)).mean()
        for share in (head.places, head.distance):
            assert share.mean == pytest.approx(float(expected), abs=0.003 + 4 * share.se)


@pytest.mark.parametrize("causal", [True, False])
def test_the_parts_that_were_put_there_are_found(causal):
    """f(i - j), a function of both places that is none of the distance, and noise, each of a known variance."""
    n, rows = 14, 400
    torch.manual_seed(0)
    shown = torch.ones(n, n, dtype=torch.bool).tril() if causal else torch.ones(n, n, dtype=torch.bool)

    def centred(a: torch.Tensor) -> torch.Tensor:
        return (a - (a * shown).sum(-1, keepdim=True) / shown.sum(-1, keepdim=True))[..., shown]

    turn = torch.arange(n)
    along = torch.randn(2 * n - 1, dtype=torch.float64)[turn[:, None] - turn + n - 1]
    fit = _Fit(shown)
    other = centred(torch.randn(n, n, dtype=torch.float64))
    sums = torch.zeros(2 * n - 1, dtype=torch.float64).index_add(0, fit.diagonal, other)
    f = centred((fit.inverse @ sums)[turn[:, None] - turn + n - 1])
    other = other - f
    noise = centred(torch.randn(rows, n, n, dtype=torch.float64))
    parts = [part.square().sum() for part in (centred(along), other, noise / rows**0.5)]
    found = fit.head(centred(along) + other + noise)
    whole = sum(parts)
    assert found.distance.mean == pytest.approx(float(parts[0] / whole), abs=4 * found.distance.se)
    assert found.places.mean == pytest.approx(float((parts[0] + parts[1]) / whole), abs=4 * found.places.se)
    assert 0 < found.distance.se < 0.02 and 0 < found.places.se < 0.02


def test_the_distance_explains_no_more_than_the_places():
    for encoding in ("rope", "sinusoidal", "t5"):
        for layer in distance(reader(encoding), tokens(32, 16)).layers:
            assert all(head.distance.mean < head.places.mean + 4 * head.places.se for head in layer)


def test_texts_that_lie_apart_are_told():
    batch = tokens(4, 16)
    batch.targets[0, 12:] = IGNORED
    with pytest.raises(OptionError, match="padded"):
        distance(reader("rope"), batch)
    with pytest.raises(OptionError, match="fewer"):
        distance(reader("rope"), tokens(2, 16))

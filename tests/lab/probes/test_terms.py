"""The four terms, which must add up to what the model computes, and what scaling positions does to them."""

import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab.probes.entanglement import entanglement
from gnomon.lab.probes.split import added, four_terms, shares_of
from gnomon.lab.probes.terms import terms
from tests.lab.probes.models import blind, reader, tokens


def rough(made):
    """The same with a norm that is not as it was made."""
    with torch.no_grad():
        norm = made.model.blocks[0].norm_attention
        norm.weight.normal_()
        norm.bias.normal_()
    return made


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned"])
@pytest.mark.parametrize("causal", [True, False])
def test_the_terms_add_up_to_the_logits_of_the_model(encoding, causal):
    made, batch = rough(reader(encoding, causal=causal)), tokens(3, 20)
    found = four_terms(made, batch, made.hidden(batch)[0], added(made, batch))
    first = made.attention(batch)[1][0]
    assert (found.terms.sum(0) - first.logits).abs().max() < 1e-12 * first.logits.abs().max()
    assert torch.equal(found.seen.expand_as(first.seen), first.seen)
    assert (shares_of(found).sum(0) - 1).abs().max() < 1e-12


def test_one_projection_for_queries_and_keys_makes_place_a_function_of_the_distance():
    """Under sinusoidal positions alone: no content, so that every token has the same norm and M is the identity."""
    made = reader("sinusoidal", heads=1)
    with torch.no_grad():
        made.model.embedding.weight.zero_()
        attention = made.model.blocks[0].attention
        attention.q.weight.copy_(torch.eye(16))
        attention.k.weight.copy_(torch.eye(16))
    # What the norm takes away is the mean over dimensions: no function of the distance, and here a small part.
    [head] = terms(made, tokens(2, 20)).heads
    assert 0.8 < head.toeplitz.mean < 1 and head.shares[3].mean == pytest.approx(1, abs=1e-12)
    apart = terms(reader("sinusoidal"), tokens(2, 20)).heads
    assert max(each.toeplitz.mean for each in apart) < head.toeplitz.mean


def test_without_positions_at_the_input_there_are_no_terms():
    with pytest.raises(OptionError, match="four terms"):
        terms(reader("rope"), tokens(2, 8))
    with pytest.raises(OptionError, match="scaled"):
        entanglement(reader("alibi"), tokens(2, 8))


def test_factor_one_is_the_model_as_it_is_and_factor_nothing_the_one_without_positions():
    made, batch = reader("sinusoidal"), tokens(3, 20)
    none, half, one, two = entanglement(made, batch, (0, 0.5, 1, 2)).factors
    assert one.excess.mean == pytest.approx(0, abs=1e-12) and one.excess.se == pytest.approx(0, abs=1e-12)
    assert none.shares[0].mean == pytest.approx(1, abs=1e-12) and none.ratio.mean == 0
    assert [half.ratio.mean, two.ratio.mean] == pytest.approx([one.ratio.mean / 2, one.ratio.mean * 2], abs=1e-12)
    without = reader("none")
    without.model.load_state_dict(made.model.state_dict())
    assert none.loss.mean == pytest.approx(without.losses(batch).mean(), abs=1e-12)
    shares = [each.shares[3].mean for each in (none, half, one, two)]
    assert shares == sorted(shares)
    averaged = sum(head.shares[3].mean for head in terms(made, batch).heads) / 4
    assert one.shares[3].mean == pytest.approx(averaged, abs=1e-12)


def test_queries_of_zero_have_no_variance_to_share():
    found = terms(blind(reader("sinusoidal")), tokens(2, 8))
    assert all(mean.mean != mean.mean for mean in found.heads[0].shares)

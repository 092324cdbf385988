"""What layers know of positions, where they know all of it, or nothing."""

import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab.probes.dilution import dilution
from gnomon.positions import sequence
from tests.lab.probes.models import blind, reader, tokens


def silent(made):
    """The same, whose layers add nothing to what enters."""
    with torch.no_grad():
        for block in made.model.blocks:
            block.attention.out.weight.zero_()
            block.down.weight.zero_()
    return made


def line(made, scale: float):
    """The same, whose learned table is `scale` times the position, in one dimension."""
    with torch.no_grad():
        made.encoding.weight.zero_()
        made.encoding.weight[:, 0] = scale * torch.arange(len(made.encoding.weight))
    return made


def test_a_line_in_the_stream_is_read_rightly_in_every_layer():
    made = line(silent(reader("learned", max_positions=24)), 5.0)
    with torch.no_grad():
        made.model.embedding.weight[:, 0] = 0
    found = dilution(made, tokens(8, 24))
    assert len(found.layers) == 3 and found.fitted == 4
    for layer in found.layers:
        assert layer.r2.mean == pytest.approx(1, abs=1e-9) and layer.r2.count == 4


def test_the_share_is_that_of_the_variances():
    """A stream of 5 p in one dimension and token vectors in the others: each variance is known."""
    made = line(silent(reader("learned", max_positions=24)), 0.5)
    batch = tokens(64, 24)
    with torch.no_grad():
        made.model.embedding.weight[:, 0] = 0
        table = made.model.embedding.weight * made.model.width**0.5
    content = table[batch.inputs].flatten(0, 1).var(dim=0, unbiased=False).sum()
    place = 0.25 * (24**2 - 1) / 12
    found = dilution(made, batch).layers[0].share
    assert found.mean == pytest.approx(float((place / (place + content)).detach()), abs=0.01)
    assert 0 < found.se < 0.02 and found.count == 64


def test_without_positions_a_model_that_sees_all_knows_of_none():
    found = dilution(reader("none", causal=False), tokens(64, 24))
    for layer in found.layers:
        assert abs(layer.r2.mean) < 0.05
        assert abs(layer.share.mean) < max(0.01, 4 * layer.share.se)
    assert all(ratio < 0.02 for ratio in found.signal_to_noise)


def test_a_causal_model_without_positions_counts_by_what_it_averages():
    """A first token of its own, seen by all alike, is 1 / (i + 1) of what attention adds: that tells positions."""
    batch = tokens(256, 24)
    batch.inputs[batch.inputs == 10] = 9
    batch.inputs[:, 0] = 10
    made = blind(reader("none", depth=1))
    with torch.no_grad():
        made.model.embedding.weight[10] *= 20
        made.model.blocks[0].attention.out.weight *= 10
    before, after = (layer.r2 for layer in dilution(made, batch).layers)
    first = (11.5**2 / 24 + 11.5**2 / 24 / 23) / ((24**2 - 1) / 12)
    assert before.mean == pytest.approx(first, abs=3 * before.se)
    assert after.mean > before.mean + 10 * after.se


def test_what_sinusoidal_positions_add_is_their_share_of_what_enters():
    made, batch = reader("sinusoidal"), tokens(256, 24)
    content = (made.model.embedding.weight * 4)[batch.inputs].flatten(0, 1).var(dim=0, unbiased=False).sum()
    place = made.encoding.absolute(sequence(24))[0].var(dim=0, unbiased=False).sum()
    found = dilution(made, batch)
    assert found.layers[0].share.mean == pytest.approx(float((place / (place + content)).detach()), abs=0.005)
    assert found.tables()[0].rows[0][0] == "input" and found.numbers()["signal_to_noise"][0] > 0


def test_too_few_examples_are_a_mistake_that_is_told():
    with pytest.raises(OptionError, match="several examples"):
        dilution(reader("none"), tokens(3, 24))
    with pytest.raises(OptionError, match="to fit"):
        dilution(reader("none"), tokens(4, 8))

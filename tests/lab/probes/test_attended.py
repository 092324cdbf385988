"""How far heads look, where queries of zero leave nothing but a geometric series, or nothing at all."""

import math
from dataclasses import replace

import pytest
import torch

from gnomon.encodings.alibi import slopes
from gnomon.errors import OptionError
from gnomon.lab.probes.attended import attended
from gnomon.lab.probes.beyond import beyond
from gnomon.lab.task import IGNORED
from gnomon.positions import padded
from tests.lab.probes.models import blind, reader, tokens


def geometric(slope: float, keys: int) -> float:
    """The mean distance of the last of so many keys' weights e^(-slope distance)."""
    r = math.exp(-slope)
    return r / (1 - r) - keys * r**keys / (1 - r**keys)


@pytest.mark.parametrize("heads", [4, 6])
def test_alibi_without_content_looks_as_far_as_its_slopes_say(heads):
    found = attended(blind(reader("alibi", heads=heads, width=24)), tokens(3, 40), first=10)
    assert len(found.layers) == 2
    for layer in found.layers:
        for slope, mean in zip(slopes(heads), layer, strict=True):
            expected = sum(geometric(slope, i + 1) for i in range(10, 40)) / 30
            assert mean.mean == pytest.approx(expected, abs=1e-10)
            assert mean.se == pytest.approx(0, abs=1e-10) and mean.count == 3


@pytest.mark.parametrize(("causal", "expected"), [(True, 39 / 4), (False, (40**2 - 1) / (3 * 40))])
def test_a_head_that_sees_nothing_looks_at_all_keys_alike(causal, expected):
    found = attended(blind(reader("none", causal=causal)), tokens(2, 40))
    assert found.uniform.mean == pytest.approx(expected, abs=1e-10)
    for mean in (mean for layer in found.layers for mean in layer):
        assert mean.mean == pytest.approx(expected, abs=1e-10)


def test_padding_counts_nowhere():
    batch = tokens(2, 40)
    batch.targets[1, 20:] = IGNORED
    found = attended(blind(reader("none")), batch)
    assert found.uniform.mean == pytest.approx((39 / 4 + 19 / 4) / 2, abs=1e-10)
    assert found.layers[1][2].mean == pytest.approx((39 / 4 + 19 / 4) / 2, abs=1e-10)


def test_where_all_is_seen_what_comes_after_the_last_answer_is_no_padding():
    """As in tasks whose question stands first; there positions say what is padding."""
    batch = tokens(2, 40)
    batch.targets[:, 1:] = IGNORED
    made = blind(reader("none", causal=False))
    assert made.tokens(batch).all() and not reader("none").tokens(batch)[:, 1:].any()
    batch = replace(batch, pos=padded(torch.arange(40)[None] < torch.tensor([[40], [20]])))
    found = attended(made, batch)
    expected = [(n**2 - 1) / (3 * n) for n in (40, 20)]
    assert found.layers[1][0].mean == pytest.approx(sum(expected) / 2, abs=1e-10)


def test_examples_differ_where_content_counts():
    found = attended(reader("rope"), tokens(4, 24))
    assert all(mean.se > 0 and mean.mean > 0 for layer in found.layers for mean in layer)
    assert found.numbers()["layers"][0][0].keys() == {"mean", "se", "count"}


def test_rows_that_are_read_apart_give_the_same(monkeypatch):
    whole = attended(reader("t5"), tokens(5, 20))
    monkeypatch.setattr("gnomon.lab.probes.reading.PAIRS", 4 * 20 * 20 * 2)
    for layer, again in zip(whole.layers, attended(reader("t5"), tokens(5, 20)).layers, strict=True):
        assert [mean.mean for mean in layer] == pytest.approx([mean.mean for mean in again], abs=1e-12)


def test_uniform_attention_beyond_the_training_length():
    found = beyond(blind(reader("none")), tokens(2, 40), trained=25)
    expected = sum((i + 1 - 25) / (i + 1) for i in range(25, 40)) / 15
    assert found.uniform.mean == pytest.approx(expected, abs=1e-12)
    assert all(mean.mean == pytest.approx(expected, abs=1e-12) for layer in found.layers for mean in layer)
    assert found.loss.count == 2


def test_a_steep_head_looks_nowhere_beyond_and_a_flat_one_does():
    found = beyond(blind(reader("alibi")), tokens(2, 60), trained=50)
    for slope, mean in zip(slopes(4), found.layers[0], strict=True):
        r = math.exp(-slope)
        expected = sum((r**50 - r ** (i + 1)) / (1 - r ** (i + 1)) for i in range(50, 60)) / 10
        assert mean.mean == pytest.approx(expected, abs=1e-12)


def test_a_memory_reaches_into_the_segment_before():
    """In segments of 8 with a memory of 4, a query sees 5 to 12 keys: no other number of them."""
    made = blind(reader("transformer_xl", mem_len=4))
    with torch.no_grad():
        for name, parameter in made.model.named_parameters():
            if "encoding" in name:
                parameter.zero_()
    found = attended(made, tokens(2, 16), first=8)
    assert found.layers[0][0].mean == pytest.approx(sum((i + 4) / 2 for i in range(8)) / 8, abs=1e-12)


def test_nothing_beyond_is_a_mistake_that_is_told():
    with pytest.raises(OptionError, match="nothing beyond"):
        beyond(reader("none"), tokens(2, 8), trained=8)
    with pytest.raises(OptionError, match="no query"):
        attended(reader("none"), tokens(2, 8), first=8)

"""What is recorded of a model is what it computes: the same bits, and nothing of it is left behind."""

import pytest
import torch

from gnomon.backends import Reference
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.errors import OptionError
from gnomon.lab.probes import PROBES, named
from gnomon.lab.probes.reading import Reader
from gnomon.masks import BIDIRECTIONAL
from gnomon.transformer import Transformer
from tests.lab.probes.models import reader, tokens
from tests.tree import ROOT


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_recorded_as_the_reference_computes_it(encoding):
    made, batch = reader(encoding), tokens(2, 12)
    logits, several = made.attention(batch)
    assert torch.equal(logits, made.logits(batch, Reference()))
    assert (logits - made.logits(batch)).abs().max() < 1e-11
    assert [seen.layer for seen in several] == [0, 1]
    for seen in several:
        assert seen.weights.shape == seen.logits.shape == (2, 4, 12, 12)
        assert (seen.weights.sum(-1) - 1).abs().max() < 1e-12 and not seen.weights.triu(1).any()
        assert torch.equal(seen.seen[0, 0], torch.ones(12, 12, dtype=torch.bool).tril())
        assert seen.distance()[0, 0, 7].tolist() == [7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4]


def test_grouped_keys_are_recorded_as_they_are():
    torch.manual_seed(1)
    model = Transformer(11, 16, 1, 4, create("rope", Shape(16, 4)), kv_heads=2).double()
    [seen] = Reader(model).attention(tokens(2, 9))[1]
    assert seen.q.shape == (2, 4, 9, 4) and seen.k.shape == (2, 2, 9, 4) and seen.weights.shape == (2, 4, 9, 9)


def test_the_residual_stream_is_what_the_blocks_pass_on():
    made, batch = reader("sinusoidal"), tokens(2, 12)
    stream = made.hidden(batch)
    assert len(stream) == 3
    model = made.model
    with torch.no_grad():
        entering = model.embedding(batch.inputs) * 4 + made.encoding.absolute(made.attention(batch)[1][0].q_pos)
        out = torch.nn.functional.linear(model.norm(stream[-1]), model.embedding.weight)
    assert (stream[0] - entering).abs().max() < 1e-12 and torch.equal(out, made.logits(batch))


def test_segments_with_a_memory_are_joined():
    made, batch = reader("transformer_xl", mem_len=4), tokens(2, 20)
    logits, several = made.attention(batch)
    assert logits.shape[1] == made.hidden(batch)[2].shape[1] == 20
    assert [(seen.layer, *seen.weights.shape[2:]) for seen in several] == [
        (layer, *shape) for shape in ((8, 8), (8, 12), (4, 8)) for layer in (0, 1)
    ]
    assert several[2].distance()[0, 0, 0].tolist()[:5] == [4, 3, 2, 1, 0]


def test_a_model_is_left_as_it_was():
    made = reader("rope")
    made.model.train()
    made.hidden(tokens(2, 8))
    made.attention(tokens(2, 8))
    assert made.model.training
    assert all(block.attention.backend == "auto" and not block._forward_hooks for block in made.model.blocks)


def test_what_cannot_be_read_is_told():
    with pytest.raises(OptionError, match="segments"):
        Reader(reader("transformer_xl", mem_len=4).model)
    made, added = create("none", Shape(16, 4, causal=False)), create("sinusoidal", Shape(16, 4))
    with pytest.raises(OptionError, match="mask decoder"):
        Reader(Transformer(11, 16, 2, 4, made, mask=BIDIRECTIONAL, mask_decoder=added))


def test_the_page_names_every_probe_and_what_it_asks():
    page = (ROOT / "docs" / "probes.md").read_text(encoding="utf-8")
    for probe in named():
        assert f"| `{probe.KEY}` | " in page
    assert [probe.KEY for probe in named()] == [*PROBES]

"""What positions alone decide is made once for all layers, anew for others, and is gone with them."""

import gc

import pytest
import torch

from gnomon import Cache, Transformer, attend, encodings, positions
from gnomon import once as module
from gnomon.encoding import Shape
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.once import once

SHAPE = Shape(width=64, heads=2, head_dim=32)


def test_once_for_two_positions():
    a, b, made = positions.sequence(3), positions.sequence(3), []

    def make() -> int:
        made.append(None)
        return len(made)

    assert [once(a, a, "x", make), once(a, a, "x", make)] == [1, 1]
    assert [once(a, b, "x", make), once(b, a, "x", make), once(a, a, "y", make), once(a, b, "x", make)] == [2, 3, 4, 2]
    with torch.inference_mode():
        assert once(a, a, "x", make) == 5
    assert once(a, a, "x", make) == 1


def test_it_is_gone_with_the_positions():
    gc.collect()
    before, pos, other = len(module._MADE), positions.sequence(3), positions.sequence(4)
    once(pos, other, "x", lambda: 1)
    once(other, other, "x", lambda: 1)
    assert len(module._MADE[other]) == 2
    del pos
    gc.collect()
    assert len(module._MADE[other]) == 1
    del other
    gc.collect()
    assert len(module._MADE) == before


@pytest.mark.parametrize(
    ("name", "way"), [("transformer_xl", (TransformerXL, "_distances")), ("deberta", (Deberta, "_row"))]
)
def test_layers_of_a_model_share_it(name, way, monkeypatch):
    """Each token that is decoded has its own, once."""
    model = Transformer(vocabulary=9, width=64, depth=3, heads=2, encoding=encodings.create(name, SHAPE)).eval()
    calls, method = [], getattr(*way)

    def counted(self, *given):
        calls.append(None)
        return method(self, *given)

    monkeypatch.setattr(*way, counted)
    cache = Cache(capacity=8)
    with torch.no_grad():
        for step in range(1, 6):
            model(torch.tensor([[step]]), cache=cache)
            assert len(calls) == step


def test_what_was_made_for_inference_does_not_stay_for_training():
    encoding = encodings.create("transformer_xl", SHAPE)
    pos = positions.sequence(1)
    q = torch.randn(1, 2, 1, 32, requires_grad=True)

    with torch.inference_mode():
        attend(q, q, q, encoding, pos, pos)
    attend(q, q, q, encoding, pos, pos).sum().backward()
    assert q.grad is not None

"""What positions alone decide is made once in a forward pass, and nothing of it is left after."""

import threading

import pytest
import torch

from gnomon import Cache, Memory, Transformer, encodings, positions
from gnomon.encoding import Shape
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.once import once, one_pass

SHAPE = Shape(width=64, heads=2, head_dim=32)
WAYS = {"transformer_xl": (TransformerXL, "_distances"), "deberta": (Deberta, "_row")}


def counter():
    made = []

    def make() -> int:
        made.append(None)
        return len(made)

    return make


def test_once_for_two_positions_in_a_pass():
    a, b, make = positions.sequence(3), positions.sequence(3), counter()
    with one_pass():
        assert [once(a, a, "x", make), once(a, a, "x", make)] == [1, 1]
        told = [once(a, b, "x", make), once(b, a, "x", make), once(a, a, "y", make), once(a, b, "x", make)]
    assert told == [2, 3, 4, 2]


def test_nothing_is_kept_outside_of_a_pass_or_from_one_to_the_next():
    a, make = positions.sequence(3), counter()
    assert [once(a, a, "x", make), once(a, a, "x", make)] == [1, 2]
    for expected in (3, 4):
        with one_pass():
            assert once(a, a, "x", make) == once(a, a, "x", make) == expected
    with pytest.raises(ZeroDivisionError), one_pass():
        once(a, a, "x", lambda: 1 / 0)
    assert once(a, a, "x", make) == 5


def test_positions_that_are_gone_are_not_taken_for_others():
    """Another object may have their place in memory."""
    with one_pass():
        for n in range(50):
            pos = positions.sequence(1)
            assert once(pos, pos, "x", lambda n=n: n) == n


def test_threads_have_passes_of_their_own():
    a, make, told = positions.sequence(3), counter(), []
    with one_pass():
        once(a, a, "x", make)
        thread = threading.Thread(target=lambda: told.append(once(a, a, "x", make)))
        thread.start()
        thread.join()
    assert told == [2]


@pytest.mark.parametrize(("name", "past"), [("transformer_xl", Memory), ("deberta", Memory), ("deberta", Cache)])
def test_layers_of_a_model_share_it(name, past, monkeypatch):
    """Each token that is decoded has its own, once."""
    model = Transformer(vocabulary=9, width=64, depth=3, heads=2, encoding=encodings.create(name, SHAPE)).eval()
    calls, method = [], getattr(*WAYS[name])

    def counted(self, *given, **options):
        calls.append(None)
        return method(self, *given, **options)

    monkeypatch.setattr(*WAYS[name], counted)
    cache = past(8)
    with torch.no_grad():
        for step in range(1, 6):
            model(torch.tensor([[step]]), cache=cache)
            assert len(calls) == step

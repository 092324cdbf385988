"""SeqPE's shifts of windows in training, and a whole step of it."""

import pytest
import torch

from gnomon import positions
from gnomon.masks import CAUSAL
from gnomon.positions import Positions
from gnomon.transformer import Transformer
from tests.core.common import HEADS, WIDTH, gap, make, model, tokens
from tests.core.seqpe import generator, seqpe


def test_how_often_windows_are_shifted():
    encoding, pos = seqpe(), positions.sequence(20)
    drawn = [encoding.draw(pos, generator(seed)) for seed in range(1000)]
    shifted = [p for p in drawn if p is not pos]
    assert 60 < len(shifted) < 140
    for p in shifted:
        assert torch.equal(p.coords.diff(dim=1), pos.coords.diff(dim=1))
        assert p.coords.min() >= 1 and p.coords.max() < 20000
    assert len({p.coords.min().item() for p in shifted}) > 50


@pytest.mark.parametrize("rate, always", [(0.0, False), (1.0, True)])
def test_never_and_always(rate, always):
    encoding, pos = seqpe(shift_rate=rate), positions.sequence(20)
    assert all((encoding.draw(pos, generator(seed)) is not pos) == always for seed in range(20))


def test_rows_take_turns_with_windows():
    """Row b lies in window b mod `windows`."""
    encoding, pos = seqpe(shift_rate=1.0, windows=3), Positions(positions.sequence(5).coords.repeat(8, 1, 1))
    begins = encoding.draw(pos, generator()).coords[:, 0, 0]
    assert len(begins[:3].unique()) == 3
    assert torch.equal(begins, begins[torch.arange(8) % 3])


def test_a_shift_keeps_documents_turns_and_places():
    encoding, pos = seqpe(shift_rate=1.0), positions.packed([4, 3])
    drawn = encoding.draw(pos, generator())
    assert torch.equal(drawn.segment, pos.segment) and torch.equal(drawn.turns(), pos.turns())
    net = model(make("seqpe"))
    assert gap(net(tokens(1, 7), drawn), net(tokens(1, 7), pos)) > 1e-3


def test_no_room_for_a_shift():
    encoding, pos = seqpe(digits=2, shift_rate=1.0), positions.sequence(100)
    assert torch.equal(encoding.draw(pos, generator()).coords, pos.coords)


def test_shifts_on_a_grid_move_every_axis():
    encoding, pos = seqpe(axes=2, digits=2, shift_rate=1.0), positions.grid(3, 4)
    drawn = encoding.draw(pos, generator())
    by = (drawn.coords - pos.coords).flatten(0, 1).unique(dim=0)
    assert by.shape == (1, 2) and (by >= 1).all() and drawn.coords.max() <= 99


def test_one_step_of_training():
    """As a trainer takes it: draw, forward, both losses, backward; every parameter learns."""
    torch.manual_seed(0)
    net = Transformer(29, WIDTH, 2, HEADS, make("seqpe", projection="layer", shift_rate=1.0), kv_heads=3, mask=CAUSAL)
    (owner,), g = net.encodings, generator(5)
    pos = owner.draw(positions.sequence(9), g)
    loss = net(tokens(2, 9), pos).square().mean() + owner.auxiliary(pos, g)
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())

"""SeqPE's reader: what is read of digits, how often, and by which projection."""

import itertools

import pytest
import torch

from gnomon import positions
from gnomon.encodings import digit_reader
from gnomon.encodings.digit_reader import DigitReader
from gnomon.encodings.seqpe import SeqPE
from gnomon.kv_cache import Cache
from gnomon.transformer import Transformer
from tests.core.common import HEAD_DIM, HEADS, WIDTH, gap, make, model, normal, tokens, weigh
from tests.core.seqpe import VARIANTS, generator, read, seqpe

# What is read.


def test_each_position_is_read_alone():
    encoding, places = seqpe(), [0, 7, 123, 19999, 99999]
    together = read(encoding, places)
    for place, e in zip(places, together, strict=True):
        assert gap(read(encoding, [place])[0], e) < 1e-14
    assert gap(read(encoding, places[::-1]).flip(0), together) < 1e-14


def test_the_same_digit_in_another_slot_is_another_position():
    e = read(seqpe(), [7, 70, 700, 7000, 70000, 0])
    assert all((a - b).abs().max() > 0.01 for a, b in itertools.combinations(e, 2))


def test_what_is_looked_up(monkeypatch):
    """7 is 0 0 0 0 7, most significant first; on two axes each has its own slots, the first axis first."""
    seen = []
    original = torch.nn.functional.embedding
    monkeypatch.setattr(
        torch.nn.functional, "embedding", lambda index, *a, **k: seen.append(index.tolist()) or original(index, *a, **k)
    )
    read(seqpe(), [7, 40312])
    read(seqpe(axes=2, digits=2), [(2, 3), (40, 99)])
    assert seen[0] == [[[0, 0, 0, 0, 7], [4, 0, 3, 1, 2]]]
    assert seen[1] == [[[0, 2, 0, 3], [4, 0, 9, 9]]]


def test_leading_zeros_are_read_like_any_digit():
    """There is no padding: the vector of a zero moves what is read at 7."""
    encoding = seqpe()
    before = read(encoding, [7])
    with torch.no_grad():
        encoding.reader.token[0] += normal(WIDTH // 2)
    assert gap(read(encoding, [7]), before) > 0.01


def test_coordinates_do_not_change_places():
    encoding = seqpe(axes=2, digits=2)
    e = read(encoding, [(2, 3), (3, 2)])
    assert gap(e[0], e[1]) > 0.01


def test_the_class_token_of_a_causal_reader_sees_every_digit():
    e = read(seqpe(), [0, 10000, 1000, 100, 10, 1])
    assert all((e[0] - other).abs().max() > 1e-3 for other in e[1:])


@pytest.mark.parametrize("bidirectional", [True, False])
def test_every_digit_has_a_gradient(bidirectional):
    encoding = seqpe(bidirectional=bidirectional)
    read(encoding, [1234, 56789]).square().sum().backward()
    assert (encoding.reader.token.grad.abs().amax(1) > 0).sum() == 10
    assert (encoding.reader.slot.grad.abs().amax(1) > 0).all() and encoding.reader.last.grad.abs().max() > 0


def test_parameters_of_the_paper():
    """As many as the released text encoder, and that of the small vision model, have."""
    text = DigitReader(768, digits=5, axes=1, width=768, heads=12, depth=2, bidirectional=False, dropout=0.1)
    image = DigitReader(384, digits=2, axes=2, width=384, heads=6, depth=2, bidirectional=False, dropout=0.1)
    assert [sum(p.numel() for p in reader.parameters()) for reader in (text, image)] == [14_780_160, 3_704_064]


def test_sizes():
    assert SeqPE(WIDTH, HEADS, HEAD_DIM).reader.token.shape == (10, WIDTH // 2)
    paper = SeqPE(768, 12, 64, encoder_width=768)
    assert paper.reader.heads == 12 and len(paper.reader.blocks) == 2
    assert abs(paper.reader.blocks[0].up.weight.std().item() - 0.02) < 1e-4
    assert abs(paper.project.weight.std().item() - 0.02) < 1e-4 and not paper.project.bias.any()


def test_what_is_read_at_first_is_large_enough_to_be_learned_from():
    """At the paper's width the norm of e begins near 16; in a model of any width each number is as large."""
    torch.manual_seed(0)
    for width, count in ((768, 12), (96, 4)):
        encoding = SeqPE(width, count, width // count, encoder_width=width)
        e = encoding.reader(torch.arange(50.0).double().view(1, 50, 1), torch.float32)
        assert 0.4 < e.square().mean().sqrt() < 0.7


# Once a forward pass.


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_the_reader_runs_once_a_forward_pass(options, monkeypatch):
    net, calls = model(make("seqpe", **options), depth=4), []
    original = DigitReader.forward
    monkeypatch.setattr(DigitReader, "forward", lambda self, *a: calls.append(a[0].shape[1]) or original(self, *a))
    net(tokens(2, 7))
    assert calls == [7]
    cache = Cache(9)
    net(tokens(2, 7), cache=cache)
    net(tokens(2, 2), cache=cache)
    assert calls == [7, 7, 2]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_a_loss_reads_once(options, monkeypatch):
    encoding, calls = seqpe(**options, pivots=4, candidates=6, sampled=3), []
    original = DigitReader.forward
    monkeypatch.setattr(DigitReader, "forward", lambda self, *a: calls.append(a[0].shape[1]) or original(self, *a))
    encoding.auxiliary(positions.sequence(11), generator())
    assert calls == [4 + 4 * 6 + 2 * 3]


def test_layers_with_projections_of_their_own():
    encoding = SeqPE(WIDTH, HEADS, HEAD_DIM, projection="layer")
    first, second, third = encoding.layers(3)
    assert first is encoding and all(
        layer.owner is encoding and layer.reader is encoding.reader for layer in (second, third)
    )
    assert second.project is not third.project and not torch.equal(second.project.weight, first.project.weight)
    net = Transformer(29, WIDTH, 3, HEADS, encoding)
    shared = Transformer(29, WIDTH, 3, HEADS, SeqPE(WIDTH, HEADS, HEAD_DIM))
    count = [sum(p.numel() for p in m.parameters()) for m in (net, shared)]
    assert count[0] - count[1] == 2 * (WIDTH * 2 * WIDTH + 2 * WIDTH)
    assert net.encodings == [encoding]


def test_each_layer_reads_by_its_own_projection():
    net = model(make("seqpe", projection="layer"))
    before = net(tokens(2, 7))
    with torch.no_grad():
        net.blocks[1].attention.encoding.project.weight += 0.5
    assert gap(net(tokens(2, 7)), before) > 1e-3
    assert all(p.grad is None for p in net.parameters())
    net(tokens(2, 7)).square().sum().backward()
    grads = [block.attention.encoding.project.weight.grad.abs().max() for block in net.blocks]
    assert min(grads) > 0


@pytest.mark.parametrize("training, dropout", [(False, 0.1), (True, 0.0), (True, 0.1)])
def test_positions_are_read_some_at_a_time_without_a_gradient(monkeypatch, training, dropout):
    """In training mode too, where it is the same: unless some drop out, which is drawn for all at once."""
    encoding = weigh(make("seqpe", dropout=dropout).double()).train(training)
    coords, sizes = positions.sequence(23, [0, 7000]).coords, []
    monkeypatch.setattr(digit_reader, "TOGETHER", 5)
    plain = digit_reader.functional.embedding
    monkeypatch.setattr(digit_reader.functional, "embedding", lambda d, t: sizes.append(d.shape[1]) or plain(d, t))
    whole = encoding.reader(coords, torch.float64)
    with torch.no_grad():
        found = encoding.reader(coords, torch.float64)
    drops = training and dropout
    assert sizes == [23, 23] if drops else [23, 5, 5, 5, 5, 3]
    assert drops or gap(found, whole) < 1e-13

"""Rope whose frequencies follow the length: no length but its own touches a text, with a cache or without."""

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention, attend
from gnomon.encoding import Property
from gnomon.encodings.rope_scaling import document_length
from gnomon.errors import PositionError
from gnomon.kv_cache import Cache
from gnomon.positions import Positions
from tests.core.common import HEADS, WIDTH, gap, heads, make, model, normal, tokens, weigh

FACTORS = dict(short_factor=(1.0, 1.1, 1.2, 1.5), long_factor=(1.0, 1.5, 3.0, 4.0))
MEASURED = {
    "dynamic": dict(scaling="dynamic", factor=2.0, original_length=8.0),
    "longrope": dict(scaling="longrope", factor=4.0, original_length=8.0, **FACTORS),
}
EVERY = pytest.mark.parametrize("options", MEASURED.values(), ids=MEASURED.keys())


# A text's length is its own.


@EVERY
def test_a_short_row_is_right_beside_a_long_one(options):
    net, token = model(make("rope", **options)), tokens(2, 20)
    real = torch.arange(20) < torch.tensor([[20], [6]])
    logits = net(token, positions.padded(real))
    assert gap(logits[1:, :6], net(token[1:, :6])) < 1e-12
    assert gap(logits[:1], net(token[:1])) < 1e-12


@EVERY
@pytest.mark.parametrize("restart", [True, False])
def test_packed_documents_have_lengths_of_their_own(options, restart):
    encoding, pos = make("rope", **options), positions.packed([3, 12, 5], restart=restart)
    expected = [3, 12, 5] if restart else [3, 15, 20]
    assert document_length(pos, pos)[0, [0, 2, 3, 14, 15, 19]].tolist() == [n for n in expected for _ in range(2)]
    q, k, v = heads(20, rows=1)
    together = attend(q, k, v, encoding, pos)
    for a, b in ((0, 3), (3, 15), (15, 20)):
        part = slice(a, b)
        alone = attend(q[:, :, part], k[:, :, part], v[:, :, part], encoding, Positions(pos.coords[:, part]))
        assert gap(together[:, :, part], alone) < 1e-12


def test_lengths_of_documents_in_any_order():
    segment = torch.tensor([[5, -1, 2, 5, 2, -1, 9], [0, 0, 0, 0, 0, 0, -1]])
    coords = torch.tensor([[7.0, 50, 3, 2, -4, 60, -8], [1, 2, 30, 4, 5, 6, 90]], dtype=torch.float64)
    placed = torch.ones(2, 7, dtype=torch.bool)
    placed[1, 2] = False
    pos = Positions(coords[..., None], segment=segment, placed=placed)
    other = Positions(torch.zeros(2, 3, 1, dtype=torch.float64), segment=torch.tensor([[2, 9, 4], [0, 3, -1]]))
    assert document_length(pos, pos).tolist() == [[8, 1, 4, 8, 4, 1, 1], [7, 7, 7, 7, 7, 7, 1]]
    assert document_length(other, pos).tolist() == [[4, 1, 1], [7, 1, 1]]


@EVERY
def test_nothing_is_remembered_of_a_longer_text(options):
    """A base that has grown goes back."""
    net, token = model(make("rope", **options)), tokens(2, 30)
    before = net(token[:, :6])
    net(token)
    assert torch.equal(net(token[:, :6]), before)


# With a cache: the logits of a full forward pass, or an error.


@EVERY
@pytest.mark.parametrize("split", [[5, 3], [1] * 8, [8]])
def test_decoding_within_the_original_length(options, split):
    net, token = model(make("rope", **options)), tokens(2, 8)
    cache, parts, start = Cache(8), [], 0
    for size in split:
        parts.append(net(token[:, start : start + size], cache=cache))
        start += size
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


@EVERY
def test_a_cache_that_is_outgrown_is_refused(options):
    net, token, cache = model(make("rope", **options)), tokens(2, 9), Cache(20)
    net(token[:, :8], cache=cache)
    with pytest.raises(PositionError, match="length=") as error:
        net(token[:, 8:], cache=cache)
    assert error.value.given == "length 9 after 8"


def test_long_rope_goes_on_from_a_long_text():
    net, token, cache = model(make("rope", **MEASURED["longrope"])), tokens(2, 12), Cache(20)
    parts = [net(token[:, :9], cache=cache), net(token[:, 9:10], cache=cache), net(token[:, 10:], cache=cache)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


@EVERY
def test_one_row_that_outgrows_the_cache_is_enough(options):
    net, token, cache = model(make("rope", **options)), tokens(2, 9), Cache(20)
    pos = positions.batch(positions.sequence(9), positions.sequence(9, -20.0))
    net(token[:, :8], pos.tokens(0, 8), cache=cache)
    with pytest.raises(PositionError):
        net(token[:, 8:], pos.tokens(8, 9), cache=cache)


@EVERY
def test_a_length_that_is_known_in_advance_decodes_at_any(options):
    """It is that of a full forward pass over so many tokens, and a lowered key stays right."""
    rope = make("rope", length=20.0, **options)
    assert Property.CACHEABLE in rope.properties
    assert Property.CACHEABLE not in make("rope", **options).properties
    net, measured, token = model(rope), model(make("rope", **options)), tokens(2, 20)
    full, cache = net(token), Cache(20)
    assert gap(full, measured(token)) < 1e-12
    decoded = torch.cat([net(token[:, i : i + 1], cache=cache) for i in range(20)], dim=1)
    assert gap(decoded, full) < 1e-12


@EVERY
def test_keys_in_a_cache_of_one_s_own_are_lowered_for_the_length_now(options):
    """`attend` is given raw keys, and turns all of them for the text as it is."""
    q, k, v = heads(12)
    encoding, pos = make("rope", **options), positions.sequence(12)
    full = attend(q, k, v, encoding, pos)
    last = attend(q[:, :, 11:], k, v, encoding, pos.tokens(11, 12), pos)
    assert gap(last, full[:, :, 11:]) < 1e-12


@EVERY
def test_compiled_with_changing_lengths(options):
    encoding = make("rope", **options)
    module = weigh(Attention(WIDTH, HEADS, encoding).double()).eval()
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    for lengths in ([3, 12, 2], [9, 1, 4], [5, 5, 20]):
        pos = positions.packed(lengths)
        x = normal(1, pos.length, WIDTH)
        assert gap(compiled(x, pos), module(x, pos)) < 1e-12


@EVERY
def test_compiled_decoding_and_its_refusal(options):
    """One compiled step serves every length, and stops where the cache is outgrown."""
    net, token, cache = model(make("rope", **options)), tokens(2, 9), Cache(20)
    compiled = torch.compile(net, fullgraph=True, backend="eager")
    with torch.no_grad():
        parts = [compiled(token[:, :3], cache=cache)]
        parts += [compiled(token[:, i : i + 1], cache=cache) for i in range(3, 8)]
        assert gap(torch.cat(parts, dim=1), net(token[:, :8])) < 1e-12
        with pytest.raises(RuntimeError, match="outgrown"):
            compiled(token[:, 8:], cache=cache)


@EVERY
def test_exported_for_any_length(options):
    net = model(make("rope", **options))
    length = torch.export.Dim("n", min=2, max=64)
    exported = torch.export.export(net, (tokens(2, 7),), dynamic_shapes=({1: length},)).module()
    for n in (5, 8, 9, 30):
        assert gap(exported(tokens(2, n)), net(tokens(2, n))) < 1e-12

"""The Transformer: encodings that layers share or have of their own, masks, embeddings, and what `NoPE` cannot know."""

import pytest
import torch

from gnomon import positions
from gnomon.encoding import Property
from gnomon.encodings import ENCODINGS
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.transformer import Transformer
from tests.core.common import (
    DEPTH,
    HEADS,
    VOCABULARY,
    WIDTH,
    at,
    every_variant,
    gap,
    label,
    make,
    model,
    only_causal,
    tokens,
    weigh,
)


def by_hand(net: Transformer, token: torch.Tensor, pos: positions.Positions) -> torch.Tensor:
    """The model written out: embeddings, every layer under an encoding of its own, norm, tied logits."""
    x = net.embedding(token) * WIDTH**0.5
    seen = []
    for block in net.blocks:
        encoding = block.attention.encoding
        if not any(encoding is other for other in seen):
            x = encoding.embed(x, pos)
            seen.append(encoding)
    for block in net.blocks:
        x = x + block.attention(block.norm_attention(x), pos)
        x = x + block.down(torch.nn.functional.gelu(block.up(block.norm_feed_forward(x))))
    return net.norm(x) @ net.embedding.weight.T


@pytest.mark.parametrize("name", ENCODINGS)
def test_one_encoding_for_all_layers(name):
    net, token = model(make(name)), tokens(2, 7)
    pos = at([[0, 1, 3, 4, 9, 20, 21], [5, 6, 7, 8, 9, 10, 11]])
    assert gap(net(token, pos), by_hand(net, token, pos)) < 1e-12


LISTS = {
    "rope and none in turn": lambda: [make("rope"), make("none"), make("rope")],
    "two bases": lambda: [make("rope", theta=100.0), make("rope"), make("rope", theta=100.0)],
    "tables of their own": lambda: [make("t5"), make("t5"), make("t5")],
    "kinds of every sort": lambda: [make("learned"), make("alibi"), make("t5")],
    "one object twice": lambda: (lambda shared: [shared, make("alibi"), shared])(make("t5")),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_encodings(name):
    """One a layer, forward and decoding; layers that share an object share its table."""
    net = Transformer(VOCABULARY, WIDTH, 3, HEADS, LISTS[name](), kv_heads=3)
    net = weigh(net.double()).eval()
    token, cache = tokens(2, 7), Cache(7)
    full = net(token)
    assert gap(full, by_hand(net, token, positions.sequence(7))) < 1e-12
    parts = [net(token[:, a:b], cache=cache) for a, b in ((0, 3), (3, 4), (4, 7))]
    assert gap(torch.cat(parts, dim=1), full) < 1e-12


def test_the_order_of_a_list_matters():
    token = tokens(2, 7)
    one, other = (model([make(a), make(b)]) for a, b in (("rope", "none"), ("none", "rope")))
    assert gap(one(token), other(token)) > 0.01


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_table_is_made_once_for_all_layers(name, monkeypatch):
    """A forward pass asks each owner for `embed` and `prepare`, and each encoding for a content-free `bias`, once."""
    encoding, asked = make(name), []
    if len(set(encoding.layers(2))) > 1 and encoding.layers(2)[1].owner is not encoding:
        pytest.skip("each layer has tables of its own")
    for hook in ("prepare", "bias", "embed"):
        original = getattr(encoding, hook)
        monkeypatch.setattr(encoding, hook, lambda *a, hook=hook, original=original: asked.append(hook) or original(*a))
    counts = []
    for depth in (1, 4):
        asked.clear()
        Transformer(VOCABULARY, WIDTH, depth, HEADS, encoding)(tokens(2, 7))
        counts.append({hook: asked.count(hook) for hook in ("embed", "prepare", "bias")})
    assert counts[0]["embed"] == 1 and counts[0]["prepare"] <= 1
    layers, line = encoding.layers(4), positions.sequence(7)
    owners, makers = len({id(layer.owner) for layer in layers}), len({id(layer) for layer in layers})
    reads = Property.CONTENT_FREE not in encoding.properties or encoding.mix(line, line) is not None
    times = {"embed": owners, "prepare": owners, "bias": 4 if reads else makers}
    assert counts[1] == {hook: times[hook] * counts[0][hook] for hook in times}


def test_parameters_shared_by_layers_are_counted_once():
    shared, own = Transformer(29, 48, 3, 6, make("t5")), Transformer(29, 48, 3, 6, [make("t5") for _ in range(3)])
    count = [sum(p.numel() for p in net.parameters()) for net in (shared, own)]
    assert count[1] - count[0] == 2 * 32 * 6


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("variant", [v for v in every_variant() if v[1].get("axes", 1) == 1], ids=label)
def test_packed_documents_are_as_apart(variant, causal):
    """Positions that start again give what each document gives alone; those that run on too, if differences decide."""
    name, options = variant
    if only_causal(name) and not causal:
        pytest.skip("reads the past only")
    encoding = make(name, causal=causal, **options)
    net = model(encoding, CAUSAL if causal else BIDIRECTIONAL)
    lengths, token = [3, 1, 5], tokens(1, 9)
    apart = torch.cat([net(part) for part in token.split(lengths, dim=1)], dim=1)
    assert gap(net(token, positions.packed(lengths)), apart) < 1e-12
    # Far from the start: an encoding may tell no positions apart where it stretches nothing yet.
    far = min(encoding.domain.highest, 2000) - 9
    on = gap(net(token, positions.packed(lengths, restart=False).shifted(far)), apart)
    assert (on < 1e-12) == (Property.TRANSLATION_INVARIANT in encoding.properties)


def test_nope_without_a_mask_is_a_function_of_sets():
    net, token, order = model(make("none"), BIDIRECTIONAL), tokens(2, 7), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    assert gap(net(token[:, order]), net(token)[:, order]) < 1e-12


def test_nope_under_a_mask_needs_two_layers_to_know_order():
    """The last token of one layer sees a set; a second layer sees tokens that saw different sets."""
    token, order = tokens(2, 7), torch.tensor([3, 0, 5, 1, 4, 2, 6])
    for depth, knows in ((1, False), (2, True)):
        net = weigh(Transformer(VOCABULARY, WIDTH, depth, HEADS, make("none")).double()).eval()
        assert (gap(net(token[:, order])[:, -1], net(token)[:, -1]) > 1e-3) == knows


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "none" and not only_causal(name)])
def test_every_other_encoding_knows_order_without_a_mask(name):
    net, token, order = (
        model(make(name, causal=False), BIDIRECTIONAL),
        tokens(2, 7),
        torch.tensor([3, 0, 6, 1, 5, 2, 4]),
    )
    assert gap(net(token[:, order]), net(token)[:, order]) > 1e-3


@pytest.mark.parametrize("scaled", [True, False])
def test_token_embeddings_are_scaled_before_positions_are_added(scaled):
    """With scaling, a token's embedding has the size of a sinusoid; without, it is sqrt(w) smaller."""
    torch.manual_seed(0)
    net = Transformer(VOCABULARY, 256, 1, 4, make("none"), scale_embeddings=scaled)
    met = []
    net.blocks[0].norm_attention.register_forward_pre_hook(lambda module, args: met.append(args[0]))
    net(tokens(4, 30))
    assert met[0].std().item() == pytest.approx(1 if scaled else 1 / 16, rel=0.1)


def test_tied_and_untied_logits():
    token = tokens(2, 5)
    tied, untied = Transformer(29, 48, 1, 6, make("none")), Transformer(29, 48, 1, 6, make("none"), tied=False)
    assert tied.unembedding is None and untied.unembedding.weight.shape == (29, 48)
    assert sum(p.numel() for p in untied.parameters()) - sum(p.numel() for p in tied.parameters()) == 29 * 48
    assert untied(token).shape == (2, 5, 29)


def test_dropout_is_off_in_evaluation_and_on_in_training():
    net, token = model(make("rope"), dropout=0.3), tokens(2, 7)
    still = model(make("rope"))(token)
    assert torch.equal(net(token), still)
    torch.manual_seed(0)
    assert gap(net.train()(token), still) > 0.01


def test_the_default_is_scaled_tied_and_causal():
    net = Transformer(29, 48, 1, 6, make("rope"))
    assert net.scale_embeddings and net.unembedding is None and net.blocks[0].attention.mask == CAUSAL


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_parameter_learns(name):
    """One backward pass in training reaches every parameter; of the tables, the rows that were used."""
    torch.manual_seed(0)
    net = Transformer(VOCABULARY, WIDTH, DEPTH, HEADS, make(name), kv_heads=3, tied=False)
    torch.nn.functional.cross_entropy(net(tokens(2, 9)).flatten(0, 1), tokens(2, 9, seed=1).flatten()).backward()
    for key, parameter in net.named_parameters():
        assert torch.isfinite(parameter.grad).all() and parameter.grad.abs().max() > 0, key

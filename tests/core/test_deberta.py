"""DeBERTa: rows by hand, projections shared and separate, queries other than keys, the mask decoder."""

import copy
import math

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention, attend
from gnomon.encodings import create
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.learned import Learned
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError, PositionError
from gnomon.kv_cache import Cache
from gnomon.lab.build import encoding_parameters
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions
from gnomon.transformer import Transformer
from tests.core.common import DEPTH, HEAD_DIM, HEADS, SHAPE, WIDTH, at, gap, heads, make, model, normal, tokens, weigh

N = 9


def deberta(**options) -> Deberta:
    return weigh(create("deberta", SHAPE, **options).double())


def row_by_hand(delta: int, span: int, buckets: int | None) -> int:
    """The row of a whole distance, as the released code has it."""
    if buckets is not None and abs(delta) > buckets // 2:
        middle = buckets // 2
        far = math.ceil(math.log(abs(delta) / middle) / math.log((span - 1) / middle) * (middle - 1) - 1e-9) + middle
        delta = far if delta > 0 else -far
    size = buckets or span
    return max(0, min(delta + size, 2 * size - 1))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("options", [dict(span=4), dict(span=30), dict(span=20, buckets=8)], ids=str)
def test_each_pair_by_hand(options, known):
    """Both terms read the row of `p_i - p_j`: the paper's `p_j - p_i` in the last one is nobody's."""
    encoding, n = deberta(**options), 27
    q, k, _ = heads(n)
    pos = positions.sequence(n, 5)
    pos = pos if known else Positions(pos.coords)
    found = dense(encoding.bias(q, k, pos, pos), 2, HEADS, n, n)
    p = encoding.table()
    keys = encoding.position_key(p).unflatten(-1, (HEADS, HEAD_DIM))
    queries = encoding.position_query(p).unflatten(-1, (HEADS, HEAD_DIM))
    for i in range(0, n, 2):
        for j in range(0, n, 3):
            row = row_by_hand(i - j, options["span"], options.get("buckets"))
            k_j = k[:, :, j].repeat_interleave(2, dim=1)
            expected = ((q[:, :, i] * keys[row]).sum(-1) + (k_j * queries[row]).sum(-1)) / (3 * HEAD_DIM) ** 0.5
            assert gap(found[:, :, i, j], expected) < 1e-12


def test_rows_beyond_the_span():
    """s - 1 and everything beyond share a row in the past; -s and everything beyond have row 0, and -s + 1 row 1."""
    encoding, s = deberta(span=4, terms="c2p"), 4
    q, k, _ = heads(1, 10)
    places = [-900, -s - 1, -s, -s + 1, 0, s - 1, s, s + 1, 77, 900]
    found = dense(encoding.bias(q, k, at([0]), at([-p for p in places])), 2, HEADS, 1, 10)[..., 0, :]
    same = [[gap(found[..., a], found[..., b]) < 1e-14 for b in range(10)] for a in range(10)]
    groups = [{0, 1, 2}, {3}, {4}, {5, 6, 7, 8, 9}]
    assert all(same[a][b] == any({a, b} <= group for group in groups) for a in range(10) for b in range(10))


@pytest.mark.parametrize("options", [dict(span=16, buckets=8), dict(span=16)], ids=str)
def test_rows_do_not_depend_on_the_length(options):
    """A kernel that takes the length for the largest distance gives short and long texts other buckets."""
    encoding, (q, k, _) = deberta(**options), heads(60)
    whole = dense(encoding.bias(q, k, *[positions.sequence(60)] * 2), 2, HEADS, 60, 60)
    for n in (5, 15, 30):
        part = dense(encoding.bias(q[:, :, :n], k[:, :, :n], *[positions.sequence(n)] * 2), 2, HEADS, n, n)
        assert gap(part, whole[..., :n, :n]) < 1e-13


LINE = positions.sequence(12)


@pytest.mark.parametrize(
    "q_pos, k_pos, most",
    [
        (LINE, LINE, 32),
        (positions.sequence(12, 5), positions.sequence(12, 5), 32),
        (positions.sequence(3, 900), LINE, 1),
        (at([0.5, 3, 7.25]), at([0.5, 3, 7.25]), 16),
        (positions.sequence(1, 39), positions.sequence(40), 64),
        (at([0, 1e9]), at([0, 1e9]), 1024),
    ],
    ids=["a line", "a line further on", "all far", "real", "a decoded token", "both ends"],
)
@pytest.mark.parametrize("options", [dict(), dict(norm=True), dict(terms="p2c")], ids=str)
def test_only_rows_that_pairs_have_are_projected(options, q_pos, k_pos, most):
    """A short text meets few of the distances: 23 of 1024 among twelve tokens, and a power of two of them."""
    encoding, projected = deberta(span=512, **options), []
    for linear in encoding._projections():
        if linear is not None:
            linear.register_forward_hook(lambda module, given, out: projected.append(given[0].shape[-2]))
    q, k, _ = heads(q_pos.length, k_pos.length)
    found = dense(encoding.bias(q, k, q_pos, k_pos), 2, HEADS, q_pos.length, k_pos.length)
    assert projected and max(projected) <= most
    keys = k.repeat_interleave(2, dim=1)
    told = encoding.score(q, keys, q_pos, k_pos) - encoding.scale(HEAD_DIM) * q @ keys.mT
    assert gap(found, told) < 1e-12


@pytest.mark.parametrize("terms, count", [("both", 3), ("c2p", 2), ("p2c", 2)])
def test_the_scale_counts_the_terms(terms, count):
    encoding = deberta(terms=terms, span=8)
    assert encoding.scale(HEAD_DIM) == pytest.approx((count * HEAD_DIM) ** -0.5)
    assert (encoding.position_key is None) == (terms == "p2c")
    assert (encoding.position_query is None) == (terms == "c2p")


def test_layers_share_the_table_and_nothing_else():
    first, second = make("deberta", norm=True, span=8).layers(2)
    assert second.table is first.table
    assert gap(second.position_key.weight, first.position_key.weight) > 0.1
    names = [name for name, _ in model(make("deberta", span=8)).named_parameters() if "table" in name]
    assert len(names) == 1


def test_the_table_stays_shared_through_the_meta_device():
    with torch.device("meta"):
        net = model(make("deberta", span=8, norm=True), dtype=torch.float32)
    net.to_empty(device="cpu")
    net.reset_parameters()
    first, second = (block.attention.encoding for block in net.blocks)
    assert first.table is second.table and all(torch.isfinite(p).all() for p in net.parameters())


def test_shared_projections_learn_together_and_are_left_alone_at_a_reset():
    encoding = create("deberta", SHAPE, span=8, shared=True)
    attention = Attention(WIDTH, HEADS, encoding, mask=BIDIRECTIONAL)
    before = attention.q.weight.clone()
    encoding.reset_parameters()
    assert torch.equal(before, attention.q.weight)
    x = normal(2, N, WIDTH).float()
    attention(x).sum().backward()
    whole = attention.k.weight.grad.clone()
    attention.zero_grad()
    with torch.no_grad():
        encoding.table.weight.zero_()
    attention(x).sum().backward()
    assert gap(attention.k.weight.grad, whole) > 1e-5


@pytest.mark.parametrize("terms", ["both", "c2p", "p2c"])
def test_shared_projections_are_those_of_each_layer(terms):
    """The same numbers as projections of the encoding's own that hold the layer's weights."""
    shared, own = (model(make("deberta", span=8, terms=terms, shared=s), kv_heads=HEADS) for s in (True, False))
    own.load_state_dict(shared.state_dict(), strict=False)
    with torch.no_grad():
        for block in own.blocks:
            attention, encoding = block.attention, block.attention.encoding
            if terms != "p2c":
                encoding.position_key.weight.copy_(attention.k.weight)
            if terms != "c2p":
                encoding.position_query.weight.copy_(attention.q.weight)
                encoding.position_query.bias.zero_()
    assert gap(shared(tokens(2, N)), own(tokens(2, N))) < 1e-12


def test_shared_projections_are_no_parameters_of_the_encoding():
    """They are decayed, counted and stored once, as the layer's."""
    net = model(make("deberta", span=8, norm=True, shared=True))
    plain = model(make("none"), kv_heads=HEADS)
    assert set(net.state_dict()) - set(plain.state_dict()) == {
        f"blocks.{n}.attention.encoding.table.{name}" for n in (0, 1) for name in ("weight", "norm.weight", "norm.bias")
    }
    table = {id(p) for p in net.blocks[0].attention.encoding.table.parameters()}
    assert {id(p) for p in encoding_parameters(net)} == table
    assert sum(p.numel() for p in net.parameters()) - sum(p.numel() for p in plain.parameters()) == 18 * WIDTH


def test_shared_projections_follow_their_layer():
    """Through a copy, another precision and the meta device."""
    net, token = model(make("deberta", span=8, shared=True)), tokens(2, N)
    other = copy.deepcopy(net)
    weigh(other, seed=3)
    for block in other.blocks:
        assert block.attention.encoding._projections() == (block.attention.k, block.attention.q)
    assert gap(other(token), net(token)) > 1e-3
    assert net.to(torch.bfloat16)(token).isfinite().all()
    with torch.device("meta"):
        empty = model(make("deberta", span=8, shared=True), dtype=torch.float32)
    empty = empty.to_empty(device="cpu").double()
    empty.load_state_dict(other.state_dict())
    assert gap(empty(token), other(token)) < 1e-12


def test_what_is_shared_serves_one_layer():
    encoding = make("deberta", span=8, shared=True)
    attention = Attention(WIDTH, HEADS, encoding)
    encoding.serves(attention.q, attention.k)
    with pytest.raises(OptionError, match="one layer"):
        Attention(WIDTH, HEADS, encoding)
    with pytest.raises(OptionError, match="one layer"):
        twice = make("deberta", span=8, shared=True)
        Transformer(29, WIDTH, 2, HEADS, [twice, twice])


def test_grouped_keys_cannot_be_shared():
    with pytest.raises(OptionError, match="kv_heads"):
        Attention(WIDTH, HEADS, create("deberta", SHAPE, shared=True), kv_heads=3, mask=BIDIRECTIONAL)
    grouped = Attention(WIDTH, HEADS, create("deberta", SHAPE), kv_heads=3, mask=BIDIRECTIONAL)
    with pytest.raises(OptionError, match="as many key heads"):
        create("deberta", SHAPE, shared=True).serves(grouped.q, grouped.k)


def test_the_definition_has_a_norm_of_its_own(monkeypatch):
    """A LayerNorm that is broken shows against the definition."""
    encoding, (q, k, v) = deberta(span=8, norm=True), heads(N)
    found, expected = (attend(q, k, v, encoding, mask=BIDIRECTIONAL, backend=b) for b in ("sdpa", "reference"))
    assert gap(found, expected) < 1e-12
    monkeypatch.setattr(torch.nn.LayerNorm, "forward", lambda self, x: x)
    broken, same = (attend(q, k, v, encoding, mask=BIDIRECTIONAL, backend=b) for b in ("sdpa", "reference"))
    assert gap(broken, expected) > 1e-3 and torch.equal(same, expected)


def test_a_key_bias_of_positions_would_change_nothing():
    """It adds the same to all logits of a query, so there is none."""
    encoding, (q, k, v) = deberta(span=8, terms="c2p"), heads(N)
    expected = attend(q, k, v, encoding, mask=BIDIRECTIONAL)
    encoding.position_key.bias = torch.nn.Parameter(normal(WIDTH))
    assert gap(attend(q, k, v, encoding, mask=BIDIRECTIONAL), expected) < 1e-13


@pytest.mark.parametrize("backend", ["sdpa", "reference"])
def test_more_keys_than_queries_and_keys_without_a_place(backend):
    """A learned prefix among the keys alone: no distance to it, and no shape that breaks."""
    encoding, (q, k, v) = deberta(span=8), heads(N, N + 3)
    q_pos, text = positions.sequence(N), positions.sequence(N).coords
    k_pos = Positions(torch.cat([text[:, :3], text], dim=1), placed=(torch.arange(N + 3) >= 3)[None])
    found = attend(q, k, v, encoding, q_pos, k_pos, mask=BIDIRECTIONAL, backend=backend)
    logits = encoding.scale(HEAD_DIM) * q @ k.repeat_interleave(2, dim=1).mT
    k_text = k[:, :, 3:]
    logits[..., 3:] += dense(encoding.bias(q, k_text, q_pos, q_pos), 2, HEADS, N, N)
    assert gap(found, torch.softmax(logits, -1) @ v.repeat_interleave(2, dim=1)) < 1e-12


def test_between_whole_distances_nothing_changes():
    encoding, (q, k, _) = deberta(span=8), heads(1, 4)
    found = dense(encoding.bias(q, k, at([4.3]), at([2.3, 1.5, 7.3, 7.9])), 2, HEADS, 1, 4)
    whole = dense(encoding.bias(q, k, at([0]), at([-2, -2, 3, 3])), 2, HEADS, 1, 4)
    assert gap(found, whole) < 1e-14


@pytest.mark.parametrize(
    "options",
    [dict(span=0), dict(terms="p2p"), dict(buckets=2), dict(buckets=7), dict(buckets=8, span=5), dict(buckets=0)],
    ids=str,
)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        create("deberta", SHAPE, **options)


def encoder(mask_decoder=None, depth: int = DEPTH, **options) -> Transformer:
    return model(
        make("deberta", causal=False, span=8), BIDIRECTIONAL, depth=depth, mask_decoder=mask_decoder, **options
    )


def test_the_mask_decoder_by_hand():
    """Queries: hidden states with positions, then what the layer made of them; keys and values: what entered it."""
    net, token = encoder(Learned(WIDTH, 40)), tokens(2, N)
    pos = positions.sequence(N, 3)
    first, last = net.blocks
    x = net.embedding(token) * WIDTH**0.5
    hidden = plainly(first, x, x, pos)
    z = plainly(last, hidden + net.mask_decoder.weight[3 : 3 + N], hidden, pos)
    z = plainly(last, z, hidden, pos)
    expected = net.norm(z) @ net.embedding.weight.T
    assert gap(net(token, pos), expected) < 1e-12


def plainly(block, x, source, pos):
    """A block whose queries come from `x`, keys and values from `source`."""
    attention = block.attention
    keys, queries = block.norm_attention(source), block.norm_attention(x)
    x = x + attention(queries, pos, keys=keys, key_pos=pos)
    return x + block.down(torch.nn.functional.gelu(block.up(block.norm_feed_forward(x))))


def test_absolute_positions_enter_by_the_mask_decoder_alone():
    token = tokens(2, N)
    bare = encoder()
    assert gap(bare(token, positions.sequence(N, 20)), bare(token)) < 1e-12
    net = encoder(Learned(WIDTH, 40))
    assert gap(net(token, positions.sequence(N, 20)), net(token)) > 1e-2


def test_a_mask_decoder_under_padding_and_without_a_place():
    net, token = encoder(Sinusoidal(WIDTH)), tokens(2, N)
    real = torch.arange(N) < torch.tensor([[N], [5]])
    assert gap(net(token, positions.padded(real))[1:, :5], net(token[1:, :5])) < 1e-12


def test_a_mask_decoder_trains_and_is_reset():
    net = encoder(Learned(WIDTH, 40))
    net.train()
    net(tokens(2, N)).square().sum().backward()
    assert net.mask_decoder.weight.grad[:N].abs().min() > 0
    net.reset_parameters()
    assert net.mask_decoder.weight.std().item() == pytest.approx(0.02, rel=0.2)


def test_mask_decoders_that_make_no_sense():
    with pytest.raises(OptionError, match="acts at the input"):
        encoder(make("rope"))
    with pytest.raises(OptionError, match="encoder"):
        model(make("deberta"), CAUSAL, mask_decoder=Learned(WIDTH, 40))
    with pytest.raises(OptionError, match="width"):
        encoder(Learned(WIDTH + 2, 40))
    with pytest.raises(OptionError, match="whole texts"):
        encoder(Learned(WIDTH, 40))(tokens(1, 4), cache=Cache(8))
    with pytest.raises(PositionError):
        encoder(Learned(WIDTH, 4))(tokens(1, 5))

"""Shaw's tables: which row each pair reads, what values receive, layers, sizes, and what other libraries got wrong."""

import pytest
import torch

from gnomon.attention import Attention, attend
from gnomon.encoding import Shape
from gnomon.encodings import build
from gnomon.encodings.shaw import Shaw
from gnomon.errors import BackendError, OptionError, PositionError
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions, grid, packed, sequence
from tests.core.common import (
    DEPTH,
    HEAD_DIM,
    HEADS,
    KV_HEADS,
    SHAPE,
    WIDTH,
    Largest,
    at,
    gap,
    heads,
    model,
    normal,
    tokens,
    weigh,
)

BACKENDS = pytest.mark.parametrize("backend", ["reference", "sdpa"])


def shaw(**options) -> Shaw:
    """For six heads of width 8, in float64, weights of standard deviation 0.3."""
    return weigh(build(Shaw, SHAPE, **options).double())


def rows(q_pos: Positions, k_pos: Positions, size: int, reads: str = "query", **options) -> torch.Tensor:
    """Which row of the table each pair reads: the table is the identity, and what is looked up counts from 0."""
    encoding = Shaw(1, size, values=False, **options).double()
    with torch.no_grad():
        encoding.key_table.copy_(torch.eye(size))
    count = size**0.5 * torch.arange(size, dtype=torch.float64).expand(1, 1, 1, -1)
    q, k = (count.expand(-1, -1, n, -1) for n in (q_pos.length, k_pos.length))
    q, k = (q, 0 * k) if reads == "query" else (0 * q, k)
    found = dense(encoding.bias(q, k, q_pos, k_pos), 1, 1, q_pos.length, k_pos.length)[0, 0]
    defined = encoding.score(q, k, q_pos, k_pos)[0, 0]
    assert gap(found, defined) < 1e-12
    return found.round().to(torch.int64)


def test_the_row_is_key_minus_query_clipped():
    q_pos, k_pos = at([0, 7]), at([-5, -2, -1, 0, 1, 2, 5, 8, 100])
    expected = [[0, 0, 1, 2, 3, 4, 4, 4, 4], [0, 0, 0, 0, 0, 0, 0, 3, 4]]
    assert rows(q_pos, k_pos, 5, clip=2).tolist() == expected


def test_the_two_sides_may_be_clipped_apart():
    q_pos, k_pos = at([10]), at([0, 6, 7, 9, 10, 11, 12, 40])
    assert rows(q_pos, k_pos, 5, left=3, right=1).tolist() == [[0, 0, 0, 2, 3, 4, 4, 4]]
    assert rows(q_pos, k_pos, 4, left=3, right=0).tolist() == [[0, 0, 0, 2, 3, 3, 3, 3]]


@pytest.mark.parametrize("form, reads", [("relative_key", "query"), ("relative_key_query", "query"),
                                         ("relative_key_query", "key")])  # fmt: skip
def test_bert_reads_query_minus_key(form, reads):
    """Both terms read the same row: E[i - j], not E[j - i] for the second."""
    found = rows(sequence(4), sequence(4), 7, reads, form=form, max_positions=4)
    assert found.tolist() == [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]


def test_a_table_of_bert_reversed_is_one_of_shaw():
    bert, ours = shaw(form="relative_key", max_positions=12), shaw(clip=11, values=False)
    with torch.no_grad():
        ours.key_table.copy_(bert.key_table.flip(1))
    q, k, v = heads(12)
    assert gap(attend(q, k, v, ours), attend(q, k, v, bert)) < 1e-14


def test_distances_beyond_the_table():
    """Shaw's are all alike, at any length; BERT's are an error, also in the middle of decoding."""
    encoding, (q, k, v) = shaw(clip=4, values=False), heads(1, 3)
    places = (at([46, 45, 46]), at([0, -1000, -(10**9)]))
    near, far = (attend(q, k, v, encoding, at([50]), k_pos, mask=BIDIRECTIONAL) for k_pos in places)
    assert gap(near, far) < 1e-14
    net, cache, token = model(build(Shaw, SHAPE, form="relative_key", max_positions=8)), Cache(9), tokens(2, 9)
    net(token[:, :8], cache=cache)
    with pytest.raises(PositionError, match="position 8"):
        net(token[:, 8:], cache=cache)
    with pytest.raises(PositionError, match="max_positions"):
        net(token)


def test_nothing_beyond_the_table_is_another_function():
    """Tensor2Tensor's second version has zeros there; the two agree only where every distance is in the table."""
    encoding, (q, k, v) = shaw(clip=4, values=False), heads(12)
    apart = torch.arange(12)[:, None] - torch.arange(12)
    for n, same in ((5, True), (12, False)):
        a = encoding.key_table[0][(4 - apart[:n, :n]).clamp(0, 8)]
        a = torch.where((apart[:n, :n] <= 4)[..., None], a, 0.0)
        product = q[:, :, :n] @ k[:, :, :n].repeat_interleave(2, 1).mT
        logits = (product + torch.einsum("bhid,ijd->bhij", q[:, :, :n], a)) * HEAD_DIM**-0.5
        weights = logits.masked_fill(apart[:n, :n] < 0, -torch.inf).softmax(-1)
        theirs = weights @ v[:, :, :n].repeat_interleave(2, 1)
        ours = attend(q[:, :, :n], k[:, :, :n], v[:, :, :n], encoding)
        assert (gap(ours, theirs) < 1e-13) == same


@BACKENDS
def test_values_by_hand(backend):
    """Equal logits and values of zero: a query receives the mean of the rows of the keys it sees."""
    encoding = shaw(clip=1)
    with torch.no_grad():
        encoding.value_table.copy_(torch.tensor([1.0, 10.0, 100.0])[None, :, None].expand_as(encoding.value_table))
    zeros = (torch.zeros_like(t) for t in heads(4))
    out = attend(*zeros, encoding, mask=BIDIRECTIONAL, backend=backend)
    expected = torch.tensor([310, 211, 112, 13], dtype=torch.float64) / 4
    assert gap(out, expected[:, None].expand_as(out)) < 1e-14


@pytest.mark.parametrize("per_head", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@BACKENDS
def test_values_come_after_dropout(backend, dropout, per_head):
    """A dropped weight receives neither the value nor its row; a kept one is magnified for both."""
    encoding, (q, k, v), n = shaw(clip=2, per_head=per_head), heads(7), 7
    torch.manual_seed(3)
    found = attend(q, k, v, encoding, backend=backend, dropout=dropout)
    logits = encoding.score(q, k.repeat_interleave(2, 1), sequence(n), sequence(n))
    weights = logits.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf).softmax(-1)
    torch.manual_seed(3)
    weights = torch.nn.functional.dropout(weights, dropout)
    expected = weights @ v.repeat_interleave(2, 1)
    for i in range(n):
        for j in range(i + 1):
            a = encoding.value_table[:, max(j - i, -2) + 2].expand(HEADS, -1)
            expected[:, :, i] += weights[:, :, i, j, None] * a
    assert gap(found, expected) < 1e-13


def test_every_query_has_a_position_of_its_own():
    """A prompt into an empty cache, then two at once: transformers 4.57.6 gave each the distances of the last."""
    for form in ("relative_key", "relative_key_query"):
        net = model(build(Shaw, SHAPE, form=form, max_positions=20))
        token, cache = tokens(2, 9), Cache(9)
        parts = [net(token[:, a:b], cache=cache) for a, b in ((0, 5), (5, 6), (6, 8), (8, 9))]
        assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


def test_a_step_after_the_first_depends_on_positions():
    net, token = model(build(Shaw, SHAPE)), tokens(2, 6)
    last = []
    for places in ([0, 1, 2, 3, 4], [0, 0, 0, 0, 0]):
        cache = Cache(6)
        net(token[:, :5], at(places), cache=cache)
        last.append(net(token[:, 5:], at([5]), cache=cache))
    assert gap(last[0], last[1]) > 1e-2


@pytest.mark.parametrize("gradients", [True, False])
def test_memory(gradients):
    """No vector for each pair: in training a number or two for each, at inference for those of 256 queries at most."""
    count, d, n = 2, 64, 700
    encoding = Shaw(count, d)
    q, k, v = (normal(1, count, n, d, seed=seed, dtype=torch.float32) for seed in range(3))
    with torch.set_grad_enabled(gradients), Largest() as largest:
        attend(q, k, v, encoding)
    pairs = count * n * (n if gradients else 256)
    assert (pairs if gradients else 0) < largest.elements <= 2 * pairs


def test_each_layer_has_its_own_tables():
    own, one = (build(Shaw, SHAPE, clip=3, per_layer=choice) for choice in (True, False))
    first, *others = own.layers(3)
    assert first is own and len(others) == 2
    drawn = [layer.value_table for layer in (first, *others)]
    assert all(not torch.equal(a, b) for a, b in ((drawn[0], drawn[1]), (drawn[1], drawn[2]), (drawn[0], drawn[2])))
    assert all(layer is one for layer in one.layers(3)) and own.layers(0) == []
    sizes = [sum(p.numel() for p in model(encoding).parameters()) for encoding in (own, one)]
    assert sizes[0] - sizes[1] == (DEPTH - 1) * 2 * 7 * HEAD_DIM
    assert sum(key.endswith("table") for key in model(build(Shaw, SHAPE)).state_dict()) == 2 * DEPTH


def test_initial_values():
    torch.manual_seed(0)
    for encoding, std in ((Shaw(4, 64, clip=200), 1 / 8), (Shaw(4, 64, form="relative_key"), 0.02)):
        for table in encoding.parameters():
            assert table.std().item() == pytest.approx(std, rel=0.05)


def test_sizes():
    assert Shaw(6, 8).key_table.shape == (1, 33, 8) == Shaw(6, 8).value_table.shape
    assert Shaw(6, 8, per_head=True, left=64, right=8, values=False).key_table.shape == (6, 73, 8)
    assert Shaw(6, 8, form="relative_key").key_table.shape == (1, 1023, 8)
    assert Shaw(6, 8, form="relative_key").value_table is None


def test_one_table_serves_any_number_of_heads():
    encoding = shaw()
    with pytest.raises(OptionError, match="heads"):
        attend(normal(1, 2, 5, 8), normal(1, 2, 5, 8), normal(1, 2, 5, 8), shaw(per_head=True))
    out = attend(normal(1, 2, 5, 8), normal(1, 2, 5, 8), normal(1, 2, 5, 8), encoding)
    assert out.shape == (1, 2, 5, 8)
    with pytest.raises(OptionError, match="head_dim"):
        attend(normal(1, 2, 5, 4), normal(1, 2, 5, 4), normal(1, 2, 5, 4), encoding)


@BACKENDS
def test_values_of_another_width(backend):
    q, k, _ = heads(5)
    with pytest.raises(OptionError, match="width"):
        attend(q, k, normal(2, KV_HEADS, 5, 11), shaw(), backend=backend)
    assert attend(q, k, normal(2, KV_HEADS, 5, 11), shaw(values=False), backend=backend).shape[-1] == 11


def test_under_a_causal_mask_the_future_is_not_trained():
    encoding = shaw(clip=3)
    attend(*heads(6), encoding, mask=CAUSAL).square().sum().backward()
    for table in (encoding.key_table, encoding.value_table):
        assert (table.grad[0].abs().sum(-1) > 0).tolist() == [True] * 4 + [False] * 3


def test_flex_refuses_values_and_takes_keys():
    q, k, v = heads(5, dtype=torch.float32)
    with pytest.raises(BackendError, match="sdpa"):
        attend(q, k, v, build(Shaw, SHAPE), backend="flex")


@pytest.mark.parametrize("form", ["shaw", "relative_key_query"])
def test_between_whole_numbers_there_is_nothing(form):
    with pytest.raises(PositionError, match="whole"):
        attend(*heads(2), shaw(form=form), at([0, 1.5]))
    with pytest.raises(PositionError, match="axes"):
        attend(*heads(6), shaw(form=form), grid(2, 3))


def test_documents_that_run_on_and_far_positions():
    net = model(build(Shaw, SHAPE, clip=3))
    token = tokens(1, 9)
    assert gap(net(token, packed([4, 5], restart=False)), net(token, packed([4, 5]))) < 1e-12
    assert gap(net(token, sequence(9, 2**40)), net(token)) < 1e-12


@pytest.mark.parametrize("options", [dict(), dict(form="relative_key_query", max_positions=40)], ids=str)
def test_compiled(options):
    torch._dynamo.reset()
    module = weigh(Attention(WIDTH, HEADS, build(Shaw, SHAPE, **options), kv_heads=KV_HEADS).double())
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for n in (11, 17, 23):
        assert gap(compiled(normal(2, n, WIDTH)), module(normal(2, n, WIDTH))) < 1e-12
    torch._dynamo.reset()


@pytest.mark.parametrize(
    "options",
    [dict(form="music"), dict(clip=0), dict(clip=-1), dict(left=-1), dict(left=0, right=0), dict(max_positions=9),
     dict(form="relative_key", clip=8), dict(form="relative_key", left=3), dict(form="relative_key", max_positions=1)],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        build(Shaw, Shape(48, 6, 8), **options)
    assert error.value.given is not None

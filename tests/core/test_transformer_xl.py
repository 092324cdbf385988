"""Transformer-XL: every pair by an explicit gather, memory, options; the known mistakes of its shift are tests."""

import pytest
import torch

from gnomon import positions
from gnomon.attention import attend
from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.errors import OptionError
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL, Mask
from gnomon.memory import Memory
from gnomon.pairs import dense
from gnomon.positions import Positions
from tests.core.common import HEAD_DIM, HEADS, WIDTH, gap, heads, make, model, normal, tokens, weigh

N = 9


def txl(**options) -> TransformerXL:
    return weigh(TransformerXL(WIDTH, HEADS, HEAD_DIM, **options).double())


def of_distance(encoding: TransformerXL, x: float) -> torch.Tensor:
    """W r(x) of each head, `[h, d]`, by the formula alone."""
    angle = torch.tensor([x * 10000 ** (-2 * n / WIDTH) for n in range(WIDTH // 2)], dtype=torch.float64)
    return (encoding.weight @ torch.cat([angle.sin(), angle.cos()])).unflatten(0, (HEADS, HEAD_DIM))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("queries, start", [(N, 0), (4, 5), (1, 8), (3, 0)])
def test_every_pair_by_explicit_gather(queries, start, known):
    """The whole matrix: above the diagonal, a shift made for causal masks mixes the rows of other queries."""
    encoding, (q, k, _) = txl(), heads(queries, N)
    q_pos, k_pos = positions.sequence(queries, start), positions.sequence(N)
    if not known:
        q_pos, k_pos = Positions(q_pos.coords), Positions(k_pos.coords)
    found = dense(encoding.bias(q, k, q_pos, k_pos), 2, HEADS, queries, N)
    for i in range(queries):
        for j in range(N):
            r = of_distance(encoding, start + i - j)
            expected = ((q[:, :, i] + encoding.biases.v) * r).sum(-1) / HEAD_DIM**0.5
            assert gap(found[:, :, i, j], expected) < 1e-12


def test_a_token_and_itself_are_at_distance_zero():
    """Dropping the last row of the table instead of the first moves the whole matrix by one."""
    encoding, (q, k, _) = txl(), heads(N)
    found = dense(encoding.bias(q, k, *[positions.sequence(N, 70)] * 2), 2, HEADS, N, N)
    expected = ((q + encoding.biases.v[:, None]) * of_distance(encoding, 0)[:, None]).sum(-1) / HEAD_DIM**0.5
    assert gap(found.diagonal(dim1=-2, dim2=-1), expected) < 1e-12


def test_distances_of_either_sign_differ():
    encoding = txl()
    assert gap(of_distance(encoding, 3), of_distance(encoding, -3)) > 0.1


def test_the_scale_is_that_of_a_head():
    """Not of the model's width: the same head gives the same logits whatever the number of heads."""
    few, many = TransformerXL(WIDTH, 2, HEAD_DIM).double(), TransformerXL(WIDTH, 4, HEAD_DIM).double()
    weigh(few)
    with torch.no_grad():
        for name in ("u", "v"):
            getattr(many.biases, name).copy_(getattr(few.biases, name).repeat(2, 1))
        many.weight.copy_(few.weight.repeat(2, 1))
    q, k, v = (normal(1, 2, N, HEAD_DIM, seed=seed) for seed in range(3))
    twice = [t.repeat(1, 2, 1, 1) for t in (q, k, v)]
    assert gap(attend(*twice, many)[:, :2], attend(q, k, v, few)) < 1e-13


def test_initial_values_are_drawn():
    encoding = TransformerXL(WIDTH, HEADS, HEAD_DIM)
    for parameter in encoding.parameters():
        assert torch.isfinite(parameter).all() and parameter.std() > 0
    assert encoding.biases.u.std().item() == pytest.approx(0.02, rel=0.4)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("clamp", [0.5, 2.0, 3.7])
def test_distances_beyond_the_clamp_are_the_clamp(clamp, known):
    encoding, (q, k, _) = txl(clamp_len=clamp), heads(N)
    pos = positions.sequence(N, 2, step=0.7)
    pos = pos if known else Positions(pos.coords)
    found = dense(encoding.bias(q, k, pos, pos), 2, HEADS, N, N)
    for i, j in ((0, 8), (8, 0), (3, 4), (6, 2)):
        r = of_distance(encoding, max(-clamp, min(clamp, 0.7 * (i - j))))
        assert gap(found[:, :, i, j], ((q[:, :, i] + encoding.biases.v) * r).sum(-1) / HEAD_DIM**0.5) < 1e-12


def test_layers_share_u_and_v_and_nothing_else():
    first, second = make("transformer_xl").layers(2)
    assert second.biases is first.biases and second.weight is not first.weight
    assert gap(second.weight, first.weight) > 0.1
    first, second = make("transformer_xl", untied=True).layers(2)
    assert second.biases.u is not first.biases.u


def test_shared_vectors_stay_shared_through_the_meta_device():
    with torch.device("meta"):
        net = model(make("transformer_xl"), dtype=torch.float32)
    net.to_empty(device="cpu")
    net.reset_parameters()
    first, second = (block.attention.encoding for block in net.blocks)
    assert first.biases.u is second.biases.u and torch.isfinite(first.biases.u).all()
    net(tokens(2, N)).sum().backward()
    assert first.biases.u.grad.abs().max() > 0


def test_the_model_is_told_of_the_memory():
    assert make("transformer_xl", mem_len=7).memory == 7
    assert make("transformer_xl").memory == 0


@pytest.mark.parametrize("options", [{}, {"untied": True}, {"clamp_len": 3.0}], ids=str)
def test_two_segments_with_a_memory_are_one_long_sequence(options):
    net, token = model(make("transformer_xl", mem_len=N, **options)), tokens(2, 2 * N)
    memory = Memory(N)
    parts = [net(token[:, :N], cache=memory), net(token[:, N:], cache=memory)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


def test_the_memory_has_its_place():
    """A segment after a memory is not where it would be alone, and moving both changes nothing."""
    net, token = model(make("transformer_xl")), tokens(1, 8)
    outs = []
    for start in (0, 1000):
        memory = Memory(4)
        net(token[:, :4], positions.sequence(4, start), cache=memory)
        outs.append(net(token[:, 4:], positions.sequence(4, start + 4), cache=memory))
    assert gap(outs[1], outs[0]) < 1e-11
    assert gap(net(token[:, 4:]), outs[0]) > 1e-2


def test_the_same_length_for_every_query():
    """Under a window as long as the memory, each query sees as many keys, the first slot of the memory among them."""
    size = 5
    net, token = model(make("transformer_xl"), Mask(window=size), depth=1), tokens(1, 3 * size)
    memory = Memory(size)
    parts = [net(token[:, a : a + size], cache=memory) for a in (0, size, 2 * size)]
    for i in range(2 * size, 3 * size):
        seen = slice(i - size + 1, i + 1)
        assert gap(parts[2][:, i - 2 * size], net(token[:, seen])[:, -1]) < 1e-12


def test_a_padded_batch_of_an_encoder():
    net, token = model(make("transformer_xl", causal=False), BIDIRECTIONAL), tokens(2, N)
    real = torch.arange(N) >= torch.tensor([[0], [4]])
    assert gap(net(token, positions.padded(real))[1:, 4:], net(token[1:, 4:])) < 1e-12


@pytest.mark.parametrize("split", [[N], [1] * N, [5, 4], [2, 3, 4]])
def test_cached_chunks(split):
    net, token, cache = model(make("transformer_xl")), tokens(2, N), Cache(N)
    parts = [net(part, cache=cache) for part in token.split(split, dim=1)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


def test_whole_distances_survive_16_bits():
    """bfloat16 counts to 256: distances formed in it would merge neighbours."""
    encoding = txl().to(torch.bfloat16)
    q, k, _ = heads(1, 4, dtype=torch.bfloat16)
    q_pos = positions.sequence(1, 2000)
    for start in (999, 0):
        for k_pos in (positions.sequence(4, start), Positions(positions.sequence(4, start).coords)):
            found = dense(encoding.bias(q, k, q_pos, k_pos), 2, HEADS, 1, 4).float()
            assert found.diff(dim=-1).abs().amax(dim=(0, 1, 2)).min() > 0.01


@pytest.mark.parametrize(
    "options", [dict(mem_len=-1), dict(clamp_len=0.0), dict(clamp_len=-2.0), dict(width=47)], ids=str
)
def test_options_that_make_no_sense(options):
    with pytest.raises(OptionError):
        TransformerXL(**(dict(width=WIDTH, heads=HEADS, head_dim=HEAD_DIM) | options))

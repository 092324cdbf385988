"""T5 against T5Attention of transformers 5.24.0 and RelativePositionBias of x-transformers 2.31.10."""

import pytest
import torch

from gnomon.attention import Attention
from gnomon.encodings.buckets import t5_bucket
from gnomon.encodings.none import NoPE
from gnomon.encodings.t5 import T5
from gnomon.kv_cache import Cache
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions, padded, sequence
from tests.oracles.others import close, copy, normal, require, theirs, weigh

t5 = theirs("t5")
require("x-transformers")

from transformers import DynamicCache  # noqa: E402
from x_transformers.x_transformers import RelativePositionBias  # noqa: E402

WIDTH, HEADS, ROWS, TOKENS = 24, 3, 2, 9
RHO = torch.arange(-3000, 3001)
SIZES = [(32, 128), (8, 20), (16, 64), (64, 999), (4, 300), (12, 37)]


def pair(causal: bool, *, buckets: int = 8, max_distance: int = 6) -> tuple[Attention, torch.nn.Module]:
    """Our Attention and their T5Attention with the same weights; distances beyond 6 are few enough to saturate."""
    config = t5.T5Config(
        d_model=WIDTH, d_kv=WIDTH // HEADS, num_heads=HEADS, is_decoder=causal, dropout_rate=0.0,
        relative_attention_num_buckets=buckets, relative_attention_max_distance=max_distance,
    )  # fmt: skip
    config._attn_implementation = "eager"
    their = weigh(t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0, is_causal=causal))
    encoding = T5(HEADS, causal, buckets, max_distance)
    our = Attention(WIDTH, HEADS, encoding, mask=CAUSAL if causal else BIDIRECTIONAL).double()
    copy({our.q.weight: their.q.weight, our.k.weight: their.k.weight, our.v.weight: their.v.weight})
    copy({our.out.weight: their.o.weight, encoding.weight: their.relative_attention_bias.weight})
    return our, their


def future(queries: int, keys: int) -> torch.Tensor:
    """-inf where a query that is one of the last tokens would see a later key."""
    return torch.full((queries, keys), -torch.inf, dtype=torch.float64).triu(1 + keys - queries)[None, None]


@pytest.mark.parametrize("buckets, max_distance", SIZES)
@pytest.mark.parametrize("causal", [True, False])
def test_buckets(causal, buckets, max_distance):
    found = t5_bucket(RHO, causal=causal, buckets=buckets, max_distance=max_distance)
    options = dict(num_buckets=buckets, max_distance=max_distance)
    expected = t5.T5Attention._relative_position_bucket(RHO, bidirectional=not causal, **options)
    assert torch.equal(found, expected)
    assert torch.equal(found, RelativePositionBias._relative_position_bucket(RHO, causal=causal, **options))


@pytest.mark.parametrize("causal", [True, False])
def test_bias_of_x_transformers(causal):
    """RelativePositionBias(scale=1): the queries are the last of the keys."""
    their = weigh(RelativePositionBias(scale=1, causal=causal, num_buckets=8, max_distance=20, heads=HEADS))
    encoding = T5(HEADS, causal, 8, 20).double()
    copy({encoding.weight: their.relative_attention_bias.weight})
    q_pos, k_pos, empty = sequence(4, 36), sequence(40), torch.empty(0)
    found = dense(encoding.bias(empty, empty, q_pos, k_pos), 1, HEADS, 4, 40)
    assert torch.equal(found[0], their(4, 40))


@pytest.mark.parametrize("causal", [True, False])
def test_whole_attention(causal):
    """Weights of standard deviation 0.3 make logits that a factor of 1 / sqrt(8) would change beyond recognition."""
    our, their = pair(causal)
    x = normal(ROWS, TOKENS, WIDTH)
    expected = their(x, mask=future(TOKENS, TOKENS) if causal else None)[0]
    close(our(x), expected)
    close(our(x, sequence(TOKENS, 1_000_000)), expected)


def test_the_bias_alone():
    """Queries of zero leave nothing but the bias in the logits."""
    our, their = pair(causal=False, buckets=32, max_distance=128)
    copy({w: torch.zeros_like(w) for w in (our.q.weight, their.q.weight)})
    x = normal(ROWS, 60, WIDTH)
    close(our(x), their(x)[0])


@pytest.mark.parametrize("split", [[5, 4], [1] * TOKENS, [8, 1], [TOKENS]])
def test_cached_chunks(split):
    our, their = pair(causal=True)
    x, start, their_cache, our_cache = normal(ROWS, TOKENS, WIDTH), 0, DynamicCache(), Cache(TOKENS)
    for size in split:
        chunk = x[:, start : start + size]
        start += size
        expected = their(chunk, mask=future(size, start), cache=their_cache)[0]
        close(our(chunk, cache=our_cache), expected)


def test_left_padding():
    """Only differences of positions matter, so theirs may count the padding."""
    our, their = pair(causal=True)
    real = torch.arange(TOKENS) >= torch.tensor([[0], [4]])
    x = normal(ROWS, TOKENS, WIDTH)
    mask = future(TOKENS, TOKENS).masked_fill(~real[:, None, None], torch.finfo(torch.float64).min)
    expected = their(x, mask=mask)[0]
    close(our(x, padded(real))[real], expected[real])


def test_cross_attention_has_no_bias():
    """Theirs has zeros there; ours is an attention without an encoding, and T5's scale of 1 in the queries."""
    _, their = pair(causal=False)
    bare = t5.T5Attention(their.config, has_relative_attention_bias=False, layer_idx=0)
    weigh(bare)
    our = Attention(WIDTH, HEADS, NoPE(), mask=BIDIRECTIONAL).double()
    copy({our.q.weight: bare.q.weight * (WIDTH // HEADS) ** 0.5, our.k.weight: bare.k.weight})
    copy({our.v.weight: bare.v.weight, our.out.weight: bare.o.weight})
    x, memory = normal(ROWS, 4, WIDTH), normal(ROWS, TOKENS, WIDTH, seed=1)
    expected = bare(x, key_value_states=memory)[0]
    close(our(x, keys=memory), expected)
    anywhere = Positions(100 * normal(ROWS, TOKENS, 1, seed=2))
    close(our(x, sequence(4, 7), keys=memory, key_pos=anywhere), expected)


def test_each_layer_has_a_table_of_its_own():
    """UMT5: every layer of its stack has a bias, where T5's later layers take that of the first."""
    umt5 = theirs("umt5")
    config = umt5.UMT5Config(
        d_model=WIDTH, d_kv=WIDTH // HEADS, num_heads=HEADS, is_decoder=True, dropout_rate=0.0,
        relative_attention_num_buckets=8, relative_attention_max_distance=6,
    )  # fmt: skip
    config._attn_implementation = "eager"
    x = normal(ROWS, TOKENS, WIDTH)
    for layer, encoding in enumerate(T5(HEADS, True, 8, 6, per_layer=True).layers(2)):
        their = weigh(umt5.UMT5Attention(config, has_relative_attention_bias=True, layer_idx=layer), seed=layer)
        our = Attention(WIDTH, HEADS, encoding).double()
        copy({our.q.weight: their.q.weight, our.k.weight: their.k.weight, our.v.weight: their.v.weight})
        copy({our.out.weight: their.o.weight, encoding.weight: their.relative_attention_bias.weight})
        close(our(x), their(x, attention_mask=future(TOKENS, TOKENS))[0])

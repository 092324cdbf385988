"""DeBERTa against DisentangledSelfAttention of versions 1 and 2 in transformers 5.24.0, and released bucket numbers."""

import pytest
import torch
from torch import Tensor

from gnomon.attention import attend
from gnomon.encodings.buckets import deberta_bucket
from gnomon.encodings.deberta import Deberta
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import Positions, padded, sequence
from tests.oracles.others import close, copy, normal, theirs, weigh

v1 = theirs("deberta")
v2 = theirs("deberta_v2")

WIDTH, HEADS, HEAD_DIM, ROWS, TOKENS = 24, 3, 8, 2, 19
TERMS = {"both": ["p2c", "c2p"], "c2p": ["c2p"], "p2c": ["p2c"]}
SINGLE = 2e-7
"""Theirs take the square root of the head width in float32."""


def sizes(span: int, terms: str, **options) -> dict:
    return dict(
        hidden_size=WIDTH, num_attention_heads=HEADS, relative_attention=True, max_relative_positions=span,
        pos_att_type=TERMS[terms], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **options,
    )  # fmt: skip


def heads(x: Tensor) -> Tensor:
    return x.unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2)


def everything_seen(n: int, keys: int | None = None) -> Tensor:
    return torch.ones(ROWS, 1, n, n if keys is None else keys)


def places(n: int, known: bool, start: int = 0) -> Positions:
    pos = sequence(n, start)
    return pos if known else Positions(pos.coords, turn=start)


def version_1(span: int, terms: str):
    """Their module, their table, and our encoding with the same weights. Their projection has q, k, v head by head."""
    their = weigh(v1.DisentangledSelfAttention(v1.DebertaConfig(**sizes(span, terms))))
    our = Deberta(WIDTH, HEADS, HEAD_DIM, span=span, terms=terms).double()
    table = 0.3 * normal(2 * span, WIDTH, seed=2)
    copy({our.table.weight: table})
    if terms != "p2c":
        copy({our.position_key.weight: their.pos_proj.weight})
    if terms != "c2p":
        copy({our.position_query.weight: their.pos_q_proj.weight, our.position_query.bias: their.pos_q_proj.bias})
    return their, table, our


def version_2(span: int, terms: str, buckets: int | None, shared: bool):
    config = v2.DebertaV2Config(**sizes(span, terms, position_buckets=buckets or -1, share_att_key=shared))
    their = weigh(v2.DisentangledSelfAttention(config))
    our = Deberta(WIDTH, HEADS, HEAD_DIM, span=span, terms=terms, buckets=buckets).double()
    table = 0.3 * normal(2 * (buckets or span), WIDTH, seed=2)
    copy({our.table.weight: table})
    key, query = (their.key_proj, their.query_proj) if shared else (None, None)
    if terms != "p2c":
        copy({our.position_key.weight: (key or their.pos_key_proj).weight})
    if terms != "c2p":
        projection = query or their.pos_query_proj
        copy({our.position_query.weight: projection.weight, our.position_query.bias: projection.bias})
    return their, table, our


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("span", [40, 19, 5])
def test_version_1(span, terms, known):
    """Lengths below, at and beyond the span; below it theirs reads the middle of its table."""
    their, table, our = version_1(span, terms)
    x = normal(ROWS, TOKENS, WIDTH)
    q, k, v = their.transpose_for_scores(their.in_proj(x)).chunk(3, dim=-1)
    q, v = (t + their.transpose_for_scores(b[None, None]) for t, b in ((q, their.q_bias), (v, their.v_bias)))
    apart = v1.build_relative_position(x, x)
    expected = their(x, everything_seen(TOKENS), relative_pos=apart, rel_embeddings=table)[0]
    found = attend(q, k, v, our, places(TOKENS, known, 100), mask=BIDIRECTIONAL)
    close(found.transpose(1, 2).flatten(2), expected, SINGLE)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "separate"])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("span, buckets", [(40, None), (5, None), (16, 8), (50, 6)])
def test_version_2(span, buckets, terms, shared, known):
    """With buckets the sequence is longer than max_position (16) or shorter (50)."""
    their, table, our = version_2(span, terms, buckets, shared)
    x = normal(ROWS, TOKENS, WIDTH)
    q, k, v = (heads(f(x)) for f in (their.query_proj, their.key_proj, their.value_proj))
    expected = their(x, everything_seen(TOKENS), rel_embeddings=table)[0]
    found = attend(q, k, v, our, places(TOKENS, known), mask=BIDIRECTIONAL)
    close(found.transpose(1, 2).flatten(2), expected, SINGLE)


def test_the_projections_of_the_layer_itself():
    """`shared`: the modules are the same, so a step on one is a step on the other."""
    their, table, _ = version_2(16, "both", 8, shared=True)
    our = Deberta(WIDTH, HEADS, HEAD_DIM, span=16, buckets=8, shared=True).double()
    copy({our.table.weight: table})
    our.serves(query=their.query_proj, key=their.key_proj)
    x = normal(ROWS, TOKENS, WIDTH)
    q, k, v = (heads(f(x)) for f in (their.query_proj, their.key_proj, their.value_proj))
    for backend in ("sdpa", "reference"):
        found = attend(q, k, v, our, mask=BIDIRECTIONAL, backend=backend)
        expected = their(x, everything_seen(TOKENS), rel_embeddings=table)[0]
        close(found.transpose(1, 2).flatten(2), expected, SINGLE)


def test_the_encoder_of_version_3():
    """The table of DebertaV2Encoder goes through its LayerNorm; a padded batch."""
    config = v2.DebertaV2Config(
        **sizes(16, "both", position_buckets=8, share_att_key=True, norm_rel_ebd="layer_norm", num_hidden_layers=1,
                intermediate_size=8)
    )  # fmt: skip
    encoder = weigh(v2.DebertaV2Encoder(config))
    their = encoder.layer[0].attention.self
    our = Deberta(WIDTH, HEADS, HEAD_DIM, span=16, buckets=8, norm=True, shared=True).double()
    copy({our.table.weight: encoder.rel_embeddings.weight, our.table.norm.weight: encoder.LayerNorm.weight})
    copy({our.table.norm.bias: encoder.LayerNorm.bias})
    our.serves(their.query_proj, their.key_proj)
    x, real = normal(ROWS, TOKENS, WIDTH), torch.arange(TOKENS) < torch.tensor([[TOKENS], [11]])
    q, k, v = (heads(f(x)) for f in (their.query_proj, their.key_proj, their.value_proj))
    mask = encoder.get_attention_mask(real.long())
    expected = their(x, mask, rel_embeddings=encoder.get_rel_embedding())[0]
    found = attend(q, k, v, our, padded(real), mask=BIDIRECTIONAL)
    close(found.transpose(1, 2).flatten(2)[real], expected[real], SINGLE)


def test_queries_of_another_stream():
    """The mask decoder's queries are no keys: theirs by `query_states`, ours are other hidden states."""
    their, table, our = version_2(16, "both", 8, shared=False)
    x, z = normal(ROWS, TOKENS, WIDTH), normal(ROWS, TOKENS, WIDTH, seed=1)
    q, k, v = heads(their.query_proj(z)), heads(their.key_proj(x)), heads(their.value_proj(x))
    expected = their(x, everything_seen(TOKENS), query_states=z, rel_embeddings=table)[0]
    found = attend(q, k, v, our, mask=BIDIRECTIONAL)
    close(found.transpose(1, 2).flatten(2), expected, SINGLE)


@pytest.mark.parametrize("known", [True, False])
def test_some_queries_among_all_keys(known):
    """Theirs raises where there are fewer queries than keys; ours gives the rows of the whole."""
    their, table, our = version_2(16, "both", 8, shared=False)
    x = normal(ROWS, TOKENS, WIDTH)
    q, k, v = (heads(f(x)) for f in (their.query_proj, their.key_proj, their.value_proj))
    with pytest.raises(RuntimeError):
        their(x, everything_seen(3, TOKENS), query_states=x[:, 5:8], rel_embeddings=table)
    expected = their(x, everything_seen(TOKENS), rel_embeddings=table)[0][:, 5:8]
    pos = places(TOKENS, known)
    found = attend(q[:, :, 5:8], k, v, our, pos.tokens(5, 8), pos, mask=BIDIRECTIONAL)
    close(found.transpose(1, 2).flatten(2), expected, SINGLE)


def test_golden_buckets():
    """256 buckets to 512, as released."""
    golden = {1: 1, 127: 127, 128: 128, 129: 129, 131: 131, 132: 131, 135: 133, 140: 137, 200: 169, 256: 192, 300: 207,
              400: 233, 500: 254, 510: 255, 511: 255, 512: 256}  # fmt: skip
    steps = torch.tensor([*golden, *(-m for m in golden)])
    expected = torch.tensor([*golden.values(), *(-bucket for bucket in golden.values())])
    assert torch.equal(deberta_bucket(steps, buckets=256, max_distance=512), expected)


@pytest.mark.parametrize("buckets, max_distance", [(256, 512), (32, 128), (8, 20), (6, 300), (64, 999)])
def test_buckets(buckets, max_distance):
    steps = torch.arange(-2000, 2001)
    expected = v2.make_log_bucket_position(steps, buckets, max_distance).long()
    assert torch.equal(deberta_bucket(steps, buckets=buckets, max_distance=max_distance), expected)

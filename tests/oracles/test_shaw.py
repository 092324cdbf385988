"""Shaw against transformers 5.24.0 where it still has a relative key, and against numbers of what it dropped.

SeamlessM4Tv2ConformerSelfAttention and Wav2Vec2BertSelfAttention read keys only, clipped at 64 in the past and 8 in the
future. BERT's forms are those of BertSelfAttention in transformers 4.57.6, and values those of fairseq2's
ShawRelativePositionSDPA (commit 1472454, float32 softmax): neither can be installed beside 5.24.0, so their numbers
are here, and `waves` makes the weights and inputs that they were computed from.
"""

import pytest
import torch
from torch import Tensor

from gnomon.attention import attend
from gnomon.encodings.shaw import Shaw
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import padded, sequence
from tests.oracles.others import close, copy, normal, theirs, weigh

seamless, w2v = theirs("seamless_m4t_v2"), theirs("wav2vec2_bert")

WIDTH, HEADS, TOKENS = 24, 3, 11
BACKENDS = pytest.mark.parametrize("backend", ["reference", "sdpa"])


def speech(kind: str, left: int, right: int) -> torch.nn.Module:
    """Their attention, in float64, weights of standard deviation 0.3."""
    clip = dict(
        position_embeddings_type="relative_key", left_max_position_embeddings=left, right_max_position_embeddings=right
    )
    if kind == "seamless":
        sizes = dict(hidden_size=WIDTH, speech_encoder_attention_heads=HEADS, speech_encoder_dropout=0.0)
        config, made = seamless.SeamlessM4Tv2Config(**sizes, **clip), seamless.SeamlessM4Tv2ConformerSelfAttention
    else:
        sizes = dict(hidden_size=WIDTH, num_attention_heads=HEADS, attention_dropout=0.0)
        config, made = w2v.Wav2Vec2BertConfig(**sizes, **clip), w2v.Wav2Vec2BertSelfAttention
    config._attn_implementation = "eager"
    return weigh(made(config))


@pytest.mark.parametrize("left, right", [(3, 2), (4, 0), (64, 8), (1, 5)])
@pytest.mark.parametrize("kind", ["seamless", "w2v"])
@BACKENDS
def test_whole_attention(kind, left, right, backend):
    """At positions 0, 1, 2, ..., which is all they take; and moved by a million, which changes nothing."""
    their = speech(kind, left, right)
    encoding = Shaw(HEADS, WIDTH // HEADS, left=left, right=right, values=False).double()
    copy({encoding.key_table: their.distance_embedding.weight[None]})
    x = normal(2, TOKENS, WIDTH)
    expected = their(x)[0]
    projections = (their.linear_q, their.linear_k, their.linear_v)
    q, k, v = (project(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for project in projections)
    for pos in (sequence(TOKENS), sequence(TOKENS, 1_000_000)):
        found = attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL, backend=backend)
        close(their.linear_out(found.transpose(1, 2).flatten(2)), expected)


@pytest.mark.parametrize("kind", ["seamless", "w2v"])
def test_left_padding(kind):
    """Only differences count, so theirs may count the padding."""
    their = speech(kind, 3, 2)
    encoding = Shaw(HEADS, WIDTH // HEADS, left=3, right=2, values=False).double()
    copy({encoding.key_table: their.distance_embedding.weight[None]})
    real = torch.arange(TOKENS) >= torch.tensor([[0], [4]])
    x = normal(2, TOKENS, WIDTH)
    hidden = torch.zeros(2, 1, 1, TOKENS, dtype=torch.float64).masked_fill(~real[:, None, None], -1e300)
    projections = (their.linear_q, their.linear_k, their.linear_v)
    q, k, v = (project(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for project in projections)
    found = attend(q, k, v, encoding, padded(real), mask=BIDIRECTIONAL)
    found = their.linear_out(found.transpose(1, 2).flatten(2))
    close(found[real], their(x, attention_mask=hidden)[0][real])


def waves(*shape: int, phase: float) -> Tensor:
    """Numbers between -1 and 1 in no simple order: sin(phase + 1.7 m + 0.3 (m mod 7)^2), m = 0, 1, 2, ..."""
    m = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
    return torch.sin(phase + 1.7 * m + 0.3 * (m % 7) ** 2).reshape(shape)


def inputs() -> tuple[Tensor, ...]:
    """q, k, v of two heads of width 4, five tokens."""
    return tuple(waves(1, 2, 5, 4, phase=phase) for phase in (3, 4, 5))


GOLDEN = {
    "relative_key": [
        [0.35898877, 0.15234779, -0.21989886, -0.09809174],
        [0.06297446, 0.34935057, -0.06366170, -0.27688589],
        [0.02881462, 0.26258536, -0.00970197, -0.13173025],
        [0.22989486, 0.27339451, -0.19060843, -0.20891206],
        [0.17358669, 0.08031036, 0.14146550, -0.05893509],
        [-0.56258749, 0.42372273, -0.06898574, -0.33744117],
        [0.13920259, -0.21855254, -0.13431363, 0.03714534],
        [0.07209041, -0.08985990, -0.48630942, 0.45813981],
        [-0.02102751, -0.06900681, -0.29292863, 0.26879354],
        [-0.28120763, -0.08671018, -0.12217496, 0.57752117],
    ],
    "relative_key_query": [
        [0.60815769, 0.15021669, -0.31145876, -0.26321294],
        [0.15564417, 0.22602355, -0.16400469, -0.07769106],
        [-0.35263509, 0.40637053, -0.01245588, -0.02031149],
        [0.39220520, 0.33310056, -0.33395889, -0.36239909],
        [0.44904291, -0.26785113, 0.28359013, 0.18606244],
        [-0.77179784, 0.67062856, 0.08896497, -0.67805877],
        [0.10475705, -0.24603621, -0.14195467, 0.24423768],
        [0.05080492, -0.15419851, -0.56990551, 0.57821092],
        [0.06572996, -0.08198837, -0.34494162, 0.20763066],
        [-0.35335565, -0.04968237, -0.12863472, 0.63018988],
    ],
    "values, bidirectional": [
        [-0.92892824, 0.10948274, 0.24130126, 0.54585852],
        [-0.53779201, -0.16500255, 0.38867700, 0.33530793],
        [-0.04016989, -0.24176881, 0.20788790, 0.22922423],
        [0.54349707, -0.29555243, -0.00935651, 0.02355954],
        [0.83311102, -0.69201084, 0.08835916, 0.38717941],
        [-1.21206092, -0.10437007, 0.37382674, 0.38264752],
        [-0.40933431, -0.59664258, 0.06267031, 0.69438260],
        [0.06608307, -0.60057758, -0.35505473, 0.77065574],
        [0.22650148, -0.75185067, -0.15483178, 0.75545743],
        [-0.29569724, -0.50646933, 0.09384881, 0.90356189],
    ],
    "values, causal": [
        [-1.14978286, 0.31450598, 0.11272587, 0.59056818],
        [-0.65839369, 0.28390950, 0.30955514, 0.06396830],
        [-0.03850894, 0.04953982, -0.03946797, 0.02715541],
        [0.64970849, -0.13762570, -0.18826350, -0.17366526],
        [0.83311102, -0.69201084, 0.08835916, 0.38717941],
        [-0.63971256, -0.20223993, -0.67161931, 1.32720080],
        [-0.35069746, -0.05155761, -0.72625112, 0.74435128],
        [0.36544396, -0.54536480, -0.51112533, 0.42445576],
        [0.83340093, -0.89272000, -0.41139430, 0.63360216],
        [-0.29569724, -0.50646933, 0.09384881, 0.90356189],
    ],
}
"""Outputs, the five tokens of the first head before those of the second."""


def golden(name: str) -> Tensor:
    return torch.tensor(GOLDEN[name], dtype=torch.float64).reshape(1, 2, 5, 4)


@pytest.mark.parametrize("form", ["relative_key", "relative_key_query"])
@BACKENDS
def test_bert(form, backend):
    """A table for 6 positions, `distance_embedding` as it is; anywhere among the six."""
    encoding = Shaw(2, 4, form=form, max_positions=6).double()
    copy({encoding.key_table: waves(1, 11, 4, phase=1)})
    for start in (0, 1):
        found = attend(*inputs(), encoding, sequence(5, start), mask=BIDIRECTIONAL, backend=backend)
        close(found, golden(form), 1e-8)


@pytest.mark.parametrize("mask", [CAUSAL, BIDIRECTIONAL], ids=["causal", "bidirectional"])
@BACKENDS
def test_values(mask, backend):
    """Keys and values clipped at 2 in the past and at 1 in the future; the last queries alone give the last outputs."""
    encoding = Shaw(2, 4, left=2, right=1).double()
    copy({encoding.key_table: waves(1, 4, 4, phase=1), encoding.value_table: waves(1, 4, 4, phase=2)})
    expected = golden("values, causal" if mask.causal else "values, bidirectional")
    q, k, v = inputs()
    close(attend(q, k, v, encoding, mask=mask, backend=backend), expected, 1e-7)
    pos = sequence(5, 300)
    last = attend(q[:, :, 3:], k, v, encoding, pos.tokens(3, 5), pos, mask=mask, backend=backend)
    close(last, expected[:, :, 3:], 1e-7)

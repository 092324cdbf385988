"""Other people's attention at the same sizes: transformers and x-transformers."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from benchmarks.subjects import HEAD_DIM, HEADS, WIDTH


@dataclass(frozen=True)
class Peer:
    """A layer of another package: `build(n, causal)` gives a call without gradients."""

    package: str
    what: str
    of: str
    """The encoding that it has."""
    masks: tuple[bool, ...]
    build: Callable[[int, bool], Callable[[], object]]


def _call(forward: Callable[[], object]) -> Callable[[], object]:
    def call() -> None:
        with torch.no_grad():
            forward()

    return call


def _future(n: int) -> torch.Tensor:
    return torch.full((n, n), -torch.inf).triu(1)[None, None]


def _t5(implementation: str) -> Callable[[int, bool], Callable[[], object]]:
    def build(n: int, causal: bool) -> Callable[[], object]:
        from transformers.models.t5.modeling_t5 import T5Attention, T5Config

        config = T5Config(d_model=WIDTH, d_kv=HEAD_DIM, num_heads=HEADS, is_decoder=causal, dropout_rate=0.0)
        config._attn_implementation = implementation
        module = T5Attention(config, has_relative_attention_bias=True, layer_idx=0, is_causal=causal).eval()
        x, mask = torch.randn(1, n, WIDTH), _future(n) if causal else None
        return _call(lambda: module(x, mask=mask))

    return build


def _bloom(n: int, causal: bool) -> Callable[[], object]:
    from transformers.models.bloom.modeling_bloom import BloomAttention, BloomConfig, build_alibi_tensor

    config = BloomConfig(hidden_size=WIDTH, n_head=HEADS, attention_dropout=0.0, hidden_dropout=0.0)
    module, x, mask = BloomAttention(config, layer_idx=0).eval(), torch.randn(1, n, WIDTH), _future(n)
    residual, tokens = torch.zeros_like(x), torch.ones(1, n)
    return _call(lambda: module(x, residual, build_alibi_tensor(tokens, HEADS, torch.float32), mask))


def _deberta(n: int, causal: bool) -> Callable[[], object]:
    from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2Config, DisentangledSelfAttention

    config = DebertaV2Config(
        hidden_size=WIDTH, num_attention_heads=HEADS, relative_attention=True, max_relative_positions=512,
        pos_att_type=["p2c", "c2p"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    module, x, table = DisentangledSelfAttention(config).eval(), torch.randn(1, n, WIDTH), torch.randn(1024, WIDTH)
    mask = torch.ones(1, 1, n, n)
    return _call(lambda: module(x, mask, rel_embeddings=table))


def _x_alibi(flash: bool) -> Callable[[int, bool], Callable[[], object]]:
    def build(n: int, causal: bool) -> Callable[[], object]:
        from x_transformers import Decoder, Encoder

        module = (Decoder if causal else Encoder)(
            dim=WIDTH, depth=1, heads=HEADS, attn_dim_head=HEAD_DIM, alibi_pos_bias=True, attn_flash=flash,
            custom_layers=("a",),
        ).eval()  # fmt: skip
        x = torch.randn(1, n, WIDTH)
        return _call(lambda: module(x))

    return build


PEERS = (
    Peer("transformers", "T5Attention, eager", "t5", (False, True), _t5("eager")),
    Peer("transformers", "T5Attention, sdpa", "t5", (False, True), _t5("sdpa")),
    Peer("transformers", "BloomAttention", "alibi", (True,), _bloom),
    Peer("x-transformers", "ALiBi", "alibi", (False, True), _x_alibi(False)),
    Peer("x-transformers", "ALiBi, attn_flash", "alibi", (False, True), _x_alibi(True)),
    Peer("transformers", "DeBERTa v2", "deberta", (False,), _deberta),
)
"""DeBERTa's attention beside transformers' own projections has no output projection."""

"""Rotation of queries and keys: near the cost of copying them, and faster than other packages."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from benchmarks.measure import interleaved
from benchmarks.rows import Row, peer, quartiles, timed
from benchmarks.script import Script, main
from benchmarks.subjects import Floor
from gnomon import positions
from gnomon.encodings.rope import Rope
from gnomon.encodings.rotation import Pairing

HEADS, TOKENS, HEAD_DIM = 16, 4096, 128
BOUNDS = {torch.float32: (1.3, 3.0), torch.bfloat16: (3.0, 1.0)}
"""Over cloning both; and how many times faster than each of the others."""
STRETCH = "the stretch is 2x"


@dataclass(frozen=True)
class Rotation(Script):
    """Rotating q and k, [1, 16, 4096, 128], over cloning both; and other packages over it, eager.

    Sines and cosines are there, as in every layer of a model but the first; what they cost stands beside it.
    x-transformers takes them anew at each call: its own way.
    """

    def rows(self) -> Iterator[Row]:
        for dtype in BOUNDS:
            for pairing in get_args(Pairing):
                yield from rotations(pairing, 256 if self.quick else TOKENS, dtype, "cpu", self.repeats)


def rotations(pairing: Pairing, n: int, dtype: torch.dtype, device: str, repeats: int) -> Iterator[Row]:
    """The rows of one way to pair dimensions, in one precision."""
    q, k = (torch.randn(1, HEADS, n, HEAD_DIM, device=device, dtype=dtype) for _ in range(2))
    rope, pos = Rope(HEAD_DIM, pairing=pairing), positions.sequence(n, device=device)
    prepared = rope.prepare(pos, pos, torch.float32)
    name, section = f"rope, {pairing}", f"{str(dtype).removeprefix('torch.')}, {pairing}"
    calls = {
        name: lambda: (rope.query(q, prepared), rope.key(k, prepared)),
        "clone": lambda: (q.clone(), k.clone()),
        "sines and cosines, once a forward pass": lambda: rope.prepare(pos, pos, torch.float32),
    }
    others = {what: (package, make(q, k)) for package, what, make in PEERS}
    with torch.no_grad():
        found = interleaved({**calls, **{what: call for what, (_, call) in others.items()}}, repeats)
    clone, (copied, faster) = found["clone"], BOUNDS[dtype]
    # Of each pair of dimensions and each token a sine and a cosine.
    moved, tables = 4 * q.numel() * q.element_size(), n * HEAD_DIM * torch.float32.itemsize
    floor = Floor((moved + tables) / moved, "bytes: q and k read and written, sines and cosines read").note()
    yield Row(
        section, name, "cloning q and k", found[name].seconds, "s", clone.seconds, 1 / clone.ratio, copied,
        **quartiles(clone, inverse=True), note=f"{floor}; {STRETCH}" if dtype == torch.bfloat16 else floor,
    )  # fmt: skip
    for what, timing in list(found.items())[2:]:
        package = others[what][0] if what in others else None
        more = dict(peer=peer(package), bound=faster, at_least=True) if package else {}
        yield timed(section, what, name, timing, found[name], **more)


def _transformers(q: Tensor, k: Tensor) -> Callable[[], object]:
    from transformers.models.llama.modeling_llama import LlamaConfig, LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(hidden_size=q.shape[1] * q.shape[3], num_attention_heads=q.shape[1])
    cos, sin = LlamaRotaryEmbedding(config).to(q.device)(q, torch.arange(q.shape[2], device=q.device)[None])
    return lambda: apply_rotary_pos_emb(q, k, cos, sin)


def _x_transformers(q: Tensor, k: Tensor) -> Callable[[], object]:
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    freqs, scale = RotaryEmbedding(q.shape[3]).to(q.device).forward_from_seq_len(q.shape[2])
    return lambda: (apply_rotary_pos_emb(q, freqs, scale), apply_rotary_pos_emb(k, freqs, scale))


def _rotary_embedding_torch(q: Tensor, k: Tensor) -> Callable[[], object]:
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(q.shape[3]).to(q.device)
    return lambda: (rotary.rotate_queries_or_keys(q), rotary.rotate_queries_or_keys(k))


PEERS = (
    ("transformers", "apply_rotary_pos_emb, Llama", _transformers),
    ("x-transformers", "apply_rotary_pos_emb", _x_transformers),
    ("rotary-embedding-torch", "rotate_queries_or_keys", _rotary_embedding_torch),
)


if __name__ == "__main__":
    sys.exit(main(Rotation))

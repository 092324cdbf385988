"""What the tests of the core share: small models with big weights, random numbers by seed, every encoding."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gnomon.encoding import Encoding, Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.laws import case
from gnomon.laws.case import KV_HEADS, SHAPE, VOCABULARY, gap
from gnomon.masks import CAUSAL, Mask
from gnomon.positions import Positions
from gnomon.transformer import Transformer

__all__ = ["KV_HEADS", "SHAPE", "VOCABULARY", "gap"]
WIDTH, HEADS, HEAD_DIM, DEPTH = SHAPE.width, SHAPE.heads, SHAPE.head_dim, SHAPE.depth


def make(name: str, causal: bool = True, **options: object) -> Encoding:
    return create(name, Shape(WIDTH, HEADS, HEAD_DIM, DEPTH, causal), **options)


def every_variant() -> list[tuple[str, dict]]:
    """Each encoding with its default options and with each of its variants."""
    return [(name, options) for name, kind in ENCODINGS.items() for options in ({}, *kind.variants)]


def label(variant: tuple[str, dict]) -> str:
    name, options = variant
    return "-".join([name, *(f"{key}={value}" for key, value in options.items())])


def only_causal(name: str) -> bool:
    """Whether the encoding refuses a mask that shows later tokens, however it is built."""
    return bool(ENCODINGS[name].causal)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def heads(n: int, m: int | None = None, *, rows: int = 2, seed: int = 0, dtype=torch.float64) -> tuple[Tensor, ...]:
    """q `[rows, 6, n, 8]`, k and v `[rows, 3, m, 8]`."""
    m = n if m is None else m
    sizes = ((HEADS, n), (KV_HEADS, m), (KV_HEADS, m))
    return tuple(normal(rows, h, t, HEAD_DIM, seed=seed + i, dtype=dtype) for i, (h, t) in enumerate(sizes))


def tokens(rows: int, n: int, seed: int = 0) -> Tensor:
    return torch.randint(VOCABULARY, (rows, n), generator=torch.Generator().manual_seed(seed))


def weigh(module: nn.Module, seed: int = 0, std: float = 0.3) -> nn.Module:
    """Every parameter drawn from N(0, std^2); the same values whatever the precision."""
    return case.weigh(module, torch.Generator().manual_seed(seed), std)


def key_heads(encoding: Encoding | Sequence[Encoding]) -> int:
    """Fewer key heads than query heads, where the encoding takes such."""
    return getattr(encoding, "kv_heads", None) or KV_HEADS


def model(
    encoding: Encoding | Sequence[Encoding],
    mask: Mask = CAUSAL,
    dtype: torch.dtype = torch.float64,
    depth: int = DEPTH,
    **options,
) -> Transformer:
    """Two layers with grouped keys where they are taken, weights of standard deviation 0.3, in evaluation mode."""
    options = dict(kv_heads=key_heads(encoding), mask=mask) | options
    return weigh(Transformer(VOCABULARY, WIDTH, depth, HEADS, encoding, **options).to(dtype)).eval()


def at(places: Sequence) -> Positions:
    """Positions on one axis from nested lists or a tensor, `[n]` or `[rows, n]`."""
    coords = torch.as_tensor(places, dtype=torch.float64)
    return Positions(coords[None, :, None] if coords.dim() == 1 else coords[..., None])


def anywhere(encoding: Encoding, rows: int, n: int, seed: int = 0) -> Positions:
    """Whole positions between 0 and 30, in no order, on as many axes as the encoding takes."""
    g = torch.Generator().manual_seed(seed)
    return Positions(torch.randint(0, 31, (rows, n, encoding.domain.axes or 1), generator=g).double())


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that is made."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        made = [t.numel() for t in tree_leaves(out) if isinstance(t, Tensor)]
        self.elements = max([self.elements, *made])
        return out

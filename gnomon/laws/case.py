"""A case: one encoding with everything around it that a law needs, so that a mutant can replace any one part."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gnomon.attention import attend
from gnomon.backends import Backend
from gnomon.encoding import Encoding, Shape
from gnomon.kv_cache import Cache, SinkCache
from gnomon.masks import Mask
from gnomon.positions import Positions, packed, sequence
from gnomon.transformer import Transformer

SHAPE = Shape(width=48, heads=6, head_dim=8, depth=2, causal=True)
"""No two sizes are equal, and six heads are no power of two."""
KV_HEADS, ROWS, TOKENS, VOCABULARY = 3, 4, 11, 29
FAR = 500.0
"""Random positions lie within this distance of the origin; angles of 500 keep twelve digits in float64."""


def auto() -> str:
    """The backend that a user gets: sdpa, and reference for a contextual encoding."""
    return "auto"


@dataclass(frozen=True)
class Case:
    """An encoding under test with its mask, backend and cache; `seed` draws weights, inputs and positions."""

    label: str
    encoding: Callable[[Shape], Encoding]
    causal: bool = True
    backend: Callable[[], Backend | str] = auto
    cache: Callable[[int], Cache] = Cache
    sinks: Callable[[int, int], SinkCache] = SinkCache
    masking: Callable[[bool], Mask] = Mask
    seed: int = 0

    @property
    def shape(self) -> Shape:
        return Shape(SHAPE.width, SHAPE.heads, SHAPE.head_dim, SHAPE.depth, self.causal)

    @property
    def mask(self) -> Mask:
        return self.masking(self.causal)

    def generator(self, salt: int = 0) -> torch.Generator:
        """Random numbers that depend on the seed and `salt` alone."""
        return torch.Generator().manual_seed(1000 * self.seed + salt)

    def make(self, dtype: torch.dtype = torch.float64) -> Encoding:
        """The encoding with weights of standard deviation 0.3: at initial values many a fault is too small to see."""
        return weigh(self.encoding(self.shape), self.generator(1)).to(dtype)

    def model(self, encoding: Encoding | None = None, dtype: torch.dtype = torch.float64) -> Transformer:
        """Two layers with grouped keys, if it takes them, around the encoding, weights of standard deviation 0.3."""
        encoding = self.encoding(self.shape) if encoding is None else encoding
        model = Transformer(
            VOCABULARY,
            SHAPE.width,
            SHAPE.depth,
            SHAPE.heads,
            encoding,
            kv_heads=encoding.kv_heads or KV_HEADS,
            mask=self.mask,
            backend=self.backend(),
        )
        return weigh(model, self.generator(2)).to(dtype).eval()

    def tokens(self, rows: int = ROWS, n: int = TOKENS) -> Tensor:
        """Random tokens `[rows, n]`."""
        return torch.randint(VOCABULARY, (rows, n), generator=self.generator(3))

    def inputs(self, n: int = TOKENS) -> Tensor:
        """Random token vectors `[b, n, w]`."""
        return torch.randn(ROWS, n, SHAPE.width, generator=self.generator(6), dtype=torch.float64)

    def heads(self, n: int = TOKENS, kv_heads: int = KV_HEADS, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        """Random q `[b, h, n, d]`, k and v `[b, g, n, d]`."""
        g, sizes = self.generator(4), (SHAPE.heads, kv_heads, kv_heads)
        return [
            torch.randn(ROWS, heads, n, SHAPE.head_dim, generator=g, dtype=torch.float64).to(dtype) for heads in sizes
        ]

    def positions(self, rows: int = ROWS, n: int = TOKENS, *, axes: int | None = None, salt: int = 0) -> Positions:
        """Positions anywhere the encoding takes them, in no order, whole numbers in every second row."""
        encoding, g = self.encoding(self.shape), self.generator(5 + salt)
        domain = encoding.domain
        low, high = max(domain.lowest, -FAR), min(domain.highest, FAR)
        axes = axes or domain.axes or 1
        # Half of the range is kept free on top, so that a translation stays inside.
        part = torch.rand(rows, n, axes, generator=g, dtype=torch.float64)
        # Near and far alike where there is no end: an encoding may tell positions apart close to the origin only.
        coords = (2 * part - 1) ** 3 * FAR / 2 if domain.unbounded else low + (high - low) / 2 * part
        whole = torch.ones(rows, dtype=torch.bool) if domain.whole else torch.arange(rows) % 2 == 0
        return Positions(torch.where(whole[:, None, None], coords.floor(), coords))

    def even(self, start: int = 3) -> Positions:
        """Evenly spaced positions inside the domain, on as many axes as the encoding takes; not from 0 unless asked."""
        limits = self.encoding(self.shape).domain
        line = sequence(TOKENS, int(max(limits.lowest, start)))
        return line if limits.axes in (None, 1) else Positions(line.coords.expand(-1, -1, limits.axes))

    def spaced(self) -> list[Positions]:
        """Evenly spaced in the other ways there are, on one axis: each row from a start of its own, by a step that is

        not 1; backwards; documents that positions run on through. Those that lie inside the domain.
        """
        limits, line = self.encoding(self.shape).domain, self.even()
        if line.step is None:
            return []
        first, step = int(line.start), 2.0 if limits.whole else 0.5
        lines = [
            sequence(TOKENS, first + torch.arange(ROWS), step=2.0),
            sequence(TOKENS, int(first + step * (TOKENS - 1)), step=-step),
            packed([4, 1, TOKENS - 5], restart=False).shifted(first),
        ]
        return [line for line in lines if limits.lowest <= line.coords.min() and line.coords.max() <= limits.highest]

    def room(self) -> float:
        """By how much `positions` may be moved without leaving the encoding's domain."""
        domain = self.encoding(self.shape).domain
        return (min(domain.highest, FAR) - max(domain.lowest, -FAR)) / 2

    def everything(self, encoding: Encoding, x: Tensor, pos: Positions, dtype: torch.dtype = torch.float64) -> Tensor:
        """All that an encoding gives: embeddings and attention of random heads, in one flat tensor."""
        q, k, v = self.heads(x.shape[1], dtype=dtype)
        out = attend(q, k, v, encoding, pos, mask=self.mask, backend=self.backend())
        return torch.cat([encoding.embed(x, pos).flatten(), out.flatten()])

    def decode(self, model: Transformer, tokens: Tensor, pos: Positions, split: list[int]) -> Tensor:
        """The logits of a model that reads the tokens through a cache, in chunks of the sizes in `split`."""
        cache = self.cache(TOKENS)
        parts, start = [], 0
        for size in split:
            chunk = slice(start, start + size)
            parts.append(model(tokens[:, chunk], pos.tokens(start, start + size), cache=cache))
            start += size
        return torch.cat(parts, dim=1)


def weigh(module: nn.Module, generator: torch.Generator, std: float = 0.3) -> nn.Module:
    """Every parameter drawn from N(0, std^2)."""
    with torch.no_grad():
        for parameter in module.parameters():
            values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(values * std)
    return module


def gap(found: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest expected value where that exceeds 1; inf for nan."""
    assert found.shape == expected.shape, f"{list(found.shape)} beside {list(expected.shape)}"
    if not found.numel():
        return 0.0
    error = ((found - expected).abs().max() / expected.abs().max().clamp(min=1)).item()
    return error if error == error else float("inf")

"""Encodings some of whose frequencies are held inside the range of training, while the others run on."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.backends import Reference
from gnomon.encoding import Domain, Encoding, Property, difference
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.lab.probes.reading import Reader
from gnomon.positions import Positions


@dataclass(frozen=True)
class Wave:
    """One frequency: its wavelength in positions, and the dimensions that it moves."""

    length: float
    columns: tuple[int, ...]


def waves(encoding: Encoding) -> tuple[Wave, ...] | None:
    """The frequencies of an encoding on one axis, the fastest first; None where it has none that can be held."""
    if isinstance(encoding, Sinusoidal) and encoding.axes == 1:
        width, paper = encoding.width, encoding.convention == "paper"
        count = (width + 1) // 2 if paper else width // 2
        step = 2 / width if paper else 1 / max(count - 1, 1)
        columns = [(2 * m, 2 * m + 1) if paper else (m, m + count) for m in range(count)]
        # Under an odd width the last sine has no cosine.
        return tuple(
            Wave(2 * math.pi * encoding.base ** (m * step), tuple(c for c in two if c < width))
            for m, two in enumerate(columns)
        )
    if isinstance(encoding, Rope) and encoding.axes == 1 and not encoding.scaling.measured:
        pairs = encoding.rotary // 2
        turning = encoding.frequencies()[0, :pairs].tolist()
        columns = [(m, m + pairs) if encoding.pairing == "half" else (2 * m, 2 * m + 1) for m in range(pairs)]
        found = [Wave(2 * math.pi / w, two) for w, two in zip(turning, columns, strict=True) if w > 0]
        return tuple(sorted(found, key=lambda wave: wave.length))
    return None


class Held(Encoding):
    """An encoding of which some columns are kept inside what training had."""

    def __init__(self, encoding: Encoding, columns: Tensor, highest: float):
        super().__init__()
        self.encoding, self.columns, self.highest = encoding, columns, highest

    @property
    def properties(self) -> Property:
        return self.encoding.properties

    @property
    def domain(self) -> Domain:
        return self.encoding.domain


class HeldPlaces(Held):
    """What an encoding adds at the input, some columns as if no position were beyond `highest`."""

    def absolute(self, pos: Positions) -> Tensor:
        held = replace(pos, coords=pos.coords.clamp(max=self.highest))
        return torch.where(self.columns, self.encoding.absolute(held), self.encoding.absolute(pos))

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return x + self.absolute(pos).to(x.dtype)


class HeldDistances(Held):
    """Rotated logits, some columns of them as if no two tokens were farther apart than `highest`, on either side."""

    def score(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> Tensor:
        scale, held = self.encoding.scale(q.shape[-1]), self.columns.to(q.dtype)

        def product(columns: Tensor, q_at: Positions, k_at: Positions) -> Tensor:
            queries = self.encoding.query(q, self.encoding.prepare(q_at, k_pos, q.dtype))
            keys = self.encoding.key(k, self.encoding.prepare(k_at, k_pos, k.dtype))
            return scale * (queries * columns) @ keys.mT

        def all_at(pos: Positions, place: float) -> Positions:
            return replace(pos, coords=torch.full_like(pos.coords, place))

        apart = difference(q_pos, k_pos)[..., 0]
        after = product(held, all_at(q_pos, self.highest), all_at(k_pos, 0.0))
        before = product(held, all_at(q_pos, 0.0), all_at(k_pos, self.highest))
        turned = torch.where(apart > self.highest, after, product(held, q_pos, k_pos))
        turned = torch.where(apart < -self.highest, before, turned)
        return turned + product(1 - held, q_pos, k_pos)


@contextmanager
def holding(reader: Reader, columns: tuple[int, ...], highest: float) -> Iterator[None]:
    """The model whose encodings have these columns held, attention by the definition."""
    layers = [block.attention for block in reader.model.blocks]
    before = [(layer.encoding, layer.backend) for layer in layers]
    made: dict[int, Encoding] = {}
    for encoding, _ in before:
        kind, size = (HeldDistances, encoding.head_dim) if isinstance(encoding, Rope) else (HeldPlaces, encoding.width)
        chosen = torch.zeros(size, dtype=torch.bool)
        chosen[[*columns]] = True
        made.setdefault(id(encoding), kind(encoding, chosen, highest))
    try:
        for layer in layers:
            layer.encoding, layer.backend = made[id(layer.encoding)], Reference()
        yield
    finally:
        for layer, (encoding, backend) in zip(layers, before, strict=True):
            layer.encoding, layer.backend = encoding, backend

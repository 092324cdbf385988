"""Twins of an encoding that a law compares it with: its definition alone, and its scale alone."""

from torch import Tensor

from gnomon.encoding import Encoding
from gnomon.positions import Positions


class _Pair(Encoding):
    """Another encoding by its definition of a pair alone: under Reference, logits are `score`."""

    def __init__(self, encoding: Encoding):
        super().__init__()
        self.encoding = encoding
        self.properties, self.domain, self.causal = encoding.properties, encoding.domain, encoding.causal
        self.scale, self.score, self.value = encoding.scale, encoding.score, encoding.value
        self.kv_heads, self.serves = encoding.kv_heads, encoding.serves

    def layers(self, count: int) -> list[Encoding]:
        return [self if layer is self.encoding else _Pair(layer) for layer in self.encoding.layers(count)]


class Definition(_Pair):
    """Another encoding by its definition alone: what is added at the input, once for all layers, is `absolute`."""

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return x + self.encoding.absolute(pos)


class Plain(Encoding):
    """No positions, with another encoding's scale."""

    def __init__(self, scale: float):
        super().__init__()
        self._scale = scale

    def scale(self, head_dim: int) -> float:
        return self._scale

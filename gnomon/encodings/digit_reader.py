"""A small Transformer that reads the digits of a position: written out plainly, and in the form that runs."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gnomon.errors import OptionError
from gnomon.precision import uncast
from gnomon.traced import traced

TEN = 10
EPSILON = 1e-5
TOGETHER = 256
"""Positions that are read at once where no gradient is asked for, and none of what is read drops out."""
PAPER_WIDTH, PAPER_STD = 768, 0.02


class DigitReader(nn.Module):
    """Digits, most significant first, zeros in front, then a class token that sees them all; its output is read off.

    Each digit is the sum of a vector for its value, one for its slot and, on several axes, one for its axis. Blocks
    are pre-norm: attention, then a feed-forward part four times as wide with a tanh GELU, each added to the stream.
    Everything is computed in the precision asked for, whatever that of the weights.
    """

    def __init__(
        self, out: int, digits: int, axes: int, width: int, heads: int, depth: int, bidirectional: bool, dropout: float
    ):
        super().__init__()
        self.digits, self.axes, self.heads = digits, axes, heads
        self.bidirectional, self.dropout = bidirectional, dropout
        self.token = nn.Parameter(torch.empty(TEN, width))
        self.slot = nn.Parameter(torch.empty(axes * digits, width))
        self.axis = nn.Parameter(torch.empty(axes, width)) if axes > 1 else None
        self.last = nn.Parameter(torch.empty(width))
        self.blocks = nn.ModuleList(_Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.out = nn.Linear(width, out)

    def reset_parameters(self) -> None:
        """N(0, 0.02) for what is looked up; matrices as `initial`, biases 0, norms 1."""
        for table in (self.token, self.slot, self.axis, self.last):
            if table is not None:
                nn.init.normal_(table, std=PAPER_STD)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                initial(module)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def plainly(self, coords: Float[Tensor, "rows n axes"], dtype: torch.dtype) -> Float[Tensor, "rows n out"]:
        """What is read at `coords`, one digit, one head and one pair at a time; OptionError where dropout is due."""
        if self.training and self.dropout:
            raise OptionError(
                "the definition of SeqPE, which the reference backend computes, has no dropout",
                given=f"training mode with dropout={self.dropout}",
                do="train with backend='sdpa'; or call eval(), or build it with dropout=0",
            )
        values, x = torch.arange(TEN, device=coords.device), []
        for axis in range(self.axes):
            for slot in range(self.digits):
                worth = 10.0 ** (self.digits - 1 - slot)
                p = coords[..., axis]
                digit = torch.floor(p / worth) - 10 * torch.floor(p / (10 * worth))
                vector = (digit[..., None] == values).to(dtype) @ self.token.to(dtype)
                vector = vector + self.slot[axis * self.digits + slot].to(dtype)
                x.append(vector if self.axis is None else vector + self.axis[axis].to(dtype))
        x.append(self.last.to(dtype).expand_as(x[0]))
        for block in self.blocks:
            x = block.plainly(x, self.heads, self.bidirectional)
        return _affine(self.out, _normed(self.norm, x[-1]))

    def forward(
        self, coords: Float[Tensor, "rows n axes"], dtype: torch.dtype, generator: torch.Generator | None = None
    ) -> Float[Tensor, "rows n out"]:
        """What is read at `coords`, all positions at once; dropout draws from `generator`, or as torch does."""
        n = coords.shape[1]
        whole = torch.is_grad_enabled() or traced() or (self.training and self.dropout)
        if n > TOGETHER and not whole:
            return torch.cat([self.forward(some, dtype) for some in coords.split(TOGETHER, dim=1)], dim=1)
        # A feed-forward part under autocast would be in 16 bits.
        with uncast(coords.device):
            worth = TEN ** torch.arange(self.digits - 1, -1, -1, device=coords.device)
            digit = (coords.to(torch.int64)[..., None] // worth % TEN).flatten(-2)
            x = functional.embedding(digit, self.token.to(dtype)) + self.slot.to(dtype)
            if self.axis is not None:
                x = x + self.axis.to(dtype).repeat_interleave(self.digits, dim=0)
            x = torch.cat([x, self.last.to(dtype).expand(*x.shape[:2], 1, -1)], dim=2).flatten(0, 1)
            for block in self.blocks:
                # Of the last block nothing is read but the class token.
                read = 1 if block is self.blocks[-1] else x.shape[1]
                x = block(x, read, self.heads, self.bidirectional, lambda part: self._dropped(part, generator))
            return _linear(self.out, _layer_norm(self.norm, x[:, -1])).unflatten(0, coords.shape[:2])

    def _dropped(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        if not self.training or not self.dropout:
            return x
        if generator is None:
            return functional.dropout(x, self.dropout)
        kept = torch.rand(x.shape, generator=generator, device=generator.device).to(x.device) >= self.dropout
        return x * kept / (1 - self.dropout)


class _Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm_attention, self.norm_feed_forward = (nn.LayerNorm(width, eps=EPSILON) for _ in range(2))
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def plainly(self, x: list[Tensor], heads: int, bidirectional: bool) -> list[Tensor]:
        triples = [_affine(self.qkv, _normed(self.norm_attention, x_t)).chunk(3, dim=-1) for x_t in x]
        size = x[0].shape[-1] // heads
        after = []
        for t, x_t in enumerate(x):
            seen, received = range(len(x) if bidirectional else t + 1), []
            for head in range(heads):
                of = slice(head * size, (head + 1) * size)
                logits = [(triples[t][0][..., of] * triples[s][1][..., of]).sum(-1) / math.sqrt(size) for s in seen]
                weights = torch.softmax(torch.stack(logits), dim=0)
                received.append(sum(weights[s][..., None] * triples[s][2][..., of] for s in seen))
            x_t = x_t + _affine(self.join, torch.cat(received, dim=-1))
            y = _affine(self.up, _normed(self.norm_feed_forward, x_t))
            y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
            after.append(x_t + _affine(self.down, y))
        return after

    def forward(
        self, x: Tensor, read: int, heads: int, bidirectional: bool, dropped: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """The last `read` tokens of x `[m, t, width]`; under a causal mask `read` is 1 or all."""
        normed = _layer_norm(self.norm_attention, x)
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in _linear(self.qkv, normed).chunk(3, -1))
        causal = not bidirectional and read > 1
        received = functional.scaled_dot_product_attention(q[:, :, -read:], k, v, is_causal=causal)
        x = x[:, -read:] + dropped(_linear(self.join, received.transpose(1, 2).flatten(2)))
        hidden = functional.gelu(_linear(self.up, _layer_norm(self.norm_feed_forward, x)), approximate="tanh")
        return x + dropped(_linear(self.down, hidden))


def initial(linear: nn.Linear) -> None:
    """N(0, 0.02) where the paper's width of 768 comes in, as much larger as its root is smaller elsewhere; bias 0."""
    nn.init.normal_(linear.weight, std=PAPER_STD * math.sqrt(PAPER_WIDTH / linear.in_features))
    nn.init.zeros_(linear.bias)


def _linear(layer: nn.Linear, x: Tensor) -> Tensor:
    return functional.linear(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype))


def _layer_norm(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return functional.layer_norm(x, norm.normalized_shape, norm.weight.to(x.dtype), norm.bias.to(x.dtype), norm.eps)


def _affine(layer: nn.Linear, x: Tensor) -> Tensor:
    return torch.einsum("oi,...i->...o", layer.weight.to(x.dtype), x) + layer.bias.to(x.dtype)


def _normed(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + EPSILON).sqrt()
    return centred / spread * norm.weight.to(x.dtype) + norm.bias.to(x.dtype)

"""The gradient of attention by parts, as its forward pass: what every pair weighs is made again, and never kept.

PyTorch's fused kernels take no bias that has a gradient, no dropout on a CPU, and no values of pairs; what they leave
is a kernel that holds several matrices of all pairs. Here the forward pass keeps what each query receives and the
logarithm of its sum of weights. With them the weights of a part follow from its logits, and all gradients from those:

    P = exp(scale q k^T + bias - lse)        dV = P^T dO        dP = dO V^T + <dO, mixed rows>
    dS = P (dP - rowsum(dO O))               dQ = scale dS K    dK = scale dS^T Q        dbias = dS

The bias of a part is made with a graph of its own, down to the tensors that the way holds and no further: what those
are made of, autograd knows. So each encoding has its gradients from the same function that makes its biases.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gnomon.backends import weights
from gnomon.backends.held import replaced, tensors
from gnomon.backends.parts import chunks, of_heads
from gnomon.backends.way import Way
from gnomon.content import placed, query_lookup
from gnomon.errors import BackendError
from gnomon.precision import as_cast, uncast
from gnomon.room import Room
from gnomon.traced import apart, traced

SCORES = 2**20
"""Logits that are worked out at once: 4 MB of float32."""


def can(q: Tensor) -> bool:
    """Whether there is such a gradient here: on a CPU, whose kernels these are, and where nobody reads operations."""
    return q.device.type == "cpu" and not traced()


def learned(way: Way) -> bool:
    """Whether what the way adds, or mixes with values, has a gradient."""
    return torch.is_grad_enabled() and _differs(way.part(*_one_pair(way)))


def hides(way: Way) -> bool:
    """Whether it has a gradient by tensors that are not found in its parts, as a user's function may."""
    held = [tensor for tensor in tensors(way) if tensor.requires_grad]
    leaves = [tensor.detach().requires_grad_() for tensor in held]
    part = replaced(way, held, leaves).part(*_one_pair(way))
    part = (part.made(1, Room()) if way.by_head else part).of_heads(slice(0, 1))
    views = _views(part, leaves)
    return _differs(replaced(part, views, [view.detach() for view in views]))


def _one_pair(way: Way) -> tuple[slice, slice]:
    """The first query and the first key, where there are some."""
    return slice(0, min(1, way.seen.queries)), slice(0, min(1, way.seen.keys))


def _differs(way: Way) -> bool:
    values = way.value(1), None if way.mix is None else way.mix.table
    return any(value is not None and value.requires_grad for value in values)


def attend(way: Way, q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, size: int) -> Tensor:
    """`[b, h, i, d_v]` by `size` queries at a time, for a way that hides nothing."""
    q, k, v = as_cast(q, k, v)
    held = [tensor for tensor in tensors(way) if tensor.requires_grad]
    # What autograd is to let go of, or to make again, must not stay in the way.
    marks = [torch.empty_like(tensor, device="meta") for tensor in held]
    seed = int(torch.randint(2**62, ())) if dropout else 0
    task = _Task(replaced(way, held, marks), marks, scale, dropout, seed, size)
    return _Trained.apply(task, q, k, v, *held)


@dataclass(frozen=True)
class _Task:
    """What a forward pass and its backward pass agree on."""

    way: Way
    """Without the tensors that have a gradient."""
    marks: Sequence[Tensor]
    """What stands for them in it."""
    scale: float
    dropout: float
    seed: int
    size: int

    def whole(self, held: Sequence[Tensor]) -> Way:
        return replaced(self.way, self.marks, held)


@dataclass(frozen=True)
class _Part:
    """Some queries, keys and heads, and the way of these."""

    way: Way
    queries: slice
    keys: slice
    heads: slice
    of_key: slice
    number: int

    def of_queries(self, tensor: Tensor, dtype: torch.dtype) -> Tensor:
        return tensor[:, self.heads, self.queries].to(dtype)

    def of_keys(self, tensor: Tensor, dtype: torch.dtype) -> Tensor:
        return tensor[:, self.of_key, self.keys].to(dtype)

    def kept(self, task: _Task, like: Tensor) -> Tensor:
        """What dropout multiplies weights with: the same numbers each time that it is asked."""
        generator = torch.Generator().manual_seed(task.seed + self.number)
        rate = 1 - task.dropout
        return torch.empty_like(like).bernoulli_(rate, generator=generator).div_(rate)


def _parts(way: Way, q: Tensor, k: Tensor, size: int, graph: bool = False) -> Iterator[_Part]:
    """The parts of attention; with a `graph` their tensors are known to be views of those that the way holds."""
    rows, number, shared = q.shape[0], 0, Room()
    if not way.by_head:
        size = max(1, min(size, SCORES // max(1, rows * q.shape[1] * k.shape[2])))
    for queries, keys in chunks(way, size):
        at_once = q.shape[1]
        with torch.set_grad_enabled(graph):
            some = way.part(queries, keys)
            if way.by_head:
                some = some.made(rows, shared.again())
                at_once = SCORES // max(1, rows * (queries.stop - queries.start) * (keys.stop - keys.start))
        for heads, of_key in of_heads(at_once, q, k):
            with torch.set_grad_enabled(graph):
                mine = some.of_heads(heads)
            yield _Part(mine, queries, keys, heads, of_key, number)
            number += 1


class _Trained(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, task: _Task, q: Tensor, k: Tensor, v: Tensor, *held: Tensor) -> Tensor:
        way = task.whole([tensor.detach() for tensor in held])
        out, lse = v.new_empty(*q.shape[:3], v.shape[3]), q.new_empty(q.shape[:3], dtype=_wide(q))
        room = Room()
        with uncast(q.device):
            for part in _parts(way, q, k, task.size):
                some = part.of_queries(q, q.dtype), part.of_keys(k, k.dtype), part.of_keys(v, v.dtype)
                if task.dropout or way.mix is not None:
                    found = _weighted(part, task, *some, room.again())
                else:
                    found = part.way.received(*some, task.scale, room.again())
                out[:, part.heads, part.queries], lse[:, part.heads, part.queries] = found
        ctx.task = task
        ctx.save_for_backward(q, k, v, out, lse, *held)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse, *held = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *_differentiable(ctx.task, (q, k, v, *held), ctx.needs_input_grad[1:], grad)
        with uncast(q.device):
            return None, *_gradients(ctx.task, q, k, v, out, lse, held, grad)


def _weighted(part: _Part, task: _Task, q: Tensor, k: Tensor, v: Tensor, room: Room) -> tuple[Tensor, Tensor]:
    """What queries receive, and the logarithm of their sum of weights, by the weights themselves."""
    wide = _wide(q)
    scores = _logits(part.way, task.scale * q.to(wide), k.to(wide), part.way.value(q.shape[0], room), room)
    # A query that sees nothing has no largest logit; each of its weights is zero.
    largest = scores.amax(-1, keepdim=True).clamp_(min=torch.finfo(wide).min)
    total = _exponential(scores.sub_(largest)).sum(-1, keepdim=True)
    kept = scores.div_(total.masked_fill(total == 0, 1.0))
    if task.dropout:
        kept = kept.mul_(part.kept(task, kept))
    out = (_grouped(kept, k.shape[1]) @ v.to(wide)).view(*q.shape[:3], v.shape[3])
    mix = part.way.mix
    if mix is not None:
        counted = part.way.counted()
        out += weights.gathered(kept if counted is None else kept.masked_fill_(~counted, 0.0), mix)
    return out.to(v.dtype), (largest + total.log()).masked_fill_(total == 0, 0.0)[..., 0]


def _gradients(
    task: _Task, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, held: Sequence[Tensor], grad: Tensor
) -> list[Tensor]:
    """Of q, k, v, and each of the tensors that the way holds."""
    wide, room = _wide(q), Room()
    leaves = [tensor.detach().requires_grad_() for tensor in held]
    totals = [torch.zeros(t.shape, dtype=torch.promote_types(t.dtype, torch.float32)) for t in held]
    of_q, of_k, of_v = torch.empty_like(q), *(torch.zeros(t.shape, dtype=wide) for t in (k, v))
    back = (grad.to(wide) * out).sum(-1, keepdim=True)
    whole = task.whole(totals)
    for part in _parts(task.whole(leaves), q, k, task.size, graph=True):
        room.again()
        some, incoming = task.scale * part.of_queries(q, wide), part.of_queries(grad, wide)
        keys, values = part.of_keys(k, wide), part.of_keys(v, wide)
        views = _views(part.way, leaves)
        cut = [view.detach().requires_grad_() for view in views]
        way = replaced(part.way, views, cut)
        with torch.enable_grad():
            value, met = way.value(q.shape[0], room), _met(way, incoming, room)
        weight = _logits(way, some, keys, None if value is None else value.detach(), room)
        weight = _exponential(weight.sub_(part.of_queries(lse, wide)[..., None]))
        onward = _product(incoming, values, room)
        if met is not None:
            onward += met.detach()
        kept = weight
        if task.dropout:
            factor = part.kept(task, weight)
            kept, onward = weight * factor, onward.mul_(factor)
        groups = keys.shape[1]
        of_v[:, part.of_key, part.keys] += _grouped(kept, groups).mT @ _grouped(incoming, groups)
        through = onward.sub_(part.of_queries(back, wide))
        asked = [(met, kept.clone() if met is not None and kept is weight else kept), (value, through)]
        through.mul_(weight)
        of_q[:, part.heads, part.queries] = (task.scale * (_grouped(through, groups) @ keys)).view(some.shape)
        of_k[:, part.of_key, part.keys] += _grouped(through, groups).mT @ _grouped(some, groups)
        targets = _views(whole.part(part.queries, part.keys).of_heads(part.heads), totals)
        for target, found in zip(targets, _of_cut(asked, cut), strict=True):
            if found is not None:
                target += found
    return [of_q, of_k.to(k.dtype), of_v.to(v.dtype), *(t.to(h.dtype) for t, h in zip(totals, held, strict=True))]


def _of_cut(asked: Sequence[tuple[Tensor | None, Tensor]], cut: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """The gradients of the tensors that a part holds, from those of what was made of them."""
    asked = [(made, grad) for made, grad in asked if made is not None and made.requires_grad]
    if not asked:
        return [None] * len(cut)
    made, grads = zip(*((made, grad.sum_to_size(made.shape).to(made.dtype)) for made, grad in asked), strict=True)
    return torch.autograd.grad(made, cut, grads, allow_unused=True)


def _differentiable(
    task: _Task, inputs: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> Sequence[Tensor | None]:
    """The same gradients, of all pairs at once, with a graph of their own: for derivatives of derivatives."""
    if task.dropout:
        raise BackendError(
            "attention under dropout has no second derivative",
            given=f"create_graph=True, dropout={task.dropout}",
            do="leave dropout out, or use backend='reference'",
        )
    q, k, v, *held = aliases = apart(inputs)
    out = task.whole(held).attend(q, k, v, task.scale, 0.0)
    asked = [one for one, need in zip(aliases, needed, strict=True) if need]
    found = iter(torch.autograd.grad(out, asked, grad, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needed]


def _views(way: Way, of: Sequence[Tensor]) -> list[Tensor]:
    """The tensors of a part that are some of these, or views of them, in the order in which it holds them."""
    known = {id(tensor) for tensor in of}
    return [tensor for tensor in tensors(way) if id(tensor) in known or id(tensor._base) in known]


def _met(way: Way, x: Tensor, room: Room) -> Tensor | None:
    """`<x_i, table[h, row(i, j)]>` of the rows that are mixed with values, `[b, h, i, j]`."""
    if way.mix is None:
        return None
    seen = way.seen
    lookup = placed(query_lookup(x, way.mix.table, way.mix.row), seen.q_pos, seen.k_pos)
    return lookup.dense(x.shape[0], seen.queries, seen.keys, room)


def _logits(way: Way, q: Tensor, k: Tensor, value: Tensor | None, room: Room) -> Tensor:
    """The logits of all pairs of a part, `[b, h, i, j]`, of scaled queries."""
    return way.onto(_product(q, k, room), value)


def _product(x: Tensor, y: Tensor, room: Room) -> Tensor:
    """`<x_i, y_j>`, `[b, h, i, j]`, y of as many heads or of fewer that several share."""
    groups, rows = y.shape[1], x.shape[1] * x.shape[2] // y.shape[1]
    product = room.empty((x.shape[0], groups, rows, y.shape[2]), x.dtype, x.device)
    return torch.matmul(_grouped(x, groups), y.mT, out=product).view(*x.shape[:3], y.shape[2])


def _grouped(x: Tensor, groups: int) -> Tensor:
    """Heads that share a head of keys one below the other: `[b, h, i, n] -> [b, g, h / g i, n]`."""
    return x.reshape(x.shape[0], groups, x.shape[1] * x.shape[2] // groups, x.shape[3])


def _exponential(x: Tensor) -> Tensor:
    """e^x, in place: by powers of two, since torch's exp takes many times longer for what comes out as zero."""
    return x.mul_(math.log2(math.e)).exp2_()


def _wide(q: Tensor) -> torch.dtype:
    return torch.promote_types(q.dtype, torch.float32)

"""The law of training: gradients are derivatives, found without autograd."""

from collections.abc import Callable

import torch
from torch import Tensor

from gnomon.attention import attend
from gnomon.laws.case import Case, gap
from gnomon.laws.law import Outcome


def gradients(case: Case) -> Outcome:
    """Gradients of inputs and parameters are the derivative of the outputs."""
    encoding, layouts = case.make(), [case.positions(), case.even()]
    inputs = [t.requires_grad_() for t in (case.inputs(), *case.heads(), *encoding.parameters())]
    g = case.generator(22)
    directions = [torch.randn(t.shape, generator=g, dtype=torch.float64) for t in inputs]

    def loss() -> Tensor:
        x, q, k, v = inputs[:4]
        outs = [attend(q, k, v, encoding, p, mask=case.mask, backend=case.backend()) for p in layouts]
        return sum(out.pow(2).sum() for out in outs) + sum(encoding.embed(x, p).pow(2).sum() for p in layouts)

    grads = torch.autograd.grad(loss(), inputs, allow_unused=True)
    slope = sum((grad * d).sum() for grad, d in zip(grads, directions, strict=True) if grad is not None)
    # A kink (a ReLU, an edge of a table) that lies in between spoils one width; what is wrong is wrong at both. Small
    # enough that a learned frequency turns little at position 250, large enough for eight digits.
    errors = (gap(slope, _derivative(loss, inputs, directions, width)) for width in (5e-6, 1e-6))
    return Outcome(min(errors), tolerance=1e-7)


def _derivative(function: Callable[[], Tensor], inputs: list[Tensor], directions: list[Tensor], width: float) -> Tensor:
    """The derivative of `function` along `directions`: central differences of two widths, extrapolated."""

    def difference(step: float) -> Tensor:
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                for t, d in zip(inputs, directions, strict=True):
                    t += sign * step * d
                values.append(function())
                for t, d in zip(inputs, directions, strict=True):
                    t -= sign * step * d
        return (values[0] - values[1]) / (2 * step)

    return (4 * difference(width) - difference(2 * width)) / 3

"""Laws of the kernels: whatever computes attention gives the numbers of the definition."""

from dataclasses import replace

import torch

from gnomon.attention import attend
from gnomon.backends import Flex, Reference
from gnomon.encoding import Encoding, Property
from gnomon.laws.case import KV_HEADS, SHAPE, TOKENS, Case, gap
from gnomon.laws.law import Outcome
from gnomon.positions import Positions


def lowering(case: Case) -> Outcome:
    """The lowering gives the numbers of the definition, at random and at even positions."""
    encoding = case.make()
    if Property.CONTEXTUAL in encoding.properties and type(encoding).embed is Encoding.embed:
        return Outcome(0.0, reason="it has no lowering")
    x, errors = case.inputs(), []
    for pos in _layouts(case):
        errors.append(gap(encoding.embed(x, pos), x + encoding.absolute(pos)))
        q, k, v = case.heads()
        expected = attend(q, k, v, encoding, pos, mask=case.mask, backend=Reference())
        errors.append(gap(attend(q, k, v, encoding, pos, mask=case.mask, backend=case.backend()), expected))
    return Outcome(max(errors))


def flex(case: Case) -> Outcome:
    """FlexAttention gives the numbers of the definition."""
    encoding, errors = case.make(), []
    if Property.CONTEXTUAL in encoding.properties:
        return Outcome(0.0, reason="a fused kernel sees one pair at a time")
    if encoding.mix(case.even(), case.even()) is not None:
        return Outcome(0.0, reason="its values depend on the pair, and a fused kernel keeps no weights")
    placed, segment = torch.arange(TOKENS)[None] >= 2, (torch.arange(TOKENS) // 4)[None]
    for pos in (case.even(), replace(case.positions(), placed=placed, segment=segment)):
        q, k, v = case.heads()
        expected = attend(q, k, v, encoding, pos, mask=case.mask, backend=Reference())
        with torch.no_grad():
            found = attend(q, k, v, encoding, pos, mask=case.mask, backend=Flex(compiled=False))
        errors.append(gap(found, expected))
    return Outcome(max(errors))


def grouped(case: Case) -> Outcome:
    """Grouped key heads give what the same heads give repeated for each query head of the group."""
    encoding, pos = case.make(), case.positions()
    q, k, v = case.heads()
    repeated = [t.repeat_interleave(SHAPE.heads // KV_HEADS, dim=1) for t in (k, v)]
    found = attend(q, k, v, encoding, pos, mask=case.mask, backend=case.backend())
    return Outcome(gap(found, attend(q, *repeated, encoding, pos, mask=case.mask, backend=case.backend())))


def _layouts(case: Case) -> list[Positions]:
    """Positions of every kind a kernel may treat in a way of its own."""
    pos, even = case.positions(), case.even()
    placed = torch.arange(TOKENS)[None] >= 2
    segment = (torch.arange(TOKENS) // 4)[None]
    layouts = [pos, even, replace(even, turn=0), replace(pos, placed=placed), replace(pos, segment=segment)]
    if case.encoding(case.shape).domain.axes is None:
        layouts.append(case.positions(axes=2))
    return layouts

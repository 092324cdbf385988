"""Laws of the kernels: whatever computes attention gives the numbers of the definition."""

from dataclasses import replace

import torch

from gnomon.attention import attend
from gnomon.backends import Backend, Flex, Reference
from gnomon.encoding import Encoding, Property
from gnomon.laws.case import KV_HEADS, SHAPE, TOKENS, Case, gap
from gnomon.laws.law import Outcome
from gnomon.positions import Positions

ALL, SOME = slice(0, TOKENS), slice(4, 9)
"""Which tokens are queries."""


def lowering(case: Case) -> Outcome:
    """The lowering gives the numbers of the definition, at random and at even positions, all tokens and some."""
    encoding = case.make()
    if Property.CONTEXTUAL in encoding.properties and type(encoding).embed is Encoding.embed:
        return Outcome(0.0, reason="it has no lowering")
    x, errors = case.inputs(), []
    for queries, pos in layouts(case):
        errors.append(gap(encoding.embed(x, pos), x + encoding.absolute(pos)))
        errors.append(_apart(case, encoding, queries, pos, case.backend()))
    return Outcome(max(errors))


def flex(case: Case) -> Outcome:
    """FlexAttention gives the numbers of the definition."""
    encoding, errors = case.make(), []
    if Property.CONTEXTUAL in encoding.properties:
        return Outcome(0.0, reason="a fused kernel sees one pair at a time")
    if encoding.mix(case.even(), case.even()) is not None:
        return Outcome(0.0, reason="its values depend on the pair, and a fused kernel keeps no weights")
    placed, segment = torch.arange(TOKENS)[None] >= 2, (torch.arange(TOKENS) // 4)[None]
    apart = replace(case.positions(), placed=placed, segment=segment)
    for queries, pos in ((ALL, case.even()), (slice(1, 9), apart)):
        with torch.no_grad():
            errors.append(_apart(case, encoding, queries, pos, Flex(compiled=False)))
    return Outcome(max(errors))


def grouped(case: Case) -> Outcome:
    """Grouped key heads give what the same heads give repeated for each query head of the group."""
    encoding, pos = case.make(), case.positions()
    q, k, v = case.heads()
    repeated = [t.repeat_interleave(SHAPE.heads // KV_HEADS, dim=1) for t in (k, v)]
    found = attend(q, k, v, encoding, pos, mask=case.mask, backend=case.backend())
    return Outcome(gap(found, attend(q, *repeated, encoding, pos, mask=case.mask, backend=case.backend())))


def _apart(case: Case, encoding: Encoding, queries: slice, pos: Positions, backend: Backend | str) -> float:
    """How far the attention of some tokens to all is from that of the definition."""
    q, k, v = case.heads()
    q, q_pos = q[:, :, queries], pos if queries == ALL else pos.tokens(queries.start, queries.stop)
    expected = attend(q, k, v, encoding, q_pos, pos, mask=case.mask, backend=Reference())
    return gap(attend(q, k, v, encoding, q_pos, pos, mask=case.mask, backend=backend), expected)


def layouts(case: Case) -> list[tuple[slice, Positions]]:
    """Positions of every kind a kernel may treat in a way of its own, and which of the tokens are queries.

    Random; without a place; in documents; on a grid; and wherever a step is known: of 1 or not, forwards or backwards,
    from one start or each row from its own, turns counted from elsewhere, through documents.
    """
    pos, even, spaced = case.positions(), case.even(), case.spaced()
    placed = torch.arange(TOKENS)[None] >= 2
    segment = (torch.arange(TOKENS) // 4)[None]
    whole = [pos, even, replace(pos, placed=placed), replace(pos, segment=segment), *spaced]
    if case.encoding(case.shape).domain.axes is None:
        whole.append(case.positions(axes=2))
    return [(ALL, p) for p in whole] + [(SOME, p) for p in (even.first(), *spaced[1:2])]

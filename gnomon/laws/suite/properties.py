"""Laws of properties: each holds where it is declared, and fails where it is not."""

from dataclasses import replace

import torch

from gnomon.encoding import Property
from gnomon.laws.case import ROWS, SHAPE, TOKENS, Case, gap
from gnomon.laws.law import Outcome
from gnomon.pairs import dense


def translation(case: Case) -> Outcome:
    """Moving every position by the same amount changes no output."""
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    by = torch.rand(pos.axes, generator=case.generator(20), dtype=torch.float64).mul(case.room()).floor()
    return Outcome(gap(model(tokens, pos.shifted(by.tolist())), model(tokens, pos)))


def continuity(case: Case) -> Outcome:
    """A move of the positions by 1e-9 moves no output by more than 1e-4."""
    encoding = case.make()
    if encoding.domain.whole:
        return Outcome(0.0, reason="takes whole positions only")
    model, tokens, step = case.model(), case.tokens(), 1e-9
    pos = case.positions()
    pos = replace(pos, coords=pos.coords.floor() + 1)
    sign = torch.rand(pos.coords.shape, generator=case.generator(21)).sub(0.5).sign().to(torch.float64)
    moved = replace(pos, coords=pos.coords + step * sign)
    return Outcome(gap(model(tokens, moved), model(tokens, pos)), tolerance=1e5 * step)


def cacheable(case: Case) -> Outcome:
    """A lowered key stays right however the sequence goes on."""
    encoding, pos = case.make(), case.positions()
    k, half = case.heads()[1], TOKENS // 2
    early = pos.tokens(0, half)
    short = encoding.key(k[:, :, :half], encoding.prepare(early, early, torch.float64))
    return Outcome(gap(short, encoding.key(k, encoding.prepare(pos, pos, torch.float64))[:, :, :half]))


def content_free(case: Case) -> Outcome:
    """The bias ignores queries and keys."""
    encoding, pos = case.make(), case.positions()
    if Property.CONTEXTUAL in encoding.properties:
        return Outcome(0.0, reason="it has no bias: its logits read whole rows")
    q, k, _ = case.heads()
    pair = [encoding.bias(a, b, pos, pos) for a, b in ((q, k), (q.flip(0), k.flip(0)))]
    if pair[0] is None:
        return Outcome(0.0)
    first, second = [dense(p, ROWS, SHAPE.heads, TOKENS, TOKENS) for p in pair]
    return Outcome(gap(first, second))


def contextual(case: Case) -> Outcome:
    """The logit of a pair changes with another key that the query sees."""
    encoding, pos = case.make(), case.positions()
    q, k, _ = case.heads(kv_heads=SHAPE.heads)
    other, third = k.clone(), TOKENS // 2
    other[:, :, third] = -other[:, :, third]
    pair = case.mask.pair(pos, pos)
    seen = (None if pair is None else dense(pair, ROWS, SHAPE.heads, TOKENS, TOKENS),)
    seen = seen if Property.CONTEXTUAL in encoding.properties else ()
    first, second = (encoding.score(q, keys, pos, pos, *seen)[:, :, -1] for keys in (k, other))
    change = (first - second).abs()
    change[..., third] = 0.0
    return Outcome(1e-3 / max(change.max().item(), 1e-300), tolerance=1.0)


def recurrent(case: Case) -> Outcome:
    """The logits of later tokens change with where an earlier one is."""
    encoding, pos = case.make(), case.positions()
    q, k, _ = case.heads(kv_heads=SHAPE.heads)
    moved = pos.coords.clone()
    moved[:, 0] += 1
    pair = case.mask.pair(pos, pos)
    seen = (None if pair is None else dense(pair, ROWS, SHAPE.heads, TOKENS, TOKENS),)
    seen = seen if Property.CONTEXTUAL in encoding.properties else ()
    first, second = (encoding.score(q, k, p, p, *seen)[:, :, 2:, 2:] for p in (pos, replace(pos, coords=moved)))
    change = (first - second).abs().max().item()
    return Outcome(1e-3 / max(change, 1e-300), tolerance=1.0)

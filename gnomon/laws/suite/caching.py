"""Laws of decoding: a cache changes nothing, and one that forgets changes nothing but what it forgets."""

from dataclasses import replace

import torch

from gnomon.attention import Attention
from gnomon.encoding import Property, Site
from gnomon.errors import PositionError
from gnomon.laws.case import KV_HEADS, SHAPE, TOKENS, Case, gap, weigh
from gnomon.laws.law import Outcome


def cached(case: Case) -> Outcome:
    """Decoding with a cache gives the logits of the full forward pass, however the sequence is split.

    An encoding that is not CACHEABLE may refuse to go on with a cache, but never goes on with other logits.
    """
    if not case.causal:
        return Outcome(0.0, reason="without a causal mask, later tokens change earlier ones")
    model, tokens, pos, even = case.model(), case.tokens(), case.positions(), case.even(0)
    random, spaced = model(tokens, pos), model(tokens, even)
    # Turns that leave gaps, as those of a sampled or thinned sequence do: only their order means anything.
    gapped = replace(pos, index=torch.tensor([[0, 10, 20, 30, 31, 40, 55, 56, 57, 80, 81]]))
    calls = [(random, pos, split) for split in ([1] * TOKENS, [TOKENS - 1, 1], [TOKENS])]
    calls += [(spaced, even, split) for split in ([5, 5, 1], [2, 3, 3, 3])] + [(random, gapped, [3, 1, 5, 2])]
    may_refuse, errors = Property.CACHEABLE not in case.make().properties, []
    for full, places, split in calls:
        try:
            errors.append(gap(case.decode(model, tokens, places, split), full))
        except PositionError:
            if not may_refuse or len(split) == 1:
                raise
    return Outcome(max(errors))


def evicted(case: Case) -> Outcome:
    """In a cache of the first and last tokens, one receives what it would at the end of the tokens kept alone."""
    encoding, first, last, errors = case.make(), 2, 3, []
    if not case.causal:
        return Outcome(0.0, reason="without a causal mask, later tokens change earlier ones")
    if Site.EMBEDDINGS in encoding.sites:
        return Outcome(0.0, reason="what is added at the input stays where it was added")
    if encoding.domain.axes not in (None, 1):
        return Outcome(0.0, reason="places in a cache are on one axis")
    options = dict(kv_heads=encoding.kv_heads or KV_HEADS, mask=case.mask, backend=case.backend())
    attention = Attention(SHAPE.width, SHAPE.heads, encoding, **options)
    attention = weigh(attention, case.generator(2)).to(torch.float64)
    x, cache = case.inputs(), case.sinks(first, last)
    for i in range(TOKENS):
        kept = [*range(min(first, i)), *range(max(first, i - last), i), i]
        errors.append(gap(attention(x[:, i : i + 1], cache=cache), attention(x[:, kept])[:, -1:]))
    return Outcome(max(errors))

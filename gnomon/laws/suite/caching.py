"""The law of decoding: a cache changes nothing."""

from dataclasses import replace

import torch

from gnomon.encoding import Property
from gnomon.errors import PositionError
from gnomon.laws.case import TOKENS, Case, gap
from gnomon.laws.law import Outcome


def cached(case: Case) -> Outcome:
    """Decoding with a cache gives the logits of the full forward pass, however the sequence is split.

    An encoding that is not CACHEABLE may refuse to go on with a cache, but never goes on with other logits.
    """
    if not case.causal:
        return Outcome(0.0, reason="without a causal mask, later tokens change earlier ones")
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    full = model(tokens, pos)
    # Turns that leave gaps, as those of a sampled or thinned sequence do: only their order means anything.
    gapped = replace(pos, index=torch.tensor([[0, 10, 20, 30, 31, 40, 55, 56, 57, 80, 81]]))
    splits = [[1] * TOKENS, [TOKENS - 1, 1], [5, 4, 2], [2, 3, 3, 3], [TOKENS]]
    calls = [(pos, split) for split in splits] + [(gapped, [3, 1, 5, 2])]
    may_refuse, errors = Property.CACHEABLE not in case.make().properties, []
    for places, split in calls:
        try:
            errors.append(gap(case.decode(model, tokens, places, split), full))
        except PositionError:
            if not may_refuse or len(split) == 1:
                raise
    return Outcome(max(errors))

"""The law of decoding: a cache changes nothing."""

from dataclasses import replace

import torch

from gnomon.laws.case import TOKENS, Case, gap
from gnomon.laws.law import Outcome


def cached(case: Case) -> Outcome:
    """Decoding with a cache gives the logits of the full forward pass, however the sequence is split."""
    if not case.causal:
        return Outcome(0.0, reason="without a causal mask, later tokens change earlier ones")
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    full = model(tokens, pos)
    # Turns that leave gaps, as those of a sampled or thinned sequence do: only their order means anything.
    gapped = replace(pos, index=torch.tensor([[0, 10, 20, 30, 31, 40, 55, 56, 57, 80, 81]]))
    splits = [[1] * TOKENS, [TOKENS - 1, 1], [5, 4, 2], [2, 3, 3, 3], [TOKENS]]
    errors = [gap(case.decode(model, tokens, pos, split), full) for split in splits]
    errors.append(gap(case.decode(model, tokens, gapped, [3, 1, 5, 2]), full))
    return Outcome(max(errors))

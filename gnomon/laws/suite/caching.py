"""The law of decoding: a cache changes nothing."""

from gnomon.laws.case import TOKENS, Case, gap
from gnomon.laws.law import Outcome


def cached(case: Case) -> Outcome:
    """Decoding with a cache gives the logits of the full forward pass, however the sequence is split."""
    if not case.causal:
        return Outcome(0.0, reason="without a causal mask, later tokens change earlier ones")
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    full = model(tokens, pos)
    splits = [[1] * TOKENS, [TOKENS - 1, 1], [5, 4, 2], [2, 3, 3, 3], [TOKENS]]
    return Outcome(max(gap(case.decode(model, tokens, pos, split), full) for split in splits))

"""Laws of masks: what a query must not see has no part in its output."""

from dataclasses import dataclass, replace

import torch

from gnomon.attention import attend
from gnomon.encoding import Property
from gnomon.laws.case import ROWS, TOKENS, Case, gap
from gnomon.laws.law import EXACT, Outcome
from gnomon.masks import Mask
from gnomon.pairs import PairFunction
from gnomon.positions import Positions


@dataclass(frozen=True)
class _Only(Mask):
    """Every query sees the keys `first` to `stop - 1`."""

    first: int = 0
    stop: int = 0

    def pair(self, q_pos: Positions, k_pos: Positions) -> PairFunction:
        return lambda b, h, i, j: (j >= self.first) & (j < self.stop)


def causality(case: Case) -> Outcome:
    """Under a causal mask a token's output does not depend on later tokens; without one it does."""
    model, tokens, pos, errors = case.model(), case.tokens(), [case.positions(), case.even()], []
    changed = tokens.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % model.embedding.num_embeddings
    for p in pos:
        error = gap(model(changed, p)[:, :6], model(tokens, p)[:, :6])
        errors.append(error if case.causal else 1e-3 * EXACT / max(error, 1e-300))
    return Outcome(max(errors))


def window(case: Case) -> Outcome:
    """Under a window of size s, a query receives what it would from its s nearest turns alone."""
    encoding, pos, size, errors = case.make(), case.positions(), 3, []
    # Where a key depends on the whole context, those outside the window are hidden; elsewhere they are not there.
    absent = Property.CACHEABLE in encoding.properties and Property.RECURRENT not in encoding.properties
    q, k, v = case.heads()
    mask = replace(case.mask, window=size)
    out = attend(q, k, v, encoding, pos, mask=mask, backend=case.backend())
    for i in range(TOKENS):
        a, b = max(i - size + 1, 0), i + 1 if case.causal else min(i + size, TOKENS)
        there = slice(a, b) if absent else slice(0, TOKENS)
        only = Mask(causal=False) if absent else _Only(causal=False, first=a, stop=b)
        alone = attend(q[:, :, i : i + 1], k[:, :, there], v[:, :, there], encoding, pos.tokens(i, i + 1),
                       pos.tokens(there.start, there.stop), mask=only, backend=case.backend())  # fmt: skip
        errors.append(gap(out[:, :, i : i + 1], alone))
    return Outcome(max(errors))


def blank(case: Case) -> Outcome:
    """A query that sees no key receives zeros, and no gradient is nan."""
    encoding, pos = case.make(), case.positions()
    segment = torch.zeros(ROWS, TOKENS, dtype=torch.int64)
    segment[:, 2] = -1
    segment[1] = -1
    q, k, v = [t.requires_grad_() for t in case.heads()]
    out = attend(q, k, v, encoding, replace(pos, segment=segment), mask=case.mask, backend=case.backend())
    unseen = (segment < 0)[:, None, :, None].expand_as(out)
    grads = torch.autograd.grad(out.pow(2).sum(), (q, k, v))
    finite = all(torch.isfinite(t).all() for t in (out, *grads))
    return Outcome(out[unseen].abs().max().item() if finite else float("inf"), tolerance=0.0)

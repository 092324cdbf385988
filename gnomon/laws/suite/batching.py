"""Laws of rows: documents, padding and rows that stand beside a sequence change nothing in it."""

from dataclasses import replace

import torch

from gnomon.laws.case import ROWS, TOKENS, Case, gap
from gnomon.laws.law import Outcome


def packed(case: Case) -> Outcome:
    """Documents packed into one row give what each gives apart."""
    model, tokens, pos = case.model(), case.tokens(1), case.positions(1)
    bounds = [0, 4, 5, TOKENS]
    segment = torch.bucketize(torch.arange(TOKENS), torch.tensor(bounds[1:]), right=True)[None]
    together = model(tokens, replace(pos, segment=segment))
    apart = [model(tokens[:, a:b], pos.tokens(a, b)) for a, b in zip(bounds, bounds[1:], strict=False)]
    return Outcome(gap(together, torch.cat(apart, dim=1)))


def padded(case: Case) -> Outcome:
    """Padding, on either side, changes nothing for the tokens beside it and makes no nan."""
    model, tokens, pos, errors = case.model(), case.tokens(), case.positions(), []
    for left in (True, False):
        lengths = torch.tensor([TOKENS, 7, 3, 1])
        column = torch.arange(TOKENS)
        real = column >= TOKENS - lengths[:, None] if left else column < lengths[:, None]
        logits = model(tokens, replace(pos, segment=torch.where(real, 0, -1)))
        errors.append(0.0 if torch.isfinite(logits).all() else float("inf"))
        for row, length in enumerate(lengths.tolist()):
            start = TOKENS - length if left else 0
            alone = model(tokens[row : row + 1, start : start + length],
                          pos.row(torch.tensor([row])).tokens(start, start + length))  # fmt: skip
            errors.append(gap(logits[row : row + 1, start : start + length], alone))
    return Outcome(max(errors))


def batch(case: Case) -> Outcome:
    """A row gives the same wherever it stands in a batch, and alone."""
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    logits, order = model(tokens, pos), torch.tensor([2, 0, 3, 1])
    errors = [gap(model(tokens[order], pos.row(order)), logits[order])]
    for row in range(ROWS):
        one = torch.tensor([row])
        errors.append(gap(model(tokens[one], pos.row(one)), logits[one]))
    return Outcome(max(errors))

"""The law of history: what was done with an encoding before leaves no trace."""

import copy

import torch

from gnomon.laws.case import TOKENS, Case, gap
from gnomon.laws.law import Outcome


def state(case: Case) -> Outcome:
    """Casts, copies, the meta device and earlier calls leave no trace in the tables."""
    x, pos = case.inputs(), case.positions()
    fresh, weights = case.make(), case.make().state_dict()
    expected = case.everything(fresh, x, pos)
    cast = case.make().to(torch.bfloat16).to(torch.float64)
    with torch.device("meta"):
        meta = case.encoding(case.shape)
    used = case.make()
    for n, salt in ((3 * TOKENS, 9), (TOKENS, 9), (TOKENS, 0)):
        case.everything(used, case.inputs(n).to(torch.bfloat16), case.positions(n=n, salt=salt), torch.bfloat16)
    errors = []
    for encoding in (cast, meta.to_empty(device="cpu").to(torch.float64), copy.deepcopy(fresh), used):
        encoding.load_state_dict(weights)
        errors.append(gap(case.everything(encoding, x, pos), expected))
    return Outcome(max(errors), tolerance=0.0)

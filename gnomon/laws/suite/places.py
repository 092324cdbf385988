"""Laws of places: which positions an encoding takes, that it uses them, and what a token without one gets."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.attention import attend
from gnomon.encoding import Encoding, Property, Site
from gnomon.errors import PositionError
from gnomon.laws.case import ROWS, SHAPE, TOKENS, Case, gap
from gnomon.laws.law import Outcome
from gnomon.laws.twins import Plain
from gnomon.positions import Positions


def placeless(case: Case) -> Outcome:
    """A token without a place has no position: no bias, no rotation, nothing added, whatever its coordinates."""
    encoding, pos, x = case.make(), case.positions(), case.inputs()
    placed = torch.ones(ROWS, TOKENS, dtype=torch.bool)
    placed[:, :3] = False
    elsewhere = torch.where(placed[..., None], pos.coords, case.positions(salt=8).coords)
    errors = [gap(case.everything(encoding, x, replace(pos, coords=elsewhere, placed=placed)),
                  case.everything(encoding, x, replace(pos, placed=placed)))]  # fmt: skip
    nowhere = replace(pos, placed=torch.zeros_like(placed))
    q, k, v = case.heads()
    plain = Plain(encoding.scale(SHAPE.head_dim))
    errors.append(gap(attend(q, k, v, encoding, nowhere, mask=case.mask, backend=case.backend()),
                      attend(q, k, v, plain, nowhere, mask=case.mask, backend=case.backend())))  # fmt: skip
    errors.append(gap(encoding.embed(x, nowhere), x))
    return Outcome(max(errors))


def matters(case: Case) -> Outcome:
    """Putting every token at the same position changes the logits of a cached step."""
    if not set(case.make().sites) - {Site.SCALE}:
        return Outcome(0.0, reason="it acts nowhere")
    if Property.CONTEXTUAL in case.make().properties:
        return Outcome(0.0, reason="it counts tokens by their content")
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    together = replace(pos, coords=pos.coords[:, :1].expand_as(pos.coords).contiguous())
    # Where an encoding may refuse to go on with a cache, the whole sequence is read at once.
    cached = case.causal and Property.CACHEABLE in case.make().properties
    split = [TOKENS - 1, 1] if cached else [TOKENS]
    last = [case.decode(model, tokens, p, split)[:, -1] for p in (pos, together)]
    change = (last[0] - last[1]).abs().max().item()
    return Outcome(1e-3 / change if change else float("inf"), tolerance=1.0)


def domain(case: Case) -> Outcome:
    """Positions are defined just where the encoding says: finite there, an error that says so elsewhere."""
    encoding, x = case.make(), case.inputs()[:, :1]
    limits = encoding.domain
    inside = [max(limits.lowest, -1e7), min(limits.highest, 1e7)]
    finite = all(torch.isfinite(case.everything(encoding, x, _at(limits.axes, p))).all() for p in inside)
    outside = [p for p in (limits.lowest - 1, limits.highest + 1) if abs(p) != float("inf")]
    if limits.whole:
        outside.append(inside[0] + 0.5)
    refused = all(_refuses(case, encoding, x, _at(limits.axes, p)) for p in outside)
    return Outcome(0.0 if finite and refused else float("inf"))


def _at(axes: int | None, place: float) -> Positions:
    return Positions(torch.full((1, 1, axes or 1), place, dtype=torch.float64))


def _refuses(case: Case, encoding: Encoding, x: Tensor, pos: Positions) -> bool:
    try:
        case.everything(encoding, x, pos)
    except PositionError:
        return True
    return False

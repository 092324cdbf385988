"""The truth: every pair's logit by the definition, in O(n^2) memory, or O(n^2 d) where values depend on the pair."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.backends.backend import Backend, Raw
from gnomon.encoding import Encoding, Property
from gnomon.masks import Mask
from gnomon.pairs import dense
from gnomon.positions import Positions
from gnomon.precision import uncast


@dataclass(frozen=True)
class _Plan:
    encoding: Encoding
    q_pos: Positions
    k_pos: Positions
    allowed: Tensor | None


class Reference(Backend):
    """softmax over `encoding.score`, values by `encoding.value`; the lowering is not used."""

    lowers = False

    def plan(
        self, encoding: Encoding, q_pos: Positions, k_pos: Positions, mask: Mask, heads: int, dtype: torch.dtype
    ) -> _Plan:
        pair = mask.pair(q_pos, k_pos)
        rows = max(q_pos.rows, k_pos.rows)
        device = q_pos.coords.device
        allowed = None if pair is None else dense(pair, rows, 1, q_pos.length, k_pos.length, device)
        return _Plan(encoding, q_pos, k_pos, allowed)

    def attend(
        self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, raw: Raw | None, scale: float, dropout: float
    ) -> Tensor:
        # In 16 bits a definition would be its own rounding; under autocast it would be in 16 bits.
        with uncast(q.device):
            wide = torch.promote_types(q.dtype, torch.float32)
            return self._attend(plan, q.to(wide), k.to(wide), v.to(wide), dropout).to(v.dtype)

    def _attend(self, plan: _Plan, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        seen = (plan.allowed,) if Property.CONTEXTUAL in plan.encoding.properties else ()
        logits = plan.encoding.score(q, k, plan.q_pos, plan.k_pos, *seen)
        if plan.allowed is not None:
            logits = logits.masked_fill(~plan.allowed, -torch.inf)
        weights = torch.softmax(logits, dim=-1)
        if plan.allowed is not None:
            weights = weights.masked_fill(~plan.allowed, 0.0)
        weights = torch.nn.functional.dropout(weights, dropout)
        received = plan.encoding.value(v, plan.q_pos, plan.k_pos)
        if received.shape[2] == 1:
            return weights @ received[:, :, 0]
        return torch.einsum("bhij,bhijd->bhid", weights, received)

    def way(self, plan: _Plan) -> str:
        return "the definition, every pair at once"

"""CoPE: a token's distance is counted by what lies between, each token as far as the query wants it counted."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, both_placed, dot
from gnomon.errors import OptionError
from gnomon.positions import Positions


@checked
class Cope(Encoding):
    """Contextual position encoding (CoPE).

    g_ij = sigmoid(<q_i, k_j> / sqrt(d))
    p_ij = min( sum_{t = j .. i} g_it, M - 1 )             over the keys t that token i sees
    logit_ij = ( <q_i, k_j> + (1 - r) <q_i, e_m> + r <q_i, e_{m+1}> ) / sqrt(d),     m = floor(p_ij), r = p_ij - m

    The position of a key is a number of tokens that the query itself counts, so coordinates have no part in it: order
    is that of the turns, and documents and masks decide which keys are seen. A key that is not seen is not counted,
    whatever the mask: a window, another document, padding, the future. A token without a place is not counted either
    and receives no position term. `divided=False` leaves the position term undivided (the paper's appendix B, and
    x-transformers).

    Shapes: e `[M, d]`, M = `max_positions` = 64, shared by the heads and zero at first; each layer has its own.
    Positions: any, on any number of axes. Cost: M d parameters a layer; M d multiplications for each query and head,
    two gathers and a running sum for each pair: O(n^2) memory. No fused kernel can compute it, since a logit depends
    on the keys between, so it declares CONTEXTUAL and runs on the reference backend; its keys are kept as projected,
    and decoding with a cache is exact.
    Gradients: p_ij moves only through r, so a whole p_ij (and one beyond M - 1) carries none to the gates.
    Differs: without a causal mask, of which the paper says nothing, the tokens between i and j are counted on
    either side, both ends included; the sum then tells how far, and not on which side.
    Errors: OptionError for an empty table.
    Use: where the thing to count is not tokens but what they contain: sentences, list items, repeated marks.
    Fails: every pair needs all the keys between them: no fused kernel, O(n^2) memory, and a cache gains little.
    Counts past the table are all the last one.
    Source: Golovneva et al. 2024, "Contextual Position Encoding: Learning to Count What's Important", section 4.
    """

    bibtex = """@article{golovneva2024contextual,
  title = {Contextual Position Encoding: Learning to Count What's Important},
  author = {Golovneva, Olga and Wang, Tianlu and Weston, Jason and Sukhbaatar, Sainbayar},
  journal = {arXiv preprint arXiv:2405.18719},
  year = {2024},
  eprint = {2405.18719},
  archivePrefix = {arXiv}
}"""

    per_layer = True
    variants = ({"max_positions": 4, "divided": False},)
    properties = Property.TRANSLATION_INVARIANT | Property.CONTINUOUS | Property.CACHEABLE | Property.CONTEXTUAL
    domain = Domain(axes=None)

    def __init__(self, head_dim: int, max_positions: int = 64, divided: bool = True):
        super().__init__()
        if max_positions < 1:
            raise OptionError("CoPE reads positions from a table", given=max_positions, allowed="1 row or more")
        self.head_dim, self.max_positions, self.divided = head_dim, max_positions, divided
        self.weight = nn.Parameter(torch.empty(max_positions, head_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.weight)

    def score(
        self,
        q: Float[Tensor, "b h i d"],
        k: Float[Tensor, "b h j d"],
        q_pos: Positions,
        k_pos: Positions,
        visible: Bool[Tensor, "#b #h #i #j"] | None = None,
    ) -> Float[Tensor, "b h i j"]:
        scale = self.scale(q.shape[-1])
        logits = scale * dot(q, k)
        gates = torch.sigmoid(logits)
        if visible is not None:
            gates = torch.where(visible, gates, 0.0)
        gates = torch.where(k_pos.has_place()[:, None, None, :], gates, 0.0)
        term = self.read(q, self.count(gates, q_pos, k_pos))
        term = torch.where(both_placed(q_pos, k_pos), term, 0.0)
        return logits + (scale * term if self.divided else term)

    def count(self, gates: Float[Tensor, "b h i j"], q_pos: Positions, k_pos: Positions) -> Float[Tensor, "b h i j"]:
        """p_ij: the gates of all keys from j to i in the order of turns, at most M - 1."""
        if k_pos.index is not None:
            order = k_pos.index.argsort(dim=-1, stable=True)
            where = order[:, None, None].expand_as(gates)
            gates = gates.gather(-1, where)
            k_turn = k_pos.index.gather(-1, order)
        else:
            k_turn = k_pos.turns()
        earlier = k_turn[:, None, None, :] <= q_pos.turns()[:, None, :, None]
        later = k_turn[:, None, None, :] >= q_pos.turns()[:, None, :, None]
        # Counted from the query outwards, so that a near key's sum holds the gates between and nothing else.
        back = torch.where(earlier, gates, 0.0).flip(-1).cumsum(-1).flip(-1)
        ahead = torch.where(later, gates, 0.0).cumsum(-1)
        counted = torch.where(earlier, back, ahead)
        if k_pos.index is not None:
            counted = torch.zeros_like(counted).scatter(-1, where, counted)
        return counted.clamp(max=self.max_positions - 1)

    def read(self, q: Float[Tensor, "b h i d"], p: Float[Tensor, "b h i j"]) -> Float[Tensor, "b h i j"]:
        """`<q_i, e>` at the places p_ij, linear between the rows of the table."""
        rows = torch.einsum("bhid,md->bhim", q, self.weight.to(q.dtype))
        below, above = p.floor().to(torch.int64), p.ceil().to(torch.int64)
        part = p - p.floor()
        return (1 - part) * rows.gather(-1, below) + part * rows.gather(-1, above)

"""A chain of states: each token's position is made from that of the token before it and the step between them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.encoding import Domain, Encoding, Property, dot
from gnomon.errors import OptionError
from gnomon.positions import Positions
from gnomon.precision import uncast

LONGEST_PERIOD = 10000.0
OPEN = 6.0
"""Where the gate of a channel stands before it is trained: it keeps 0.9975 a step."""


@checked
class Chain(Encoding):
    """A trained recurrent state of position.

    e_first = start,     e_t = rest + K(D_t) (e_{t-1} - rest),     D_t = p_t - p_{t-1}
    K_c(D) = sigmoid(6 + a_c(D)) exp(i v_c (D + b_c(D))),     (a, b) = B tanh(A [D / (1 + |D|), asinh D] + c) + f
    logit_ij = (<q_i, k_j> + <e_i, M_h e_j>) / sqrt(d)

    This is not SeqPE, which reads the digits of each position alone: it is what a first reading takes "sequential" to
    mean. A step turns each channel of the state, complex and of speed v_c = 10000^{-c/m}, and lets a share of its
    distance from rest go; how far and how much, a small network learns from the step. As no update reads the state but
    linearly, all states are sums: no loop, and one graph for every length. Products of e with M_h are of its 2 m real
    and imaginary parts.

    The order is that of turns, whatever the positions; each document begins anew; padding and tokens without a place
    are passed over. A token follows the last one whose turn is before its own, so queries that are no keys have states.
    Only steps are seen: moving a document changes nothing. What came before is part of every state, so a cache that
    has forgotten tokens (`WindowCache`) is refused; in one that counts anew (`SinkCache`), and with a `Memory`, the
    chain runs over the tokens held, from the oldest.

    Shapes: e `[rows, n, 2 m]`, m = `channels`; start, rest `[2 m]`, start (1, 0) in each channel, rest 0; A
    N(0, 1), B N(0, 0.02), c = f = 0; M `[h, 2 m, 2 m]` N(0, 0.02). Positions: real numbers on one axis.
    Cost: heads widened by 2 m; tables of O(n m) once a forward pass, also at each step of decoding.
    Errors: OptionError for sizes below 1.
    Use: to test whether a state carried from token to token is a position: the document's reading of a sequential
    encoding. It takes any step, such as the time between two events.
    Fails: a state that has run on past the training length is one that no layer has read; a missing token moves all
    that come after it.
    Source: none; gated linear recurrences in general (Martin and Cundy 2018, "Parallelizing Linear Recurrent Neural
    Nets Over Sequence Length").
    """

    bibtex = """@inproceedings{martin2018parallelizing,
  title = {Parallelizing Linear Recurrent Neural Nets Over Sequence Length},
  author = {Martin, Eric and Cundy, Chris},
  booktitle = {International Conference on Learning Representations},
  year = {2018},
  eprint = {1709.04057},
  archivePrefix = {arXiv}
}"""

    variants = ({"channels": 3, "hidden": 5},)
    properties = (
        Property.TRANSLATION_INVARIANT
        | Property.CONTINUOUS
        | Property.CACHEABLE
        | Property.CONTENT_FREE
        | Property.RECURRENT
    )
    domain = Domain()

    def __init__(self, heads: int, channels: int = 8, hidden: int = 16):
        super().__init__()
        if channels < 1 or hidden < 1:
            raise OptionError(
                "a chain has a state, and a network that moves it",
                given=f"channels={channels}, hidden={hidden}",
                allowed="1 or more of each",
            )
        self.heads, self.channels = heads, channels
        self.see, self.move = nn.Linear(2, hidden), nn.Linear(hidden, 2 * channels)
        self.start, self.rest = (nn.Parameter(torch.empty(2 * channels)) for _ in range(2))
        self.read = nn.Parameter(torch.empty(heads, 2 * channels, 2 * channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for tensor, std in ((self.see.weight, 1.0), (self.move.weight, 0.02), (self.read, 0.02)):
            nn.init.normal_(tensor, std=std)
        for tensor in (self.see.bias, self.move.bias, self.rest, self.start):
            nn.init.zeros_(tensor)
        with torch.no_grad():
            self.start[: self.channels] += 1

    # The definition: one token after another.

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        e_i, e_j = (self._walked(pos, k_pos).to(q.dtype) for pos in (q_pos, k_pos))
        return (dot(q, k) + torch.einsum("rix,hxy,rjy->rhij", e_i, self.read.to(q.dtype), e_j)) / q.shape[-1] ** 0.5

    def _walked(self, pos: Positions, context: Positions) -> Float[Tensor, "rows n channels"]:
        """The states at `pos`, each from that of the token before it; zeros for tokens that have none."""
        rows, width = max(pos.rows, context.rows), 2 * self.channels
        states = []
        for r in range(rows):
            chain = sorted(_tokens(context, r), key=lambda token: token[:2])
            reached: list[Tensor] = []
            for n, (document, turn, place) in enumerate(chain):
                reached.append(self._step(place, self._before(chain[:n], reached, document, turn)))
            found = {}
            for i, (document, turn, place) in enumerate(_tokens(pos, r)):
                if document >= 0:
                    found[i] = self._step(place, self._before(chain, reached, document, turn))
            nothing = torch.zeros(width, dtype=torch.float64, device=pos.coords.device)
            states += [found.get(i, nothing) for i in range(pos.length)]
        return torch.stack(states).view(rows, pos.length, width) if states else pos.coords.new_zeros(rows, 0, width)

    @staticmethod
    def _before(chain: list[tuple], reached: list[Tensor], document: int, turn: int) -> tuple[Tensor, float] | None:
        """The state and the place of the last token of the document whose turn is before `turn`."""
        for (other, earlier, place), state in reversed(list(zip(chain, reached, strict=False))):
            if other == document and document >= 0 and earlier < turn:
                return state, place
        return None

    def _step(self, place: float, before: tuple[Tensor, float] | None) -> Tensor:
        m, start, rest = self.channels, self.start.double(), self.rest.double()
        if before is None:
            return start
        state, step = before[0] - rest, torch.tensor(place - before[1], dtype=torch.float64, device=rest.device)
        seen = torch.stack([step / (1 + step.abs()), torch.asinh(step)])
        hidden = torch.tanh(self.see.weight.double() @ seen + self.see.bias.double())
        moved = self.move.weight.double() @ hidden + self.move.bias.double()
        after = []
        for c in range(m):
            angle = LONGEST_PERIOD ** (-c / m) * (step + moved[m + c])
            factor = torch.polar(torch.sigmoid(OPEN + moved[c]), angle)
            after.append(factor * torch.complex(state[c], state[m + c]))
        after = torch.stack(after)
        return rest + torch.cat([after.real, after.imag])

    # The lowering: all tokens at once.

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        with uncast(pos.coords.device):
            e = self._states(pos, context)
            read = torch.einsum("hxy,rnx->rhny", self.read.double(), e)
        return read.to(dtype), e[:, None].to(dtype)

    def query(self, q: Float[Tensor, "b h i d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b h i wide"]:
        return _widened(q, prepared[0])

    def key(self, k: Float[Tensor, "b g j d"], prepared: tuple[Tensor, Tensor]) -> Float[Tensor, "b g j wide"]:
        return _widened(k, prepared[1])

    def _states(self, pos: Positions, context: Positions) -> Float[Tensor, "rows n channels"]:
        """Readers, the tokens at `pos`, are sorted among the keys of `context`: by document, then by turn, in front of

        the keys of the same turn. Sums along that order say how far each has been turned and what it has kept.
        """
        rows, n = max(pos.rows, context.rows), pos.length
        document, turn, place = (
            torch.cat([a.expand(rows, -1), b.expand(rows, -1)], dim=1) for a, b in zip(_fields(pos), _fields(context))
        )
        order = turn.argsort(dim=1, stable=True)
        order = order.gather(1, document.gather(1, order).argsort(dim=1, stable=True))
        document, turn, place = (t.gather(1, order) for t in (document, turn, place))
        along = torch.arange(order.shape[1], device=order.device).expand(rows, -1)
        # Of keys of one turn the last is the one that is followed.
        alike = (document[:, 1:] == document[:, :-1]) & (turn[:, 1:] == turn[:, :-1])
        first = torch.ones_like(order[:, :1], dtype=torch.bool)
        followed = (order >= n) & ~torch.cat([alike, ~first], dim=1)
        # The last such key of an earlier turn: that at or before the end of the turn before.
        group = torch.where(torch.cat([first, ~alike], dim=1), along, 0).cummax(dim=1).values
        latest = torch.where(followed, along, -1).cummax(dim=1).values
        before = torch.where(group > 0, latest.gather(1, (group - 1).clamp(min=0)), -1)
        at = before.clamp(min=0)
        has = (before >= 0) & (document.gather(1, at) == document) & (document >= 0)
        keep, turned = self._moves(torch.where(has, place - place.gather(1, at), 0.0))
        kept, angle = (torch.where(has[..., None], t, 0.0) for t in (keep, turned))
        # Up to each token of the row, less what was there when its document began.
        new = torch.cat([first, document[:, 1:] != document[:, :-1]], dim=1)
        begin = torch.where(new, along, 0).cummax(dim=1).values
        sums = []
        for move in (kept, angle):
            links = torch.where(followed[..., None], move, 0.0)
            upto = links.cumsum(dim=1)
            earlier = (upto - links).gather(1, begin[..., None].expand_as(upto))
            reached = upto.gather(1, at[..., None].expand_as(upto)) - earlier
            sums.append(torch.where(has[..., None], reached + move, 0.0))
        back = order.argsort(dim=1)[:, :n, None].expand(-1, -1, self.channels)
        log_kept, angle = (t.gather(1, back) for t in sums)
        x, y = (self.start.double() - self.rest.double()).chunk(2)
        size, cos, sin = log_kept.exp(), angle.cos(), angle.sin()
        e = self.rest.double() + torch.cat([size * (x * cos - y * sin), size * (x * sin + y * cos)], dim=-1)
        return torch.where((_fields(pos)[0] >= 0)[..., None], e, 0.0)

    def _moves(self, step: Float[Tensor, "rows n"]) -> tuple[Float[Tensor, "rows n m"], Float[Tensor, "rows n m"]]:
        """The logarithm of what each step keeps, and the angle by which it turns."""
        seen = torch.stack([step / (1 + step.abs()), torch.asinh(step)], dim=-1)
        hidden = torch.tanh(nn.functional.linear(seen, self.see.weight.double(), self.see.bias.double()))
        keep, more = nn.functional.linear(hidden, self.move.weight.double(), self.move.bias.double()).chunk(2, dim=-1)
        each = torch.arange(self.channels, dtype=torch.float64, device=step.device) / self.channels
        return nn.functional.logsigmoid(OPEN + keep), LONGEST_PERIOD**-each * (step[..., None] + more)


def _fields(pos: Positions) -> tuple[Tensor, Tensor, Tensor]:
    """Document, turn and place of each token, `[rows or 1, n]`; document -1 for those that are passed over."""
    return torch.where(pos.has_place(), pos.segments(), -1), pos.turns(), pos.anchored()[..., 0]


def _tokens(pos: Positions, row: int) -> list[tuple[int, int, float]]:
    """Document, turn and place of each token of one row."""
    return list(zip(*(field[min(row, field.shape[0] - 1)].tolist() for field in _fields(pos)), strict=True))


def _widened(x: Tensor, state: Tensor) -> Tensor:
    return torch.cat([x, state.to(x.dtype).expand(*x.shape[:3], -1)], dim=-1)

"""Lessons for a reader of digits: positions to compare with one another, and the two losses that they make."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from gnomon.positions import Positions
from gnomon.precision import uncast

NEAR_RATE = 0.6
"""How often all candidates of a pivot come from one window; otherwise from everywhere, some of them hard."""
HARD_SHARE = 0.25
"""The share of candidates that are the pivot's digits, edited."""
EDITS = 3
"""At most so many edits."""


class Draws:
    """Numbers from one generator, one at a time."""

    def __init__(self, generator: torch.Generator):
        self.generator = generator

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(torch.randint(n, (), generator=self.generator, device=self.generator.device))

    def uniform(self, *shape: int) -> Tensor:
        """Numbers from 0 up to, not including, 1, in float64."""
        return torch.rand(shape, generator=self.generator, device=self.generator.device, dtype=torch.float64)


def pivots_and_candidates(
    pivots: int, candidates: int, longest: int, axes: int, span: int, draws: Draws
) -> tuple[Float[Tensor, "pivots axes"], Float[Tensor, "pivots candidates axes"]]:
    """Places below `longest` on each axis, and for each of them places of which the nearest is to be told.

    `span` is the least side of the window from which candidates are taken that lie near one another; where it lies
    has nothing to do with the pivot.
    """
    pivot = (draws.uniform(pivots, axes) * longest).floor()
    side = min(longest, max(span, math.ceil((5 * candidates) ** (1 / axes))))
    rows = []
    for place in pivot:
        if float(draws.uniform()) < NEAR_RATE:
            corner = (draws.uniform(axes) * (longest - side + 1)).floor()
            rows.append(corner + (draws.uniform(candidates, axes) * side).floor())
            continue
        row = (draws.uniform(candidates, axes) * longest).floor()
        hard = round(HARD_SHARE * candidates)
        nearest = squared(row[hard:] - place).min()
        for c in range(hard):
            edited = torch.tensor(edit([int(x) for x in place.tolist()], draws), dtype=torch.float64).to(row.device)
            if edited.max() < longest and squared(edited - place) > nearest:
                row[c] = edited
        rows.append(row)
    return pivot, torch.stack(rows)


def edit(place: list[int], draws: Draws) -> list[int]:
    """A place whose digits are those of `place` but for one to three: inserted, deleted, swapped or replaced.

    Coordinates are written one after another without zeros in front, and cut apart again anywhere.
    """
    text = list("".join(str(x) for x in place))
    for _ in range(1 + draws.below(EDITS)):
        kind, at, digit = draws.below(4), draws.below(len(text)), str(draws.below(10))
        if kind == 0:
            text.insert(draws.below(len(text) + 1), digit)
        elif kind == 1 and len(text) > 1:
            del text[at]
        elif kind == 2:
            other = draws.below(len(text))
            text[at], text[other] = text[other], text[at]
        else:
            text[at] = digit
    cuts = [0, *sorted(draws.below(len(text) + 1) for _ in place[1:]), len(text)]
    return [int("".join(text[a:b]) or "0") for a, b in zip(cuts, cuts[1:], strict=False)]


def squared(apart: Float[Tensor, "*shape axes"]) -> Float[Tensor, "*shape"]:
    """The square of the Euclidean length."""
    return apart.square().sum(-1)


def nearest(
    pivot: Float[Tensor, "p axes"], candidate: Float[Tensor, "p c axes"]
) -> tuple[Tensor, Float[Tensor, "p c"]]:
    """The candidate nearest to each pivot, `[p]`, the first of several, and 0 or minus infinity for each candidate:

    the pivot itself and what has been a candidate before are left out. A row that has none left compares them all.
    """
    apart = squared(candidate - pivot[:, None])
    same = squared(candidate[:, :, None] - candidate[:, None]) == 0
    left_out = (apart == 0) | same.tril(-1).any(-1)
    left_out = left_out & ~left_out.all(-1, keepdim=True)
    return apart.masked_fill(left_out, torch.inf).argmin(-1), apart.new_zeros(apart.shape).masked_fill(
        left_out, -torch.inf
    )


def windows(pos: Positions, count: int, longest: int, end: int, draws: Draws) -> tuple[Tensor, Tensor]:
    """Some places of the window at hand, `[count, axes]`, and the same moved away from it, up to `longest` if there is

    room and never past `end`: on a line by a quarter of its extent at least, else past its end on one of the axes.
    """
    place, extent = pos.anchored()[0], pos.anchored().amax(dim=(0, 1)) + 1
    order = torch.randperm(len(place), generator=draws.generator, device=draws.generator.device)
    here = place[order[:count].to(place.device)]
    least = torch.zeros_like(extent)
    if pos.axes == 1:
        least = (extent / 4).floor()
    else:
        out = draws.below(pos.axes)
        least[out] = extent[out]
    room = (longest - extent - least).clamp(min=0)
    away = least + (draws.uniform(pos.axes).to(room.device) * room).floor()
    return here, here + torch.minimum(away, (end - extent).clamp(min=0))


def unshifted(pos: Positions) -> Tensor:
    """Whether the window begins at the origin, as a tensor."""
    there = pos.has_place() & (pos.segments() >= 0)
    return (torch.where(there[..., None], pos.coords, torch.inf).amin(dim=(0, 1)) <= 0).all()


def contrastive(
    e_pivot: Float[Tensor, "p w"],
    e_candidate: Float[Tensor, "p c w"],
    pivot: Float[Tensor, "p axes"],
    candidate: Float[Tensor, "p c axes"],
) -> Float[Tensor, ""]:
    """`-log softmax_n <e_p, e_{c_n}>` at the nearest candidate, the mean of all pivots, in float32 or wider."""
    label, allowed = nearest(pivot, candidate)
    e_pivot, e_candidate = _wide(e_pivot), _wide(e_candidate)
    with uncast(e_pivot.device):
        logits = torch.einsum("pw,pcw->pc", e_pivot, e_candidate) + allowed.to(e_pivot.dtype)
        return functional.cross_entropy(logits, label)


def distillation(teacher: Float[Tensor, "h m d"], student: Float[Tensor, "h m d"]) -> Float[Tensor, ""]:
    """How far the student's similarities are from the teacher's: KL both ways between their rows, the mean of all

    elements of h x m x m. The teacher learns nothing.
    """
    with uncast(student.device):
        known, found = (torch.log_softmax(_wide(e) @ _wide(e).mT, dim=-1) for e in (teacher.detach(), student))
        return (known.exp() * (known - found) + found.exp() * (found - known)).mean()


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))

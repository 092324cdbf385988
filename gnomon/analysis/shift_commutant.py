"""Which projections keep the position-position term a function of the distance: those that commute with every shift."""

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.forms import Waves
from gnomon.analysis.toeplitz import check_square
from gnomon.checked import checked
from gnomon.errors import OptionError


@checked
def shift_matrix(waves: Waves, by: float = 1.0) -> Float[Tensor, "w w"]:
    """S `[w, w]` float64 with PE(p + by) = S PE(p): it turns the sine and the cosine of each frequency.

    OptionError where a sine has no cosine (an odd width), or the waves turn queries and keys (rope).
    """
    size = len(waves.columns)
    s = torch.zeros(size, size, dtype=torch.float64)
    for m, (sine, cosine) in enumerate(_pairs(waves)):
        angle = torch.tensor(waves.frequencies[m] * by, dtype=torch.float64)
        s[sine, sine] = s[cosine, cosine] = angle.cos()
        s[sine, cosine], s[cosine, sine] = angle.sin(), -angle.sin()
    return s


@checked
def shift_commutator(m: Float[Tensor, "w w"], waves: Waves, by: float = 1.0) -> float:
    """|M S - S M| / |M| of `m` `[w, w]` with the shift S by `by` places: 0 where M commutes with it, 2 at most.

    A small number does not make M nearly commute with every shift: the slow frequencies hardly turn in one place.
    `commutant_share` asks about all shifts at once.
    """
    s = shift_matrix(waves, by)
    check_square(m, s.shape[0])
    m = m.to(torch.float64)
    return float((m @ s - s @ m).norm() / m.norm())


@checked
def commuting_part(m: Float[Tensor, "w w"], waves: Waves) -> Float[Tensor, "w w"]:
    """The nearest matrix to `m` `[w, w]` that commutes with every shift, float64.

    Frequencies differ, so nothing is left between two of them; within each pair, the nearest scaled rotation.
    """
    check_square(m, len(waves.columns))
    m = m.to(torch.float64)
    kept = torch.zeros_like(m)
    sine, cosine = torch.tensor(_pairs(waves)).unbind(1)
    kept[sine, sine] = kept[cosine, cosine] = (m[sine, sine] + m[cosine, cosine]) / 2
    kept[sine, cosine] = (m[sine, cosine] - m[cosine, sine]) / 2
    kept[cosine, sine] = -kept[sine, cosine]
    return kept


@checked
def commutant_share(m: Float[Tensor, "w w"], waves: Waves) -> float:
    """The share of the squares of `m` `[w, w]` in its `commuting_part`: 1 where it commutes with every shift.

    1 / w is expected of a random matrix: w of w^2 dimensions commute.
    """
    return float(commuting_part(m, waves).square().sum() / m.to(torch.float64).square().sum())


def _pairs(waves: Waves) -> list[tuple[int, int]]:
    """The columns of the sine and of the cosine of each frequency."""
    at = {column: place for place, column in enumerate(waves.columns)}
    pairs = [(at.get(("sin", m)), at.get(("cos", m))) for m in range(len(waves.frequencies))]
    if not pairs or any(None in pair for pair in pairs):
        raise OptionError(
            "a shift turns the sine and the cosine of each frequency",
            given=f"{len(waves.columns)} columns of {len(waves.frequencies)} frequencies",
            do="choose sinusoidal positions of an even width",
        )
    return pairs

"""How far a shift of all positions moves RoPE's logits through rounding of its tables alone, by dtype."""

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_seed, check_size, real
from gnomon.analysis.forms import Waves
from gnomon.checked import checked
from gnomon.errors import OptionError

SHIFTS = (1, 5, 100, 10**4, 10**6, 10**7)
"""Places by which everything moves."""

WAYS: dict[str, tuple[torch.dtype, torch.dtype]] = {
    "float64": (torch.float64, torch.float64),
    "float64, cast to float32": (torch.float64, torch.float32),
    "float64, cast to bfloat16": (torch.float64, torch.bfloat16),
    "float32": (torch.float32, torch.float32),
    "float32, cast to bfloat16": (torch.float32, torch.bfloat16),
    "bfloat16": (torch.bfloat16, torch.bfloat16),
}
"""How cos and sin come about: what frequencies, positions and angles are formed in, and what the tables are cast to.

gnomon forms angles in float64. Libraries form them in float32 and cast the tables to the precision of the model; a
model that has been cast as a whole forms them in its own.
"""


@checked
def residual(
    waves: Waves,
    shifts: tuple[float, ...] = SHIFTS,
    angle: torch.dtype = torch.float64,
    table: torch.dtype = torch.float64,
    n: int = 32,
    seed: int = 0,
) -> tuple[float, ...]:
    """How far a shift moves RoPE's logits through rounding of its tables alone; one number for each of `shifts`.

    max over pairs of |logit(p_i + s, p_j + s) - logit(p_i, p_j)|, over the root mean square of the logits. Queries
    and keys are normal numbers, positions 0 .. n - 1; both are turned and multiplied in float64.

    angle: dtype in which frequencies, positions and their products are rounded, and cosines taken.
    table: dtype to which the cosines and sines are cast.
    """
    check_seed(seed)
    check_size(n, "a logit needs places and pairs that turn", 1, 4096)
    pairs = len(waves.frequencies)
    if n < 1 or not pairs:
        raise OptionError("a logit needs places and pairs that turn", given=f"{n} places, {pairs} pairs")
    g = torch.Generator().manual_seed(seed)
    q, k = (torch.view_as_complex(torch.randn(n, pairs, 2, generator=g, dtype=torch.float64)) for _ in range(2))
    still = _turned(q, k, waves, 0.0, angle, table)
    size = still.square().mean().sqrt()
    return tuple(float((_turned(q, k, waves, s, angle, table) - still).abs().max() / size) for s in shifts)


@checked
def tables(
    waves: Waves, places: Tensor, angle: torch.dtype = torch.float64, table: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """cos and sin `[n, pairs]` of w p at `places` `[n]`: formed in `angle`, cast to `table`."""
    real(places, "places", 1)
    frequencies = torch.tensor(waves.frequencies, dtype=torch.float64)
    angles = places.to(angle)[:, None] * frequencies.to(angle)
    return angles.cos().to(table), angles.sin().to(table)


def _turned(q: Tensor, k: Tensor, waves: Waves, shift: float, angle: torch.dtype, table: torch.dtype) -> Tensor:
    """The logits `[n, n]` of q and k, complex `[n, pairs]`, turned at places shift, shift + 1, ..."""
    cos, sin = tables(waves, shift + torch.arange(q.shape[0], dtype=torch.float64), angle, table)
    turn = torch.complex(cos.to(torch.float64), sin.to(torch.float64))
    return ((q * turn) @ (k * turn).conj().mT).real

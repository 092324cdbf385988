"""One dimension of a vector of waves: which wave it is, and its value at a whole position as a ball."""

from typing import Literal

from flint import arb

from gnomon.analysis.certified import frequency
from gnomon.analysis.forms import Waves
from gnomon.analysis.ratios import exponents
from gnomon.checked import checked
from gnomon.errors import OptionError


@checked
def dimensions(waves: Waves) -> tuple[tuple[Literal["sin", "cos"], int], ...]:
    """`("sin" or "cos", m)` of each dimension; of a rotation, which has none, the sine and the cosine of each pair."""
    return waves.columns or tuple((kind, m) for m in range(len(exponents(waves))) for kind in ("sin", "cos"))


@checked
def wave_of(waves: Waves, column: int) -> tuple[Literal["sin", "cos"], int]:
    """`("sin" or "cos", m)` of a dimension. OptionError for a dimension that is not a wave."""
    if not 0 <= column < len(waves.columns):
        allowed = f"0 to {len(waves.columns) - 1}" if waves.columns else "none: these waves have no columns"
        raise OptionError("no such dimension", given=column, allowed=allowed)
    return waves.columns[column]


def value(waves: Waves, column: int, position: int) -> arb:
    """The value of a dimension at a whole position of any size, at the precision that is set."""
    kind, m = wave_of(waves, column)
    angle = frequency(waves.base, exponents(waves)[m]) * position
    return angle.sin() if kind == "sin" else angle.cos()

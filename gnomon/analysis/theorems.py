"""Three theorems of sinusoidal positions: each stated, proved or disproved, with what its usual proof leaves out."""

from typing import Literal

from gnomon.analysis import theorem_one_dimension, theorem_two_dimensions, theorem_vectors
from gnomon.analysis.forms import Waves, form, name_of, scaled, waves
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.errors import OptionError
from gnomon.section import Section, does_not_apply

Which = Literal["theorem1", "theorem2", "theorem3"]


@checked
def section(encoding: Encoding, which: Which, last: int = 8191) -> Section:
    """One of the theorems for one encoding.

    which: "theorem1" (vectors differ), "theorem2" (values of one dimension differ), "theorem3" (two dimensions can
    share a value). last: the searches go over positions 0 to `last`, at least 1 and below 2^22.
    Source: the statements are those of D1 (`gnomon.claims.claim.DOCUMENTS`), sections 3 to 5, on Vaswani et al. 2017.
    """
    if not 1 <= last < theorem_one_dimension.LONGEST:
        raise OptionError(
            "positions to search", given=last, allowed=f"1 to {theorem_one_dimension.LONGEST - 1}", do="try 8191"
        )
    of = {"theorem1": theorem_vectors, "theorem2": theorem_one_dimension, "theorem3": theorem_two_dimensions}[which]
    found = waves(encoding)
    why = _unfit(encoding, found, which)
    if why is not None:
        return does_not_apply(*of.texts(), why)
    assert found is not None
    name = _name(encoding)
    if which == "theorem1":
        return theorem_vectors.section(found, name, None if isinstance(encoding, Rope) else encoding.convention)
    if which == "theorem2":
        return theorem_one_dimension.section(found, name, last, encoding.width - len(found.columns))
    return theorem_two_dimensions.section(found, name, last)


def _unfit(encoding: Encoding, found: Waves | None, which: Which) -> str | None:
    """Why a theorem says nothing of an encoding, or None."""
    kind = name_of(encoding)
    if isinstance(encoding, Sinusoidal | Rope) and encoding.axes > 1:
        return f"On {encoding.axes} axes each block of dimensions is an encoding of one coordinate: ask with one axis."
    if (why := scaled(encoding)) is not None:
        return why
    if isinstance(encoding, Rope) and (found is None or found.exponents is None):
        return "A scaling scheme has changed the frequencies: they are not powers of the base, which the proofs need."
    if found is None:
        return {
            "vector": f"{kind} positions are learned or computed by a network: nothing but looking at them can say.",
            "bias": f"{kind} has no vector of a position: it adds a number to the logit for each distance.",
        }.get(form(encoding), f"{kind}: no position has a vector that is made of sines and cosines.")
    if isinstance(encoding, Rope) and which != "theorem1":
        return (
            "A rotation has no values that are added: position p turns each pair of a query or key by the angle w p. "
            "That no two whole positions turn a pair alike is Theorem 1 in each pair."
        )
    if not found.columns and not isinstance(encoding, Rope) and which != "theorem1":
        return f"At width {encoding.width} no dimension has a wave: all values are 0."
    if which == "theorem3" and len(found.columns) < 2:
        return "There is one dimension with a wave, and the theorem is about two."
    return None


def _name(encoding: Encoding) -> str:
    if isinstance(encoding, Rope):
        return f"RoPE on {encoding.rotary} dimensions, base {encoding.theta:g}"
    return f"Sinusoidal positions of width {encoding.width}, base {encoding.base:g}, convention {encoding.convention}"

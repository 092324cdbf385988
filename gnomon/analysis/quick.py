"""Which questions take more than a second or two at a size: what asks them of many encodings leaves those out."""

from gnomon.analysis.families import family
from gnomon.analysis.forms import form, waves
from gnomon.analysis.stored import width_of
from gnomon.analysis.study import Settings
from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape

NUMBERS = {"wavelengths": 2**23, "uniqueness": 2**21}
"""Numbers that are looked at within about two seconds of one core: places times dimensions."""
DIMENSIONS = {"kernel": 768, "aliasing": 512, "terms": 512}
"""Dimensions of a position for which they take as long: they compare pairs of these, or search lags wave by wave."""
WIDTH = 1024
"""Width of a model for which `fit` takes as long: all other encodings are fitted beside."""


@checked
def slow(encoding: Encoding, shape: Shape, settings: Settings) -> dict[str, str]:
    """The questions that apply to an encoding and take longer at these sizes: by key, each with the size that does it.

    The limits are fixed numbers, so what is left out does not depend on the machine.
    """
    found, vector = waves(encoding), form(encoding) == "vector"
    applies = {"wavelengths", "uniqueness", "kernel", "aliasing"} if found is not None else set()
    applies |= {"uniqueness", "terms"} if vector else set()
    width = width_of(found) if found is not None else encoding.width or 0
    places = int(min(settings.positions, encoding.domain.highest + 1))
    told = {key: f"{places:,} places of {width:,} numbers" for key, most in NUMBERS.items() if places * width > most}
    told |= {key: f"positions of {width:,} numbers" for key, most in DIMENSIONS.items() if width > most}
    told = {key: why for key, why in told.items() if key in applies}
    if shape.width > WIDTH and encoding.sites and family(encoding) is not None:
        told["fit"] = f"a model of width {shape.width:,}"
    return told

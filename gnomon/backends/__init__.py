"""How attention is computed. A backend is chosen by name, or given as an object."""

from gnomon.backends.backend import Backend
from gnomon.backends.flex import Flex
from gnomon.backends.reference import Reference
from gnomon.backends.sdpa import Sdpa
from gnomon.checked import checked
from gnomon.encoding import Encoding, Property
from gnomon.errors import unknown

BACKENDS: dict[str, type[Backend]] = {"reference": Reference, "sdpa": Sdpa, "flex": Flex}


@checked
def choose(backend: str | Backend, encoding: Encoding) -> Backend:
    """The backend of that name; `auto` takes `reference` for a contextual encoding and `sdpa` for every other."""
    if isinstance(backend, Backend):
        return backend
    if backend == "auto":
        return Reference() if Property.CONTEXTUAL in encoding.properties else Sdpa()
    if backend not in BACKENDS:
        raise unknown("backend", str(backend), ["auto", *BACKENDS])
    return BACKENDS[backend]()

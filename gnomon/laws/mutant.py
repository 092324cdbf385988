"""A mutant: a case with one part that is wrong, and the laws that must catch it."""

from dataclasses import dataclass

from gnomon.encoding import Encoding
from gnomon.encodings import build
from gnomon.laws.case import Case


@dataclass(frozen=True)
class Mutant:
    """A case with one part replaced by a wrong one; `kills`: the laws it must break, and breaks alone."""

    name: str
    case: Case
    kills: frozenset[str]

    @classmethod
    def of(cls, name: str, kind: type[Encoding], *kills: str, **parts: object) -> "Mutant":
        """What is wrong is the encoding `kind`, or one of the `parts` around it: backend, cache or masking."""
        return cls(name, Case(name, lambda shape: build(kind, shape), **parts), frozenset(kills))

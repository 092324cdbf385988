"""A law: one function from a case to an outcome, and the property whose declaration it tests."""

from collections.abc import Callable
from dataclasses import dataclass

from gnomon.encoding import Property
from gnomon.laws.case import Case

EXACT = 1e-12


@dataclass(frozen=True)
class Outcome:
    """How far a law was missed, and how far it may be; or why it does not apply."""

    error: float
    tolerance: float = EXACT
    reason: str | None = None

    @property
    def holds(self) -> bool:
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Law:
    """A check, and the property whose declaration it tests; None: every encoding obeys it.

    margin: how many tolerances a broken law is missed by. An output of 8 bits is never wrong by many roundings.
    """

    name: str
    check: Callable[[Case], Outcome]
    declares: Property | None = None
    margin: float = 100.0

    def broken(self, outcome: Outcome) -> bool:
        """Whether it is missed by far more than rounding can explain."""
        return outcome.error > self.margin * outcome.tolerance

    @property
    def sentence(self) -> str:
        return self.check.__doc__.strip().splitlines()[0].rstrip(".")

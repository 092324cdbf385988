"""Mutants: wrong variants, each of a kind that real libraries have shipped, and the laws that must catch it.

A mutant names the laws that it breaks; it must break each by the law's margin, a hundred times the tolerance (in
`half`, twice), and no other. A family of mutants is one file here, named after its encoding or its part, and one entry
in FAMILIES.
"""

from dataclasses import dataclass

from gnomon.laws.mutant import Mutant
from gnomon.laws.mutants import (
    alibi,
    caching,
    chain,
    cope,
    deberta,
    fire,
    kernels,
    kerple,
    learned,
    masking,
    relative_bias,
    rope,
    rope_mixed,
    rope_scaling,
    sandwich,
    seqpe,
    shaw,
    sinusoidal,
    t5,
    transformer_xl,
    xpos,
)
from gnomon.laws.suite import LAWS

FAMILIES = (
    rope,
    rope_mixed,
    rope_scaling,
    alibi,
    t5,
    shaw,
    relative_bias,
    transformer_xl,
    deberta,
    sinusoidal,
    learned,
    seqpe,
    chain,
    kerple,
    fire,
    sandwich,
    cope,
    xpos,
    caching,
    masking,
    kernels,
)
"""In the order of the printed matrix."""

MUTANTS: list[Mutant] = [mutant for family in FAMILIES for mutant in family.MUTANTS]


@dataclass(frozen=True)
class Cell:
    """One law on one mutant. verdict: `killed`, `passes`, `not applicable`, or `WRONG` (missed, or broken unasked)."""

    mutant: str
    law: str
    verdict: str
    error: float
    tolerance: float


def matrix(names: list[str] | None = None) -> list[Cell]:
    """Every law on every mutant."""
    chosen = [m for m in MUTANTS if names is None or m.name in names]
    return [_cell(mutant, name) for mutant in chosen for name in LAWS]


def _cell(mutant: Mutant, name: str) -> Cell:
    law = LAWS[name]
    if law.declares is not None and law.declares not in mutant.case.make().properties:
        return Cell(mutant.name, name, "WRONG" if name in mutant.kills else "not applicable", 0.0, 0.0)
    outcome = law.check(mutant.case)
    if outcome.reason is not None:
        verdict = "not applicable"
    elif law.broken(outcome):
        verdict = "killed"
    else:
        verdict = "passes" if outcome.holds else "WRONG"
    if (verdict == "killed") != (name in mutant.kills):
        verdict = "WRONG"
    return Cell(mutant.name, name, verdict, outcome.error, outcome.tolerance)

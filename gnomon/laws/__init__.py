"""Laws: invariants that every encoding obeys, or declares that it does not. And mutants: proof that they can fail."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.encodings import ENCODINGS, build, named
from gnomon.errors import unknown
from gnomon.laws.case import Case
from gnomon.laws.law import Law, Outcome
from gnomon.laws.suite import LAWS
from gnomon.user_code import guarded

SEARCH = 20
"""How many seeds a counterexample is sought in."""


@dataclass(frozen=True)
class Row:
    """One law on one encoding. verdict: `holds`, `fails as declared`, `not applicable`, or `BROKEN`."""

    encoding: str
    masking: str
    law: str
    verdict: str
    error: float
    tolerance: float
    reason: str | None
    seed: int


@checked
def cases(names: Sequence[str] | None = None) -> list[Case]:
    """Every encoding in each of its variants, causal and not."""
    kinds = {name: named(name) for name in (ENCODINGS if names is None else names)}
    return [case for name, kind in kinds.items() for case in variants(name, kind)]


@checked
def variants(name: str, kind: type[Encoding]) -> list[Case]:
    """The cases of one encoding class: its default options and its `variants`, under each mask that it takes."""
    return [
        Case(_label(name, options), lambda shape, options=options: build(kind, shape, **options), causal=causal)
        for options in ({}, *kind.variants)
        for causal in ((True,) if kind.causal else (True, False))
    ]


@checked
def judge(law: Law, case: Case) -> Row:
    """The verdict of one law on one case; an undeclared property must fail, by a counterexample found by search."""
    encoding, seed = case.make(), case.seed
    declared = law.declares is None or law.declares in encoding.properties
    with guarded(type(encoding)):
        outcome = law.check(case)
        while not declared and outcome.reason is None and outcome.holds and seed + 1 < case.seed + SEARCH:
            seed += 1
            outcome = law.check(replace(case, seed=seed))
    return Row(
        case.label,
        "causal" if case.causal else "bidirectional",
        law.name,
        _verdict(outcome, declared),
        outcome.error,
        outcome.tolerance,
        outcome.reason or _undeclared(law, outcome, declared),
        seed,
    )


@checked
def table(names: Sequence[str] | None = None, laws: Sequence[str] | None = None) -> list[Row]:
    """Every law on every encoding named (default: all)."""
    chosen = list(LAWS) if laws is None else list(laws)
    for law in chosen:
        if law not in LAWS:
            raise unknown("law", law, LAWS)
    return [judge(LAWS[law], case) for case in cases(names) for law in chosen]


def _verdict(outcome: Outcome, declared: bool) -> str:
    if outcome.reason is not None:
        return "not applicable"
    if declared:
        return "holds" if outcome.holds else "BROKEN"
    return "BROKEN" if outcome.holds else "fails as declared"


def _undeclared(law: Law, outcome: Outcome, declared: bool) -> str | None:
    """What to do about a property that holds and is not declared."""
    if declared or not outcome.holds:
        return None
    return f"it holds in {SEARCH} draws and is not declared: add Property.{law.declares.name} to `properties`"


def _label(name: str, options: dict) -> str:
    return name if not options else f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})"


__all__ = ["LAWS", "Case", "Law", "Outcome", "Row", "cases", "judge", "table", "variants"]

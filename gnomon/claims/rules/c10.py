"""The rule of C10: which model has which encoding."""

from gnomon.claims.claim import Numbers, Verdict

CONTRADICTED = 0
"""How many assertions may be contradicted by a source: one counterexample is enough."""
OPEN = 0
"""How many may be neither confirmed nor contradicted by any source."""

CORRECTED = "a table of 1024 places was counted as asserted of BERT and GPT-2, where D2 1.1 says: suppose, for example"


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where a source contradicts one of the assertions; inconclusive where none does, but some model's
    makers tell nothing; holds where all are confirmed. What a document only supposes is told and not counted."""
    total = len(numbers["confirmed"]) + len(numbers["contradicted"]) + len(numbers["undisclosed"])
    counted = (
        f"Of {total} assertions {len(numbers['confirmed'])} are confirmed, {len(numbers['contradicted'])} contradicted "
        f"({_listed(numbers['contradicted'])}), and of {len(numbers['undisclosed'])} nothing is disclosed "
        f"({_listed(numbers['undisclosed'])}). Only supposed, and not counted: {_listed(numbers['supposed'])}."
    )
    if len(numbers["contradicted"]) > CONTRADICTED:
        return Verdict("does not hold", counted)
    return Verdict("inconclusive" if len(numbers["undisclosed"]) > OPEN else "holds", counted)


def _listed(models: list) -> str:
    return ", ".join(models) or "none"

"""The ledger: every claim with its verdict, the numbers behind it, and the commits of its rule and of its record."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gnomon.claims import experiments, needed, records
from gnomon.claims.claim import Claim, Numbers, Verdict
from gnomon.claims.history import Order, Past, order, past
from gnomon.claims.provenance import doubts
from gnomon.errors import StoreError

SENSELESS = (ArithmeticError, LookupError, TypeError, ValueError)
"""What a rule, and a claim's check of shapes, raises over numbers that make no sense together."""

Basis = Literal["computed", "record", "none"]
"""Where the numbers are from: found just now, read from a record, or not there."""


NEARLY = 1e-4
"""How near to 1 a number is told by what it lacks."""


@dataclass(frozen=True)
class Entry:
    """One claim as it stands."""

    claim: Claim
    verdict: Verdict
    basis: Basis
    numbers: Numbers | None
    rule: Past
    """The past of the file of the rule."""
    record: records.Record | None = None
    record_past: Past | None = None
    precedes: Order | None = None
    """Whether the rule, as it was committed last, is older than the first record; None where one is not there."""
    damaged: str = ""
    """Why what lies in the place of the record cannot be read, and what to do; empty where nothing does, or it can."""
    missing: tuple[str, ...] = ()
    """Experiments that the numbers are found from, and that have no results here."""
    warnings: tuple[str, ...] = ()
    """What stands between the verdict and belief in it."""

    def rows(self, name: str) -> tuple[tuple[str, ...], list[list]] | None:
        """The columns and the rows of a list of rows among the numbers, or of a list that is one; else None.

        Columns of a record of another shape than the claim's are numbered.
        """
        value = self.numbers[name]
        if not isinstance(value, list) or not value:
            return None
        rows = value if all(isinstance(row, list) for row in value) else [value] if name in self.claim.columns else []
        if not rows:
            return None
        columns = self.claim.columns.get(name, ())
        wide = max(map(len, rows))
        if len(columns) != wide:
            columns = tuple(str(at) for at in range(1, wide + 1))
        return columns, [[*row, *[None] * (wide - len(row))] for row in rows]

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        claim = self.claim
        told = ("id", "title", "english", "korean", "document", "section", "question", "awaits", "cheap", "command")
        return {name: getattr(claim, name) for name in told} | {
            "verdict": self.verdict.word,
            "condition": self.verdict.condition,
            "because": self.verdict.because,
            "basis": self.basis,
            "numbers": self.numbers,
            "columns": {name: list(columns) for name, columns in claim.columns.items()},
            "rule_text": told_rule(claim),
            "thresholds": thresholds(claim),
            "corrected": claim.corrected,
            "precedes": self.precedes,
            "rule": asdict(self.rule),
            "record": None if self.record is None else asdict(self.record),
            "record_past": None if self.record_past is None else asdict(self.record_past),
            "damaged": self.damaged or None,
            "missing": list(self.missing),
            "warnings": list(self.warnings),
        }


def told_rule(claim: Claim) -> str:
    """The rule in words, as its function tells it."""
    return " ".join((claim.rule.__doc__ or "").split())


def thresholds(claim: Claim) -> dict[str, float]:
    """The thresholds of a claim's rule by name: the numbers that its file calls in capitals."""
    known = claim.rule.__globals__
    return {name: value for name, value in known.items() if name.isupper() and isinstance(value, int | float)}


def digits(value: float) -> str:
    """A number by six digits; one that is nearly 1 by what it lacks, or exceeds it by."""
    if 0 < abs(1 - value) < NEARLY:
        return f"1 {'-' if value < 1 else '+'} {abs(1 - value):.2g}"
    return f"{value:.6g}"


def entries(claims: Iterable[Claim], folder: Path | None = None) -> Iterator[Entry]:
    """The entries of claims, one after another: cheap numbers are found anew, others read from `folder`."""
    for claim in claims:
        yield entry(claim, folder)


def entry(claim: Claim, folder: Path | None = None) -> Entry:
    """One claim as it stands. A record that cannot be read, or not be judged, costs the claim its record alone."""
    rule = past(records.file_of_rule(claim))
    record = path = record_past = precedes = then = None
    damaged, why, warnings = "", "", [*_of_rule(claim, rule)]
    try:
        record, path = (folder and records.read(claim.id, folder)) or (None, None)
    except StoreError as error:
        damaged = why = f"the record cannot be read: {error.given}; {error.do}"
    if record is not None:
        record_past = past(path)
        precedes = _precedes(rule, record_past, path.parent)
        warnings += _of_record(claim, rule, record, record_past, precedes)
        warnings += doubts(claim, record, path, record_past)
        warnings += experiments.doubts(record.numbers)
        try:
            then = _judged(claim, record)
        except SENSELESS as error:
            why = (
                f"{path.name} does not have the numbers that the rule reads: {_why(error)}; "
                f"`gnomon claims {claim.id} --record` makes a new one"
            )
    warnings += [why] * bool(why)
    if claim.cheap:
        basis, numbers = "computed", claim.evidence()
        verdict = claim.judge(numbers)
        if then is not None and then.short != verdict.short:
            warnings.append(f"the record of {record.recorded_at} gives another verdict: {then.short}")
    elif then is not None:
        basis, numbers, verdict = "record", record.numbers, then
    else:
        basis, numbers, verdict = "none", None, _unjudged(claim, folder, why)
    lacking = needed.missing(claim)
    return Entry(claim, verdict, basis, numbers, rule, record, record_past, precedes, damaged, lacking, tuple(warnings))


def _judged(claim: Claim, record: records.Record) -> Verdict:
    claim.check(record.numbers)
    return claim.judge(record.numbers)


def _why(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, LookupError) else str(error)


def _unjudged(claim: Claim, folder: Path | None, why: str) -> Verdict:
    """Why there is nothing to judge."""
    if folder is None:
        return Verdict("not measured yet", f"No folder of records: {records.NOWHERE}.")
    if why:
        return Verdict("not measured yet", f"{why}.")
    lacking = needed.missing(claim)
    if not lacking:
        return claim.judge(None)
    asked = ", ".join(f"`{command}`" for command in experiments.commands(*lacking))
    return Verdict("not measured yet", f"No record of it here, nor results: {asked}, then `{claim.command}`.")


def _precedes(rule: Past, record: Past, folder: Path) -> Order:
    if rule.changed or rule.last is None or record.first is None:
        return "unknown"
    return order(folder, rule.last.hash, record.first.hash)


def _of_rule(claim: Claim, rule: Past) -> Iterator[str]:
    if rule.changed:
        yield f"the rule in {rule.file} has changes that are not committed"
    if claim.corrected:
        yield f"the rule was corrected after its first record; reason: {claim.corrected}"


def _of_record(
    claim: Claim, rule: Past, record: records.Record, record_past: Past, precedes: Order | None
) -> Iterator[str]:
    if record.rule_sha256 != records.digest(records.file_of_rule(claim)):
        yield "the rule is not the one that the record was made under"
    if precedes == "not before" and not claim.corrected:
        yield (
            f"the rule's commit {rule.last.hash[:7]} does not come before the record's first commit "
            f"{record_past.first.hash[:7]}, and the rule does not say why"
        )

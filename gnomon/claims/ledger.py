"""The ledger: every claim with its verdict, the numbers behind it, and the commits of its rule and of its record."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gnomon.claims import records
from gnomon.claims.claim import Claim, Numbers, Verdict
from gnomon.claims.history import Past, order, past

Basis = Literal["computed", "record", "none"]
"""Where the numbers are from: found just now, read from a record, or not there."""


@dataclass(frozen=True)
class Entry:
    """One claim as it stands."""

    claim: Claim
    verdict: Verdict
    basis: Basis
    numbers: Numbers | None
    rule: Past | None
    """The past of the file of the rule; None where there is no rule."""
    record: records.Record | None = None
    record_past: Past | None = None
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        claim = self.claim
        told = ("id", "title", "english", "korean", "document", "section", "question", "awaits", "cheap", "command")
        return {name: getattr(claim, name) for name in told} | {
            "verdict": self.verdict.word,
            "because": self.verdict.because,
            "basis": self.basis,
            "numbers": self.numbers,
            "rule_text": told_rule(claim),
            "thresholds": thresholds(claim),
            "rule": None if self.rule is None else asdict(self.rule),
            "record": None if self.record is None else asdict(self.record),
            "record_past": None if self.record_past is None else asdict(self.record_past),
            "warnings": list(self.warnings),
        }


def told_rule(claim: Claim) -> str | None:
    """The rule in words, as its function tells it."""
    return None if claim.rule is None else " ".join((claim.rule.__doc__ or "").split())


def thresholds(claim: Claim) -> dict[str, float]:
    """The thresholds of a claim's rule by name: what its file calls in capitals."""
    return {} if claim.rule is None else {name: held for name, held in claim.rule.__globals__.items() if name.isupper()}


def entries(claims: Iterable[Claim], folder: Path | None = None) -> Iterator[Entry]:
    """The entries of claims, one after another: cheap numbers are found anew, others read from `folder`."""
    for claim in claims:
        yield entry(claim, folder)


def entry(claim: Claim, folder: Path | None = None) -> Entry:
    """One claim as it stands. StoreError for a record that cannot be read."""
    if claim.rule is None:
        return Entry(claim, claim.judge(None), "none", None, None)
    rule = past(records.file_of_rule(claim))
    record, path = (folder and records.read(claim.id, folder)) or (None, None)
    if claim.cheap:
        basis, numbers = "computed", claim.evidence()
    elif record is not None:
        basis, numbers = "record", record.numbers
    else:
        basis, numbers = "none", None
    try:
        verdict = claim.judge(numbers)
    except (KeyError, TypeError) as error:
        if basis != "record":
            raise
        why = f"its record does not have the numbers that the rule reads ({error}); `{claim.command}` makes a new one."
        verdict, basis = Verdict("not measured yet", f"{path.name}: {why}"), "none"
    record_past = None if record is None else past(path)
    warnings = tuple(_warnings(claim, rule, record, path, record_past, verdict))
    return Entry(claim, verdict, basis, numbers, rule, record, record_past, warnings)


def _warnings(
    claim: Claim,
    rule: Past,
    record: records.Record | None,
    path: Path | None,
    record_past: Past | None,
    verdict: Verdict,
) -> Iterator[str]:
    """What stands between a verdict and belief in it."""
    if rule.changed:
        yield f"the rule in {rule.file} has changes that are not committed"
    if record is None:
        return
    if record.rule_sha256 != records.digest(records.file_of_rule(claim)):
        yield "the rule is not the one that the record was made under"
    last, first = rule.last, record_past.first
    if last and first and order(path.parent, last.hash, first.hash) == "not before":
        yield f"the rule's commit {last.hash[:7]} does not come before the record's first commit {first.hash[:7]}"
    if claim.cheap:
        try:
            then = claim.judge(record.numbers).word
        except (KeyError, TypeError):
            then = "no verdict"
        if then != verdict.word:
            yield f"the record of {record.recorded_at} gives another verdict: {then}"

"""`gnomon claims`: what the two documents assert, each with its verdict and the numbers behind it."""

import contextlib
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from gnomon.commands.output import Json, Screen, items, note, print_json, table
from gnomon.commands.report import check
from gnomon.commands.stdout import say

if TYPE_CHECKING:
    from gnomon.claims.claim import Claim
    from gnomon.claims.history import Past
    from gnomon.claims.ledger import Entry

SHORT = 7
"""Digits of a commit in the table; -v and --json have all."""

Ids = Annotated[
    tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[ID ...]", help_behavior_hint="(default: all)")
]


@dataclass(frozen=True)
class Claims:
    """The claims of the two documents: statement, verdict, evidence.

    A verdict follows from numbers by a rule. The table names the commit that
    last changed the rule and the one that first held the record; a rule that
    is not older than what it judges is told. Cheap numbers are found anew
    each time, others are read from records, which --record writes: only for
    a rule that is committed. Some seconds in all; a minute to record.

    Examples:
      gnomon claims
      gnomon claims C14 -v
      gnomon claims --json
      gnomon claims C14 --record
      gnomon claims --out claims.html
    """

    ids: Ids = ()
    """Claims to show, C01 and so on."""
    verbose: Annotated[bool, tyro.conf.arg(aliases=["-v"], help_behavior_hint="")] = False
    """All of it: both languages, rule, numbers."""
    record: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Find the numbers and write records."""
    records: Annotated[str | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="(default: results/claims)")] = None
    """The folder of records."""
    out: Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write a page besides."""
    json: Json = False

    def run(self) -> int:
        from gnomon.claims import CLAIMS
        from gnomon.claims.ledger import entry
        from gnomon.claims.records import found
        from gnomon.errors import unknown

        check(self.out)
        ids = [id.upper() for id in self.ids]
        for id, given in zip(ids, self.ids, strict=True):
            if id not in CLAIMS:
                raise unknown("claim", given, CLAIMS)
        claims = [CLAIMS[id] for id in dict.fromkeys(ids)] or list(CLAIMS.values())
        if self.record:
            return self._record(claims)
        folder = found(self.records)
        held = [entry(claim, folder) for claim in _told(claims)]
        if self.out is not None:
            from gnomon.report import ledger

            ledger.write(held, self.out, command=shlex.join(["gnomon", "claims", *ids, "--out", self.out]))
        if self.json:
            print_json([each.as_dict() for each in held])
        elif self.verbose:
            _explain(held)
        else:
            _show(held)
        return 0

    def _record(self, claims: "Sequence[Claim]") -> int:
        from pathlib import Path

        from gnomon.claims import records
        from gnomon.claims.ledger import entry

        chosen = claims if self.ids else [claim for claim in claims if claim.rule is not None]
        for claim in chosen:
            records.check_recordable(claim)
        folder = Path(self.records or records.FOLDER)
        written = []
        for claim in _told(chosen):
            made = records.make(claim)
            path = records.write(made, folder)
            written.append({"id": claim.id, "file": str(path), "verdict": claim.judge(made.numbers).word})
            for warning in entry(_as_recorded(claim), folder).warnings:
                note(f"{claim.id}: {warning}")
        if self.json:
            print_json(written)
        else:
            for each in written:
                say(f"{each['file']}: {each['verdict']}")
        return 0


def _as_recorded(claim: "Claim") -> "Claim":
    """The claim, its numbers to be read and not found again."""
    from dataclasses import replace

    return replace(claim, cheap=False)


def _told(claims: "Sequence[Claim]") -> "Iterator[Claim]":
    """The claims one after another; on stderr, if that is a terminal, which one is worked at."""
    from rich.console import Console
    from rich.progress import Progress

    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=len(claims))
        for claim in claims:
            bar.update(task, description=f"{claim.id} {claim.title}")
            yield claim
            bar.advance(task)


def _show(held: "Sequence[Entry]") -> None:
    out = Screen()
    made = table("id", "claim", "verdict", "basis", "rule", "record", whole=("id", "verdict", "rule", "record"))
    for each in held:
        basis = each.basis + "*" * (each.numbers is not None and bool(each.claim.awaits))
        made.add_row(
            each.claim.id, each.claim.title, each.verdict.word, "-" if basis == "none" else basis,
            _short(each.rule, "last"), _short(each.record_past, "first"),
        )  # fmt: skip
    out.table(made)
    out.print(
        "\nbasis: computed just now, or from a record; *: something still waits for trained models. "
        "rule: the commit that last changed the rule. record: the first commit that has the numbers. "
        f"`gnomon claims {held[0].claim.id} -v` has the condition or the counterexample, and the numbers."
    )
    counted = Counter(each.verdict.word for each in held)
    told = ", ".join(f"{word}: {count}" for word, count in counted.most_common())
    out.print(f"\n{len(held)} {'claim' if len(held) == 1 else 'claims'}. {told}")
    warnings = [f"{each.claim.id}: {warning}" for each in held for warning in each.warnings]
    if warnings:
        out.print()
        out.print(items(warnings))


def _short(known: "Past | None", which: str) -> str:
    if known is None:
        return "-"
    commit = getattr(known, which)
    if commit is None:
        return known.silent
    return commit.hash[:SHORT] + "+" * known.changed


def _explain(held: "Sequence[Entry]") -> None:
    from gnomon.claims.claim import DOCUMENTS
    from gnomon.claims.ledger import thresholds, told_rule

    out = Screen()
    for at, each in enumerate(held):
        if at:
            out.print()
        claim = each.claim
        names = " · ".join(f"{name}: {DOCUMENTS[name]}" for name in claim.document.split(" and "))
        told = [
            (claim.id, claim.title),
            ("claim", claim.english),
            ("주장", claim.korean),
            ("said in", f"{claim.document} {claim.section} ({names})"),
            ("question", claim.question),
            ("verdict", each.verdict.word.upper()),
            ("because", each.verdict.because),
            ("rule", told_rule(claim)),
            ("thresholds", ", ".join(f"{name} = {_value(held)}" for name, held in thresholds(claim).items())),
            ("still open", claim.awaits),
            ("command", claim.command),
            ("rule's commit", _full(each.rule, "last")),
            ("record", _recorded(each)),
            *(("warning", warning) for warning in each.warnings),
        ]
        out.pairs((name, text) for name, text in told if text)
        if each.numbers:
            out.print()
            out.pairs((name.replace("_", " "), _value(value)) for name, value in each.numbers.items())


def _full(known: "Past | None", which: str) -> str:
    if known is None:
        return ""
    commit = getattr(known, which)
    if commit is None:
        return f"{known.silent} ({known.file})"
    return f"{commit.hash} of {commit.date} ({known.file}{', changed since' if known.changed else ''})"


def _recorded(each: "Entry") -> str:
    if each.rule is None:
        return ""
    if each.record is None:
        return "none"
    return f"{each.record.recorded_at}, at {each.record.commit}; first in git: {_full(each.record_past, 'first')}"


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, list):
        with contextlib.suppress(TypeError):
            if all(isinstance(row, list) for row in value):
                return "\n".join("  ".join(map(_value, row)) for row in value)
        return ", ".join(map(_value, value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

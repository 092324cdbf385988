"""`gnomon claims`: what the two documents assert, each with its verdict and the numbers behind it."""

import shlex
import textwrap
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
    from gnomon.errors import OptionError

WIDE = 80
"""Columns of what is told on stderr."""
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
    is not older than what it judges is told, with the reason why it was
    corrected, and so is a record that is not as it was made. Cheap numbers
    are found anew each time, others are read from records, which --record
    writes: only for a rule that is committed, and from experiments whose
    results are there. Some seconds in all; a minute to record. The exit code
    is 1 if a record cannot be read.

    Examples:
      gnomon claims
      gnomon claims C14 -v
      gnomon claims --json
      gnomon claims C14 --record
      gnomon claims --out claims.html
      gnomon claims --scorecard
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
    scorecard: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Encodings beside limits and cost."""
    table: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Words of the documents' tables, measured."""
    advice: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """What to take, for each kind of data."""
    published: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Published orderings, and ours beside."""
    json: Json = False

    def run(self) -> int:
        from gnomon.commands import claims_more

        views = [name for name in claims_more.VIEWS if getattr(self, name)]
        if not views:
            return self._claims()
        others = ["claims by their names"] * bool(self.ids) + ["--record"] * self.record
        claims_more.check(views, others + ["--out"] * (self.out is not None))
        claims_more.show(views[0], self.records, self.json, self.verbose)
        return 0

    def _claims(self) -> int:
        from gnomon.claims import CLAIMS
        from gnomon.claims.ledger import entry
        from gnomon.claims.records import NOWHERE, found

        check(self.out)
        ids = [id.upper() for id in self.ids]
        for id, given in zip(ids, self.ids, strict=True):
            if id not in CLAIMS:
                raise _unknown(given)
        claims = [CLAIMS[id] for id in dict.fromkeys(ids)] or list(CLAIMS.values())
        if self.record:
            return self._record(claims)
        folder = found(self.records)
        if folder is None:
            _note(f"No records: {NOWHERE}")
        held = [entry(claim, folder) for claim in _told(claims)]
        if self.out is not None:
            from gnomon.report import ledger, taken_away

            command = shlex.join(["gnomon", "claims", *ids, "--out", self.out])
            ledger.write(held, self.out, command=command, more=() if ids else taken_away.sections(folder))
        if self.json:
            print_json([each.as_dict() for each in held])
        elif self.verbose:
            _explain(held)
        else:
            _show(held, folder is not None)
        return int(any(each.damaged for each in held))

    def _record(self, claims: "Sequence[Claim]") -> int:
        from gnomon.claims import needed, records
        from gnomon.claims.history import past
        from gnomon.claims.ledger import entry
        from gnomon.claims.provenance import doubts

        chosen = claims if self.ids else [claim for claim in claims if not needed.missing(claim)]
        for claim in chosen:
            needed.check(claim)
            records.check_recordable(claim)
        folder = records.writable(self.records)
        for claim in chosen:
            records.check_place(claim.id, folder)
        written = []
        for claim in _told(chosen):
            made = records.make(claim)
            path = records.write(made, folder)
            written.append({"id": claim.id, "file": str(path), "verdict": claim.judge(made.numbers).word})
            # What git knows of the record comes with the commit that is asked for below.
            late = {*doubts(claim, made, path, past(path))}
            for warning in entry(_as_recorded(claim), folder).warnings:
                if warning not in late:
                    _note(f"{claim.id}: {warning}")
        if self.json:
            print_json(written)
        else:
            for each in written:
                say(f"{each['file']}: {each['verdict']}")
        _note("Commit them as they are: until then git cannot tell whether they were edited.")
        if left := [claim.id for claim in claims if needed.missing(claim)]:
            _note(f"Not recorded, for want of results: {', '.join(left)}. `gnomon claims` names their experiments.")
        return 0


def _unknown(given: str) -> "OptionError":
    """The error for a claim that is not there; what is allowed is told from the first to the last."""
    from gnomon.claims import CLAIMS
    from gnomon.errors import OptionError, unknown

    first, *_, last = CLAIMS
    digits = given.lstrip("Cc")
    if digits.isdecimal():
        # A number is another claim, not a slip of the pen: only its zeros may be missing.
        whole = f"C{int(digits):02}"
        do = f"did you mean {whole!r}?" if whole in CLAIMS else "choose one of those allowed"
    else:
        do = unknown("claim", given, CLAIMS).do
    return OptionError(f"unknown claim {given!r}", allowed=f"{first} to {last}", do=do)


def _note(text: str) -> None:
    """A paragraph for the person, kept out of stdout."""
    note(textwrap.fill(text, WIDE, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


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


def _show(held: "Sequence[Entry]", recordable: bool) -> None:
    """recordable: there is a folder of records, so that what makes one is worth telling."""
    from gnomon.claims.claim import DOCUMENTS

    out = Screen()
    made = table("id", "claim", "verdict", "basis", "rule", "record", whole=("id", "basis", "rule", "record"))
    for each in held:
        basis = each.basis + "*" * (each.numbers is not None and bool(each.claim.awaits))
        made.add_row(
            each.claim.id, each.claim.title, each.verdict.short, "-" if basis == "none" else basis,
            _short(each.rule, "last"), _short(each.record_past, "first"),
        )  # fmt: skip
    out.table(made)
    out.print(
        "\nbasis: computed just now, or from a record; *: something asked is not measured. "
        "rule: the commit that last changed the rule. record: the first commit of a record. "
        f"`gnomon claims {held[0].claim.id} -v` has the reason and the numbers.\n"
    )
    if recordable:
        _unmeasured(out, [each for each in held if each.basis == "none"])
    counted = Counter(each.verdict.word for each in held)
    told = ", ".join(f"{word}: {count}" for word, count in counted.most_common())
    out.print(f"{len(held)} {'claim' if len(held) == 1 else 'claims'}. {told}")
    warnings = [f"{each.claim.id}: {warning}" for each in held for warning in each.warnings]
    if warnings:
        out.print()
        out.print(items(warnings))
    out.print("\nThe documents: " + "; ".join(f"{name}, {title}" for name, title in DOCUMENTS.items()) + ".")


def _unmeasured(out: Screen, held: "Sequence[Entry]") -> None:
    """Which experiments claims without numbers wait for, each with the claims, and the commands to measure them."""
    from gnomon.claims.experiments import commands

    waiting: dict[str, list[str]] = {}
    for each in held:
        for name in each.missing:
            waiting.setdefault(name, []).append(each.claim.id)
    if waiting:
        out.print("Not measured yet, for want of results of experiments:")
        out.pairs((f"- {name}", " ".join(ids)) for name, ids in waiting.items())
        name = next(iter(waiting)) if len(waiting) == 1 else "NAME"
        asked = [*(f"`{command}`" for command in commands(name)), "then `gnomon claims ID --record`"]
        out.print(f"{', '.join(asked)}. The file's first lines tell of its forms and of the time.\n")
    if ready := [each.claim.id for each in held if not each.missing]:
        out.print(f"Not recorded yet: {' '.join(ready)}. `gnomon claims {ready[0]} --record` makes a record.\n")


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
            ("thresholds", ", ".join(f"{name} = {_value(value)}" for name, value in thresholds(claim).items())),
            ("still open", claim.awaits),
            ("command", claim.command),
            ("rule's commit", _full(each.rule, "last")),
            ("record", _recorded(each)),
            *(("warning", warning) for warning in each.warnings),
        ]
        out.pairs((name, text) for name, text in told if text)
        if each.numbers:
            _numbers(out, each)


def _numbers(out: Screen, each: "Entry") -> None:
    """Single values first, then a table for each list of rows."""
    rows = {name: named for name in each.numbers if (named := each.rows(name)) is not None}
    out.print()
    out.pairs((name.replace("_", " "), _value(value)) for name, value in each.numbers.items() if name not in rows)
    for name, (columns, values) in rows.items():
        made = table(*columns)
        for row in values:
            made.add_row(*map(_value, row))
        out.print(f"\n{name.replace('_', ' ')}")
        out.table(made)


def _full(known: "Past", which: str) -> str:
    commit = getattr(known, which)
    if commit is None:
        return f"{known.silent} ({known.file})"
    return f"{commit.hash} of {commit.date} ({known.file}{', changed since' if known.changed else ''})"


def _recorded(each: "Entry") -> str:
    if each.record is None:
        return "cannot be read" if each.damaged else "none"
    told = f"{each.record.recorded_at}, at {each.record.commit}; first in git: {_full(each.record_past, 'first')}"
    last = each.record_past.last
    return told if last in (None, each.record_past.first) else f"{told}; last: {last.hash} of {last.date}"


def _value(value: Any) -> str:
    from gnomon.claims.ledger import digits

    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return digits(value) if isinstance(value, float) else str(value)

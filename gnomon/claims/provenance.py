"""Whether a record is still what was found: its own digest, its commits, and the rule that it names.

What this shows, and what it cannot. A record carries a digest of all that it says, so an edit that leaves the digest
alone is seen wherever the file lies. Git keeps the record as it was committed first after it was made (a recording is
known by its time), so an edit that has a new digest is seen as well, committed or not. The commits that it names have
to be in that history: the code's before the record's own, and the rule, at that commit, the one with the digest that is
told. A record that was made again and committed passes all of it.

Nothing here shows that the numbers are true. Who writes another time, a digest that fits and a commit that exists, or
rewrites the history, passes too. Only finding the numbers again shows that, as `gnomon claims ID --record` does.
"""

from collections.abc import Iterator
from pathlib import Path

from gnomon.claims import records
from gnomon.claims.claim import Claim
from gnomon.claims.history import Commit, Past, at, order, versions
from gnomon.claims.records import Record

SHORT = 7
"""Digits of a commit."""


def doubts(claim: Claim, record: Record, path: Path, known: Past) -> Iterator[str]:
    """What speaks against a record that was read from a file with this past; nothing of one that was made by
    `--record`, and committed as it was made."""
    again = f"`gnomon claims {claim.id} --record` in a checkout finds its numbers again"
    if record.sha256 is None:
        yield f"the record has no digest of what it says, so that an edit would not be seen; {again}"
    elif record.sha256 != records.sealed(record):
        yield f"the record was edited: its digest is not that of what it says; {again}"
    if known.silent:
        yield f"git cannot tell whether the record was edited ({known.silent}); {again}, and only that shows them"
        return
    committed = [*_committed(claim, path)]
    if known.changed or not committed or not _same(committed[-1][1], record):
        yield f"the record in {known.file} has changes that are not committed"
        return
    made, first = next(each for each in committed if each[1] and each[1].recorded_at == record.recorded_at)
    if not _same(first, record):
        last = committed[-1][0]
        yield (
            f"the record was edited after it was made: {_short(made.hash)} has it as it was committed first, "
            f"{_short(last.hash)} as it is now; {again}"
        )
    yield from _named(claim, record, path.parent, made)


def _committed(claim: Claim, path: Path) -> Iterator[tuple[Commit, Record | None]]:
    """What the file held at each of its commits; None where that was no record."""
    for commit, held in versions(path):
        try:
            yield commit, records.loaded(claim.id, held)
        except ValueError:
            yield commit, None


def _same(other: Record | None, record: Record) -> bool:
    """Whether both say the same, where True is no 1."""
    return other is not None and records.sealed(other) == records.sealed(record)


def _named(claim: Claim, record: Record, folder: Path, made: Commit) -> Iterator[str]:
    """What speaks against the commits that a record names, which has been in git since `made`."""
    if record.commit is None:
        yield "the record names no commit of the code that found its numbers"
        return
    code = record.commit.removesuffix("+changes")
    before = order(folder, code, made.hash)
    if before != "before":
        where = "is not in this repository" if before == "unknown" else "does not come before the record's"
        yield f"the record names {_short(code)} as the commit of the code, which {where}"
        return
    held = at(records.file_of_rule(claim).parent, code, record.rule_file)
    if held is None or (held[0], records.digest_of(held[1])) != (record.rule_commit, record.rule_sha256):
        yield (
            f"the record names {_short(record.rule_commit)} as the commit of its rule, but as of {_short(code)} git "
            f"has another rule in {record.rule_file}"
        )


def _short(commit: str) -> str:
    return commit[:SHORT]

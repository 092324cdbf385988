"""Records: the numbers of a claim as they were found, with when, under which rule, and on which versions."""

import hashlib
import inspect
import json
import platform
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import gnomon
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.history import Past, head, past
from gnomon.errors import DataError, OptionError, StoreError

FOLDER = Path("results") / "claims"
"""Where records lie, seen from the folder of a checkout."""

PACKAGES = ("torch", "python-flint")


@dataclass(frozen=True)
class Record:
    """One claim's numbers, as the file beside the others keeps them."""

    id: str
    numbers: Numbers
    recorded_at: str
    """UTC, ISO 8601."""
    command: str
    commit: str | None
    """The commit of the code that found them, `+changes` where its files differed from it."""
    rule_file: str
    rule_commit: str
    """The last commit that had changed the rule."""
    rule_sha256: str
    versions: dict[str, str]


def file_of_rule(claim: Claim) -> Path:
    """The file that holds a claim's rule and its thresholds."""
    return Path(inspect.getsourcefile(claim.rule))


def digest(path: Path) -> str:
    """SHA-256 of a file, whatever its line ends."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def check_recordable(claim: Claim) -> Past:
    """The past of a claim's rule, from before there is a record; OptionError where it is not committed as it stands."""
    if claim.rule is None:
        raise OptionError(
            f"{claim.id} has no evidence to record",
            given=claim.awaits,
            do="record others: `gnomon claims --record` records all that can be",
        )
    known = past(file_of_rule(claim))
    if known.silent or known.changed:
        raise OptionError(
            f"{claim.id} cannot be recorded: the rule that will judge it has to be committed first",
            given=f"{known.file}: {known.silent or 'changes that are not committed'}",
            do="commit the rule in a full checkout of the repository, then record",
        )
    return known


def make(claim: Claim) -> Record:
    """Find the numbers of a claim. OptionError where its rule is not committed."""
    known = check_recordable(claim)
    path = file_of_rule(claim)
    judged_by = digest(path)
    numbers = claim.evidence()
    claim.judge(numbers)
    return Record(
        id=claim.id,
        numbers=numbers,
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=f"gnomon claims {claim.id} --record",
        commit=head(Path(gnomon.__file__).parent),
        rule_file=known.file,
        rule_commit=known.last.hash,
        rule_sha256=judged_by,
        versions={
            "gnomon": gnomon.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        }
        | {package: version(package) for package in PACKAGES},
    )


def write(record: Record, folder: Path) -> Path:
    """Write a record in place of the one before it; where it is now."""
    from gnomon.lab.files import replace_file, writing

    path = _path(folder, record.id)
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(record), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_file(path, lambda file: (file.write_text(text, encoding="utf-8"), file.chmod(0o644)))
    return path


def read(id: str, folder: Path) -> tuple[Record, Path] | None:
    """The record of a claim and its file; None where there is none. StoreError for a file that is not a record."""
    path = _path(folder, id)
    if not path.is_file():
        return None
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        names = {field.name for field in fields(Record)}
        if (
            not isinstance(held, dict)
            or set(held) != names
            or held["id"] != id
            or not isinstance(held["numbers"], dict)
        ):
            raise ValueError(f"a record of {id} has {', '.join(sorted(names))}")
        return Record(**held), path
    except (ValueError, OSError) as error:
        do = f"restore it, or write it anew: `gnomon claims {id} --record`"
        raise StoreError(f"{path.name} is not a record", given=f"{path}: {error}", do=do) from error


def found(folder: str | Path | None) -> Path | None:
    """The folder of records: the one named, or `results/claims` where it is; None where there is none.

    DataError for a folder that is named and is not there.
    """
    if folder is None:
        return FOLDER if FOLDER.is_dir() else None
    if not Path(folder).is_dir():
        raise DataError("no folder of records", given=str(folder), do="name the folder that holds C01.json and so on")
    return Path(folder)


def _path(folder: Path, id: str) -> Path:
    return folder / f"{id}.json"

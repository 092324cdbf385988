"""Records: the numbers of a claim as they were found, with when, under which rule, and on which versions."""

import hashlib
import inspect
import json
import platform
import stat
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import gnomon
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.history import Past, head, past
from gnomon.claims.parsing import parsed
from gnomon.errors import DataError, OptionError, StoreError

FOLDER = Path("results") / "claims"
"""Where records lie, seen from the folder of a checkout."""

NOWHERE = f"{FOLDER.as_posix()} is not in this folder; go to a checkout of gnomon, or name it: --records DIR"
"""Where a folder of records was looked for, and what to do."""

PACKAGES = ("torch", "python-flint")

LARGEST = 2**24
"""Bytes: what is larger is no record, and is not read."""


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
    sha256: str | None = None
    """Of all else that the record says; None in one that was made before records had it."""


def sealed(record: Record) -> str:
    """SHA-256 of all that a record says, but for this digest itself, however its file is laid out."""
    said = {name: value for name, value in asdict(record).items() if name != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True, allow_nan=False).encode()).hexdigest()


def file_of_rule(claim: Claim) -> Path:
    """The file that holds a claim's rule and its thresholds."""
    return Path(inspect.getsourcefile(claim.rule))


def digest(path: Path) -> str:
    """SHA-256 of a file, whatever its line ends."""
    return digest_of(path.read_bytes())


def digest_of(held: bytes) -> str:
    """SHA-256 of what a file holds, whatever its line ends."""
    return hashlib.sha256(held.replace(b"\r\n", b"\n")).hexdigest()


def check_recordable(claim: Claim) -> Past:
    """The past of a claim's rule, from before there is a record; OptionError where it is not committed as it stands."""
    known = past(file_of_rule(claim))
    if known.silent or known.changed:
        raise OptionError(
            f"{claim.id} cannot be recorded before its rule is committed",
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
    claim.check(numbers)
    claim.judge(numbers)
    made = Record(
        id=claim.id,
        numbers=numbers,
        # Two recordings of one claim are told apart by when they were made.
        recorded_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
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
    return replace(made, sha256=sealed(made))


def write(record: Record, folder: Path) -> Path:
    """Write a record in place of the one before it; where it is now."""
    from gnomon.lab.files import replace_file, writing

    path, what = _path(folder, record.id), f"the record of {record.id}"
    with writing(path, what):
        folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(record), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_file(path, lambda file: file.write_text(text, encoding="utf-8"), what)
    return path


def read(id: str, folder: Path) -> tuple[Record, Path] | None:
    """The record of a claim and its file; None where there is none. StoreError for what is there and is no record."""
    path = _path(folder, id)
    try:
        if (held := _held(path)) is None:
            return None
        return loaded(id, held), path
    except (ValueError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        do = f"restore it, or write it anew: `gnomon claims {id} --record`"
        raise StoreError(f"the record of {id} cannot be read", given=f"{path}: {why}", do=do) from error


def loaded(id: str, held: bytes) -> Record:
    """The record of a claim from what its file holds. ValueError, which says why, for what is no record of it."""
    return Record(**parsed(id, held))


def check_place(id: str, folder: Path) -> None:
    """StoreError where no record can be written, since what has its name is no file."""
    path = _path(folder, id)
    try:
        _regular(path)
    except (ValueError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        do = "remove it, or name another folder: --records DIR"
        raise StoreError(f"the record of {id} cannot be written", given=f"{path}: {why}", do=do) from error


def found(folder: str | Path | None) -> Path | None:
    """The folder of records: the one named, or `results/claims` where it is; None where there is none.

    DataError for a folder that is named and is not there.
    """
    if folder is None:
        return FOLDER if FOLDER.is_dir() else None
    if not Path(folder).is_dir():
        raise DataError("no folder of records", given=str(folder), do="name the folder that holds C01.json and so on")
    return Path(folder)


def writable(folder: str | Path | None) -> Path:
    """The folder to write records into: the one named, or `results/claims`. DataError where none is named and it is not
    there, so that records of a checkout are not strewn elsewhere."""
    if folder is None and not FOLDER.is_dir():
        do = "run it in a checkout of gnomon, or name a folder: --records DIR"
        raise DataError("no folder of records", given=f"{FOLDER.as_posix()}, which is not in this folder", do=do)
    return Path(folder or FOLDER)


def _held(path: Path) -> bytes | None:
    size = _regular(path)
    if size is None:
        return None
    if size > LARGEST:
        raise ValueError(f"{size:,} bytes, and a record has some thousands")
    return path.read_bytes()


def _regular(path: Path) -> int | None:
    """The size of a file, None where nothing has its name. ValueError or OSError for a folder, a pipe, a dead link."""
    try:
        path.lstat()
    except FileNotFoundError:
        return None
    known = path.stat()
    if not stat.S_ISREG(known.st_mode):
        raise ValueError(f"{'a folder' if stat.S_ISDIR(known.st_mode) else 'no regular file'}")
    return known.st_size


def _path(folder: Path, id: str) -> Path:
    return folder / f"{id}.json"

"""Where results lie: one folder a run, written whole or not at all.

runs/
  gnomon-store.json           {"format": 1}: this folder is a store of ours
  <hash>/                     the run of one experiment
    record.json               what was found, with which machine and versions
    curve.parquet             step, loss, learning_rate, tokens_per_second
    positions.parquet         length, position, loss, se, windows, first, last
    weights.safetensors
    SHA256SUMS                of the others: whatever is read of a run is first held to it
  .work/                      runs that are not finished: claims, checkpoints, logs
  tuning/                     a store of its own: the trials that learning rates were chosen by
"""

import errno
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import filelock

from gnomon.errors import StoreError
from gnomon.lab import sums, written
from gnomon.lab.columns import CURVE, POSITIONS, schema
from gnomon.lab.experiment import hash_of
from gnomon.lab.files import REMOVED, beside, clear, fill, identity, renamed, replace_file, sync, whole, writing

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

FORMAT = 1
MARKER = "gnomon-store.json"
RECORD, WEIGHTS = "record.json", "weights.safetensors"
EXPORTED = "records.jsonl"
"""What holds the records of exported results, in a folder that is no store."""
TRIALS = "tuning"
"""The folder of a store that is the store of its trials: they are no results."""
HASH = re.compile(r"[0-9a-f]{16}")
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
"""What a store cannot be: what lies there has no locks, and no folder that gets its name in one step."""


NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""What a file system answers that has no locks; ENOSYS is that of Lustre without `-o flock`."""


class Store:
    """A folder of runs.

    StoreError when the folder is not a store of ours, belongs to a newer gnomon, or does not exist; with `create`
    a new or empty folder will become a store, with its first run: what is refused before that leaves nothing.
    `within`: the store that this one lies in, which is made first.
    """

    def __init__(self, path: str | Path, *, create: bool = False, within: "Store | None" = None):
        if URL.match(str(path)):
            raise StoreError(
                "a store is a folder, and this is a URL",
                given=str(path),
                allowed="a folder, also on a file system that machines share",
                do="--store FOLDER, and copy the folder when the runs are made: it is whole at any moment",
            )
        self.path = Path(path)
        self.work = self.path / ".work"
        self.create, self.within, self._made = create, within, False
        if not (create and self._is_fresh()):
            self._check()

    def make(self) -> None:
        """The folder, if it is to be made, and the one for work in it. StoreError where it was there and has gone."""
        if self.within is not None:
            self.within.make()
        if self._made and not (self.path / MARKER).exists():
            raise StoreError("the store has gone", given=str(self.path), do=REMOVED)
        with writing(self.path):
            if self.create and self._is_fresh():
                self.path.mkdir(parents=True, exist_ok=True)
                replace_file(self.path / MARKER, lambda file: file.write_text(json.dumps({"format": FORMAT}) + "\n"))
            self._check()
            self.work.mkdir(exist_ok=True)
        self._made = True

    def _is_fresh(self) -> bool:
        """Whether the folder is new or empty, but for a marker that another process is just writing."""
        if not self.path.exists():
            return True
        return self.path.is_dir() and all(entry.name.startswith(f"{MARKER}.") for entry in self.path.iterdir())

    def _check(self) -> None:
        if not self.path.exists():
            raise StoreError("there is no store here", given=str(self.path), do="run `gnomon compare` first")
        marker = self.path / MARKER
        if not marker.is_file():
            if self._has_runs():
                raise self._unmarked("it is missing")
            if (self.path / EXPORTED).is_file():
                raise StoreError(
                    "these are exported results: numbers without the runs that they are of",
                    given=str(self.path),
                    allowed=f"a store, with {MARKER}; exported ones are for results, report and claims",
                    do="give the store that they were exported from, or make its runs anew: gnomon compare",
                )
            raise StoreError(
                "this folder is not a store of gnomon",
                given=str(self.path),
                allowed=f"a new or empty folder, or one with {MARKER}",
                do="choose another folder",
            )
        try:
            found = written.loads(marker.read_bytes())
        except PermissionError as error:
            raise unreadable(marker, error) from error
        except (OSError, ValueError) as error:
            raise self._unmarked(str(error)) from error
        form = found.get("format") if isinstance(found, dict) else None
        if isinstance(form, bool) or not isinstance(form, int) or form < FORMAT:
            raise self._unmarked(f"format {form!r}")
        if form > FORMAT:
            raise StoreError(
                "this store was written by a newer gnomon",
                given=f"format {form!r} in {marker}",
                allowed=f"format {FORMAT}",
                do="upgrade gnomon, or choose another folder",
            )

    def _has_runs(self) -> bool:
        entries = self.path.iterdir() if self.path.is_dir() else ()
        return any(HASH.fullmatch(entry.name) and (entry / RECORD).is_file() for entry in entries)

    def _unmarked(self, why: str) -> StoreError:
        """The marker says nothing, and that is all that is known to be wrong: each run says its format itself."""
        marker = self.path / MARKER
        whole = json.dumps({"format": FORMAT})
        return StoreError(
            "the marker of a store is damaged",
            given=f"{marker}: {why}",
            do=f"write it anew, its runs are not harmed: echo '{whole}' > {shlex.quote(str(marker))}",
        )

    def trials(self) -> "Store":
        """The store of the trials by which the learning rates of these runs were found; it may not be there yet."""
        return Store(self.path / TRIALS, create=True, within=self)

    def folder(self, hash: str) -> Path:
        return self.path / hash

    def checkpoint(self, hash: str) -> Path:
        return self.work / f"{hash}.checkpoint.safetensors"

    def log(self, hash: str) -> Path:
        """What a worker of this process says on stderr; kept where it fails."""
        return self.work / f"{hash}.{os.getpid()}.log"

    def weights(self, hash: str) -> Path:
        """Where the trained weights of a finished run are, or would be. StoreError where they are damaged."""
        file = self.folder(hash) / WEIGHTS
        self._steady(hash, lambda: file.is_file() and _checked(file))
        return file

    def hashes(self) -> list[str]:
        """The runs that have a record, sorted."""
        if self.create and not self.path.exists():
            return []
        return sorted(entry.name for entry in self.path.iterdir() if HASH.fullmatch(entry.name) and entry.is_dir())

    def record(self, hash: str) -> dict[str, Any] | None:
        """The record of one run, or None. StoreError when it is damaged."""
        file = self.folder(hash) / RECORD
        do = f"remove {file.parent} and run the same command again"
        return self._steady(hash, lambda: check_record(_object(file, _read(file)), hash, str(file), do))

    def _steady(self, hash: str, read: Callable[[], T]) -> T | None:
        """What `read` finds in the folder of a run; None where there is no such folder.

        A run that is made again takes the place of the one that failed, perhaps while that is read.
        """
        while (seen := identity(self.folder(hash))) is not None:
            try:
                return read()
            except StoreError:
                if identity(self.folder(hash)) == seen:
                    raise
        return None

    def records(self) -> list[dict[str, Any]]:
        """All records, by label, seed and hash."""
        found = [record for hash in self.hashes() if (record := self.record(hash)) is not None]
        return sorted(found, key=lambda record: (record["label"], record["experiment"]["seed"], record["hash"]))

    @contextmanager
    def claim(self, hash: str) -> Iterator[bool]:
        """Hold the right to train and write one run; yields False when another process has it.

        The operating system gives the claim back when its holder dies, however it dies. Nothing is lost where it gives
        one claim to two, as file systems of a network may: both make the run, and the first record stays.
        """
        self.make()
        # No soft lock, which is a file that stays when its holder is killed: nobody would give it back.
        lock = filelock.FileLock(self.work / f"{hash}.lock", thread_local=False, fallback_to_soft=False)
        with writing(self.path):
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                lock = None
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                raise StoreError(
                    "the file system of the store has no locks",
                    given=f"{self.path}: {error.strerror}",
                    do="keep the store on a disk of this machine: --store FOLDER",
                ) from error
        if lock is None:
            yield False
            return
        try:
            # Only the holder writes these, so what lies here was left by one that died.
            with writing(self.path):
                for left in self.work.glob(f"{hash}.*.tmp"):
                    clear(left)
            yield True
        finally:
            lock.release()

    def write(self, record: Mapping[str, Any], files: Mapping[str, Callable[[Path], None]]) -> None:
        """Put one run into the store under a claim; `files` write what lies beside the record.

        Finished stands over diverged, and that over failed: a run that is already there is replaced by one that stands
        no lower, and a finished one by none. The checkpoint is dropped, unless the run failed: a retry goes on from it.
        """
        self.make()
        hash = record["hash"]
        # In ASCII: a name of a file may hold what no encoding of text can write.
        text = json.dumps(record, indent=1, allow_nan=False) + "\n"
        made = {**files, RECORD: lambda file: file.write_text(text), sums.NAME: sums.write}

        def begin() -> Path:
            temporary = beside(self.work / hash)
            temporary.mkdir()
            return temporary

        def end(temporary: Path) -> None:
            for name, write in made.items():
                fill(temporary / name, write)
            sync(temporary)
            self._put(temporary, hash, record["status"])

        with writing(self.path):
            whole(begin, end)
            if record["status"] != "failed":
                self.checkpoint(hash).unlink(missing_ok=True)

    def _put(self, temporary: Path, hash: str, status: str) -> None:
        """Give a whole folder the name of its run. What has that name makes way for it, unless it is to stay."""
        final = self.folder(hash)
        while not renamed(temporary, final) and not _stays(final, status):
            aside = beside(temporary)
            with suppress(FileNotFoundError):  # another writer was faster
                os.rename(final, aside)
                if not (_stays(aside, status) and renamed(aside, final)):
                    clear(aside)
        clear(temporary)
        sync(self.path)

    def tables(self, name: str) -> list[Path]:
        """The Parquet files of that name, each in the folder of its run. StoreError where one is damaged."""
        files = {hash: self.folder(hash).resolve() / name for hash in self.hashes()}
        return [file for hash, file in files.items() if self._steady(hash, partial(_checked, file))]

    def positions(self, hash: str) -> list[dict[str, Any]]:
        """Loss by position of one run, a row a length and bin; empty for a run that did not finish."""
        return self._rows(hash, "positions.parquet", POSITIONS)

    def curve(self, hash: str) -> list[dict[str, Any]]:
        """The training curve of one run, a row a step; empty for a run that failed before its first."""
        return self._rows(hash, "curve.parquet", CURVE)

    def _rows(self, hash: str, name: str, columns: Mapping[str, str]) -> list[dict[str, Any]]:
        file = self.folder(hash) / name
        held = self._steady(hash, lambda: _read(file))
        if held is None:
            return []
        do = f"remove {file.parent} and run the same command again"
        return parsed_table(held, file, columns, do).to_pylist()

    def table(self) -> "Any":
        """The stored numbers, a row a run: a `gnomon.lab.query.Table`."""
        from gnomon.lab.query import summary

        return summary(self)

    def sql(self, query: str) -> "Any":
        """The answer of DuckDB over the views runs, lengths, positions, curves, groups: a `gnomon.lab.query.Table`."""
        from gnomon.lab.query import ask

        return ask(self, query)


def missing(record: Mapping[str, Any] | None, retry: bool) -> bool:
    """Whether a run is to be made that has this record, or none: one that failed or diverged only on a retry."""
    return record is None or (retry and record["status"] != "finished")


def check_record(record: Any, hash: str, where: str, do: str) -> dict[str, Any]:
    """A record that is read from `where`, of the run `hash`. StoreError where it is none, or of a newer gnomon."""
    record = record if isinstance(record, dict) else {}
    form = record.get("format")
    if isinstance(form, int) and form > FORMAT:
        raise StoreError("a newer gnomon wrote this record", given=f"{where}, format {form}", do="upgrade gnomon")
    try:
        sound = form == FORMAT and record["hash"] == hash == hash_of(record["experiment"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        sound = False
    if not sound:
        wrong = "it does not describe the run it is named after"
    else:
        wrong = ", ".join(written.faults(record))
        wrong = wrong and f"it lacks, or says by another kind of value: {wrong}"
    if wrong:
        raise StoreError("a file of the store is damaged", given=f"{where}: {wrong}", do=do)
    return record


def _object(file: Path, text: str | bytes | None) -> dict[str, Any]:
    """The JSON object that a file holds. StoreError where it holds none."""
    if text is None:
        raise _damaged(file, "it is missing")
    try:
        found = written.loads(text)
    except ValueError as error:
        raise _damaged(file, str(error)) from error
    if not isinstance(found, dict):
        raise _damaged(file, "it is not a JSON object")
    return found


def _read(file: Path) -> bytes | None:
    """The bytes of a file of a run, None where the run wrote none. StoreError where it is damaged."""
    with _reading(file):
        return sums.read(file)


def _checked(file: Path) -> bool:
    """Whether the run wrote such a file. StoreError where it is damaged."""
    with _reading(file):
        return sums.check(file)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """What keeps a file of the store from being read is a StoreError that says so."""
    try:
        yield
    except PermissionError as error:
        raise unreadable(file, error) from error
    except (OSError, ValueError) as error:
        raise _damaged(file, str(error)) from error


RANKS = ("failed", "diverged", "finished")
"""What became of a run: each says more of it than those before."""


def _stays(folder: Path, status: str) -> bool:
    """Whether the run in a folder stays, and another with this status is dropped; False where there is none.

    StoreError where it is damaged.
    """
    file = folder / RECORD
    if not file.is_file():
        return False
    found = _object(file, _read(file)).get("status")
    return found == "finished" or (found in RANKS and RANKS.index(found) > RANKS.index(status))


def unreadable(file: Path, error: OSError) -> StoreError:
    """That a file is there, and may not be read by us."""
    do = f"have its owner let you read the store: chmod -R a+rX {shlex.quote(str(file.parent))}"
    return StoreError("a file of the store cannot be read", given=f"{file}: {error.strerror}", do=do)


def _damaged(file: Path, why: str) -> StoreError:
    do = f"remove {file.parent} and run the same command again"
    return StoreError("a file of the store is damaged", given=f"{file}: {why}", do=do)


def read_table(file: Path, columns: Mapping[str, str], do: str) -> "pyarrow.Table":
    """A Parquet file with these columns, and perhaps others. StoreError where it has them not."""
    try:
        return parsed_table(file.read_bytes(), file, columns, do)
    except PermissionError as error:
        raise unreadable(file, error) from error
    except OSError as error:
        raise StoreError("a file of the store is damaged", given=f"{file}: {error}", do=do) from error


def parsed_table(held: bytes, file: Path, columns: Mapping[str, str], do: str) -> "pyarrow.Table":
    """`read_table` of the bytes of a file."""
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_table(pyarrow.BufferReader(held)).select([*columns]).cast(schema(columns))
    except (OSError, pyarrow.ArrowException, KeyError) as error:
        raise StoreError("a file of the store is damaged", given=f"{file}: {error}", do=do) from error

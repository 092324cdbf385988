"""Who reads the store while it is killed: what is gone, what was made twice, what is not whole."""

from pathlib import Path
from typing import Any, NamedTuple

from gnomon.errors import StoreError
from gnomon.lab import sums
from gnomon.lab.files import identity
from gnomon.lab.store import HASH, TRIALS, Store
from gnomon.lab.verify import FILES, verify
from tests.lab.toys import results


class Made(NamedTuple):
    """What a run that is to stay keeps for ever: another training has other times, and lies in another folder."""

    status: str
    folder: tuple[int, ...]
    started: str
    finished: str | None
    sums: str


class Reader:
    """Looks at a store and at the trials within it, and remembers every run that it has seen and that is to stay.

    These are the finished ones, and with `failed` all: without --retry none is made again.
    lost: one that is gone or is not what it was. twice: one that was trained again. broken: whatever is seen that is
    not whole, or cannot be read.
    """

    def __init__(self, store: Path, *, failed: bool = False):
        self.stores, self.failed = (store, store / TRIALS), failed
        self.lost: list[str] = []
        self.twice: list[str] = []
        self.broken: list[str] = []
        self._known: dict[tuple[Path, str], Made] = {}
        self._seen: set[Path] = set()

    def look(self) -> None:
        """Read everything, as `gnomon results --verify` does, and hold it against what was there before."""
        for path in self.stores:
            if path.is_dir():
                self._read(path)
        for path, hash in self._known:
            if not (path / hash).is_dir():
                self.lost.append(f"{path / hash} is gone")
        report = self.stores[0] / "report.html"
        if report.exists() and not report.read_text().rstrip().endswith("</html>"):
            self.broken.append(f"{report} is cut off")

    def glance(self) -> None:
        """Look at the runs that have come since the last glance, at the very moment at which they are there."""
        for path in self.stores:
            for folder in path.iterdir() if path.is_dir() else ():
                if HASH.fullmatch(folder.name) and folder not in self._seen:
                    self._seen.add(folder)
                    self._whole(folder)

    def finished(self) -> set[str]:
        """The finished runs, trials among them."""
        return {hash for (_, hash), made in self._known.items() if made.status == "finished"}

    def release(self) -> None:
        """What has failed may be made again from now on."""
        self.failed = False
        self._known = {run: made for run, made in self._known.items() if made.status == "finished"}

    def _read(self, path: Path) -> None:
        store = Store(path, create=True)
        try:
            wrong = [fault for fault in verify(store) if fault.kind == "wrong" and not fault.where.startswith(TRIALS)]
            records = store.records()
        except Exception as error:  # whatever it is, a reader has met it
            self.broken.append(f"{path}: {type(error).__name__}: {error}")
            return
        self.broken += [f"{path / fault.where}: {fault.what}" for fault in wrong]
        for record in records:
            if self.failed or record["status"] == "finished":
                self._hold(store, record)

    def _hold(self, store: Store, record: dict[str, Any]) -> None:
        hash = record["hash"]
        found = Made(
            record["status"],
            identity(store.folder(hash)),
            record["started"],
            record["finished"],
            (store.folder(hash) / sums.NAME).read_text(),
        )
        before = self._known.setdefault((store.path, hash), found)
        if before[:-1] != found[:-1]:
            self.twice.append(f"{store.folder(hash)}: {before[:-1]}, then {found[:-1]}")
        elif before != found:
            self.lost.append(f"{store.folder(hash)} has changed")
        self._known[store.path, hash] = found

    def _whole(self, folder: Path) -> None:
        store, hash = Store(folder.parent), folder.name
        # One that failed may make way for a better one while it is read.
        seen = identity(store.folder(hash))
        try:
            record, wrong = store.record(hash), sums.wrong(folder)
            names = {file.name for file in folder.iterdir()}
            lacks = record and {*FILES[record["status"]], sums.NAME} - names
        except Exception as error:  # whatever it is, a reader has met it
            wrong, lacks = f"{type(error).__name__}: {error}", None
        if (wrong or lacks) and identity(store.folder(hash)) == seen:
            self.broken.append(f"{folder}: {wrong or f'it lacks {lacks}'}")


Outcome = dict[tuple[str, str], dict[str, Any]]
"""By store, `.` or that of the trials, and run: what it has found."""


def outcome(path: Path) -> Outcome:
    """All that a sweep has found, to the bit; of a run that has not finished, or cannot be read, how it stands."""
    stores = {name: Store(path / name) for name in (".", TRIALS) if (path / name).is_dir()}
    return {(name, hash): _found(store, hash) for name, store in stores.items() for hash in store.hashes()}


def _found(store: Store, hash: str) -> dict[str, Any]:
    try:
        record = store.record(hash)
        return results(store, hash) if record["status"] == "finished" else {"status": record["status"]}
    except (StoreError, OSError) as error:
        return {"status": str(error)}


def differences(found: Outcome, expected: Outcome) -> list[str]:
    """Runs that are missing or are not what they are in an undisturbed sweep."""
    told = [f"{key} is missing" for key in expected if key not in found]
    told += [f"{key} is none of the sweep" for key in found if key not in expected]
    for key in found.keys() & expected.keys():
        parts = [part for part, value in expected[key].items() if found[key].get(part) != value]
        told += [f"{key} has another {part}" for part in parts]
    return told

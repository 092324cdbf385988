"""What is wrong with a store: each run held against its experiment, its tables and its weights, and what was left."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import filelock
import pyarrow

from gnomon.errors import StoreError
from gnomon.lab import consistency, sums, written
from gnomon.lab.experiment import Experiment, hash_of
from gnomon.lab.files import identity
from gnomon.lab.store import HASH, RECORD, TRIALS, WEIGHTS, Store, unreadable

FILES = {
    "finished": (RECORD, "curve.parquet", "positions.parquet", WEIGHTS),
    "diverged": (RECORD, "curve.parquet"),
    "failed": (RECORD,),
}
"""What lies in the folder of a run that has ended so. One that failed may have some of the others."""

AGAIN = "run the same command again"

UNREADABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError, pyarrow.ArrowException)
"""What reading a file raises whose parts are not what they should be."""


@dataclass(frozen=True)
class Fault:
    """One thing that a store should not have."""

    kind: Literal["wrong", "left"]
    """wrong: what is stored cannot be relied on. left: a process that was killed left it; it takes room, no more."""
    where: str
    """The file or folder, within the store."""
    what: str
    do: str


def verify(store: Store) -> list[Fault]:
    """Everything that is wrong with a store, and what was left in it; nothing is changed, and no user's code is run.

    Found: whatever contradicts the sums of its files, itself, its experiment or another file of the run.
    """
    faults = [*_beside(store)]
    for hash in store.hashes():
        faults += _run(store, hash)
    faults += _work(store)
    if (store.path / TRIALS).is_dir():
        faults += _trials(store)
    return faults


def _trials(store: Store) -> list[Fault]:
    """What is wrong with the store of trials; one that a killed process was about to make has nothing in it."""
    try:
        found = verify(store.trials())
    except StoreError as error:
        return [Fault("wrong", TRIALS, f"{error.asked}: {error.given}", error.do)]
    return [replace(fault, where=f"{TRIALS}/{fault.where}") for fault in found]


def _beside(store: Store) -> Iterator[Fault]:
    """What lies in the store itself and is not the folder of a run."""
    for entry in sorted(store.path.iterdir()):
        if entry.is_file() and entry.suffix == ".tmp":
            yield Fault("left", entry.name, "it was being written when its process died", f"remove {entry}")
        elif (entry / "record.json").is_file() and not HASH.fullmatch(entry.name):
            yield Fault("wrong", entry.name, "a run that has lost its name: nothing finds it", _rename(store, entry))
        elif HASH.fullmatch(entry.name) and entry.is_file():
            yield Fault("wrong", entry.name, "a file that has the name of a run", f"remove {entry}")


def _run(store: Store, hash: str) -> list[Fault]:
    """What is wrong with one run; it is looked at again where another took its place meanwhile, as by a retry."""
    while (seen := identity(store.folder(hash))) is not None:
        try:
            found = [*_looked(store, hash)]
        except FileNotFoundError:
            if identity(store.folder(hash)) == seen:
                raise
            continue
        except OSError as error:
            found = [_unread(store, hash, error)]
        if not found or identity(store.folder(hash)) == seen:
            return found
    return []


def _unread(store: Store, hash: str, error: OSError) -> Fault:
    """That a run cannot be looked at, and why."""
    at = Path(error.filename or store.folder(hash))
    told = unreadable(at, error)
    where = str(at.relative_to(store.path)) if at.is_relative_to(store.path) else hash
    return Fault("wrong", where, f"it cannot be read: {error.strerror}", told.do)


def _looked(store: Store, hash: str) -> Iterator[Fault]:
    """What is wrong by the sums of the files, and then by what these say, as far as they can be read."""
    folder = store.folder(hash)
    bad = sums.wrong(folder, FILES["finished"])
    for name, what in bad.items():
        do = _remove(store, hash)
        do += f"; if its files are known to be whole: {_vouch(folder)}" if name == sums.NAME else ""
        yield Fault("wrong", f"{hash}/{name}", what, do)
    if bad.keys().isdisjoint((sums.NAME, RECORD)):
        yield from (fault for fault in _inside(store, hash) if fault.where.partition("/")[2] not in bad)


def _vouch(folder: Path) -> str:
    """What makes the sums of a run anew."""
    return f"cd {shlex.quote(str(folder))} && sha256sum -- [!S]* > {sums.NAME}"


def _remove(store: Store, hash: str) -> str:
    """To make a run again, by the command that it was made by."""
    command = AGAIN
    with suppress(StoreError):
        record = store.record(hash)
        command = f"run again: {_here(record['command'], store)}" if record and record.get("command") else AGAIN
    return f"remove {shlex.quote(str(store.folder(hash)))} and {command}"


def _here(command: str, store: Store) -> str:
    """A command with this store in place of the one that it names: a store is moved and copied, its records are not."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if words[:2] != ["gnomon", "compare"]:
        return command
    of = store.path if store.within is None else store.within.path
    given = [at for at, word in enumerate(words) if word == "--store"]
    words = [word for at, word in enumerate(words) if at not in given and at - 1 not in given]
    return shlex.join([*words, "--store", str(of)])


def _inside(store: Store, hash: str) -> Iterator[Fault]:
    folder = store.folder(hash)
    remove = _remove(store, hash)
    try:
        record = store.record(hash)
    except StoreError as error:
        file = folder / RECORD
        what = str(error.given).removeprefix(f"{file}: ")
        renamed = _hash_within(file) not in (None, hash)
        # A newer record, and one that we may not read, say themselves what to do.
        do = _rename(store, folder) if renamed else remove if "damaged" in error.asked else error.do
        yield Fault("wrong", f"{hash}/{RECORD}", f"{error.asked}: {what}", do)
        return
    if record is None:
        return
    try:
        experiment = Experiment.from_json(record["experiment"])
    except UNREADABLE as error:
        what = f"this gnomon does not know its experiment: {str(error).partition(chr(10))[0]}"
        yield Fault("wrong", f"{hash}/{RECORD}", what, f"read it by the gnomon that wrote it, or {remove}")
        return
    yield from _all(f"{hash}/{RECORD}", remove, consistency.of_record(record, experiment))
    if record["status"] not in FILES:
        return
    has = {file.name for file in folder.iterdir()}
    for name in sorted(has - {*FILES["finished"], sums.NAME}):
        yield Fault("left", f"{hash}/{name}", "no file of a run", f"move it out of {folder}")
    for name in FILES[record["status"]]:
        if name not in has:
            yield Fault("wrong", f"{hash}/{name}", f"it is missing from a run that {record['status']}", remove)
    checks = {
        "curve.parquet": consistency.of_curve(store, record, experiment),
        "positions.parquet": consistency.of_positions(store, record, experiment),
        WEIGHTS: consistency.of_weights(store, record, experiment),
    }
    for name, found in checks.items():
        if name in has:
            yield from _all(f"{hash}/{name}", remove, found)


def _all(where: str, do: str, found: Iterable[str]) -> Iterator[Fault]:
    """A fault for each thing that a check finds, and one for what keeps it from looking further."""
    try:
        for what in found:
            yield Fault("wrong", where, what, do)
    except StoreError as error:
        yield Fault("wrong", where, f"it cannot be read: {str(error.given).partition(where + ': ')[2]}", do)
    except UNREADABLE as error:
        yield Fault("wrong", where, f"it is not as a run writes it: {type(error).__name__}: {error}", do)


def _work(store: Store) -> Iterator[Fault]:
    """What lies among the runs that are not finished, and belongs to none that anybody is making."""
    runs = {*store.hashes()}
    for file in sorted(store.work.iterdir()) if store.work.is_dir() else ():
        seen, fault = identity(file), _unfinished(store, file, runs)
        # A run may have ended meanwhile; and where locks hold nothing, one that goes on looks as if nobody made it.
        if fault is not None and seen is not None and identity(file) == seen:
            yield fault


def _unfinished(store: Store, file: Path, runs: set[str]) -> Fault | None:
    """What is to be said of one file of the work: nothing where a process is at it, or the run needs it."""
    hash, _, rest = file.name.partition(".")
    where, remove = f"{store.work.name}/{file.name}", f"remove {file}"
    what = None
    if not HASH.fullmatch(hash):
        what = "nothing of a run"
    elif _held(store, hash):
        return None
    elif rest.endswith("tmp"):
        what = "it was being written when its process died"
    elif file == store.checkpoint(hash):
        return _checkpoint(store, hash, where, hash in runs)
    elif rest == "lock":
        if hash not in runs and not store.checkpoint(hash).is_file():
            what = "a claim of a run that nobody makes and nobody has made"
    elif rest.endswith("log"):
        if hash not in runs or _status(store, hash) != "failed":
            what = "a log of a run that did not fail"
    else:
        what = "nothing that a run writes"
    return None if what is None else Fault("left", where, what, remove)


def _checkpoint(store: Store, hash: str, where: str, has_run: bool) -> Fault | None:
    """What is to be said of the checkpoint of a run that nobody is making."""
    from gnomon.lab import checkpoint

    file = store.checkpoint(hash)
    at = checkpoint.step_of(file, hash)
    if not checkpoint.whole(file, hash) or at != _steps(file):
        return _unusable(file, where, hash)
    if not has_run:
        return Fault("left", where, f"a run that was stopped at step {at:,}", f"{AGAIN}: it goes on from there")
    if _status(store, hash) in ("finished", "diverged"):
        return Fault("left", where, "a checkpoint of a run that has ended", f"remove {file}")
    return None


def _steps(file: Path) -> int:
    """The steps that a checkpoint has the losses of; it says their number beside them as well, under no sum."""
    from safetensors import safe_open

    with safe_open(file, "pt") as opened:
        return opened.get_slice("history.losses").get_shape()[0]


def _held(store: Store, hash: str) -> bool:
    """Whether a process is making the run. `Store.claim` would tell as well, and clear away what was left."""
    lock = store.work / f"{hash}.lock"
    if not lock.is_file():
        return False
    try:
        with filelock.FileLock(lock, timeout=0, fallback_to_soft=False):
            return False
    except (filelock.Timeout, OSError):  # who may not write here cannot ask
        return True


def _status(store: Store, hash: str) -> str | None:
    try:
        record = store.record(hash)
    except StoreError:
        return None
    return None if record is None else record["status"]


def _unusable(file: Path, where: str, hash: str) -> Fault:
    """A checkpoint that its run does not go on from."""
    from safetensors import safe_open

    from gnomon.lab.checkpoint import FORMAT, UNUSABLE

    do = f"remove {file}: training begins anew"
    try:
        with safe_open(file, "pt") as opened:
            told = opened.metadata() or {}
    except UNUSABLE as error:
        return Fault("wrong", where, f"a checkpoint that cannot be read: {error}", do)
    if told.get("experiment") != hash:
        return Fault("wrong", where, f"a checkpoint of another run: {told.get('experiment')}", do)
    if told.get("format") == FORMAT:
        return Fault("wrong", where, "a checkpoint whose numbers are not those that the run wrote", do)
    return Fault("left", where, "a checkpoint as another gnomon writes it", do)


def _hash_within(file: Path) -> str | None:
    """The run that a record describes, by its experiment; None where it cannot be told."""
    try:
        record = written.loads(file.read_text())
        return hash_of(record["experiment"]) if record["hash"] == hash_of(record["experiment"]) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _rename(store: Store, folder: Path) -> str:
    """What to do with the folder of a run that has another name."""
    name = _hash_within(folder / "record.json")
    if name is None or store.folder(name).exists():
        return f"remove {folder}" + ("" if name is None else ": the run is there under its own name")
    return f"rename it: mv {folder} {store.folder(name)}"

"""An operator's worst week, a fault at a time: a clear error or a repaired state, and never a wrong number."""

import errno
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from gnomon.commands import report
from gnomon.errors import StoreError
from gnomon.lab import files, tuning
from gnomon.lab import store as stores
from gnomon.lab.checkpoint import step_of
from gnomon.lab.run import Settings
from gnomon.lab.store import Store
from gnomon.lab.verify import verify
from tests.drill import command, plan
from tests.drill.command import CONTEXT, Command
from tests.drill.reader import Outcome, Reader, outcome
from tests.lab import mounts
from tests.lab.toys import make, results, toy

pytestmark = pytest.mark.xdist_group("drill")

BRIEF = {"brief": {"encodings": ["Learned"], "seeds": (0, 1), "tuning": None}}
"""Two runs."""

STEPS = 40


def without_report() -> None:
    """In a command's process: the report, which is the most of its work, is not what is asked for here."""
    report.write = lambda *given: Path("none")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What `gnomon compare` is given to make two runs, one after another; `--store FOLDER` comes last."""
    file = plan.write(tmp_path_factory.mktemp("brief"), BRIEF, STEPS)["brief"]
    return ["compare", str(file), "--workers", "1", "--cpu", "--store"]


@pytest.fixture(scope="module")
def expected(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What the two runs find where nothing happens to them."""
    folder = tmp_path_factory.mktemp("expected")
    undisturbed = Command(folder / "told", [*words, str(folder / "runs")], before=without_report)
    assert undisturbed.wait(300) == 0, undisturbed.said()
    return outcome(folder / "runs")


def wrong(path: Path) -> list[str]:
    return [f"{fault.where}: {fault.what}" for fault in verify(Store(path)) if fault.kind == "wrong"]


# The disk.


def test_a_disk_that_is_full_at_any_write(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whichever write it is that fails, it is told, nothing half-written is there, and the same command goes on."""
    experiment, fsync, made = toy(text, steps=1, lengths=(16,)), os.fsync, tmp_path / "made"
    monkeypatch.setattr("gnomon.lab.environment.commit", lambda: None)  # asks git, each time
    make(experiment, made, Settings(checkpoint_seconds=0.0))
    expected = results(Store(made), experiment.hash)
    for last in count():
        left, path = iter(range(last)), tmp_path / str(last)

        def full(handle: int, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        with monkeypatch.context() as now:
            now.setattr(files.os, "fsync", full)
            try:
                assert make(experiment, path, Settings(checkpoint_seconds=0.0)) == "written"
                break
            except StoreError as error:
                assert "No space left" in str(error) and "make room" in str(error)
        # The last one brings the name of a whole run to disk: the run is there, and so is the error.
        assert not path.exists() or not list((path / ".work").glob("*.tmp"))
        assert make(experiment, path) in ("written", "present")
        assert results(Store(path), experiment.hash) == expected and wrong(path) == []
    assert last > 10, "the marker, a checkpoint, five files of the run, and the folders that have them"


def apart(function: Callable, *given: Any) -> Any:
    """What a function returns in a process of its own; the test is skipped where it returns None."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_send, args=(theirs, function, given))
    process.start()
    theirs.close()
    found = ours.recv()
    process.join()
    if found is None:
        pytest.skip("a process may not mount file systems of its own here")
    return found


def _send(pipe: Any, function: Callable, given: tuple) -> None:
    pipe.send(function(*given))


SIZES = (40, 240, 4000)
"""Kilobytes: no checkpoint fits, some, everything."""


def full_disk(told: Path, words: list[str], disk: Path) -> tuple | None:
    """The command on a disk of too few kilobytes, on ever larger ones, and what it has made in the end."""
    if not mounts.alone():
        return None
    mounts.tmpfs(disk, SIZES[0])
    command.prepare(told)
    without_report()
    codes, seen = [], []
    for kilobytes in SIZES:
        mounts.tmpfs(disk, kilobytes, again=True)
        codes.append(command.run(told, [*words, str(disk / "runs")]))
        seen += wrong(disk / "runs") if (disk / "runs").exists() else []
    return codes, seen, outcome(disk / "runs")


def test_a_disk_that_is_too_small_and_grows(words: list[str], expected: Outcome, tmp_path: Path):
    (tmp_path / "disk").mkdir()
    codes, seen, found = apart(full_disk, tmp_path / "told", words, tmp_path / "disk")
    said = (tmp_path / "told.said").read_text()
    assert codes[0] == 2 and codes[-1] == 0 and {*codes} == {0, 2}, (codes, said)
    assert seen == [] and "Traceback" not in said
    assert "No space left on device" in said and "do:      make room" in said
    assert found == expected


def read_only(told: Path, words: list[str], path: Path) -> tuple | None:
    """What a store that is not to be written says to those who write, and to those who read."""
    if not mounts.alone():
        return None
    mounts.read_only(path)
    command.prepare(told)
    reading = [["results", str(path)], ["results", str(path), "--verify"]]
    return command.run(told, [*words, str(path)]), [command.run(told, each) for each in reading]


def test_a_store_that_is_read_only_is_read_and_not_written(text: Path, words: list[str], tmp_path: Path):
    make(toy(text), tmp_path / "runs")
    before = {file: file.read_bytes() for file in (tmp_path / "runs").rglob("*") if file.is_file()}
    writing, reading = apart(read_only, tmp_path / "told", words, tmp_path / "runs")
    said = (tmp_path / "told.said").read_text()
    assert writing == 2 and "Read-only file system" in said and "a folder that can be written" in said
    assert reading == [0, 0] and "0 wrong, 0 left over" in said and "Traceback" not in said
    assert before == {file: file.read_bytes() for file in (tmp_path / "runs").rglob("*") if file.is_file()}


def test_a_store_that_is_deleted_under_a_sweep(words: list[str], tmp_path: Path):
    sweep = Command(tmp_path / "told", [*words, str(tmp_path / "runs")], before=without_report)
    while sweep.code is None and len({worker.hash for worker in sweep.workers()}) < 2:
        time.sleep(0.01)
    while (tmp_path / "runs").exists():
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    assert sweep.wait(120) == 2, sweep.said()
    assert "Traceback" not in sweep.said() and "run the same command again" in sweep.said()
    assert not (tmp_path / "runs").exists()


def test_a_run_that_is_deleted_under_a_sweep_is_told(words: list[str], tmp_path: Path):
    sweep = Command(tmp_path / "told", [*words, str(tmp_path / "runs")], before=without_report)
    while not (hashes := (Store(tmp_path / "runs", create=True)).hashes()):
        time.sleep(0.01)
    shutil.rmtree(tmp_path / "runs" / hashes[0])
    assert sweep.wait(120) == 2, sweep.said()
    assert "Traceback" not in sweep.said() and "has lost" in sweep.said() and hashes[0] in sweep.said()


# The clock.


def test_a_clock_that_is_set_back_is_told_and_changes_nothing(text: Path, tmp_path: Path, monkeypatch):
    experiment = toy(text)
    make(experiment, tmp_path / "right")
    with pytest.MonkeyPatch.context() as back:
        days = count(28, -1)
        back.setattr("gnomon.lab.record._now", lambda: f"2020-01-{next(days):02}T00:00:00+00:00")
        hours = count(0, -3600.0)
        back.setattr(time, "time", lambda: 1e9 + next(hours))
        back.setattr(time, "time_ns", lambda: int(1e9 * (1e9 + next(hours))))
        stopped = iter([False] * 5)
        settings = Settings(stop=lambda: next(stopped, True), checkpoint_seconds=0.0)
        assert make(experiment, tmp_path / "back", settings) == "stopped"
        for file in (tmp_path / "back").rglob("*"):
            os.utime(file, (2e9, 2e9))  # written in the future
        assert make(experiment, tmp_path / "back") == "written"
    found = Store(tmp_path / "back").record(experiment.hash)
    assert found["finished"] < found["started"]
    assert results(Store(tmp_path / "back"), experiment.hash) == results(Store(tmp_path / "right"), experiment.hash)
    assert wrong(tmp_path / "back") == []
    assert Store(tmp_path / "back").sql("select count(*) from runs where finished < started").rows == [(1,)]
    assert make(experiment, tmp_path / "back") == "present"


# Locks that hold nothing, as on file systems of a network.


class NoLock:
    """Everybody has it."""

    def __init__(self, path: Path, **given: Any):
        pass

    def acquire(self, **given: Any) -> None:
        pass

    def release(self) -> None:
        pass

    def __enter__(self) -> "NoLock":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def without_locks() -> None:
    without_report()
    stores.filelock = SimpleNamespace(FileLock=NoLock, Timeout=TimeoutError)


def test_two_sweeps_without_locks_end_and_the_first_record_stays(words: list[str], expected: Outcome, tmp_path: Path):
    path = tmp_path / "runs"
    both = [Command(tmp_path / name, [*words, str(path)], before=without_locks) for name in ("one", "other")]
    reader = Reader(path)
    while any(each.code is None for each in both):
        reader.look()
        both[0].wait(0.1)
    assert [each.code for each in both] == [0, 0], [each.said() for each in both]
    reader.look()
    assert (reader.lost, reader.twice, reader.broken) == ([], [], [])
    assert len(both[0].workers()) == len(both[1].workers()) == 2, "nobody has waited for the other"
    assert outcome(path) == expected


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
    def none(lock: NoLock, **given: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(NoLock, "acquire", none)
    monkeypatch.setattr(stores, "filelock", SimpleNamespace(FileLock=NoLock, Timeout=TimeoutError))
    with pytest.raises(StoreError, match="has no locks") as error, Store(tmp_path, create=True).claim("0" * 16):
        pass
    assert os.strerror(number) in error.value.given and "--store" in error.value.do


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_where_flock_is_refused_no_claim_is_given_that_nobody_gives_back(tmp_path: Path, monkeypatch, number: int):
    """What a lock of another kind would leave, once its holder was killed, is a claim for ever."""

    def refuse(handle: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    store = Store(tmp_path, create=True)
    with pytest.raises(StoreError, match="has no locks") as error, store.claim("0" * 16):
        pass
    assert os.strerror(number) in error.value.given and "--store" in error.value.do
    monkeypatch.undo()
    with store.claim("0" * 16) as ours:
        assert ours


def test_finished_stands_over_diverged_and_that_over_failed(text: Path, tmp_path: Path):
    """A retry that fails takes nothing away from what a run has shown before."""
    experiment = toy(text, learning_rate=1e30, warmup=0.0)
    make(experiment, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    diverged = store.record(experiment.hash)
    assert diverged["status"] == "diverged" and (curve := store.curve(experiment.hash))
    store.write(diverged | {"status": "failed", "reason": "killed"}, {})
    assert store.record(experiment.hash) == diverged and len(store.curve(experiment.hash)) == len(curve)
    store.write(diverged | {"reason": "again"}, {})
    assert store.record(experiment.hash)["reason"] == "again"
    store.write(finished := diverged | {"status": "finished", "reason": None}, {})
    for late in (diverged, diverged | {"status": "failed"}):
        store.write(late, {})
        assert store.record(experiment.hash) == finished


def test_of_two_records_of_a_run_the_finished_and_of_those_the_first_stays(text: Path, tmp_path: Path):
    experiment = toy(text, steps=2)
    make(experiment, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    found, kept = store.record(experiment.hash), files.identity(store.folder(experiment.hash))
    failed = found | {"status": "failed", "reason": "killed", "lengths": []}
    for late in (found | {"finished": "later"}, failed):
        store.write(late, {})
        assert store.record(experiment.hash) == found and files.identity(store.folder(experiment.hash)) == kept
    shutil.rmtree(store.folder(experiment.hash))
    for better in (failed, failed | {"reason": "killed again"}, found):
        store.write(better, {})
        assert store.record(experiment.hash) == better
    assert not list(store.work.glob("*.tmp"))


@pytest.mark.parametrize("status", ["failed", "finished"])
def test_a_record_that_comes_while_another_is_moved_aside(text: Path, tmp_path: Path, monkeypatch, status: str):
    """Between two steps of one writer another one writes: whoever has finished stays."""
    experiment = toy(text, steps=2)
    make(experiment, tmp_path / "made")
    finished = Store(tmp_path / "made").record(experiment.hash)
    failed = finished | {"status": "failed", "reason": "killed", "lengths": []}
    store, rename, others = Store(tmp_path / "runs", create=True), os.rename, iter([finished | {"status": status}])
    store.write(failed, {})

    def late(old: Path, new: Path) -> None:
        if Path(old) == store.folder(experiment.hash) and (other := next(others, None)) is not None:
            store.write(other | {"command": "the other's"}, {})
        rename(old, new)

    monkeypatch.setattr(stores.os, "rename", late)
    store.write(finished | {"command": "ours"}, {})
    assert store.record(experiment.hash)["command"] == ("the other's" if status == "finished" else "ours")
    assert not list(store.work.glob("*.tmp"))


def test_what_is_being_written_may_be_cleared_away_and_is_written_again(text: Path, tmp_path: Path, monkeypatch):
    """A second holder of a claim takes it for something that a dead process has left."""
    experiment, cleared = toy(text, steps=3), []
    make(experiment, tmp_path / "made")
    monkeypatch.setattr(stores, "filelock", SimpleNamespace(FileLock=NoLock, Timeout=TimeoutError))
    sync = files.sync

    def sync_and_lose(path: Path) -> None:
        sync(path)
        kind = path.name.split(".")[1] if path.name.startswith(experiment.hash) else path.name
        if kind in ("checkpoint", "curve.parquet", "record.json") and kind not in cleared:
            cleared.append(kind)
            with Store(tmp_path / "runs").claim(experiment.hash) as ours:
                assert ours

    for module in (files, stores):
        monkeypatch.setattr(module, "sync", sync_and_lose)
    assert make(experiment, tmp_path / "runs", Settings(checkpoint_seconds=0.0)) == "written"
    assert cleared == ["checkpoint", "curve.parquet", "record.json"]
    assert results(Store(tmp_path / "runs"), experiment.hash) == results(Store(tmp_path / "made"), experiment.hash)
    assert wrong(tmp_path / "runs") == [] and not list(Store(tmp_path / "runs").work.glob("*.tmp"))


def test_a_folder_that_is_cleared_away_can_no_longer_get_its_name(tmp_path: Path, monkeypatch):
    """Not half of it either: it loses its name before any file in it goes."""
    unfinished = tmp_path / f"{'a' * 16}.0123.tmp"
    unfinished.mkdir()
    (unfinished / "record.json").touch()
    seen = []
    monkeypatch.setattr(files.shutil, "rmtree", lambda path, **given: seen.append((path, unfinished.exists())))
    files.clear(unfinished)
    [(aside, there)] = seen
    assert not there and (aside / "record.json").exists() and aside.name.startswith("a" * 16)
    files.clear(unfinished)  # somebody else was faster


# Who reads while others write.


def test_a_reader_never_meets_a_run_that_is_being_replaced(text: Path, tmp_path: Path):
    experiment = toy(text, "learned", steps=2, options={"max_positions": 10})
    make(experiment, tmp_path / "runs")
    store, ended, found = Store(tmp_path / "runs"), threading.Event(), []
    record = store.record(experiment.hash)

    def replace() -> None:
        for number in range(60):
            store.write(record | {"reason": f"failed {number} times"}, {})
        ended.set()

    writer = threading.Thread(target=replace)
    writer.start()
    while not ended.is_set():
        found += wrong(store.path)
        assert all(each["reason"] for each in store.records())
    writer.join()
    assert found == [] and store.record(experiment.hash)["reason"] == "failed 59 times"


def test_what_a_process_ends_while_the_store_is_checked_is_no_fault(text: Path, tmp_path: Path, monkeypatch):
    """A checkpoint goes as its run ends, between two looks of the check."""
    experiment = toy(text, steps=4)
    stopped = iter([False, True])
    make(experiment, tmp_path / "runs", Settings(stop=lambda: next(stopped, True)))
    store = Store(tmp_path / "runs")
    assert step_of(store.checkpoint(experiment.hash), experiment.hash) == 2

    def held(store: Store, hash: str) -> bool:
        store.checkpoint(hash).unlink(missing_ok=True)
        return False

    monkeypatch.setattr("gnomon.lab.verify._held", held)
    assert wrong(store.path) == []


# What befalls one run, and no other.

MINE = """
from gnomon.encoding import Encoding


class Mine(Encoding):
    '''Nothing is added.'''

    def embed(self, x, pos):
        if x.shape[1] > 16:
            import einsum_tools
        return x
"""

TASK = """
from gnomon.lab.tasks.copy import Copy


class Mine(Copy):
    def describe(self):
        import describe_tools
"""

WEEK = """
from dataclasses import replace
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Text, Training

ONE = Experiment(
    "none",
    task=Text({text!r}),
    model=Model(width=16, depth=1, heads=2),
    training=Training(steps=5, batch=4, length=16),
    measure=Measure(lengths=(16, 32), bytes=512, pairs=8, targets=4),
)
COPY = Measure(lengths=(16, 32), examples=8)
EXPERIMENTS = [
    replace(ONE, encoding="mine.py:Mine"),
    replace(ONE, task=Problem("task.py:Mine"), measure=COPY),
    replace(ONE, encoding="t5", training=replace(ONE.training, batch=2**17)),
    replace(ONE, encoding="alibi", training=replace(ONE.training, learning_rate=1e30, warmup=0.0)),
    replace(ONE, encoding="rope"),
]
"""
"""Two import errors in the middle of a run, a batch that no memory holds, a rate at which nothing stays finite."""

REASONS = {
    "Mine": "mine.py, line 10: ModuleNotFoundError: No module named 'einsum_tools'",
    "none": "task.py, line 7: ModuleNotFoundError: No module named 'describe_tools'",
    "t5": "allocate memory",
    "alibi": "the loss is nan at step",
    "rope": "",
}


def limited(folder: Path) -> None:
    """In a command's process: its folder, and no more than so much memory besides what it has already."""
    without_report()
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + 2**30, resource.RLIM_INFINITY))


def test_what_befalls_one_run_is_its_record_and_the_others_go_on(text: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "week.py").write_text(WEEK.format(text=str(text)))
    arguments = ["compare", "week.py", "--workers", "1", "--cpu"]
    found = []
    for name in ("once", "again"):
        sweep = Command(tmp_path / name, arguments, before=partial(limited, tmp_path))
        assert sweep.wait(300) == 1 and "Traceback" not in sweep.said(), sweep.said()
        found.append({record["label"]: record for record in Store(tmp_path / "runs").records()})
    assert {label: record["status"] for label, record in found[0].items()} == {
        "Mine": "failed",
        "none": "failed",
        "t5": "failed",
        "alibi": "diverged",
        "rope": "finished",
    }
    for label, reason in REASONS.items():
        assert reason in (found[0][label]["reason"] or ""), found[0][label]["reason"]
        assert reason in " ".join(sweep.said().split())
    assert found[0] == found[1] and not sweep.workers() and wrong(tmp_path / "runs") == []


def test_a_trial_that_was_killed_chooses_no_rate(tmp_path: Path):
    """Its rate may be the best one: nothing is made by another."""
    file = plan.write(tmp_path, plan.SMALL, STEPS)["small"]
    words = ["compare", str(file), "--workers", "1", "--cpu", "--store", str(tmp_path / "runs")]
    sweep = Command(tmp_path / "killed", words, before=without_report)
    while not sweep.workers():
        time.sleep(0.01)
    os.kill(sweep.workers()[0].pid, signal.SIGKILL)
    assert sweep.wait(120) == 1, sweep.said()
    assert "Learned, seed 1000 failed: the process was killed by signal 9" in " ".join(sweep.said().split())
    store = Store(tmp_path / "runs", create=True)
    assert store.hashes() == [] and sorted(r["status"] for r in store.trials().records()) == ["failed", "finished"]
    again = Command(tmp_path / "again", [*words, "--retry"], before=without_report)
    assert again.wait(120) == 0, again.said()
    [record] = store.records()
    trials = {tuning.loss_of(r): r["experiment"]["training"]["learning_rate"] for r in store.trials().records()}
    assert len(trials) == 2 and record["experiment"]["training"]["learning_rate"] == trials[min(trials)]

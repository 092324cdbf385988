"""A drill of a handful of kills loses nothing, and one that had lost something would say so."""

import shutil
from pathlib import Path

import pytest

from gnomon.lab import checkpoint
from gnomon.lab.store import Store
from tests.drill import plan
from tests.drill.command import Command
from tests.drill.reader import Reader, differences, outcome
from tests.drill.rounds import Drill, Manner, begun_anew
from tests.lab.toys import make, toy

pytestmark = pytest.mark.xdist_group("drill")


@pytest.mark.parametrize("manner", [Manner(1, retry=True), Manner(2, retry=False)], ids=str)
def test_a_handful_of_kills_loses_nothing(tmp_path: Path, manner: Manner):
    tally = Drill(tmp_path, kills=6, seed=1, real=0.0, plans=plan.SMALL, manners=[manner]).run(lambda line: None)
    assert tally.found() == []
    assert str(tally) == "kills 6, lost 0, twice 0, half-written 0, begun anew 0"
    assert sum(tally.by.values()) == 6 and len(tally.by) > 2


def without_checkpoints() -> None:
    """In a command's process, and so in its workers: each run begins with its first step, whatever was done before."""
    checkpoint.load = lambda *given: None


def test_a_drill_tells_that_checkpoints_are_not_read(tmp_path: Path):
    """Every run comes to its end all the same, once, and to the same numbers."""
    drill = Drill(tmp_path, 4, 1, real=0.0, plans=plan.SMALL, manners=[Manner(1, True)], before=without_checkpoints)
    tally = drill.run(lambda line: None)
    assert tally.anew and len(tally.found()) == len(tally.anew), tally.found()
    assert f"begun anew {len(tally.anew)}" in str(tally)


@pytest.mark.parametrize(
    ("trained", "said"),
    [
        ([80], ""),
        ([0, 80, 0], ""),
        ([30, 51], ""),
        ([30, 1, 51], ""),
        ([81], "for 81 = 81 steps: 80 do"),
        ([30, 80], "for 30 + 80 = 110 steps: 81 do"),
        ([30, 52], "for 30 + 52 = 82 steps: 81 do"),
        ([79], "for 79 steps of 80"),
        ([], "for 0 steps of 80"),
    ],
)
def test_steps_that_were_trained_again(trained: list[int], said: str):
    assert [said in what for what in begun_anew(trained, 80)] == [True] * bool(said)


@pytest.fixture
def read(text: Path, tmp_path: Path) -> tuple[Store, str, Reader]:
    """A store with one finished run, and who has seen it."""
    experiment = toy(text, steps=2)
    make(experiment, tmp_path / "runs")
    reader = Reader(tmp_path / "runs")
    reader.look()
    reader.glance()
    return Store(tmp_path / "runs"), experiment.hash, reader


def counts(reader: Reader) -> tuple[int, int, int]:
    reader.look()
    return len(reader.lost), len(reader.twice), len(reader.broken)


def test_the_reader_of_a_drill_finds_nothing_where_nothing_is(read):
    store, hash, reader = read
    assert counts(reader) == (0, 0, 0) and reader.finished() == {hash}
    assert differences(outcome(store.path), outcome(store.path)) == []


def test_it_counts_a_run_that_is_gone(read):
    store, hash, reader = read
    expected = outcome(store.path)
    shutil.rmtree(store.folder(hash))
    assert counts(reader) == (1, 0, 0)
    assert differences(outcome(store.path), expected) == [f"('.', '{hash}') is missing"]


def test_it_counts_a_run_that_was_trained_again(read, text: Path):
    store, hash, reader = read
    away = store.folder(hash).rename(store.path / "away")
    make(toy(text, steps=2), store.path)
    shutil.rmtree(away)
    assert counts(reader) == (0, 1, 0)


def test_without_retry_it_counts_a_failure_that_was_made_again(text: Path, tmp_path: Path):
    experiment = toy(text, steps=2)
    make(experiment, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    finished = store.record(experiment.hash)
    shutil.rmtree(store.folder(experiment.hash))
    store.write(finished | {"status": "failed", "reason": "killed", "lengths": [], "finished": None}, {})
    kept, with_retry, released = Reader(store.path, failed=True), Reader(store.path), Reader(store.path, failed=True)
    for reader in (kept, with_retry, released):
        reader.look()
        assert reader.finished() == set()
    released.release()
    shutil.rmtree(store.folder(experiment.hash))
    make(experiment, store.path)
    assert [counts(reader) for reader in (kept, with_retry, released)] == [(0, 1, 0), (0, 0, 0), (0, 0, 0)]
    assert released.finished() == {experiment.hash}


def test_it_counts_what_is_not_whole(read):
    store, hash, reader = read
    (store.path / "report.html").write_text("<html><body>")
    assert counts(reader) == (0, 0, 1)
    store.weights(hash).write_bytes(b"half")
    assert counts(reader) == (0, 0, 3)  # the report again
    (store.path / "report.html").unlink()
    store.folder(hash).rename(store.path / ("0" * 16))
    reader.glance()
    assert "does not describe the run" in reader.broken[-1]


def test_it_tells_results_that_are_others(read):
    store, hash, _ = read
    expected = outcome(store.path)
    for part, value in (("weights", b""), ("losses", [0.0]), ("lengths", [])):
        [key] = expected
        found = {key: expected[key] | {part: value}}
        assert differences(found, expected) == [f"('.', '{hash}') has another {part}"]
    assert differences(expected, {}) == [f"('.', '{hash}') is none of the sweep"]


def test_two_comparisons_on_one_store_make_each_run_once(tmp_path: Path):
    plans = plan.write(tmp_path, plan.SMALL, steps=40)
    arguments = ["compare", str(plans["small"]), "--store", str(tmp_path / "runs"), "--workers", "1", "--cpu"]
    both = [Command(tmp_path / f"{name}.workers", arguments) for name in ("one", "other")]
    reader = Reader(tmp_path / "runs")
    while any(command.code is None for command in both):
        reader.look()
        both[0].wait(0.2)
    assert [command.code for command in both] == [0, 0], [command.said() for command in both]
    reader.look()
    assert (reader.lost, reader.twice, reader.broken) == ([], [], [])
    said = "".join(command.said() for command in both)
    assert said.count(": finished") == len(reader.finished()) == 3

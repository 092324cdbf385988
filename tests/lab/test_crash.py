"""kill -9 at any moment: nothing half-written is ever read, and the run ends as if nothing had happened, to the bit."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import torch

from gnomon.lab.checkpoint import step_of
from gnomon.lab.experiment import Experiment
from gnomon.lab.run import Settings
from gnomon.lab.store import Store
from tests.lab.toys import make, results, toy

STEPS = 200
KILLS = 8
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.lab.toys", "torch._dynamo"])


def work(experiment: Experiment, path: Path, ready) -> None:
    torch.set_num_threads(1)
    ready.send(None)
    make(experiment, path, Settings(checkpoint_seconds=0.0))


def hold(path: Path, hash: str, ready) -> None:
    with Store(path, create=True).claim(hash) as ours:
        ready.send(ours)
        signal.pause()


def begin(target, *arguments) -> tuple[multiprocessing.Process, object]:
    """Start a process, and wait until it says that it is at work."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=target, args=(*arguments, theirs))
    process.start()
    return process, ours.recv()


def test_killed_again_and_again_a_run_ends_as_an_undisturbed_one(text: Path, tmp_path: Path):
    experiment = toy(text, "learned", steps=STEPS, dropout=0.1, seed=4)
    store = Store(tmp_path / "killed", create=True)
    checkpoint = store.checkpoint(experiment.hash)
    draw, reached = random.Random(0), 0
    for kill in range(KILLS):
        process, _ = begin(work, experiment, store.path)
        # At some moment of a step or of a checkpoint, at least one step further than the last time.
        while process.exitcode is None and step_of(checkpoint, experiment.hash) <= reached:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.02))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"kill {kill} came too late, after step {reached}"
        assert store.hashes() == []
        reached = step_of(checkpoint, experiment.hash)
    assert KILLS <= reached < STEPS
    assert make(experiment, store.path) == "written"
    make(experiment, tmp_path / "undisturbed")
    assert results(store, experiment.hash) == results(Store(tmp_path / "undisturbed"), experiment.hash)
    assert not list(store.work.glob("*.tmp")) and not checkpoint.exists()


def test_killed_while_it_writes_its_record_it_leaves_none(text: Path, tmp_path: Path):
    """The last moment before the folder gets its name: all files are there, and none of them is read."""
    experiment = toy(text, steps=2)
    store = Store(tmp_path / "runs", create=True)
    process, _ = begin(die_before_the_name, experiment, store.path)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    [left] = store.work.glob("*.tmp")
    assert {file.name for file in left.iterdir()} >= {"record.json", "weights.safetensors"}
    assert store.hashes() == [] and store.records() == []
    assert make(experiment, store.path) == "written"
    assert store.hashes() == [experiment.hash] and not left.exists()


def die_before_the_name(experiment: Experiment, path: Path, ready) -> None:
    ready.send(None)
    Store._put = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
    make(experiment, path)


def test_one_process_has_a_run_until_it_dies(text: Path, tmp_path: Path):
    experiment = toy(text, steps=2)
    store = Store(tmp_path / "runs", create=True)
    holder, has_it = begin(hold, store.path, experiment.hash)
    assert has_it is True
    left = store.work / f"{experiment.hash}.0123.tmp"
    left.mkdir()
    assert make(experiment, store.path) == "busy"
    assert left.exists() and store.hashes() == []
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert make(experiment, store.path) == "written"
    assert not left.exists() and store.hashes() == [experiment.hash]


def test_of_many_at_once_one_makes_the_run(text: Path, tmp_path: Path):
    experiment = toy(text, steps=5)
    path = tmp_path / "runs"
    outcomes = CONTEXT.SimpleQueue()
    processes = [CONTEXT.Process(target=race, args=(experiment, path, outcomes)) for _ in range(4)]
    for process in processes:
        process.start()
    found = [outcomes.get() for _ in processes]
    for process in processes:
        process.join()
    assert found.count("written") == 1, found
    assert Store(path).hashes() == [experiment.hash]


def race(experiment: Experiment, path: Path, outcomes) -> None:
    torch.set_num_threads(1)
    outcome = make(experiment, path)
    while outcome == "busy":
        time.sleep(0.05)
        outcome = make(experiment, path)
    outcomes.put(outcome)

"""Runs by two processes of `accelerate launch`: the curve of one process within rounding, one record, both end.

Whatever happens to one of them, none waits for the other for ever: a run fails, or the launch ends.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gnomon.errors import OptionError
from gnomon.lab import engine
from gnomon.lab.distributed import run_together
from gnomon.lab.events import Event
from gnomon.lab.interrupt import Interrupted
from gnomon.lab.store import Store
from tests.lab.toys import make, toy

ROOT = Path(__file__).resolve().parents[2]
RANK = r"""
import json, sys
from gnomon.lab import engine
from gnomon.lab.experiment import Experiment
from gnomon.lab.load import Plan
from gnomon.lab.store import Store
from gnomon.lab.tuning import Tuning
tuning = Tuning((1e-3, 3e-3)) if sys.argv[3:] else None
plan = Plan([Experiment.from_json(e) for e in json.loads(sys.argv[2])], tuning)
records = engine.run_plan(plan, Store(sys.argv[1], create=True), cpu=True)
sys.stdout.write(" ".join(record["status"] for record in records) + "\n")  # whole: two processes share the pipe
"""

MINE = """
import os, signal
import torch
from torch import nn
from gnomon import Encoding

rank = os.environ.get("RANK")

class Mine(Encoding):
    '''A running mean is taken away; a parameter is for nothing.'''

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.idle = nn.Parameter(torch.ones(width))

    def embed(self, x, pos):
        if self.training:
            self.mean.lerp_(x.detach().mean((0, 1)), 0.1)
        return x - self.mean

class Fails(Encoding):
    '''Fails in the middle of training.'''

    where, steps = ("0", "1"), 0

    def embed(self, x, pos):
        self.steps += 1
        if self.steps > 10 and rank in self.where:
            self.fail()
        return x

    def fail(self):
        raise RuntimeError("no memory")

class FailsInTheFirst(Fails):
    '''As where memory ends in one process only.'''
    where = ("0",)

class FailsInTheSecond(Fails):
    '''As where memory ends in one process only.'''
    where = ("1",)

class IsKilled(Fails):
    '''One process ends, without a word.'''
    where = ("1",)

    def fail(self):
        os.kill(os.getpid(), signal.SIGKILL)

class FailsBackwards(FailsInTheSecond):
    '''In the midst of a backward pass.'''

    def embed(self, x, pos):
        self.steps += 1
        if x.requires_grad and self.steps > 10 and rank == "1":
            x.register_hook(lambda gradient: self.fail())
        return x

class IsNotBuilt(Encoding):
    '''Before training.'''

    def __init__(self):
        super().__init__()
        if rank == "1" and torch.distributed.is_initialized():
            raise RuntimeError("no such file")
"""


def launched(folder: Path, words: list) -> subprocess.CompletedProcess:
    """Two processes on CPUs, where gloo joins them."""
    # Under --cpu accelerate's launcher starts one process only; with this it starts two with or without GPUs.
    options = ["--multi_gpu", "--num_processes", 2, "--num_machines", 1, "--main_process_port", 0]
    options += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    return subprocess.run(
        [Path(sys.executable).with_name("accelerate"), "launch", *map(str, [*options, *words])],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def launch(folder: Path, experiments: list, *more: str) -> list[str]:
    """The lines that two processes print that make these runs."""
    (folder / "rank.py").write_text(RANK)
    task = json.dumps([experiment.to_json() for experiment in experiments])
    done = launched(folder, [folder / "rank.py", folder / "two", task, *more])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_two_processes_train_as_one(text: Path, tmp_path: Path):
    experiments = [toy(text, "t5", seed=seed) for seed in range(2)]
    make(experiments[0], tmp_path / "two")
    assert launch(tmp_path, experiments) == ["finished finished"] * 2
    make(experiments[1], tmp_path / "one")
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    assert sorted(two.hashes()) == sorted(e.hash for e in experiments)
    hash = experiments[1].hash
    assert two.record(hash)["environment"]["processes"] == 2
    assert two.record(experiments[0].hash)["environment"]["processes"] == 1
    losses = [[row["loss"] for row in store.curve(hash)] for store in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert [row["loss"] for row in two.record(hash)["lengths"]] == pytest.approx(
        [row["loss"] for row in one.record(hash)["lengths"]], rel=1e-3
    )


def test_a_batch_that_the_processes_cannot_share_is_refused(text: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(OptionError, match="share a batch equally"):
        engine.run([toy(text, batch=6), toy(text, batch=4)], tmp_path / "runs", cpu=True)
    assert not (tmp_path / "runs").exists()


def test_a_run_that_fails_in_one_process_has_failed_and_the_others_are_made(text: Path, tmp_path: Path):
    """Wherever it fails, and in whichever of them; what a model keeps is alike in both, used or not."""
    (tmp_path / "mine.py").write_text(MINE)
    kinds = {
        "Fails": "RuntimeError: no memory",
        "FailsInTheFirst": "RuntimeError: no memory",
        "FailsInTheSecond": "process 1 of 2 failed: ",
        "FailsBackwards": "process 1 of 2 failed: ",
        "IsNotBuilt": "process 1 of 2 failed: ",
        "Mine": "",
    }
    experiments = {kind: toy(text, f"{tmp_path / 'mine.py'}:{kind}") for kind in kinds}
    assert launch(tmp_path, [*experiments.values()]) == ["failed " * 5 + "finished"] * 2
    store = Store(tmp_path / "two")
    for kind, said in kinds.items():
        record = store.record(experiments[kind].hash)
        assert record["status"] == ("failed" if said else "finished")
        assert said in (record["reason"] or "") and ("mine.py, line" in record["reason"] if said else True)
    make(experiments["Mine"], tmp_path / "one")
    one, two = (Store(tmp_path / name).record(experiments["Mine"].hash) for name in ("one", "two"))
    assert two["lengths"][1]["loss"] == pytest.approx(one["lengths"][1]["loss"], rel=0.02)


def test_a_process_that_is_killed_ends_the_launch_which_goes_on_without_what_is_made(text: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(MINE)
    experiments = [toy(text, "none"), toy(text, f"{tmp_path / 'mine.py'}:IsKilled"), toy(text, "rope")]
    with pytest.raises(AssertionError, match="the processes of the launch have lost each other"):
        launch(tmp_path, experiments)
    store = Store(tmp_path / "two")
    first, second, third = (store.record(experiment.hash) for experiment in experiments)
    assert first["status"] == "finished" and third is None
    assert second["status"] == "failed" and "lost each other" in second["reason"]
    assert launch(tmp_path, experiments) == ["finished failed finished"] * 2
    assert store.record(experiments[0].hash) == first and store.record(experiments[1].hash) == second


PLAN = """
from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training

PARTS = dict(
    task=Text({text!r}),
    model=Model(width=16, depth=1, heads=2),
    training=Training(steps=24, batch=4, length=16),
    measure=Measure(lengths=(16, 32), bytes=512, pairs=8, targets=4),
)
EXPERIMENTS = [Experiment(name, **PARTS) for name in ("mine.py:Fails", "rope")]
"""


def test_a_comparison_of_a_launch_ends_as_one_of_a_process(text: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "plan.py").write_text(PLAN.format(text=str(text)))
    done = launched(tmp_path, ["-m", "gnomon", "compare", "plan.py", "--cpu", "--log-json", "log.jsonl"])
    assert done.returncode == 1 and "report: runs/report.html" in done.stderr + done.stdout
    assert (tmp_path / "runs" / "report.html").is_file()
    assert {record["label"]: record["status"] for record in Store(tmp_path / "runs").records()} == {
        "Fails": "failed",
        "rope": "finished",
    }
    end = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert (end["kind"], end["code"]) == ("end", 1)


def test_a_plan_is_tuned_by_two_processes(text: Path, tmp_path: Path):
    """One list of runs after another, by the same processes."""
    assert launch(tmp_path, [toy(text, "none")], "tuned") == ["finished"] * 2
    assert len(Store(tmp_path / "two").trials().hashes()) == 2


class Heard:
    """Keeps the phases that it hears of."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def update(self, event: Event) -> None:
        self.phases.append(event.phase)


SETTINGS = {"command": "", "cpu": True, "trackers": (), "checkpoint_seconds": 20.0, "retry": False}


@contextmanager
def held(store: Store, hash: str, seconds: float) -> Iterator[None]:
    """Another has the claim of a run, for some seconds at most."""
    with ExitStack() as claim:
        assert claim.enter_context(store.claim(hash))
        timer = threading.Timer(seconds, claim.close)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_launch_that_waits_says_so_and_is_stopped_at_once(text: Path, tmp_path: Path, number: signal.Signals):
    experiment, store, heard = toy(text, "none"), Store(tmp_path / "runs", create=True), Heard()
    timer = threading.Timer(2.5, lambda: os.kill(os.getpid(), number))
    timer.start()
    with held(store, experiment.hash, 20.0), pytest.raises(Interrupted, match="after 0 of 1 runs"):
        run_together([experiment], store, SETTINGS, heard, [experiment.hash])
    assert heard.phases == ["waiting"] and store.hashes() == []


def test_a_launch_that_has_waited_makes_the_run(text: Path, tmp_path: Path):
    experiment, store, heard = toy(text, "none"), Store(tmp_path / "runs", create=True), Heard()
    with held(store, experiment.hash, 1.5):
        run_together([experiment], store, SETTINGS, heard, [experiment.hash])
    assert list(dict.fromkeys(heard.phases)) == ["waiting", "train", "checkpoint", "measure", "finished"]

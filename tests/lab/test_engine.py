"""Sweeps in processes of their own: what one run does, or what is done to it, touches no other."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from accelerate.tracking import GeneralTracker

from gnomon.errors import OptionError
from gnomon.lab import engine
from gnomon.lab.checkpoint import step_of
from gnomon.lab.events import Event
from gnomon.lab.interrupt import Interrupted, flagged
from gnomon.lab.load import Plan
from gnomon.lab.run import Settings
from gnomon.lab.store import Store
from gnomon.lab.sweep import Sweep
from gnomon.lab.tuning import Tuning
from tests.lab.toys import make, results, toy


class Listener:
    """Keeps what it hears, and does `act` at the first step of the runs with that label."""

    def __init__(self, label: str = "", act: Callable[[], None] = lambda: None):
        self.label, self.act = label, act
        self.heard: list[Event] = []
        self.ended = False

    def begin(self, plan: Sequence[Event]) -> None:
        self.plan = list(plan)

    def update(self, event: Event) -> None:
        self.heard.append(event)
        if event.label == self.label and event.phase == "train":
            self.label = ""
            self.act()

    def end(self) -> None:
        self.ended = True

    def phases(self, label: str) -> list[str]:
        return list(dict.fromkeys(event.phase for event in self.heard if event.label == label))


def workers() -> list[psutil.Process]:
    """The lab's processes that this one has started; pytest may have others."""
    return [child for child in psutil.Process().children() if "gnomon.lab.worker" in " ".join(child.cmdline())]


def kill_worker() -> None:
    [worker] = workers()
    worker.kill()


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of one thread: the same bits on every machine, and no waiting for a thread that has no core."""
    monkeypatch.setattr(engine, "cores", lambda: 1)


@pytest.mark.usefixtures("one_core")
def test_a_killed_worker_leaves_a_record_and_the_others_go_on(text: Path, tmp_path: Path):
    long, short = toy(text, "rope", steps=100_000), toy(text, "none", precision="bf16")
    listener = Listener("rope", kill_worker)
    records = engine.run([long, short, long], tmp_path / "runs", 1, listener, command="gnomon compare")
    assert [record["status"] for record in records] == ["failed", "finished", "failed"]
    assert "signal 9" in records[0]["reason"] and records[0]["command"] == "gnomon compare"
    assert listener.ended
    assert [(event.label, event.phase) for event in listener.plan] == [("rope", "queued"), ("none", "queued")]
    assert listener.phases("rope") == ["start", "train", "failed"]
    assert listener.phases("none")[0] == "start" and listener.phases("none")[-1] == "finished"
    assert records[1]["environment"]["threads"] == 1

    again = Listener()
    assert engine.run([long, short], tmp_path / "runs", 1, again) == records[:2]
    assert [event.phase for event in again.plan] == ["failed", "stored"] and again.heard == []
    assert again.plan[0].reason == records[0]["reason"]


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_others_end_is_lost_and_its_run_is_not_begun_without_end(text: Path, tmp_path: Path, number: int):
    """As by earlyoom: the command itself was told nothing. On this machine it would be ended again."""
    experiment = toy(text, "rope", steps=100_000)
    listener = Listener("rope", lambda: workers()[0].send_signal(number))
    [record] = engine.run([experiment], tmp_path / "runs", 1, listener)
    phases = [phase for phase in listener.phases("rope") if phase != "checkpoint"]
    assert record["status"] == "failed" and phases == ["start", "train", "failed"]
    assert ("not by this command" if number == signal.SIGTERM else "signal 9") in record["reason"]
    store = Store(tmp_path / "runs")
    assert number == signal.SIGKILL or step_of(store.checkpoint(experiment.hash), experiment.hash) > 0


@pytest.mark.usefixtures("one_core")
def test_a_signal_for_all_processes_of_a_job_stops_the_sweep(text: Path, tmp_path: Path):
    """As by `scancel`: the worker hears it first, and what it does then is no loss."""
    experiment = toy(text, "rope", steps=100_000)

    def end_all() -> None:
        workers()[0].terminate()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()

    listener = Listener("rope", end_all)
    with pytest.raises(Interrupted):
        engine.run([experiment], tmp_path / "runs", 1, listener)
    assert listener.heard[-1].phase == "stopped" and Store(tmp_path / "runs").hashes() == []


@pytest.mark.usefixtures("one_core")
def test_an_interrupted_sweep_goes_on_where_it_stopped(text: Path, tmp_path: Path):
    experiments = [toy(text, "t5", steps=200, seed=seed) for seed in range(2)]
    store = Store(tmp_path / "runs", create=True)
    listener = Listener("t5", lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted, match="after 0 of 2 runs; the same command goes on"):
        engine.run(experiments, store, 1, listener)
    assert store.hashes() == [] and listener.heard[-1].phase == "stopped" and workers() == []
    reached = step_of(store.checkpoint(experiments[0].hash), experiments[0].hash)
    assert 0 < reached < 200 and listener.heard[-1].step == reached
    assert make(experiments[0], store.path) == "written"
    make(experiments[0], tmp_path / "undisturbed")
    assert results(store, experiments[0].hash) == results(Store(tmp_path / "undisturbed"), experiments[0].hash)


class StopsAtTheEnd(Listener):
    """Sends a signal once its run, the only one, has finished."""

    def update(self, event: Event) -> None:
        super().update(event)
        if event.phase == "finished":
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.usefixtures("one_core")
def test_a_signal_at_the_end_of_the_trials_keeps_the_runs_from_beginning(text: Path, tmp_path: Path):
    listeners: list[Listener] = []

    def heard() -> Listener:
        listeners.append(StopsAtTheEnd())
        return listeners[-1]

    store, plan = Store(tmp_path / "runs", create=True), Plan([toy(text, "none", steps=4)], Tuning((1e-3,)))
    with pytest.raises(Interrupted, match="after 1 of 1 runs"):
        engine.run_plan(plan, store, 1, heard)
    assert len(listeners) == 1 and len(store.trials().hashes()) == 1 and store.hashes() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_heard_and_the_second_one_ends(number: signal.Signals):
    before = signal.getsignal(number)
    with flagged() as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(1)
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("one_core")
def test_two_sweeps_on_one_store_make_a_run_once(text: Path, tmp_path: Path):
    experiment = toy(text, "none")
    listeners, records = [Listener(), Listener()], [[], []]

    def sweep(i: int) -> None:
        records[i] = engine.run([experiment], tmp_path / "runs", 1, listeners[i])

    threads = [threading.Thread(target=sweep, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert records[0] == records[1] and records[0][0]["status"] == "finished"
    assert sorted(listener.phases("none")[-1] for listener in listeners) == ["finished", "stored"]
    assert sorted("train" in listener.phases("none") for listener in listeners) == [False, True]


PARENT = """
import os, signal, sys
from gnomon.lab.experiment import Experiment
from gnomon.lab.pool import Pool
from gnomon.lab.store import Store
store, experiment = Store(sys.argv[1], create=True), Experiment.from_json(__import__("json").loads(sys.argv[2]))
settings = dict(command="", cpu=True, trackers=(), checkpoint_seconds=20.0, retry=False)
with Pool(store, settings, threads=1) as pool:
    pool.start(experiment)
    while True:
        message = pool.next(60.0)
        if message.said.phase == "train":
            print(pool.running[experiment.hash].pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_stops_when_its_parent_is_gone(text: Path, tmp_path: Path):
    """The parent is killed with no chance to tell anyone: the worker writes a checkpoint and ends."""
    experiment = toy(text, "rope", steps=100_000)
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path / "runs"), json.dumps(experiment.to_json())],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
    )
    assert parent.returncode == -signal.SIGKILL
    worker = int(parent.stdout)
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(worker).wait(timeout=30)
    assert not psutil.pid_exists(worker)
    store = Store(tmp_path / "runs")
    assert store.hashes() == []
    assert 0 < step_of(store.checkpoint(experiment.hash), experiment.hash) < 100_000


def test_what_cannot_be_trained_is_refused_before_anything_is(text: Path, tmp_path: Path):
    good = toy(text, "none")
    for bad in (
        toy(text, "rop"),
        toy(text, "rope", options={"thet": 5}),
        toy(text, "learned", options={"max_positions": 15}),
        toy(text, "rope", backend="flex"),
    ):
        with pytest.raises(ValueError) as error:
            engine.run([good, bad], tmp_path / "runs", cpu=True)
        assert type(error.value).__module__ == "gnomon.errors"
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("name", "said"), [("tensorbord", "did you mean 'tensorboard'"), ("wandb", "pip install wandb")]
)
def test_a_tracker_that_is_not_there_is_refused(text: Path, tmp_path: Path, monkeypatch, name: str, said: str):
    monkeypatch.setattr("accelerate.tracking.get_available_trackers", lambda: [])
    with pytest.raises(OptionError, match=said):
        engine.run([toy(text)], tmp_path / "runs", trackers=[name])
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_are_counted_from_one(text: Path, tmp_path: Path, workers: int):
    with pytest.raises(OptionError, match="workers"):
        engine.run([toy(text)], tmp_path / "runs", workers)


def test_nothing_to_run_is_a_mistake(tmp_path: Path):
    with pytest.raises(OptionError, match="nothing to run"):
        engine.run([], tmp_path / "runs")


class Broken(GeneralTracker):
    """A tracker that cannot come to its end, as without a network."""

    name, requires_logging_directory = "broken", False

    def __init__(self):
        super().__init__()

    def store_init_configuration(self, values: dict) -> None:
        pass

    def log(self, values: dict, step: int | None = None, **given: object) -> None:
        pass

    def finish(self) -> None:
        raise ConnectionError("no network")

    @property
    def tracker(self) -> None:
        return None


def test_a_run_whose_tracker_does_not_end_has_finished(text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """What is told of it is what its record says."""
    heard, experiment = [], toy(text, steps=2)
    make(experiment, tmp_path / "runs", Settings(trackers=(Broken(),), report=heard.append))
    assert Store(tmp_path / "runs").record(experiment.hash)["status"] == "finished"
    assert heard[-1].phase == "finished" and "failed" not in {event.phase for event in heard}
    [told] = [record for record in caplog.records if record.name == "tracker.broken"]
    assert "ConnectionError: no network" in told.getMessage()


def test_a_run_that_has_failed_in_another_sweep_is_told_with_its_reason(text: Path, tmp_path: Path):
    """Meanwhile, so that it was to be made when this sweep began."""
    store, heard = Store(tmp_path / "runs", create=True), Listener()
    failing, finishing = toy(text, "learned", options={"max_positions": 10}), toy(text, steps=2)
    for experiment in (failing, finishing):
        make(experiment, store.path)
    workers = SimpleNamespace(count=1, retries=0)
    Sweep([failing, finishing], workers, store, {"retry": False}, heard)._fill()
    told = {event.hash: (event.phase, event.reason) for event in heard.heard}
    assert told[finishing.hash] == ("stored", None)
    assert told[failing.hash] == ("failed", store.record(failing.hash)["reason"])

"""What a sweep on a cluster rests on, each by itself: room, retries, what a node refuses, and what is shown."""

import io
import math
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gnomon.errors import OptionError, StoreError, UserError
from gnomon.lab import agent, cluster, engine, sweep, wire
from gnomon.lab.events import Event, Quiet
from gnomon.lab.experiment import Experiment
from gnomon.lab.progress import LiveTable, sentence
from gnomon.lab.run import Settings, run
from gnomon.lab.spawn import task
from gnomon.lab.store import Store
from gnomon.lab.sweep import Sweep
from gnomon.lab.wire import End
from gnomon.lab.workers import Exit, Mailbox, Message
from tests.lab.toys import make, toy

GIB = 2**30
SETTINGS = {"command": "again", "cpu": True, "trackers": (), "checkpoint_seconds": 20.0, "retry": False}


def node(cpus: float, gpus: float = 0, memory: float = 64) -> dict[str, float]:
    return {"CPU": cpus, "GPU": gpus, "memory": memory * GIB}


@pytest.mark.parametrize(
    ("nodes", "runs", "gpus", "most", "threads"),
    [
        ([node(2), node(2)], 9, False, 99, 1),
        ([node(2), node(2)], 2, False, 99, 2),
        ([node(2), node(2)], 1, False, 99, 2),  # a run lies on one node
        ([node(8), node(3)], 2, False, 99, 4),  # both on the first
        ([node(8), node(8)], 1, False, 3, 3),
        ([node(16, gpus=2), node(64)], 9, True, 99, 8),  # without a GPU a node has no place
        ([node(8, memory=2.5)], 9, False, 99, 4),  # memory for two
    ],
)
def test_cores_are_divided_among_the_runs_that_have_room(nodes, runs: int, gpus: bool, most: int, threads: int):
    assert cluster.share(nodes, runs, gpus, most) == threads


@pytest.mark.parametrize("nodes", [[node(0)], [node(0.5), node(0.5)], [node(4, memory=0.5)], []])
def test_a_cluster_without_room_is_refused(nodes):
    with pytest.raises(OptionError, match="no node of the cluster has room"):
        cluster.share(nodes, 1, False, 99)


class Fakes:
    """Workers that end as they are told: a run is made, or its worker says or has that end."""

    count, gpus, delay = 1, False, 0.0

    def __init__(self, store: Store, ends: Sequence[Exit | End | None], retries: int):
        self.store, self.ends, self.retries = store, list(ends), retries
        self.heard: list[Message] = []

    def start(self, experiment: Experiment) -> None:
        end = self.ends.pop(0)
        if not isinstance(end, Exit):
            self.heard.append(Message(experiment.hash, end or End(run(experiment, self.store, Settings()))))
            end = Exit("the process ended with code 0")
        self.heard.append(Message(experiment.hash, end))

    def next(self, timeout: float) -> Message | None:
        return self.heard.pop(0) if self.heard else None

    def stop(self) -> None:
        pass


class Listener(Quiet):
    def __init__(self):
        self.phases: list[str] = []

    def update(self, event: Event) -> None:
        self.phases.append(event.phase)


LOST = Exit("its worker was lost on b", lost=True)
UNBEGUN = Exit("its worker was lost before it began", lost=True, begun=False)
STOPPED = "it was stopped, and not by this command: the process ended with code 0"


@pytest.mark.parametrize(
    ("ends", "retries", "phases", "reason"),
    [
        ([LOST, LOST, None], 2, ["lost", "lost"], None),
        ([LOST, LOST, LOST], 2, ["lost", "lost", "failed"], "its worker was lost on b; lost 2 times before"),
        ([UNBEGUN, LOST, UNBEGUN, UNBEGUN, None], 1, ["lost"] * 4, None),
        ([UNBEGUN] * (sweep.UNBEGUN + 1), 1, ["lost"] * sweep.UNBEGUN + ["failed"], UNBEGUN.reason),
        ([LOST], 0, ["failed"], "its worker was lost on b"),
        ([Exit("the process ended with code 1")], 2, ["failed"], "the process ended with code 1"),
        ([End("stopped"), LOST, None], 2, ["lost", "lost"], None),
        ([End("stopped")], 0, ["failed"], STOPPED),
        ([replace(LOST, stopped=True)] * 2, 1, ["lost", "failed"], f"{LOST.reason}; lost 1 times before"),
    ],
)
def test_a_run_is_begun_again_as_often_as_its_worker_may_be_lost(
    text: Path, tmp_path: Path, monkeypatch, ends: list, retries: int, phases: list[str], reason: str | None
):
    monkeypatch.setattr(sweep, "GONE", 0.0)
    monkeypatch.setattr(sweep, "TOGETHER", 0.0)
    experiment, store, listener = toy(text, "none", steps=2), Store(tmp_path / "runs", create=True), Listener()
    made = Sweep([experiment], Fakes(store, ends, retries), store, SETTINGS, listener)
    made.run(lambda: False)
    assert (listener.phases, made.waiting) == (phases, {})
    assert store.record(experiment.hash)["reason"] == reason


class Late(Store):
    """A store on a file system that remembers for some seconds what was not there, or longer.

    Where opening its folder helps, `opened` is set by that; else a run is seen once it is `seen` on the clock.
    """

    seen, opened = 0.0, True

    def record(self, hash: str) -> dict | None:
        return super().record(hash) if self.opened and time.monotonic() >= self.seen else None


@pytest.mark.parametrize("outcome", ["written", "present"])
@pytest.mark.parametrize("opening", [True, False])
def test_a_run_that_another_machine_has_made_is_seen_some_seconds_later(
    text: Path, tmp_path: Path, monkeypatch, opening: bool, outcome: str
):
    experiment, store, listener = toy(text, "none", steps=2), Late(tmp_path / "runs", create=True), Listener()
    workers = Fakes(store, [End(outcome)], 0)
    workers.delay = 60.0
    make(experiment, store.path)
    record = store.record(experiment.hash)
    store.opened, store.seen = not opening, 0.0 if opening else time.monotonic() + 1.0
    monkeypatch.setattr(sweep, "refresh", lambda *folders: setattr(store, "opened", store.path in folders))
    # As when the sweep began, and looked for the run.
    monkeypatch.setattr(Path, "is_dir", lambda path: path != store.folder(experiment.hash) and os.path.isdir(path))
    made = Sweep([experiment], workers, store, SETTINGS, listener)
    made.run(lambda: False)
    assert (made.waiting, made.unseen) == ({}, {}) and listener.phases == ["stored"] * (outcome == "present")
    assert store.record(experiment.hash) == record


def test_a_run_that_is_never_seen_is_lost_and_the_sweep_may_be_stopped_before(text: Path, tmp_path: Path):
    experiment, store = toy(text, "none", steps=2), Late(tmp_path / "runs", create=True)
    store.seen = math.inf
    workers = Fakes(store, [End("written")] * 2, 0)
    workers.delay = 0.5
    with pytest.raises(StoreError, match="has lost a run that was made"):
        Sweep([experiment], workers, store, SETTINGS, Listener()).run(lambda: False)
    workers.delay = 60.0
    made = Sweep([experiment], workers, store, SETTINGS, Listener())
    made.run(lambda: bool(made.unseen))
    assert made.waiting == {experiment.hash: experiment}


def test_a_node_that_can_make_no_run_ends_the_sweep(text: Path, tmp_path: Path):
    store, wrong = Store(tmp_path / "runs", create=True), OptionError("another version of torch")
    made = Sweep([toy(text)], Fakes(store, [Exit("", error=wrong)], 3), store, SETTINGS, Listener())
    with pytest.raises(OptionError) as raised:
        made.run(lambda: False)
    assert raised.value is wrong and store.hashes() == []


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        ({"wanted": {**agent.versions(), "torch": "1.0"}}, OptionError, "another version of torch"),
        ({"log": "{here}/gone.log"}, StoreError, "does not see the store"),
        ({"folder": "{here}/gone"}, OptionError, "does not see the folder"),
    ],
)
def test_a_node_on_which_no_run_can_be_made_says_why(
    text: Path, tmp_path: Path, monkeypatch, changed: dict, kind: type[UserError], said: str
):
    monkeypatch.setattr(agent, "_node", lambda: "0123")
    log = tmp_path / "worker.log"
    log.touch()
    given = {"log": str(log), "folder": str(tmp_path), "wanted": agent.versions()}
    for name, value in changed.items():
        given[name] = value.format(here=tmp_path) if isinstance(value, str) else value
    told = task(toy(text), Store(tmp_path / "runs", create=True), 1, SETTINGS, given["folder"])
    messages = agent.Agent(told, given["log"], given["wanted"]).messages()
    assert next(messages).node == "0123"
    with pytest.raises(kind, match=said):
        next(messages)


def agent_of(experiment: Experiment, tmp_path: Path, monkeypatch) -> agent.Agent:
    monkeypatch.setattr(agent, "_node", lambda: "0123")
    monkeypatch.setattr(agent, "_path", lambda: sys.path)
    store = Store(tmp_path / "runs", create=True)
    store.make()
    store.log(experiment.hash).touch()
    told = task(experiment, store, 1, SETTINGS, str(tmp_path))
    return agent.Agent(told, str(store.log(experiment.hash)), agent.versions())


def test_an_agent_that_is_stopped_before_its_worker_exists_has_none(text: Path, tmp_path: Path, monkeypatch):
    made = agent_of(toy(text, "none", steps=100_000), tmp_path, monkeypatch)
    messages = made.messages()
    assert next(messages).node == "0123"
    made.stop()
    [exit] = messages
    assert exit.lost and exit.stopped and not exit.begun and made.worker is None


def test_an_agent_stops_its_worker(text: Path, tmp_path: Path, monkeypatch):
    made = agent_of(toy(text, "none", steps=100_000), tmp_path, monkeypatch)
    heard = []
    for said in made.messages():
        heard.append(said)
        if isinstance(said, Event) and said.phase == "train":
            made.stop()
    assert heard[-2] == End("stopped") and heard[-1].reason == "the process ended with code 0"


def test_a_thread_that_listens_ends_with_the_end_of_its_worker(text: Path, tmp_path: Path, monkeypatch):
    """Also where Ray itself no longer answers it."""
    ray = pytest.importorskip("ray", reason="the package ray is not installed")

    def nodes() -> list:
        raise ConnectionError("the head is gone")

    monkeypatch.setattr(ray, "nodes", nodes)
    monkeypatch.setattr(ray, "get", lambda each: each)
    killed = []
    monkeypatch.setattr(ray, "kill", killed.append)
    made = cluster.Cluster(Store(tmp_path / "runs", create=True), SETTINGS, 1, 1)
    made.running["a" * 16] = "its agent"
    made._messages.listen("a" * 16, made._said("a" * 16, iter([agent.Place("0123", "host"), End("written")])))
    exit = made.next(10.0).said
    assert exit.lost and exit.begun and exit.reason == "it is no longer heard: ConnectionError: the head is gone"
    assert (made.running, killed) == ({}, ["its agent"]) and made.next(0.0) is None


def test_whatever_is_heard_of_a_worker_ends_with_its_exit():
    mailbox, event = Mailbox(), Event("a" * 16, "rope", 0, "start")
    for said in ([event, Exit("it ended"), event], [event], []):
        mailbox.listen("a" * 16, said)
        heard = [mailbox.next(10.0).said for _ in range(1 + (event in said[:1]))]
        assert isinstance(heard[-1], Exit) and heard[:-1] == said[:1] and mailbox.next(0.05) is None
        assert heard[-1].lost == (len(said) < 3)


@pytest.mark.parametrize(
    "said",
    [
        Event("a" * 16, "rope", 0, "train", 3, 9, 0.25, reason="ü"),
        End("written"),
        End(None, StoreError("the store cannot be written", given="/runs", do="make room")),
    ],
    ids=["an event", "an end", "an error"],
)
def test_a_line_of_a_worker_says_what_it_was_made_of(said: Event | End):
    line = wire.encode(said)
    assert line.endswith("\n") and repr(wire.decode(line)) == repr(said)
    for cut in range(1, len(line) - 1):
        with pytest.raises(ValueError):
            wire.decode(line[:cut])


@pytest.mark.parametrize("line", ["[]", "3", '{"event": 3}', '{"event": {"phases": "train"}}', '{"end": "written"}'])
def test_a_line_that_no_worker_says_is_none(line: str):
    with pytest.raises(ValueError):
        wire.decode(line)


def refused(text: Path, tmp_path: Path) -> OptionError:
    with pytest.raises(OptionError) as raised:
        engine.run([toy(text)], tmp_path / "runs", engine="ray")
    assert not (tmp_path / "runs").exists()
    return raised.value


def test_no_cluster_is_a_mistake(text: Path, tmp_path: Path, monkeypatch):
    pytest.importorskip("ray", reason="the package ray is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", address := f"127.0.0.1:{free.getsockname()[1]}")
    assert address in refused(text, tmp_path).given
    monkeypatch.setenv("RAY_ADDRESS", "ray://127.0.0.1:10001")
    assert "within the cluster" in refused(text, tmp_path).asked


def test_ray_is_an_extra(text: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    error = refused(text, tmp_path)
    assert "needs the package ray" in error.asked and ".[ray]" in error.do


def test_engines_are_two(text: Path, tmp_path: Path, monkeypatch):
    with pytest.raises(OptionError, match="did you mean 'ray'"):
        engine.run([toy(text)], tmp_path / "runs", engine="rai")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "together" in refused(text, tmp_path).asked


@pytest.mark.parametrize("url", ["s3://bucket/runs", "gs://bucket", "memory://runs", "file:///shared/runs"])
def test_a_store_is_no_url(url: str):
    with pytest.raises(StoreError, match="a store is a folder"):
        Store(url, create=True)


def test_progress_shows_the_node_of_every_worker():
    at_work = Event("a" * 16, "rope", 0, "train", 300, 600, 2.0, 31_400.0, 24.6, node="gpu-7")
    assert sentence(at_work).startswith("rope seed 0 on gpu-7: step 300/600")
    lost = replace(at_work, phase="lost", node=None, reason="its worker was lost on gpu-7")
    assert sentence(lost).endswith("lost on gpu-7; it goes on elsewhere from its checkpoint")
    out = io.StringIO()
    table = LiveTable(Console(file=out, force_terminal=True, width=80, height=24))
    table.begin([replace(at_work, phase="queued", node=None)])
    for event in (at_work, lost, replace(at_work, node="a-node-with-a-long-name")):
        table.update(event)
    table.end()
    assert "it goes on elsewhere" in out.getvalue()
    paper = Console(file=io.StringIO(), width=80, color_system=None)
    paper.print(table.render())
    lines = paper.file.getvalue().splitlines()
    [row] = [line for line in lines if line.startswith("rope")]
    assert "node" in lines[0] and "a-node-with…" in row and "300/600" in row and max(map(len, lines)) <= 80

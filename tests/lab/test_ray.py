"""A sweep on a Ray cluster of two nodes, one of which is killed in the middle of a run, and a worker of the other."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
import torch

from gnomon.lab.checkpoint import step_of
from gnomon.lab.events import ASIDE
from gnomon.lab.experiment import Experiment
from gnomon.lab.store import Store
from tests.lab.toys import make, results, toy

pytest.importorskip("ray", reason="the package ray is not installed: pip install -c constraints.txt '.[ray]'")

ROOT = Path(__file__).resolve().parents[2]

PATIENCE = 300.0
"""Seconds after which something is said to hang; nothing else depends on the time."""

GATE = '''
import time
from pathlib import Path
from gnomon.encodings.alibi import Alibi

class Gated(Alibi):
    """Waits before its sixth draw, until there is a file `open` beside it."""
    draws = 0

    def draw(self, pos, generator, batch=1):
        self.draws += 1
        while self.draws > 5 and not Path(__file__).with_name("open").exists():
            time.sleep(0.05)
        return super().draw(pos, generator, batch)
'''

SWEEP = """
import json, sys
from gnomon.lab import engine
from gnomon.lab.experiment import Experiment
from gnomon.lab.progress import JsonLines
experiments = [Experiment.from_json(each) for each in json.loads(sys.argv[2])]
engine.run(experiments, sys.argv[1], progress=JsonLines(sys.stdout), checkpoint_seconds=0.0, engine="ray")
"""


class Node(NamedTuple):
    """A node of a cluster on this machine: all that `ray start --block` has started is its child."""

    name: str
    process: psutil.Popen

    def kill(self) -> None:
        """As when the power fails: everything at once, with no chance to tell anyone."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for each in [*self.process.children(recursive=True), self.process]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()

    def kill_worker(self) -> None:
        [worker] = [
            each for each in self.process.children(recursive=True) if "gnomon.lab.worker" in " ".join(each.cmdline())
        ]
        worker.kill()


def begin(name: str, folder: Path, *options: str) -> Node:
    known = ("--node-ip-address=127.0.0.1", f"--node-name={name}", "--num-cpus=1", "--object-store-memory=80000000")
    words = [Path(sys.executable).with_name("ray"), "start", "--block", "--disable-usage-stats", *known, *options]
    # Ray would take memory that others of this machine use for its own, and kill workers.
    told = {"RAY_memory_monitor_refresh_ms": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with (folder / f"{name}.log").open("wb") as log:
        return Node(name, psutil.Popen(words, env={**os.environ, **told}, stdout=log, stderr=log, cwd=folder))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Node]]:
    """Two nodes, `a` and `b`, of one core each."""
    folder = Path(tempfile.mkdtemp(prefix="gnomon-"))  # names of sockets are short
    port = free()
    address = f"127.0.0.1:{port}"
    monkeypatch.setenv("RAY_ADDRESS", address)
    nodes = {}
    try:
        head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder / 'a'}")
        nodes["a"] = begin("a", folder, *head)
        wait(lambda: listening(port), nodes["a"], folder)
        nodes["b"] = begin("b", folder, f"--address={address}")
        yield nodes
    finally:
        for node in nodes.values():
            node.kill()
            node.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def free() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def listening(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def wait(until: Callable[[], bool], node: Node, folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        log = (folder / f"{node.name}.log").read_text()
        assert node.process.poll() is None and time.monotonic() < deadline, log
        time.sleep(0.1)


class Told:
    """What a sweep in a process of its own tells of itself."""

    def __init__(self, folder: Path, experiments: list[Experiment]):
        task = [str(folder / "runs"), json.dumps([each.to_json() for each in experiments])]
        self.events: list[dict] = []
        self.process = subprocess.Popen(
            [sys.executable, "-c", SWEEP, *task],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self.errors = ""
        threading.Thread(target=self._hear, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def _hear(self) -> None:
        self.errors = self.process.stderr.read()

    def wait(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert self.process.poll() is None and time.monotonic() < deadline, (self.errors, self.events[-3:])
            time.sleep(0.05)

    def of(self, hash: str) -> list[tuple[str, str | None]]:
        """The phases of a run, each once for a node, with the node."""
        own = [event for event in self.events if event["hash"] == hash and event["phase"] not in ASIDE]
        told = [(event["phase"], event["node"]) for event in own]
        return list(dict.fromkeys(told))

    def place(self, hash: str, phase: str) -> int:
        return next(at for at, event in enumerate(self.events) if (event["hash"], event["phase"]) == (hash, phase))

    def node(self, hash: str) -> str | None:
        return next((node for phase, node in reversed(self.of(hash)) if node), None)


def test_a_node_and_a_worker_are_lost_and_no_run_is(cluster: dict[str, Node], text: Path, tmp_path: Path):
    (tmp_path / "gated.py").write_text(GATE)
    short = toy(text, "none")
    long = [toy(text, f"{tmp_path / 'gated.py'}:Gated", seed=seed) for seed in range(2)]
    told, store = Told(tmp_path, [short, *long]), Store(tmp_path / "runs", create=True)
    try:
        told.wait(lambda: all(step_of(store.checkpoint(each.hash), each.hash) for each in long))
        told.wait(lambda: ("finished", told.node(short.hash)) in told.of(short.hash))
        written = store.folder(short.hash).stat(), store.record(short.hash)
        on = {told.node(each.hash): each for each in long}
        assert set(on) == {"a", "b"}
        reached = {each.hash: step_of(store.checkpoint(each.hash), each.hash) for each in long}
        cluster["b"].kill()
        cluster["a"].kill_worker()
        told.wait(lambda: all(("lost", None) in told.of(each.hash) for each in long))
        (tmp_path / "open").touch()
        assert told.process.wait(PATIENCE) == 0, told.errors
    finally:
        told.process.kill()
        told.process.wait()
    for node, each in on.items():
        assert told.of(each.hash)[:4] == [("queued", None), ("start", node), ("train", node), ("lost", None)]
        later = told.events[told.place(each.hash, "lost") :]
        steps = [event["step"] for event in later if event["hash"] == each.hash and event["phase"] == "train"]
        assert min(steps) > reached[each.hash] > 0
        assert {event["node"] for event in later if event["hash"] == each.hash} == {None, "a"}
    # A run may be lost once more before Ray has noticed that its node is gone; its first loss is the one we know.
    lost = {each.hash: told.events[told.place(each.hash, "lost")]["reason"] for each in long}
    assert lost[on["b"].hash] == "its worker was lost on b"
    assert lost[on["a"].hash] == "the process was killed by signal 9: out of memory, or killed by hand, on a"
    assert sum(event["phase"] == "finished" for event in told.events) == 3
    assert (store.folder(short.hash).stat(), store.record(short.hash)) == written
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for each in (short, *long):
            make(each, tmp_path / "local")
            assert results(store, each.hash) == results(Store(tmp_path / "local"), each.hash)
    finally:
        torch.set_num_threads(threads)
